"""Sessions, with ONNX Runtime's signature."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smelt import _core
from smelt._tensor import TensorInfo, describe

if TYPE_CHECKING:
    from smelt._plan import Plan


class SlowDeviceWarning(UserWarning):
    """There is no GPU: the model runs in the interpreter, on the CPU."""


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
        self._core = _opened(plan, device)
        self._inputs = [describe(info) for info in self._core.inputs]
        self._outputs = [describe(info) for info in self._core.outputs]
        self._output_names = [info.name for info in self._outputs]

    @property
    def device_name(self) -> str:
        return self._core.device_name

    def get_inputs(self) -> list[TensorInfo]:
        return list(self._inputs)

    def get_outputs(self) -> list[TensorInfo]:
        return list(self._outputs)

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
        For each output, the memory of two DeviceTensors that are gone is kept for the next runs.

        `stream` is an integer or an object with `cuda_stream`. With one, and all tensors on the device, the call waits for
        nothing: results are there when the stream gets there. Otherwise they are there when it returns. The CPU has no
        streams."""
        return self._core.run(output_names, feeds, stream, outputs)

    def update_weight(self, name: str, values: Any, *, stream: Any = None) -> None:
        """Gives the model's weight (an ONNX initializer) of this name other values: an array or a tensor that speaks DLPack,
        of its type and size. Runs on the same stream see them from then on, as fast as before. `values` must stay as it is
        until the next of them is done. UsageError where the plan computed something of the weight: see smelt.compile's
        `refit`; on the CPU also for all weights of a model in 16 bits."""
        self._core.update_weight(name, values, stream)

    def profile(self, feeds: Mapping[str, Any], *, repetitions: int = 20) -> list[dict[str, Any]]:
        """What each launch takes by itself, on the GPU: dictionaries with `number` (of the plan's
        kernels, as `smelt explain` has them), `name`, `time_us` (the median), `bytes`, `flops`, `onnx_nodes`."""
        return self._core.profile(feeds, repetitions)


def _opened(plan: Plan, device: int | str) -> _core.DeviceSession:
    if device == "cpu":
        return _core.DeviceSession.on_cpu(plan._compilation())
    if plan._bytes is None:
        return _core.DeviceSession(plan._path, device)
    return _core.DeviceSession.from_bytes(plan._bytes, device)
