"""One exception for each code of smelt.h, which are the command line's exit codes too."""


class Error(Exception):
    """A failed call; the message says what went wrong and what to do."""

    code: int = 70


class RunError(Error):
    """The device or the driver refused or broke a run."""

    code = 1


class UsageError(Error):
    """A wrong name, type, shape or file."""

    code = 2


class InvalidModelError(Error):
    """The model is unsupported or wrong; every problem is named."""

    code = 3


class ResourceError(Error):
    """Out of memory or disk, or stopped."""

    code = 5


class PlatformError(Error):
    """No driver, no NVRTC, or no code in the plan for this device."""

    code = 6


class BadPlanError(Error):
    """The plan is damaged, or of another version of Smelt."""

    code = 7


class InternalError(Error):
    """A defect of Smelt."""

    code = 70


_CLASSES = {
    made.code: made
    for made in (RunError, UsageError, InvalidModelError, ResourceError, PlatformError, BadPlanError, InternalError)
}


def error_of(code: int, message: str) -> Error:
    """The exception for a code; called by the extension."""
    return _CLASSES.get(code, InternalError)(message)
