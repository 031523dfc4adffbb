"""smelt compile --dump-dir: the IR after phases or passes, an index with their times, remarks."""

import unittest

import numpy as np
from onnx import TensorProto, helper

import support
from support import OK, USAGE, CliTest


def softmax_model():
    """A softmax by its formula, of a product."""
    w = support.constant("w", np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32))
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="/MatMul"),
        helper.make_node("ReduceMax", ["a"], ["m"], axes=[-1], keepdims=1, name="/ReduceMax"),
        helper.make_node("Sub", ["a", "m"], ["d"], name="/Sub"),
        helper.make_node("Exp", ["d"], ["e"], name="/Exp"),
        helper.make_node("ReduceSum", ["e", "axes"], ["s"], keepdims=1, name="/ReduceSum"),
        helper.make_node("Div", ["e", "s"], ["y"], name="/Div"),
    ]
    infos = [support.tensor_info(name, ["n", 64]) for name in ("x", "y")]
    return support.model(nodes, infos[:1], infos[1:], [w, support.constant("axes", np.array([-1], np.int64))])


class Dumps(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.save(softmax_model())
        self.dump = self.folder / "dump"
        self.fused = self.expect(OK, "compile", self.model, "--emit", "mlir").stdout

    def compile(self, *flags):
        self.expect(OK, "compile", self.model, "--emit", "mlir", "--dump-dir", self.dump, *flags)
        return [line.split() for line in (self.dump / "index.txt").read_text().splitlines()]

    def files(self):
        return sorted(path.name for path in self.dump.glob("*.mlir"))

    def test_phases_that_change_nothing_are_not_written_twice(self):
        index = self.compile()
        phases = {words[1]: words[2:] for words in index if words[0] == "phase"}
        self.assertEqual(list(phases), ["import", "simplify", "raise", "fuse", "lower"])
        self.assertEqual(phases["raise"], ["02_raise.mlir"])
        self.assertEqual(phases["lower"], ["changed", "nothing:", "04_fuse.mlir"])
        self.assertEqual(self.files(), sorted({words[-1] for words in phases.values()}))

    def test_a_file_after_every_pass_that_changed_something(self):
        index = self.compile("--every", "pass")
        passes = [words for words in index if "pass" in words]
        written = {words[3]: words[4] for words in passes if words[4:] != ["changed", "nothing"]}
        number = 1 + next(i for i, words in enumerate(passes) if words[3] == "raise-softmax")
        self.assertEqual(written["raise-softmax"], f"{number:02}_raise-softmax.mlir")
        self.assertNotIn("fuse-selection", written)
        self.assertEqual(self.files(), sorted({"00_import.mlir", *written.values()}))
        self.assertIn("smelt.softmax", (self.dump / written["raise-softmax"]).read_text())
        self.assertTrue(all(float(words[0]) >= 0 and words[1] == "s" for words in passes))

    def test_one_goes_on_from_where_phases_end_and_is_told_so_elsewhere(self):
        index = self.compile("--every", "pass")
        ends = {words[-1] for words in index if words[0] == "phase"}
        self.assertGreaterEqual(len(ends), 3)
        self.assertGreater(len(self.files()), len(ends))
        for name in self.files():
            again = ("compile", self.dump / name, "--emit", "mlir")
            if name in ends:
                self.assertEqual(self.expect(OK, *again).stdout, self.fused, name)
            else:
                self.expect(USAGE, *again, says=("in the middle of a phase", "index.txt"))

    def test_remarks_have_a_file(self):
        self.compile()
        remarks = (self.dump / "remarks.txt").read_text().splitlines()
        self.assertTrue(any(line.startswith("taken gemm of /MatMul") for line in remarks), remarks)
        self.assertTrue(any(line.startswith("refused ") and ", needs: " in line for line in remarks), remarks)

    def test_every_needs_a_folder(self):
        self.expect(USAGE, "compile", self.model, "--every", "pass", says="--dump-dir")
        self.expect(USAGE, "compile", self.model, "--dump-dir", self.dump, "--every", "op", says="none of pass, phase")


if __name__ == "__main__":
    unittest.main()
