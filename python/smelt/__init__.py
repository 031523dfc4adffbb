"""Compiles ONNX models into a few fused CUDA kernels and runs them from one CUDA graph.

    plan = smelt.compile("model.onnx", shapes={"ids": (1, 128)})
    outputs = plan.run({"ids": ids})                       # on the GPU; without one on the CPU, and says so
    session = smelt.Session(plan)                          # ONNX Runtime's signature
    logits, = session.run(["logits"], {"ids": ids})
"""

from smelt._core import DeviceTensor, version as __version__
from smelt._errors import (
    BadPlanError,
    Error,
    InternalError,
    InvalidModelError,
    PlatformError,
    ResourceError,
    RunError,
    UsageError,
)
from smelt._plan import ModelWarning, Plan, compile
from smelt._session import Session, SlowDeviceWarning
from smelt._tensor import TensorInfo

__all__ = [
    "BadPlanError",
    "DeviceTensor",
    "Error",
    "InternalError",
    "InvalidModelError",
    "ModelWarning",
    "Plan",
    "PlatformError",
    "ResourceError",
    "RunError",
    "Session",
    "SlowDeviceWarning",
    "TensorInfo",
    "UsageError",
    "__version__",
    "compile",
]
