"""smelt compare: a wrong device is found out, and the first fusion that is wrong is named; the limit follows what was computed.

The device is the fake driver, on which every kernel leaves its results as they are: zeros.
"""

import os
import unittest

import numpy as np
from onnx import TensorProto, helper

import support
from support import ACCURACY, OK, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


def two_fusions():
    """A product and, behind a softmax that no product's epilogue takes, another one."""
    weights = [support.constant("w", np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32))]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="/first/MatMul"),
        helper.make_node("Softmax", ["a"], ["y"], name="/Softmax"),
    ]
    infos = [support.tensor_info(name, ["n", 64]) for name in ("x", "y")]
    return support.model(nodes, infos[:1], infos[1:], weights)


class WrongDevice(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER

    def test_the_first_wrong_fusion_is_named(self):
        model = self.save(two_fusions())
        compare = ("compare", model, "--device", "cuda", "--shape", "x=3x64")
        self.expect(ACCURACY, *compare, says=("the first fusion that differs", "kernel 0", "/first/MatMul"))
        report = self.expect_json("smelt.compare/1", *compare, code=ACCURACY)
        self.assertFalse(report["agrees"])
        self.assertGreaterEqual(len(report["fusions"]), 2)
        self.assertFalse(report["fusions"][0]["agrees"])



class Limits(CliTest):
    def test_a_double_that_was_a_float_is_judged_as_one(self):
        nodes = [
            helper.make_node("Softmax", ["x"], ["s"]),
            helper.make_node("Cast", ["s"], ["y"], to=TensorProto.DOUBLE),
            helper.make_node("Mul", ["d", "d"], ["z"]),
        ]
        inputs = [support.tensor_info("x", [8, 64]), support.tensor_info("d", [8], TensorProto.DOUBLE)]
        outputs = [support.tensor_info("y", [8, 64], TensorProto.DOUBLE), support.tensor_info("z", [8], TensorProto.DOUBLE)]
        model = self.save(support.model(nodes, inputs, outputs))
        report = self.expect_json("smelt.compare/1", "compare", model, "--device", "cpu", code=OK)
        self.assertEqual([output["tolerance"] for output in report["outputs"]], [2e-5, 1e-10])


if __name__ == "__main__":
    unittest.main()
