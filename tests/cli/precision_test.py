"""--precision and --within: float32 models in 16 bits, what stays float32 for a bound, and what is refused."""

import os
import unittest

import numpy as np
from onnx import TensorProto, helper

import support
from support import ACCURACY, OK, USAGE, CliTest


def block(scale=1.0):
    """A product, GELU, a norm and another product, float32 from end to end."""
    draw = np.random.default_rng(0)
    constants = [
        support.constant("w1", (draw.normal(size=(64, 128)) / 8 * scale).astype(np.float32)),
        support.constant("w2", (draw.normal(size=(128, 32)) / 11).astype(np.float32)),
        support.constant("gamma", draw.normal(size=128).astype(np.float32)),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="/first/MatMul"),
        helper.make_node("Gelu", ["a"], ["b"], name="/Gelu"),
        helper.make_node("LayerNormalization", ["b", "gamma"], ["c"], name="/Norm"),
        helper.make_node("MatMul", ["c", "w2"], ["y"], name="/second/MatMul"),
    ]
    return support.model(
        nodes, [support.tensor_info("x", ["n", 64])], [support.tensor_info("y", ["n", 32])], constants, opset=20)


class Precision(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.save(block())
        self.plan = os.path.join(self.folder, "model.plan")

    def prints(self, *arguments, says):
        done = self.smelt(*arguments)
        self.assertEqual(done.returncode, OK, done.stderr)
        for text in says:
            self.assertIn(text, done.stdout)

    def test_outputs_keep_their_types_and_lose_digits(self):
        run = ("compare", self.model, "--device", "cpu", "--shape", "x=5x64")
        errors = {}
        for precision in ("fp32", "fp16", "bf16"):
            report = self.expect_json("smelt.compare/1", *run, "--precision", precision, "--tolerance", "0.1")
            errors[precision] = report["outputs"][0]["relative_norm"]
        self.assertLess(errors["fp32"], 1e-6)
        self.assertTrue(1e-5 < errors["fp16"] < 2e-3, errors)
        self.assertTrue(errors["fp16"] < errors["bf16"] < 2e-2, errors)

    def test_the_default_limit_is_that_of_16_bits(self):
        self.prints("compare", self.model, "--device", "cpu", "--precision", "fp16", says=("5.0e-03",))

    def test_a_bound_keeps_what_breaks_it(self):
        compile_ = ("compile", self.model, "-o", self.plan, "--precision", "bf16")
        loose = self.expect_json("smelt.compile/1", *compile_, "--within", "0.1")["narrowing"]
        tight = self.expect_json("smelt.compile/1", *compile_, "--within", "1e-5")["narrowing"]
        self.assertEqual(loose["wide_ops"], [])
        self.assertLessEqual(tight["relative_norm"], 1e-5)
        self.assertGreater(len(tight["wide_ops"]), 0)
        self.assertEqual(loose["narrow_ops"], tight["narrow_ops"] + len(tight["wide_ops"]))
        self.prints(*compile_, "--within", "1e-5", says=("in float32 stay:", "matmul of", "/MatMul"))

    def test_a_bound_is_measured_on_the_users_inputs(self):
        folder = os.path.join(self.folder, "calibration", "set_0")
        os.makedirs(folder)
        np.save(os.path.join(folder, "x.npy"), np.full((3, 64), 1e4, np.float32))
        arguments = ("compile", self.model, "-o", self.plan, "--precision", "fp16", "--within", "1e-2")
        outer = os.path.dirname(folder)
        report = self.expect_json("smelt.compile/1", *arguments, "--calibrate", outer)["narrowing"]
        self.assertLessEqual(report["relative_norm"], 1e-2)
        np.save(os.path.join(folder, "x.npy"), np.zeros((3, 65), np.float32))
        self.expect(USAGE, *arguments, "--calibrate", outer, says=("x", "65"))

    def test_numbers_beyond_the_range_stay_wide(self):
        model = self.save(block(scale=1e7))
        report = self.expect_json("smelt.compare/1", "compare", model, "--device", "cpu", "--precision", "fp16")
        self.assertTrue(report["agrees"])
        self.prints("explain", model, "--precision", "fp16", says=("/first/MatMul", "exceed the range of 16 bits"))

    def test_what_cannot_be_asked_for(self):
        compile_ = ("compile", self.model, "-o", self.plan)
        self.expect(USAGE, *compile_, "--within", "1e-3", says=("--within", "--precision"))
        self.expect(USAGE, *compile_, "--precision", "fp16", "--calibrate", self.folder, says=("--calibrate", "--within"))
        self.expect(USAGE, *compile_, "--precision", "fp8", says=("fp8",))
        narrow = (*compile_, "--precision", "fp16", "--within", "1e-3")
        self.expect(USAGE, *narrow, "--calibrate", os.path.join(self.folder, "missing"), says=("missing", "folder"))
        os.makedirs(os.path.join(self.folder, "empty"))
        self.expect(USAGE, *narrow, "--calibrate", os.path.join(self.folder, "empty"), says=("holds no inputs",))
        self.expect(ACCURACY, *compile_, "--precision", "fp16", "--within", "0", says=("give a larger bound",))


if __name__ == "__main__":
    unittest.main()
