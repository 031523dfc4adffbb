"""smelt diff: what differs between two plans is told, and the exit code says whether anything does."""

import unittest

import numpy as np
from onnx import numpy_helper

import support
from compare_test import two_fusions
from support import OK, PLAN, RUN_FAILED, USAGE, CliTest

SHAPE = ("--shape", "x=3x64")


class Diff(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.save(two_fusions())

    def compile(self, name, *flags, model=None):
        plan = self.folder / name
        self.expect(OK, "compile", model or self.model, "-o", plan, *flags)
        return plan

    def changes(self, before, after, *flags):
        """By what and architecture: before and after."""
        report = self.expect_json("smelt.diff/1", "diff", before, after, *flags, code=RUN_FAILED)
        self.assertFalse(report["equal"])
        return {(change["what"], change["arch"]): (change["before"], change["after"]) for change in report["changes"]}

    def test_the_same_plans(self):
        a, b = self.compile("a.plan"), self.compile("b.plan")
        self.assertEqual(self.expect(OK, "diff", a, b).stdout, "the plans are the same\n")
        report = self.expect_json("smelt.diff/1", "diff", a, b)
        self.assertEqual((report["equal"], report["changes"], report["after"]), (True, [], str(b)))

    def test_architectures_and_flags(self):
        a, b = self.compile("a.plan", "--arch", "sm_80"), self.compile("b.plan", "--arch", "sm_80,sm_90a")
        changes = self.changes(a, b)
        self.assertEqual(changes["architectures", ""], ("sm_80", "sm_80, sm_90a"))
        self.assertEqual({arch for _, arch in changes}, {""})
        changes = self.changes(a, self.compile("c.plan", "--arch", "sm_80", "--precision", "tf32"))
        self.assertEqual(changes["flags", ""], ("none", "tf32"))
        before, after = changes["/first/MatMul", "sm_80"]
        self.assertTrue(before.startswith("gemm") and after.startswith("gemm") and before != after)

    def test_every_flag_of_a_compilation_is_named(self):
        plain = self.compile("plain.plan")
        for flags, named in (
            (("--precision", "fp16"), "fp16"),
            (("--precision", "bf16", "--refit"), "bf16, --refit"),
            (("--precision", "fp16", "--within", "0.5"), "fp16, --within 0.5"),
            (("--precision", "tf32", "--refit"), "tf32, --refit"),
            (("--refit",), "--refit"),
        ):
            other = self.compile("other.plan", *flags)
            self.assertEqual(self.changes(plain, other)["flags", ""], ("none", named))
            self.assertEqual(self.expect_json("smelt.inspect/1", "inspect", other)["flags"], named)
            self.assertRegex(self.expect(OK, "inspect", other).stdout, rf"(?m)^model .*, compiled by Smelt [0-9.]+ with {named}$")

    def test_inputs_and_memory(self):
        a, b = self.compile("a.plan"), self.compile("b.plan", *SHAPE)
        changes = self.changes(a, b)
        self.assertEqual(changes["input x", ""], ("float32 [n, 64]", "float32 [3, 64]"))
        self.assertEqual(changes["output y", ""], ("float32 [n, 64]", "float32 [3, 64]"))
        self.assertNotIn(("arena", "sm_90a"), changes)  # at 3 rows, which both take
        back = self.changes(b, a)
        self.assertEqual(back["input x", ""], ("float32 [3, 64]", "float32 [n, 64]"))
        self.assertNotIn(("arena", "sm_90a"), back)
        c = self.compile("c.plan", "--max-shape", "x=100x64")
        self.assertEqual(self.changes(a, c)["limit n <= 100", ""], ("none", "required"))
        half = self.compile("half.plan", "--precision", "fp16")
        before, after = self.changes(a, half, "--shape", "x=1024x64")["arena", "sm_90a"]
        self.assertNotEqual(before, after)

    def test_plans_without_a_common_shape(self):
        a, b = self.compile("a.plan", *SHAPE), self.compile("b.plan", "--shape", "x=300x64")
        done = self.expect(RUN_FAILED, "diff", a, b, says=("no common shapes", "the plans differ in"))
        self.assertIn("arena", done.stdout)

    def test_other_weights(self):
        model = two_fusions()
        (weight,) = model.graph.initializer
        values = numpy_helper.to_array(weight).copy()
        values[3, 4] += 1
        weight.CopyFrom(numpy_helper.from_array(values, weight.name))
        other = self.save(model, "other.onnx")
        changes = self.changes(self.compile("a.plan"), self.compile("b.plan", model=other))
        self.assertEqual(list(changes.values())[-1], ("16.0 KiB", "16.0 KiB, other values"))

    def test_another_fusion(self):
        model = two_fusions()
        model.graph.node[1].op_type = "Relu"
        other = self.save(model, "other.onnx")
        changes = self.changes(self.compile("a.plan"), self.compile("b.plan", model=other))
        self.assertEqual(changes["/Softmax", "sm_90a"][1], "not one fusion")
        self.assertEqual(changes["launches", "sm_90a"], ("2", "1"))

    def test_what_runs_at_other_shapes_only(self):
        a, b = self.compile("a.plan", "--max-shape", "x=5000x64"), self.compile("b.plan", "--max-shape", "x=4999x64")
        self.expect(RUN_FAILED, "diff", a, b, *SHAPE)

    def test_bad_arguments(self):
        plan = self.compile("a.plan")
        self.expect(USAGE, "diff", plan, "nowhere.plan", says="nowhere.plan")
        self.expect(PLAN, "diff", self.model, plan, says="model.onnx")
        self.expect(USAGE, "diff", plan, plan, "--shape", "z=1x2", says="no input 'z'")
        self.expect(USAGE, "diff", plan, plan, "--shape", "x=1x65", says="x")


if __name__ == "__main__":
    unittest.main()
