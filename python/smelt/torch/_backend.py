"""torch.compile(model, backend="smelt")."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import is_
from pathlib import Path
from typing import Any

import torch

from smelt._errors import Error, UsageError
from smelt._plan import Model, compile
from smelt._session import Session, SlowDeviceWarning
from smelt.torch._export import Signature, export, signature_of
from smelt.torch._op import Runner

_FALLBACKS = ("error", "eager")


class FallbackWarning(UserWarning):
    """A graph that Smelt cannot compile is run by PyTorch itself."""


class WeightsWarning(UserWarning):
    """Weights were changed after the model was compiled: it is compiled again."""


@dataclass(frozen=True)
class _Options:
    """Those of torch.compile(..., options={...})."""

    fallback: str = "error"
    precision: str = "fp32"
    arch: str | Sequence[str] | None = None  # the GPU's
    cache_dir: str | os.PathLike[str] | None = None

    @staticmethod
    def of(options: Mapping[str, Any] | None) -> _Options:
        known = [option.name for option in fields(_Options)]
        for name in options or {}:
            if name not in known:
                raise UsageError(f"backend 'smelt' has no option {name!r}; it has {', '.join(known)}")
        made = _Options(**(options or {}))
        if made.fallback not in _FALLBACKS:
            raise UsageError(f"option 'fallback' is {made.fallback!r}: give 'error' or 'eager'")
        return made


def backend(
    graph: torch.fx.GraphModule, examples: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Sequence[Any]]:
    """Compiles a graph of TorchDynamo's, weights included, for inference.

    `options`: `fallback`: "eager" has PyTorch run what Smelt cannot compile, with a FallbackWarning, instead of an error;
    `precision` and `cache_dir`: see smelt.compile; `arch`: other than the GPU's own. Sizes are fixed until
    TorchDynamo marks them dynamic, and open then. Tensors on the CPU run in the interpreter, with a SlowDeviceWarning."""
    chosen = _Options.of(options)
    try:
        return _Compiled(graph, examples, chosen)
    except Error as error:
        if chosen.fallback != "eager":
            raise
        warnings.warn(f"PyTorch runs a graph itself: {error}", FallbackWarning, stacklevel=2)
        return graph.forward


class _Compiled:
    """What TorchDynamo calls instead of the graph: the arguments are the graph's, and so are the results."""

    def __init__(self, graph: torch.fx.GraphModule, examples: Sequence[Any], options: _Options):
        _refuse_gradients(examples)
        self._graph, self._options = graph, options
        self._signature = signature_of(graph, examples)
        self._sources = self._signature.sources(graph)
        self._freeze(examples)

    def __call__(self, *arguments: Any) -> list[Any]:
        if not self._weights.are(arguments):
            warnings.warn("the model's weights have changed: it is compiled again", WeightsWarning, stacklevel=2)
            self._freeze(arguments)
        outputs = self._runner.run([arguments[place] for place in self._signature.inputs])
        pools = {"output": outputs, "argument": arguments}
        return [pools[kind][value] if kind in pools else value for kind, value in self._sources]

    def _freeze(self, arguments: Sequence[Any]) -> None:
        self._weights = _Weights(arguments, self._signature.weights)
        self._runner = _runner_of(self._graph, self._signature, arguments, self._options)


class _Weights:
    """Tensors that a plan holds as they were. Notices others, and what was written into them; not `weight.data = other`.

    There are hundreds, looked at in every call: without a function of Python's for each."""

    def __init__(self, arguments: Sequence[Any], places: Sequence[int]):
        self._places = places
        self._tensors = [arguments[place] for place in places]
        self._tracked = [tensor for tensor in self._tensors if not tensor.is_inference()]  # others have no versions
        self._versions = self._current_versions()

    def are(self, arguments: Sequence[Any]) -> bool:
        return all(map(is_, map(arguments.__getitem__, self._places), self._tensors)) and self._current_versions() == self._versions

    def _current_versions(self) -> list[int]:
        return [tensor._version for tensor in self._tracked]


def _refuse_gradients(examples: Sequence[Any]) -> None:
    if torch.is_grad_enabled() and any(isinstance(example, torch.Tensor) and example.requires_grad for example in examples):
        raise UsageError("Smelt computes no gradients: call the model under torch.no_grad() or torch.inference_mode()")


def _runner_of(graph: torch.fx.GraphModule, signature: Signature, arguments: Sequence[Any], options: _Options) -> Runner:
    device = _device_of([arguments[place] for place in [*signature.weights, *signature.inputs]])
    with tempfile.TemporaryDirectory(prefix="smelt-") as folder:
        path = Path(folder, "graph.onnx")
        export(graph, signature, arguments, path)
        if device.type == "cpu":
            warnings.warn("running on the CPU, which is slow: tensors lie there", SlowDeviceWarning, stacklevel=2)
            return Runner(Session(Model(str(path), options.precision), "cpu"), device)
        arch = options.arch or _architecture(device)
        plan = compile(path, precision=options.precision, arch=arch, cache_dir=options.cache_dir)
        return Runner(Session(plan, device.index), device)


def _device_of(tensors: Sequence[torch.Tensor]) -> torch.device:
    """Where the tensors lie, but for single numbers, which may lie on the CPU."""
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        devices = {tensor.device for tensor in tensors if tensor.dim() > 0 or tensor.device.type != "cpu"}
    if len(devices) != 1 or next(iter(devices)).type not in ("cpu", "cuda"):
        names = ", ".join(sorted(map(str, devices)))
        raise UsageError(f"tensors lie on {names or 'no device'}: Smelt runs on one CUDA device, or on the CPU")
    return devices.pop()


def _architecture(device: torch.device) -> str:
    """As smelt.compile names it."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")
