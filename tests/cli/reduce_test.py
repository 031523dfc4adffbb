"""smelt compare --reduce: the smallest part of a model that fails is a model of its own, which fails with the inputs beside it."""

import os
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, helper

import support
from support import ACCURACY, OK, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


def long_model():
    """Among harmless ops two products, of which the first leaves what 16 bits do not hold."""
    chain = [("Abs", "x"), ("Sqrt",), ("Mul", "scale"), ("MatMul", "w"), ("MatMul", "v"), ("Mul", "tiny"), ("Tanh",), ("Neg",), ("Exp",)]
    nodes, value = [], "x"
    for place, (op, *others) in enumerate(chain):
        others = [] if op == "Abs" else others
        nodes.append(helper.make_node(op, [value, *others], [f"t{place}"], name=f"/{place}/{op}"))
        value = f"t{place}"
    nodes[-1].output[0] = "y"
    weights = {"scale": np.float32(1e4), "w": np.full((8, 8), 10, np.float32), "v": np.ones((8, 8), np.float32), "tiny": np.float32(1e-8)}
    infos = [support.tensor_info(name, ["n", 8]) for name in "xy"]
    return support.model(nodes, infos[:1], infos[1:], [support.constant(*weight) for weight in weights.items()])


class Reduce(CliTest):
    def setUp(self):
        super().setUp()
        self.small = self.folder / "small.onnx"

    def reduce(self, code, model, *flags, says=()):
        return self.expect(code, "compare", model, *flags, "--reduce", "-o", self.small, says=says)

    def nodes(self):
        small = onnx.load(self.small)
        onnx.checker.check_model(small)
        return [node.name for node in small.graph.node]

    def test_the_op_that_fails(self):
        model = self.save(long_model())
        half = ("--device", "cpu", "--precision", "fp16")
        flags = (*half, "--shape", "x=3x8", "--tolerance", 0.02)
        done = self.reduce(ACCURACY, model, *flags)
        self.assertEqual(self.nodes(), ["/4/MatMul"])
        self.assertIn("1 of 9 nodes", done.stdout)
        with np.load(self.folder / "small.npz") as inputs:
            self.assertEqual([(name, inputs[name].shape) for name in inputs.files], [("t3", (3, 8))])
            self.assertGreater(inputs["t3"].max(), 65504)
        given = ("--input", "@small.npz", "--tolerance", 0.02)
        report = self.expect_json("smelt.compare/1", "compare", self.small, *half, *given, code=ACCURACY)
        self.assertEqual([output["name"] for output in report["outputs"]], ["t4"])
        self.expect(OK, "compare", self.small, "--device", "cpu", *given)  # in float32
        report = self.expect_json("smelt.compare/1", "compare", model, *flags, "--reduce", "-o", self.small, code=ACCURACY)
        self.assertEqual(report["reduced"], {"model": str(self.small), "inputs": str(self.folder / "small.npz"), "nodes": 1, "of": 9})

    def test_ops_that_fail_together(self):
        """Each product rounds once; two do so more than one."""
        draw = np.random.default_rng(0)
        nodes = [helper.make_node("MatMul", [f"t{i}", f"w{i}"], [f"t{i + 1}"], name=f"/{i}/MatMul") for i in range(6)]
        weights = [support.constant(f"w{i}", (draw.normal(size=(64, 64)) / 8).astype(np.float32)) for i in range(6)]
        infos = [support.tensor_info(name, ["n", 64]) for name in ("t0", "t6")]
        model = self.save(support.model(nodes, infos[:1], infos[1:], weights))
        flags = ("--device", "cpu", "--precision", "fp16")
        report = self.expect_json("smelt.compare/1", "compare", model, *flags, "--all-tensors")
        errors = [tensor["relative_norm"] for tensor in report["tensors"]]
        self.reduce(ACCURACY, model, *flags, "--tolerance", 0.9 * errors[2])
        self.assertIn(len(self.nodes()), (2, 3))
        self.expect(ACCURACY, "compare", self.small, *flags, "--input", "@small.npz", "--tolerance", 0.9 * errors[2])

    def test_weights_of_other_files_come_along(self):
        folder = self.folder / "model"
        folder.mkdir()
        model = long_model()
        external_data_helper.convert_model_to_external_data(model, location="weights.bin", size_threshold=100)
        onnx.save(model, folder / "model.onnx")
        self.assertTrue((folder / "weights.bin").exists())
        self.reduce(ACCURACY, folder / "model.onnx", "--device", "cpu", "--precision", "fp16", "--tolerance", 0.02)
        self.assertEqual(self.nodes(), ["/4/MatMul"])
        (weight,) = onnx.load(self.small, load_external_data=False).graph.initializer
        self.assertEqual(len(weight.raw_data), 8 * 8 * 4)

    @unittest.skipUnless(Path(FAKE_DRIVER, "libcuda.so.1").exists(), "sanitizers' build has no driver to open by name")
    def test_a_device_that_computes_nothing(self):
        """Whatever is left fails: one op."""
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.reduce(ACCURACY, self.save(long_model()), "--device", "cuda")
        self.assertEqual(len(self.nodes()), 1)

    @unittest.skipUnless(Path(FAKE_DRIVER, "libcuda.so.1").exists(), "sanitizers' build has no driver to open by name")
    def test_values_that_the_structure_depends_on(self):
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["r"], name="/sum", keepdims=0), helper.make_node("Exp", ["r"], ["y"])]
        inputs = [support.tensor_info("x", [4, 5]), support.tensor_info("axes", [1], TensorProto.INT64)]
        model = self.save(support.model(nodes, inputs, [support.tensor_info("y", None)]))
        self.array("axes", np.array([1]))
        self.reduce(ACCURACY, model, "--device", "cuda", "--input", "axes=@axes.npy")
        self.assertEqual(self.nodes(), ["/sum"])
        with np.load(self.folder / "small.npz") as inputs:
            self.assertEqual((sorted(inputs.files), list(inputs["axes"])), (["axes", "x"], [1]))
        self.expect(ACCURACY, "compare", self.small, "--device", "cuda", "--input", "@small.npz")

    def test_nothing_to_reduce(self):
        self.reduce(OK, self.save(support.scale_model()), "--device", "cpu", says="nothing to reduce")
        self.assertFalse(self.small.exists())

    def test_where_to(self):
        model = self.save(long_model())
        self.expect(USAGE, "compare", model, "--reduce", says="where to? Give -o small.onnx")
        self.expect(USAGE, "compare", model, "-o", self.small, says="give both")
        self.expect(USAGE, "compare", model, "--reduce", "-o", "small.txt", says="small.txt: --reduce writes an .onnx")
        self.expect(USAGE, "compare", model, "--reduce", "-o", model, says="own file")
        failing = ("--device", "cpu", "--precision", "fp16", "--tolerance", 0.02)
        self.expect(support.RESOURCES, "compare", model, *failing, "--reduce", "-o", "nowhere/small.onnx", says="nowhere")


if __name__ == "__main__":
    unittest.main()
