"""Sessions, with ONNX Runtime's signature."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from smelt import _core
from smelt._errors import UsageError
from smelt._tensor import TensorInfo, describe, host_view, numpy_type, stream_of, view_of

if TYPE_CHECKING:
    from smelt._plan import Plan


class SlowDeviceWarning(UserWarning):
    """There is no GPU: the model runs in the interpreter, on the CPU."""


def _wait_for(runner: weakref.ref[_Gpu]) -> None:
    """Of a session that is gone, every run is over."""
    alive = runner()
    if alive is not None:
        alive.wait()


class _Gpu:
    """Runs on a CUDA device. Outputs are there when its methods return, but for those of `enqueue`."""

    def __init__(self, plan: Plan, device: int):
        path, data = plan._path, plan._bytes
        self._core = _core.GpuSession(path, device) if data is None else _core.GpuSession.from_bytes(data, device)
        self._device = device
        self.lock = threading.Lock()
        self._wait = functools.partial(_wait_for, weakref.ref(self))  # tensors do not keep the session
        self._in_flight: list[Any] = []  # what the run that was enqueued last uses
        self._stream = 0  # where it was enqueued
        self.name, self.inputs, self.outputs = self._core.device_name, self._core.inputs, self._core.outputs

    def _bind_inputs(self, views: dict[str, _core.TensorView]) -> None:
        for name, view in views.items():
            self._check_device(f"input '{name}'", view)
            self._core.bind_input(name, view)

    def _check_device(self, what: str, view: _core.TensorView) -> None:
        if view.on_device and view.device != self._device:
            raise UsageError(f"{what} lies on cuda:{view.device}, and the session runs on cuda:{self._device}")

    def _bind_output(self, info: _core.TensorInfo, given: _core.TensorView | None, on_device: bool, stream: int) -> Any:
        if given is not None:
            self._check_device(f"output '{info.name}'", given)
            self._core.bind_output(info.name, given)
            return None
        shape = self._core.output_shape(info.name)
        if on_device:
            tensor = self._core.allocate(info.element_type, shape, stream, self._wait)
            self._core.bind_device_output(info.name, tensor)
            return tensor
        array = np.empty(shape, numpy_type(info.element_type))
        self._core.bind_output(info.name, host_view(array, "an output"))
        return array

    def run(self, views: dict, given: dict, stream: int | None) -> dict[str, Any]:
        self._bind_inputs(views)
        on_device = any(view.on_device for view in views.values())
        made = {info.name: self._bind_output(info, given.get(info.name), on_device, stream or 0) for info in self.outputs}
        bound = [*views.values(), *given.values()]
        if self._in_flight and (stream or 0) != self._stream:
            self._core.wait()  # runs share the workspace, and streams do not wait for each other
        self._stream = stream or 0
        if stream is not None and on_device and all(view.on_device for view in bound):
            self._core.enqueue(stream)
            self._in_flight = bound
        else:
            self._core.run(stream or 0)
            self._in_flight = []
        return made

    def update_weight(self, name: str, view: _core.TensorView, stream: int | None) -> None:
        self._check_device(f"weight '{name}'", view)
        self._core.update_weight(name, view, stream or 0)
        self._in_flight = [*self._in_flight, view]

    def wait(self) -> None:
        with self.lock:
            self._core.wait()

    def profile(self, views: dict, repetitions: int) -> list[dict[str, Any]]:
        self._bind_inputs(views)
        kept = [self._bind_output(info, None, True, 0) for info in self.outputs]
        rows = self._core.profile(repetitions)
        del kept
        return rows


class _Cpu:
    """Runs in the interpreter."""

    def __init__(self, plan: Plan):
        self._core = _core.Interpreter(plan._compilation())
        self.lock = threading.Lock()
        self.name, self.inputs, self.outputs = self._core.device_name, self._core.inputs, self._core.outputs

    def run(self, views: dict, given: dict, stream: int | None) -> dict[str, Any]:
        for name, view in [*views.items(), *given.items()]:
            if view.on_device:
                raise UsageError(f"'{name}' lies on cuda:{view.device}, and the session runs on the CPU")
        for name, view in views.items():
            self._core.set_input(name, view)
        self._core.run()
        made = {}
        for info in self.outputs:
            target = given.get(info.name)
            if target is None:
                made[info.name] = np.empty(self._core.output_shape(info.name), numpy_type(info.element_type))
                target = host_view(made[info.name], "an output")
            self._core.read_output(info.name, target)
        return made

    def update_weight(self, name: str, view: _core.TensorView, stream: int | None) -> None:
        raise UsageError("weights are updated on a GPU, and the session runs on the CPU: compile the changed model")

    def profile(self, views: dict, repetitions: int) -> list[dict[str, Any]]:
        raise UsageError("a profile is of kernels, and the session runs on the CPU")


class Session:
    """A model on a device. Threads may share one; their runs follow each other.

    `plan` is a Plan, a plan's file or, with device="cpu", an ONNX model's file. `device` is a CUDA ordinal, or "cpu": the
    interpreter, which needs no GPU, and is slower by far."""

    def __init__(self, plan: Plan | str | os.PathLike[str], device: int | str = 0):
        from smelt._plan import Plan, opened

        if not isinstance(plan, Plan):
            plan = opened(plan)
        if device != "cpu" and (not isinstance(device, int) or isinstance(device, bool)):
            raise TypeError(f"device is {device!r}: give a CUDA ordinal, or 'cpu'")
        self._runner = _Cpu(plan) if device == "cpu" else _Gpu(plan, device)
        self._inputs = {info.name: describe(info) for info in self._runner.inputs}
        self._outputs = {info.name: describe(info) for info in self._runner.outputs}

    @property
    def device_name(self) -> str:
        return self._runner.name

    def get_inputs(self) -> list[TensorInfo]:
        return list(self._inputs.values())

    def get_outputs(self) -> list[TensorInfo]:
        return list(self._outputs.values())

    def run(
        self,
        output_names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        *,
        stream: Any = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """The outputs named, in their order; all of them for None.

        Feeds are NumPy arrays or tensors that speak DLPack, in host or device memory, used where they lie. Where one lies on
        the device, outputs are DeviceTensors, else arrays. `outputs` names memory to fill instead; it is what is returned.

        `stream` is an integer or an object with `cuda_stream`. With one, and all tensors on the device, the call waits for
        nothing: results are there when the stream gets there. Otherwise they are there when it returns."""
        names = list(self._outputs if output_names is None else output_names)
        targets = dict(outputs or {})
        _check_names("output", [*names, *targets], self._outputs)
        handle = None if stream is None else stream_of(stream)
        given = {name: view_of(value, f"output '{name}'", handle or 0, True) for name, value in targets.items()}
        views = self._views(feeds, handle or 0)
        with self._runner.lock:
            made = self._runner.run(views, given, handle)
        return [targets[name] if name in targets else made[name] for name in names]

    def update_weight(self, name: str, values: Any, *, stream: Any = None) -> None:
        """Gives the model's weight (an ONNX initializer) of this name other values: an array or a tensor that speaks DLPack,
        of its type and size. Runs on the same stream see them from then on, as fast as before. `values` must stay as it is
        until the next of them is done. UsageError where the plan computed something of the weight: see smelt.compile's
        `refit`."""
        handle = None if stream is None else stream_of(stream)
        view = view_of(values, f"weight '{name}'", handle or 0)
        with self._runner.lock:
            self._runner.update_weight(name, view, handle)

    def profile(self, feeds: Mapping[str, Any], *, repetitions: int = 20) -> list[dict[str, Any]]:
        """What each launch takes by itself, on the GPU: dictionaries with `number` (of the plan's
        kernels, as `smelt explain` has them), `name`, `time_us` (the median), `bytes`, `flops`, `onnx_nodes`."""
        views = self._views(feeds, 0)
        with self._runner.lock:
            return self._runner.profile(views, repetitions)

    def _views(self, feeds: Mapping[str, Any], stream: int) -> dict[str, _core.TensorView]:
        if not isinstance(feeds, Mapping):
            raise TypeError(f"feeds are of type {type(feeds).__name__}: give a dictionary of tensors by the inputs' names")
        _check_names("input", feeds, self._inputs)
        missing = [name for name in self._inputs if name not in feeds]
        if missing:
            raise UsageError("no value was given for " + ", ".join(f"input '{name}'" for name in missing))
        return {name: view_of(value, f"input '{name}'", stream) for name, value in feeds.items()}


def _check_names(role: str, names: Any, known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            has = ", ".join(f"'{known_name}'" for known_name in known)
            raise UsageError(f"the model has no {role} {name!r}; it has {has}")
