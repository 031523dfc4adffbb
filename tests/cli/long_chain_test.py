"""Models of very many nodes: the compiler's time stays in proportion, and nothing recurses over the model."""

import resource

from onnx import helper

import support
from support import OK, CliTest

OPERATORS = ("Tanh", "Sigmoid", "Relu")
MOST_SECONDS = 12  # of processor time; what is quadratic in the nodes takes twice as long at least


def chain(length, shape):
    names = ["x", *(f"t{i}" for i in range(1, length)), "y"]
    nodes = [
        helper.make_node(OPERATORS[i % 3], names[i : i + 1], names[i + 1 : i + 2])
        for i in range(length)
    ]
    return support.model(
        nodes, [support.tensor_info("x", shape)], [support.tensor_info("y", shape)]
    )


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class LongChain(CliTest):
    def test_static_sizes(self):
        path = self.save(chain(20_000, [8]))
        before = processor_seconds()
        for emit in ("mlir", "cuda"):
            self.expect(OK, "compile", path, "--emit", emit, "-o", f"out.{emit}")
        self.assertLess(processor_seconds() - before, MOST_SECONDS)

    def test_kernels_are_limited(self):
        path = self.save(chain(20_000, [8]))
        report = self.expect_json("smelt.explain/1", "explain", path)
        self.assertGreaterEqual(report["counts"]["kernels"], 20_000 // 256)

    def test_dynamic_sizes(self):
        path = self.save(chain(150_000, ["n"]))
        self.expect(OK, "compile", path, "--emit", "cuda", "-o", "out.cu")


if __name__ == "__main__":
    support.main()
