"""Compiling, and plans."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smelt import _core
from smelt._errors import PlatformError, UsageError
from smelt._session import Session, SlowDeviceWarning
from smelt._tensor import TensorInfo, describe

_PRECISIONS = {"fp32": 0, "tf32": 1, "fp16": 2, "bf16": 3}  # smelt_precision
_PLAN_MAGIC = b"\x93SMELT\r\n"
Shapes = Mapping[str, Sequence["int | None"]]
Progress = Callable[[str, int, int], "bool | None"]


class ModelWarning(UserWarning):
    """Something about a model that may be wrong."""


class _Folder:
    """A folder that goes away with the object."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="smelt-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class _Request:
    """A model and what to compile it for."""

    path: str
    folder: _Folder | None = None  # of a model that came as bytes
    shapes: Shapes = field(default_factory=dict)
    min_shapes: Shapes = field(default_factory=dict)
    max_shapes: Shapes = field(default_factory=dict)
    precision: str = "fp32"
    arch: tuple[str, ...] = ("sm_90a",)
    random_weights: int | None = None
    cache_dir: str = ""
    refit: bool = False

    def compilation(self, progress: Progress | None = None) -> _core.Compilation:
        compilation = _core.Compilation(
            self.path, list(self.arch), self.cache_dir, _nvrtc_folder(), self.random_weights,
            _PRECISIONS[self.precision], self.refit, progress, _warn,
        )  # fmt: skip
        for name, shape in self.shapes.items():
            compilation.set_shape(name, _extents(name, shape))
        for name in dict.fromkeys([*self.min_shapes, *self.max_shapes]):
            smallest, largest = self.min_shapes.get(name), self.max_shapes.get(name)
            rank = len(smallest if smallest is not None else largest)
            limits = [_extents(name, [None] * rank if shape is None else shape) for shape in (smallest, largest)]
            if len(limits[0]) != len(limits[1]):
                raise UsageError(f"the limits of input '{name}' have different ranks")
            compilation.set_limits(name, *limits)
        return compilation


class Plan:
    """A compiled model. Made by smelt.compile, or Plan.load."""

    def __init__(self, data: bytes | None, path: str, request: _Request | None):
        self._bytes, self._path, self._request = data, path, request
        self._sessions: dict[Any, Session] = {}
        described = _core.describe_file(path) if data is None else _core.describe_bytes(data)
        self.model_name: str = described[0]
        self.inputs: list[TensorInfo] = [describe(info) for info in described[1]]
        self.outputs: list[TensorInfo] = [describe(info) for info in described[2]]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Plan:
        """A plan from a file, which must stay where it is."""
        return Plan(None, os.fspath(path), None)

    @property
    def bytes(self) -> bytes:
        return Path(self._path).read_bytes() if self._bytes is None else self._bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan, whole or not at all."""
        target = Path(path)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.bytes)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    def run(self, feeds: Mapping[str, Any], device: int | str | None = None) -> dict[str, Any]:
        """All outputs by their names. Without a device: on the first GPU, or else on the CPU, with a SlowDeviceWarning."""
        session = self._session(device)
        return dict(zip(session._output_names, session.run(None, feeds)))

    def profile(self, feeds: Mapping[str, Any], device: int = 0, *, repetitions: int = 20) -> list[dict[str, Any]]:
        """See Session.profile."""
        return self._session(device).profile(feeds, repetitions=repetitions)

    def explain(self) -> list[dict[str, Any]]:
        """What became of each ONNX node: dictionaries with `name`, `op`, `kernels` (their numbers, `kinds` and `ops`) and
        `remarks` (why, or why not). Of a plan that this process compiled."""
        explanation = json.loads(self._compilation().explain())
        kernels = explanation["kernels"]
        return [
            {
                "name": node["name"],
                "op": node["op"],
                "kernels": node["kernels"],
                "kinds": [kernels[number]["kind"] for number in node["kernels"]],
                "ops": [kernels[number]["ops"] for number in node["kernels"]],
                "remarks": node["remarks"],
            }
            for node in explanation["nodes"]
        ]

    def __repr__(self) -> str:
        return f"<smelt.Plan of {self.model_name}>"

    def _compilation(self) -> _core.Compilation:
        if self._request is None:
            raise UsageError(f"{self._path}: a plan holds GPU code alone; give the model to smelt.compile, or to smelt.Session")
        return self._request.compilation()

    def _session(self, device: int | str | None) -> Session:
        if device not in self._sessions:
            self._sessions[device] = self._open_any() if device is None else Session(self, device)
        return self._sessions[device]

    def _open_any(self) -> Session:
        try:
            return Session(self, 0)
        except PlatformError as error:
            if self._request is None:
                raise
            warnings.warn(f"running on the CPU, which is slow: {error}", SlowDeviceWarning, stacklevel=4)
        return Session(self, "cpu")


class Model(Plan):
    """An ONNX file that nobody compiled, for a session on the CPU."""

    def __init__(self, path: str, precision: str = "fp32"):
        check_precision(precision)
        self._bytes, self._path, self._request = None, path, _Request(path, precision=precision)


def check_precision(name: str) -> None:
    if name not in _PRECISIONS:
        raise UsageError(f"there is no precision {name!r}; there are {', '.join(_PRECISIONS)}")


def opened(path: str | os.PathLike[str]) -> Plan:
    """A plan's file, or a model's."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"smelt.Session takes a Plan or a path, not {type(path).__name__}")
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            is_plan = file.read(len(_PLAN_MAGIC)) == _PLAN_MAGIC
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None
    return Plan.load(name) if is_plan or not name.endswith(".onnx") else Model(name)


def compile(
    model: str | os.PathLike[str] | bytes | Any,
    *,
    shapes: Shapes | None = None,
    min_shapes: Shapes | None = None,
    max_shapes: Shapes | None = None,
    precision: str = "fp32",
    arch: str | Sequence[str] = "sm_90a",
    random_weights: int | None = None,
    progress: Progress | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    refit: bool = False,
) -> Plan:
    """Compiles an ONNX model: a path, its bytes, or an onnx.ModelProto. Needs NVRTC, and no GPU.

    `shapes` fixes sizes by the inputs' names (None leaves one open), `min_shapes` and `max_shapes` are limits that the plan
    checks. `precision` is fp32, tf32, fp16 or bf16; `arch` one architecture ("sm_90a") or several. `random_weights` is the
    seed for weights whose file is missing. `progress` is called with the phase, the steps done and their number; it stops by
    returning False, or with an exception. Compiled kernels are kept in `cache_dir`, where one is given. `refit` keeps weights
    as they are in the model, for Session.update_weight."""
    check_precision(precision)
    path, folder = _model_file(model)
    request = _Request(
        path,
        folder,
        dict(shapes or {}),
        dict(min_shapes or {}),
        dict(max_shapes or {}),
        precision,
        (arch,) if isinstance(arch, str) else tuple(arch),
        random_weights,
        "" if cache_dir is None else os.fspath(cache_dir),
        refit,
    )
    return Plan(request.compilation(progress).to_bytes(), path, request)


def _model_file(model: Any) -> tuple[str, _Folder | None]:
    """The model as a file, and the folder that was made for it."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    if not isinstance(model, bytes):
        if not (hasattr(model, "SerializeToString") and hasattr(model, "graph")):
            raise TypeError(f"smelt.compile takes a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
        model = model.SerializeToString()
    folder = _Folder()
    path = Path(folder.path, "model.onnx")
    path.write_bytes(model)
    return str(path), folder


def _extents(name: str, shape: Sequence[int | None]) -> list[int]:
    extents = [-1 if extent is None else extent for extent in shape]
    if not all(isinstance(extent, int) for extent in extents):
        raise TypeError(f"the shape of input '{name}' is {shape!r}: give whole numbers, and None for an open size")
    return extents


def _warn(place: str, message: str) -> None:
    warnings.warn(f"{place}: {message}", ModelWarning, stacklevel=3)


def _nvrtc_folder() -> str:
    """That of the wheel nvidia-cuda-nvrtc; "" leaves the search to the compiler."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(root, "cu13", "lib")
        if next(folder.glob("libnvrtc.so.13*"), None):
            return str(folder)
    return ""
