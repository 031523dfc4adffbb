"""smelt compare --plan: what is inside of a given plan is judged by the plan's own kernels, and --reduce compiles as the plan was.

The device is the fake driver, on which every kernel leaves its results as they are: zeros. There is no NVRTC and no cache beside a
plan here, so that whatever runs is the plan's own code.
"""

import os
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import support
from compare_test import two_fusions
from numbers_test import SHAPE, mixed_model
from support import ACCURACY, INVALID_MODEL, OK, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


@unittest.skipUnless(Path(FAKE_DRIVER, "libcuda.so.1").exists(), "sanitizers' build has no driver to open by name")
class ComparePlan(CliTest):
    def setUp(self):
        super().setUp()
        self.plan = self.folder / "model.plan"
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER

    def compile(self, proto, *flags):
        model = self.save(proto)
        self.expect(OK, "compile", model, "-o", self.plan, *flags)
        return model

    def forget_the_compiler(self):
        self.environment |= {"SMELT_NVRTC_PATH": str(self.folder / "none"), "SMELT_CACHE_DIR": str(self.folder / "empty")}

    def compare(self, code, model, *flags, says=()):
        return self.expect(code, "compare", model, "--plan", self.plan, "--shape", "x=3x64", *flags, says=says)

    def report(self, code, model, *flags):
        return self.expect_json("smelt.compare/1", "compare", model, "--plan", self.plan, "--shape", "x=3x64", *flags, code=code)

    def test_the_kernel_that_differs_is_named(self):
        model = self.compile(two_fusions())
        self.forget_the_compiler()
        says = ("the first fusion that differs", "kernel 0", "/first/MatMul")
        self.compare(ACCURACY, model, says=says)
        self.compare(ACCURACY, model, "--bisect", says=says)
        report = self.report(ACCURACY, model, "--bisect")
        self.assertEqual([fusion["kernel"] for fusion in report["fusions"]], [0, 1])
        self.assertEqual([fusion["agrees"] for fusion in report["fusions"]], [False, False])

    def test_the_tensor_that_differs_is_named(self):
        model = self.compile(two_fusions())
        self.forget_the_compiler()
        report = self.report(ACCURACY, model, "--all-tensors")
        self.assertEqual(report["first_wrong_tensor"], "a")
        self.assertTrue(report["keeps_bits"])

    def test_patched_kernels_are_judged_as_they_are(self):
        model = self.compile(two_fusions())
        (entry,) = {launch["entry"] for launch in self.launches() if launch["name"].startswith("rowwise")}
        text = self.expect(OK, "inspect", self.plan, "--source", entry).stdout
        patch = self.write("patch.cu", b"// by hand\n" + text.encode())
        self.expect(OK, "patch", self.plan, f"{entry}={patch}", "--unchecked")
        self.forget_the_compiler()
        self.compare(ACCURACY, model, "--bisect", says="kernel 0")

    def launches(self):
        return self.expect_json("smelt.inspect/1", "inspect", self.plan)["programs"][0]["launches"]

    def test_kernels_have_the_numbers_of_inspect(self):
        """Those that run once for each shape come first there."""
        model = self.compile(mixed_model())
        nodes = {int(launch["number"].split(".")[0]): set(launch["onnx_nodes"]) for launch in self.launches()}
        self.assertIn("/table/Softmax", nodes[0])
        compare = ("compare", model, "--plan", self.plan, *SHAPE, "--all-tensors")
        report = self.expect_json("smelt.compare/1", *compare, code=ACCURACY)
        self.assertEqual({fusion["kernel"] for fusion in report["fusions"]}, set(nodes))
        for fusion in report["fusions"]:
            self.assertEqual(set(fusion["onnx_nodes"].split(" + ")), nodes[fusion["kernel"]])
        self.assertIn("s0", [tensor["name"] for tensor in report["tensors"]])
        for tensor in report["tensors"]:
            self.assertIn(tensor["onnx_node"], nodes[tensor["kernel"]])

    def test_a_plan_says_what_it_was_compiled_with(self):
        model = self.compile(two_fusions(), "--precision", "bf16")
        self.assertEqual([output["tolerance"] for output in self.report(ACCURACY, model)["outputs"]], [5e-3])
        self.compare(ACCURACY, model, "--bisect", "--precision", "bf16", says="no cast is to blame")
        self.compare(USAGE, model, "--precision", "fp16", says=("--precision fp16", "was compiled with bf16"))
        self.compile(two_fusions(), "--precision", "tf32")
        self.assertEqual([output["tolerance"] for output in self.report(ACCURACY, model)["outputs"]], [2e-3])

    def test_weights_of_another_model(self):
        other = two_fusions()
        other.graph.initializer[0].CopyFrom(support.constant("w", np.ones((64, 64), np.float32)))
        self.compile(two_fusions())
        other = self.save(other, "other.onnx")
        self.compare(INVALID_MODEL, other, "--bisect", says=("weight 'w' of the plan is not that of", "other.onnx"))
        self.compare(ACCURACY, other, says="kernels are not judged one by one: ")

    def test_parts_are_compiled_as_the_plan_was(self):
        small = self.folder / "small.onnx"
        model = self.compile(two_fusions(), "--precision", "fp16", "--arch", "compute_80")
        done = self.compare(ACCURACY, model, "--reduce", "-o", small, "-v")
        self.assertEqual(len(onnx.load(small).graph.node), 1)
        self.assertRegex(done.stderr, r"compiling the kernel .* for compute_80")
        self.assertNotIn("for sm_90a", done.stderr)
        self.assertIn("running the pass smelt-narrow", done.stderr)
        self.compile(two_fusions(), "--arch", "compute_80")
        self.assertNotIn("running the pass smelt-narrow", self.compare(ACCURACY, model, "--reduce", "-o", small, "-v").stderr)

    def test_what_was_measured_on_the_whole_is_not_reduced(self):
        model = self.compile(two_fusions(), "--precision", "fp16", "--within", 0.5)
        self.compare(USAGE, model, "--reduce", "-o", "small.onnx", says=("--within 0.5", "leave out --plan"))
        self.compare(ACCURACY, model, "--bisect")

    def test_values_of_the_structure(self):
        nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["r"], name="/sum", keepdims=0), helper.make_node("Exp", ["r"], ["y"])]
        inputs = [support.tensor_info("x", [4, 5]), support.tensor_info("axes", [1], TensorProto.INT64)]
        self.array("axes", np.array([1]))
        axes = "axes=@axes.npy"
        model = self.compile(support.model(nodes, inputs, [support.tensor_info("y", None)]), "--value", axes)
        self.expect(ACCURACY, "compare", model, "--plan", self.plan, "--bisect", "--input", axes, says="kernel 0")

    def test_where_the_plan_lies_and_its_model_is_no_part_of_it(self):
        model = self.compile(two_fusions())
        before = self.plan.read_bytes()
        (self.folder / "elsewhere").mkdir()
        moved = model.rename(self.folder / "elsewhere" / "model.onnx")
        self.expect(OK, "compile", moved, "-o", self.plan)
        self.assertEqual(self.plan.read_bytes(), before)
        self.assertNotIn(str(self.folder).encode(), before)


if __name__ == "__main__":
    unittest.main()
