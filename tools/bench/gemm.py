#!/usr/bin/env python3
"""Matrix products with constant weights against cuBLASLt's best, on one GPU, in one run.

usage: tools/bench/gemm.py [--set fp16|bf16|odd|epilogue|fp8|int8] [--rows m512,n768] [--limit S] [--json tools/bench/results/gemm.json]

y [M, N] = x [M, K] W [K, N] for M in 1 to 16384 and the weights of BERT, and of Llama 3 at 8 billion; fp8 and int8 from M = 2048
on. The set `odd` is fp16 at 77 to 3,152 rows, which no tile divides, and the weights of MiniLM, Whisper, BERT-large and Llamas of 1
and 7 billion. The set `epilogue` is gelu(x W + b) + r, of which cuBLASLt fuses all but the last sum; that one is a kernel of PyTorch. fp8 is
e4m3 in, fp16 out, accumulated fast; int8 goes in and out by one scale each. The peer is the best of up to 16 algorithms that
cuBLASLt's heuristic proposes, for weights as they are and transposed, each of them timed. Both sides take turns on cold operands
(tools/bench/turns.py).
"""

import itertools
import sys

import kernel_bench
import kernel_rows
from kernel_rows import Row, Tensor
from onnx import helper

M = (1, 8, 16, 64, 128, 512, 2048, 4096, 16384)
NK = ((768, 768), (2304, 768), (3072, 768), (768, 3072), (4096, 4096), (14336, 4096), (4096, 14336))
ODD_M = (77, 197, 513, 1000, 3152)
ODD_NK = ((384, 384), (1536, 384), (384, 1536), (512, 512), (2048, 512), (512, 2048), (1024, 1024), (3072, 1024), (4096, 1024),
          (1024, 4096), (1280, 1280), (5120, 1280), (1280, 5120), (2048, 2048), (8192, 2048), (2048, 8192), (11008, 4096),
          (4096, 11008), (1000, 768))
SETS = ("fp16", "bf16", "odd", "epilogue", "fp8", "int8")
ELEMENTS = {"fp16": "float16", "bf16": "bfloat16", "odd": "float16", "epilogue": "float16", "fp8": "float8_e4m3fn", "int8": "int8"}
BYTES_FROM = 2048  # M of 8-bit rows
INT8_DEVIATION = 30  # of int8 results


def weights_name(n, k, element):
    return f"w_{k}x{n}_{element}.bin"


def weights(n, k, element):
    return kernel_rows.draw((k, n), element, k**-0.5)


def write_weights(folder, chosen, element):
    """The files that models of these rows share."""
    for n, k in dict.fromkeys((row.facts["n"], row.facts["k"]) for row in chosen):
        weights(n, k, element).tofile(folder / weights_name(n, k, element))


def plain_nodes(chosen, n):
    return [helper.make_node("MatMul", ["x", "w"], ["y"])], []


def epilogue_nodes(chosen, n):
    bias = kernel_rows.constant("b", kernel_rows.draw((n,), "float16"))
    return [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["biased"]),
        helper.make_node("Gelu", ["biased"], ["gelu"], approximate="tanh"),
        helper.make_node("Add", ["gelu", "r"], ["y"]),
    ], [bias]


def fp8_nodes(chosen, n):
    one = kernel_rows.constant("one", 1, "float16")
    nodes = [helper.make_node("DequantizeLinear", [name, "one"], [f"{name}_half"]) for name in "xw"]
    return [*nodes, helper.make_node("MatMul", ["x_half", "w_half"], ["y"])], [one]


def int8_scale(k):
    """Of the result: sums of products of integers up to 127 deviate by 73.6^2 sqrt(k)."""
    return 73.6**2 * k**0.5 / INT8_DEVIATION


def int8_nodes(chosen, n):
    constants = {"one": 1, "result": int8_scale(chosen["k"])}
    scales = [kernel_rows.constant(name, value, "float32") for name, value in constants.items()]
    nodes = [helper.make_node("DequantizeLinear", [name, "one", "zero"], [f"{name}_float"]) for name in "xw"]
    product = helper.make_node("MatMul", ["x_float", "w_float"], ["product"])
    return [*nodes, product, helper.make_node("QuantizeLinear", ["product", "result", "zero"], ["y"])], [
        *scales, kernel_rows.constant("zero", 0, "int8")]


NODES = {"fp16": plain_nodes, "bf16": plain_nodes, "odd": plain_nodes, "epilogue": epilogue_nodes, "fp8": fp8_nodes, "int8": int8_nodes}
RESULTS = {"fp8": "float16"}
TOLERANCES = {"bf16": 1e-2, "int8": 3e-2}


def make_row(kind, m, n, k):
    element = ELEMENTS[kind]
    result = RESULTS.get(kind, element)
    inputs = {"x": Tensor((m, k), element)}
    if kind == "epilogue":
        inputs["r"] = Tensor((m, n), result)
    outputs, facts = {"y": Tensor((m, n), result)}, {"m": m, "n": n, "k": k}

    def build(folder):
        nodes, constants = NODES[kind](facts, n)
        weight = kernel_rows.external("w", (k, n), element, weights_name(n, k, element))
        return kernel_rows.model_of(inputs, outputs, nodes, [weight, *constants])

    return Row(
        name=f"m{m}_n{n}_k{k}",
        inputs=inputs,
        outputs=outputs,
        build=build,
        flops=2 * m * n * k,
        weight_bytes=Tensor((k, n), element).bytes,
        arithmetic="byte" if kind in ("fp8", "int8") else "half",
        tolerance=TOLERANCES.get(kind, 5e-3),
        facts=facts,
    )


def rows(kind):
    sizes = [m for m in M if kind not in ("fp8", "int8") or m >= BYTES_FROM]
    pairs = itertools.product(ODD_NK, ODD_M) if kind == "odd" else itertools.product(NK, sizes)
    return [make_row(kind, m, n, k) for (n, k), m in pairs]


def transposed(weight):
    """[n, k] of [k, n]; by integers, because not every op takes floats of 8 bits."""
    import torch

    integers = {1: torch.int8, 2: torch.int16}[weight.element_size()]
    return weight.view(integers).t().contiguous().view(weight.dtype)


def failing(error):
    def call(index):
        raise error

    return call


class Peers:
    """cuBLASLt's algorithms for a row, on weights of each set's own."""

    def __init__(self, kind):
        import cublaslt

        self.kind, self.library, self.last = kind, cublaslt.Library(), (None, None)

    def weights(self, n, k):
        """On the device, as [k, n]; those of the last row are kept."""
        import torch

        if self.last[0] != (n, k):
            element = ELEMENTS[self.kind]
            raw = torch.from_numpy(weights(n, k, element).reshape(-1).view("uint8"))
            self.last = ((n, k), raw.cuda().view(getattr(torch, element)).reshape(k, n))
        return self.last[1]

    def __call__(self, row, sets):
        n, k = row.facts["n"], row.facts["k"]
        straight = self.weights(n, k)
        calls = {}
        # 8-bit products read both operands along K.
        for layout in (True,) if self.kind in ("fp8", "int8") else (False, True):
            label = "TN" if layout else "NN"
            try:
                calls |= self._calls(row, sets, layout, label, transposed(straight) if layout else straight)
            except RuntimeError as error:
                calls[label] = failing(error)
        return calls

    def _calls(self, row, sets, is_transposed, label, weight):
        import cublaslt
        import torch
        import turns

        sizes = [row.facts[name] for name in "mnk"]
        alpha = 1 / int8_scale(row.facts["k"]) if self.kind == "int8" else 1.0
        fused = self.kind == "epilogue"
        product = cublaslt.Product(self.library, sizes, ELEMENTS[self.kind], row.outputs["y"].element, is_transposed, fused, alpha)
        copies = [weight.clone() for _ in sets]
        bias = torch.from_numpy(kernel_rows.draw((sizes[1],), "float16")).cuda() if fused else None
        results = [turns.empty_tensor(row.outputs["y"]) for _ in sets]

        def call_of(algorithm):
            def call(index):
                product.run(algorithm, sets[index]["x"], copies[index], results[index], bias)
                return results[index].add_(sets[index]["r"]) if fused else results[index]

            return call

        return {f"{label} #{i}": call_of(algorithm) for i, algorithm in enumerate(product.algorithms)}


def main():
    arguments = kernel_bench.parse(__doc__.splitlines()[0], SETS)
    chosen = rows(arguments.set)
    prepare = lambda folder, taken: write_weights(folder, taken, ELEMENTS[arguments.set])
    return kernel_bench.run("gemm", chosen, arguments, lambda: Peers(arguments.set), prepare=prepare)


if __name__ == "__main__":
    sys.exit(main())
