#!/usr/bin/env python3
"""Norms and softmax over rows in fp16 against PyTorch's eager kernels and torch.compile, on one GPU, in one run.

usage: tools/bench/rowwise.py [--set all] [--rows layer_norm,w4096] [--limit S] [--json tools/bench/results/rowwise.json]

LayerNorm and RMSNorm with their vectors, softmax, and LayerNorm of a sum that is kept too, as blocks with residuals take it, over
4,096 to 65,536 rows of 768 to 16,384 elements. The peer is the faster of both. Both sides take turns on cold operands
(tools/bench/turns.py).
"""

import itertools
import sys

import kernel_bench
import kernel_rows
from kernel_rows import Row, Tensor
from onnx import helper

SETS = ("all",)
ROWS, WIDTHS = (4096, 16384, 65536), (768, 1024, 4096, 8192, 16384)
EPSILON = 1e-5
VECTORS = {"layer_norm": ("scale", "bias"), "rms_norm": ("scale",), "softmax": (), "residual_layer_norm": ("scale", "bias")}


def layer_norm(source):
    return helper.make_node("LayerNormalization", [source, "scale", "bias"], ["y"], epsilon=EPSILON)


NODES = {
    "layer_norm": [layer_norm("x")],
    "rms_norm": [helper.make_node("RMSNormalization", ["x", "scale"], ["y"], epsilon=EPSILON)],
    "softmax": [helper.make_node("Softmax", ["x"], ["y"])],
    "residual_layer_norm": [helper.make_node("Add", ["x", "r"], ["sum"]), layer_norm("sum")],
}


def make_row(op, count, width):
    operand = Tensor((count, width))
    residual = op == "residual_layer_norm"
    inputs = {"x": operand, **({"r": operand} if residual else {})}
    outputs = {"y": operand, **({"sum": operand} if residual else {})}

    def build(folder):
        vectors = [kernel_rows.constant(name, vector(name, width)) for name in VECTORS[op]]
        return kernel_rows.model_of(inputs, outputs, NODES[op], vectors)

    return Row(
        name=f"{op}_r{count}_w{width}",
        inputs=inputs,
        outputs=outputs,
        build=build,
        flops=0,
        weight_bytes=Tensor((width,)).bytes * len(VECTORS[op]),
        tolerance=5e-3,
        facts={"op": op, "rows": count, "width": width},
    )


def vector(name, width):
    return kernel_rows.draw((width,), "float16", seed={"scale": 2, "bias": 3}[name])


def rows(kind):
    return [make_row(op, count, width) for op, width, count in itertools.product(NODES, WIDTHS, ROWS)]


class Peers:
    """PyTorch's functions for a row, as they are and compiled."""

    def __init__(self):
        import torch

        self.torch = torch

    def __call__(self, row, sets):
        function = self._function(row.facts["op"], row.facts["width"])
        self.torch._dynamo.reset()  # after eight shapes it would compile no more
        functions = {"eager": function, "torch.compile": self.torch.compile(function, dynamic=False)}
        return {label: (lambda index, each=each: each(**sets[index])) for label, each in functions.items()}

    def _function(self, op, width):
        """From the inputs of a row to its outputs."""
        functional, size = self.torch.nn.functional, (width,)
        scale, bias = (self.torch.from_numpy(vector(name, width)).cuda() for name in ("scale", "bias"))
        if op == "layer_norm":
            return lambda x: functional.layer_norm(x, size, scale, bias, EPSILON)
        if op == "rms_norm":
            return lambda x: functional.rms_norm(x, size, scale, EPSILON)
        if op == "softmax":
            return lambda x: functional.softmax(x, -1)

        def residual(x, r):
            sum = x + r
            return functional.layer_norm(sum, size, scale, bias, EPSILON), sum

        return residual


def main():
    arguments = kernel_bench.parse(__doc__.splitlines()[0], SETS)
    return kernel_bench.run("rowwise", rows(arguments.set), arguments, Peers)


if __name__ == "__main__":
    sys.exit(main())
