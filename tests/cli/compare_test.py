"""smelt compare: a wrong device is found out, and the first fusion and tensor that are wrong are named, or the casts to blame; the
limit follows what was computed.

The device is the fake driver, on which every kernel leaves its results as they are: zeros.
"""

import os
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import support
from support import ACCURACY, OK, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake
DEMO = Path(__file__).parents[2] / "tools" / "demo" / "digits_vit.onnx"


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

    def test_the_first_wrong_tensor_is_named(self):
        model = self.save(two_fusions())
        compare = ("compare", model, "--device", "cuda", "--shape", "x=3x64", "--all-tensors")
        self.expect(ACCURACY, *compare, says="the first tensor that differs is 'a' of MatMul /first/MatMul, left by kernel 0")
        report = self.expect_json("smelt.compare/1", *compare, code=ACCURACY)
        self.assertEqual(report["first_wrong_tensor"], "a")
        self.assertTrue(report["keeps_bits"])


def overflowing_model():
    """Two products behind each other, of which the first leaves what 16 bits do not hold."""
    weights = [support.constant(name, np.full((8, 8), value, np.float32)) for name, value in (("w", 10), ("v", 1))]
    weights.append(support.constant("tiny", np.float32(1e-4)))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="/first/MatMul"),
        helper.make_node("MatMul", ["p", "v"], ["q"], name="/second/MatMul"),
        helper.make_node("Mul", ["q", "tiny"], ["y"], name="/scale/Mul"),
    ]
    infos = [support.tensor_info(name, ["n", 8]) for name in "xy"]
    return support.model(nodes, infos[:1], infos[1:], weights)


class Bisect(CliTest):
    """On the CPU the fused model in float32, or in 16 bits, is the device."""

    def bisect(self, code, magnitude, *flags):
        model = self.save(overflowing_model())
        self.array("x", np.full((3, 8), magnitude, np.float32))
        compare = ("compare", model, "--device", "cpu", "--bisect", "--input", "x=@x.npy", *flags)
        self.expect(code, *compare)
        return self.expect_json("smelt.compare/1", *compare, code=code), self.smelt(*compare).stderr

    def test_every_fusion_is_judged_where_outputs_agree(self):
        report, _ = self.bisect(OK, 10000)
        self.assertEqual([fusion["agrees"] for fusion in report["fusions"]], [True, True])
        self.assertEqual(report["casts"], [])

    def test_the_casts_are_found(self):
        report, text = self.bisect(ACCURACY, 10000, "--precision", "fp16")
        self.assertEqual([cast["onnx_nodes"] for cast in report["casts"]], ["/first/MatMul", "/second/MatMul"])
        for said in ("every fusion agrees on the inputs that it had", "not cast to 16 bits:\n", "matmul of /first/MatMul"):
            self.assertIn(said, text)
        report, _ = self.bisect(OK, 10000, "--precision", "bf16")  # whose range is that of float32
        self.assertEqual(report["casts"], [])

    def test_casts_are_not_blamed_for_what_float32_does_too(self):
        compare = ("compare", DEMO, "--device", "cpu", "--bisect", "--precision", "fp16", "--tolerance", 0)
        self.expect(ACCURACY, *compare, says="no cast is to blame alone: ")
        self.assertEqual(self.expect_json("smelt.compare/1", *compare, code=ACCURACY)["casts"], [])


class AllTensors(CliTest):
    def tensors(self, code, *compare):
        report = self.expect_json("smelt.compare/1", "compare", *compare, "--device", "cpu", "--all-tensors", code=code)
        self.assertTrue(report["keeps_bits"])
        return report, {tensor["name"]: tensor for tensor in report["tensors"]}

    def test_in_the_order_of_the_graph(self):
        report, tensors = self.tensors(OK, DEMO)
        self.assertIsNone(report["first_wrong_tensor"])
        nodes = onnx.load(DEMO).graph.node
        order = {output: place for place, node in enumerate(nodes) for output in node.output}
        places = [order[name] for name in tensors]
        self.assertEqual(places, sorted(places))
        self.assertEqual(len(tensors) + report["unknown_tensors"], len(order))
        self.assertGreater(len(tensors), 50)
        self.assertEqual({tensor["inside"] for tensor in tensors.values()}, {True, False})
        self.assertGreater(sum(tensor["relative_norm"] > 0 for tensor in tensors.values()), 50)  # float32 beside double

    def test_outputs_are_those_without_it(self):
        report, _ = self.tensors(OK, DEMO)
        plain = self.expect_json("smelt.compare/1", "compare", DEMO, "--device", "cpu")
        self.assertGreater(plain["outputs"][0]["relative_norm"], 0)  # which another bit would change
        self.assertEqual(report["outputs"], plain["outputs"])

    def test_values_inside_of_a_kernel(self):
        nodes = [
            helper.make_node("Exp", ["x"], ["e"], name="/exp"),
            helper.make_node("Sub", ["e", "y0"], ["s"], name="/sub"),
            helper.make_node("Tanh", ["s"], ["y"], name="/tanh"),
        ]
        infos = [support.tensor_info(name, [5, 7]) for name in ("x", "y0", "y")]
        model = self.save(support.model(nodes, infos[:2], infos[2:]))
        _, tensors = self.tensors(OK, model)
        self.assertEqual([(tensor["onnx_node"], tensor["inside"]) for tensor in tensors.values()], [("/exp", True), ("/sub", True), ("/tanh", False)])
        self.assertEqual(tensors["s"]["shape"], [5, 7])
        self.expect(ACCURACY, "compare", model, "--device", "cpu", "--all-tensors", "--tolerance", 0, says="'e' of Exp /exp, inside kernel 0")

    def test_what_passes_change_is_not_judged(self):
        """Two signs cancel: what was between them is nowhere."""
        nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Neg", ["n"], ["m"]), helper.make_node("Exp", ["m"], ["y"])]
        infos = [support.tensor_info(name, [4]) for name in "xy"]
        report, tensors = self.tensors(OK, self.save(support.model(nodes, infos[:1], infos[1:])))
        self.assertEqual((list(tensors), report["unknown_tensors"]), (["y"], 2))

    def test_weights_that_were_rounded_are_no_other_tensors(self):
        _, tensors = self.tensors(OK, DEMO, "--precision", "fp16")
        _, wide = self.tensors(OK, DEMO)
        self.assertGreater(len(tensors), 0.9 * len(wide))

    def test_the_first_that_16_bits_do_not_hold(self):
        self.array("x", np.full((3, 8), 10000, np.float32))
        report, tensors = self.tensors(ACCURACY, self.save(overflowing_model()), "--precision", "fp16", "--input", "x=@x.npy")
        self.assertEqual((report["first_wrong_tensor"], tensors["p"]["inside"]), ("p", False))


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
