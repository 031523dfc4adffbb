"""The shapes of outputs from those of inputs, as a model's extents spell them: "batch", "2*length", "floordiv(s, 2) + 1"."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smelt._errors import UsageError
from smelt._tensor import TensorInfo

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": operator.floordiv,
    "ceildiv": lambda left, right: -(-left // right),
    "mod": operator.mod,
    "min": min,
    "max": max,
}


class OutputShapes:
    """Sizes may be integers, or what counts like them: PyTorch's symbolic ones, with `functions` for min and max."""

    def __init__(
        self,
        inputs: Sequence[TensorInfo],
        outputs: Sequence[TensorInfo],
        functions: Mapping[str, Callable[[Any, Any], Any]] | None = None,
    ):
        self._functions = {**_FUNCTIONS, **(functions or {})}
        self._places: dict[str, tuple[int, int]] = {}  # of a size: the input, and its axis
        for number, info in enumerate(inputs):
            for axis, extent in enumerate(info.shape):
                if isinstance(extent, str):
                    self._places.setdefault(extent, (number, axis))
        names = sorted(self._places, key=len, reverse=True)
        self._standins = {name: f"size{number}" for number, name in enumerate(names)}
        self._pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names) or r"(?!)")
        self._shapes = [[self._parsed(extent) for extent in info.shape] for info in outputs]

    def of(self, shapes: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Of the outputs, for these of the inputs."""
        sizes = {self._standins[name]: shapes[number][axis] for name, (number, axis) in self._places.items()}
        return [tuple(self._value(extent, sizes) for extent in shape) for shape in self._shapes]

    def _parsed(self, extent: int | str) -> int | ast.expr:
        if isinstance(extent, int):
            return extent
        spelled = self._pattern.sub(lambda found: self._standins[found[0]], extent)  # a name may hold any character
        try:
            return ast.parse(spelled, mode="eval").body
        except SyntaxError:
            raise UsageError(f"the size {extent!r} of an output is no expression of sizes of inputs") from None

    def _value(self, node: int | ast.expr, sizes: Mapping[str, Any]) -> Any:
        match node:
            case int():
                return node
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name) if name in sizes:
                return sizes[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand, sizes)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._value(left, sizes), self._value(right, sizes))
            case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in self._functions:
                return self._functions[name](self._value(left, sizes), self._value(right, sizes))
        raise UsageError(f"the size '{ast.unparse(node)}' of an output is no expression of sizes of inputs")
