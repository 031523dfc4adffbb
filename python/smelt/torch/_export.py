"""A graph of TorchDynamo's on its way to ONNX: which of its arguments are weights, inputs and sizes, by PyTorch's exporter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from smelt._errors import InvalidModelError, PlatformError


@dataclass
class Signature:
    """What the arguments and results of a graph are, by their places."""

    weights: list[int] = field(default_factory=list)  # tensors that belong to the model
    inputs: list[int] = field(default_factory=list)
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)  # the input whose axis an argument's value is, and the axis
    names: list[str] = field(default_factory=list)  # of the inputs, for messages
    open_axes: list[list[int]] = field(default_factory=list)  # of each input
    results: list[Any] = field(default_factory=list)  # of the graph: nodes, and constants

    @property
    def computed(self) -> list[torch.fx.Node]:
        """The results that are computed, each once; others are arguments, or constants."""
        nodes = [result for result in self.results if isinstance(result, torch.fx.Node) and result.op != "placeholder"]
        return list(dict.fromkeys(nodes))

    def sources(self, graph: torch.fx.GraphModule) -> list[tuple[str, Any]]:
        """Where each result comes from: ("output", its number), ("argument", its place) or ("constant", its value)."""
        arguments = [node for node in graph.graph.nodes if node.op == "placeholder"]
        computed = self.computed

        def source(result: Any) -> tuple[str, Any]:
            if not isinstance(result, torch.fx.Node):
                return "constant", result
            return ("argument", arguments.index(result)) if result in arguments else ("output", computed.index(result))

        return [source(result) for result in self.results]


def signature_of(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> Signature:
    """InvalidModelError where an argument that is used is a number that no input has as a size, or a result is no tensor."""
    found = Signature()
    places: dict[str, tuple[int, int]] = {}
    arguments = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for place, (node, example) in enumerate(zip(arguments, examples, strict=True)):
        if not isinstance(example, torch.Tensor):
            continue
        if (node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type"):
            found.weights.append(place)
            continue
        shape = node.meta["example_value"].shape if "example_value" in node.meta else example.shape
        open_axes = [axis for axis, size in enumerate(shape) if isinstance(size, torch.SymInt)]
        for axis in open_axes:
            places.setdefault(str(shape[axis]), (len(found.inputs), axis))
        found.inputs.append(place)
        found.names.append(node.name)
        found.open_axes.append(open_axes)
    for place, (node, example) in enumerate(zip(arguments, examples)):
        if not isinstance(example, torch.Tensor) and node.users:
            found.sizes[place] = _size_place(node, example, places)
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    found.results = list(output.args[0])
    for node in found.computed:
        value = node.meta.get("example_value")
        if value is not None and not isinstance(value, torch.Tensor):
            raise InvalidModelError(f"the graph returns '{node.name}', which is no tensor")
    return found


def _size_place(node: torch.fx.Node, example: Any, places: dict[str, tuple[int, int]]) -> tuple[int, int]:
    if str(example) not in places:
        raise InvalidModelError(
            f"the graph takes '{node.name}', a {type(example).__name__} that is the size of no input: pass it as a tensor"
        )
    return places[str(example)]


class _TensorsAlone(torch.nn.Module):
    """The graph with its weights inside: inputs in, computed results out."""

    def __init__(self, graph: torch.fx.GraphModule, signature: Signature, examples: Sequence[Any]):
        super().__init__()
        self._graph, self._signature, self._count = graph, signature, len(examples)
        for place in signature.weights:
            self.register_buffer(f"weight_{place}", examples[place].detach())
        self._kept = [signature.results.index(node) for node in signature.computed]

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        arguments: list[Any] = [None] * self._count
        for place in self._signature.weights:
            arguments[place] = getattr(self, f"weight_{place}")
        for place, tensor in zip(self._signature.inputs, inputs):
            arguments[place] = tensor
        for place, (number, axis) in self._signature.sizes.items():
            arguments[place] = inputs[number].shape[axis]
        results = self._graph(*arguments)
        return tuple(results[place] for place in self._kept)


def export(graph: torch.fx.GraphModule, signature: Signature, examples: Sequence[Any], path: Path) -> None:
    """Writes the graph as an ONNX model whose inputs and outputs are the signature's, weights in a file beside it."""
    module = _TensorsAlone(graph, signature, examples).eval()
    inputs = tuple(examples[place] for place in signature.inputs)
    is_open = any(signature.open_axes)
    dims = [{axis: torch.export.Dim.DYNAMIC for axis in axes} for axes in signature.open_axes]
    try:
        # Else the export would add its symbols to those of the compilation that it is part of, whose guards then fail.
        with torch._guards.tracing(None), torch.no_grad():
            program = torch.export.export(module, inputs, dynamic_shapes=(tuple(dims),) if is_open else None, strict=False)
            program = program.run_decompositions({})  # writes in place become outputs
            _refuse_writes(program, signature)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the exporter's own making
                torch.onnx.export(program, dynamo=True, verbose=False).save(path, external_data=True)
    except ImportError as error:
        raise PlatformError(f"PyTorch's ONNX exporter needs a package: {error}; pip install 'smelt[torch]'") from error
    except torch.onnx.errors.OnnxExporterError as error:
        raise InvalidModelError(f"PyTorch's exporter has no ONNX for the graph: {_reason(error)}") from error
    except (torch._dynamo.exc.UserError, RuntimeError) as error:
        raise InvalidModelError(f"PyTorch's exporter refuses the graph: {_first_line(error)}") from error


def _refuse_writes(program: torch.export.ExportedProgram, signature: Signature) -> None:
    written = program.graph_signature
    if written.user_inputs_to_mutate or written.buffers_to_mutate:
        names = [*written.user_inputs_to_mutate.values(), *written.buffers_to_mutate.values()]
        raise InvalidModelError(f"the graph writes into its inputs or weights ({', '.join(names)})")


def _reason(error: BaseException) -> str:
    """What the innermost cause says, which names the operator."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
