"""Models that contradict themselves: --repair-types for floats of several types, --shape for sizes declared wrongly."""

import numpy as np
import support
from onnx import TensorProto, helper, numpy_helper
from support import INVALID_MODEL, OK, USAGE

RANDOM = np.random.default_rng()


def half_model():
    """A product of float32 data and float16 weights, as exports in half precision have it."""
    weights = [numpy_helper.from_array(RANDOM.standard_normal(shape).astype(np.float16), name)
               for name, shape in (("w", (4, 5)), ("b", (5,)))]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="project"),
        helper.make_node("Add", ["product", "b"], ["y"], name="shift"),
    ]
    return support.model(nodes, [support.tensor_info("x", ["batch", 4])], [support.tensor_info("y", ["batch", 5])], weights)


def fixed_model():
    """Its reshape needs four rows, its input declares one."""
    shape = numpy_helper.from_array(np.array([4, 3], np.int64), "shape")
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "shape"], ["y"], name="flat")]
    return support.model(nodes, [support.tensor_info("x", [1, 3])], [support.tensor_info("y", [4, 3])], [shape])


class RepairTest(support.CliTest):
    def test_types_are_repaired_where_that_is_asked_for(self):
        path = self.save(half_model())
        refused = self.expect(INVALID_MODEL, "run", path, "--device", "cpu").stderr
        self.assertIn("'project'", refused)
        self.assertIn("--repair-types", refused)
        done = self.expect(OK, "run", path, "--device", "cpu", "--repair-types")
        self.assertIn("warning: node 'project': MatMul: its input 'x' (float [batch, 4]) is cast to float16", done.stderr)
        self.assertIn("warning: node 'shift': Add: its output 'y' is cast from float16 to float", done.stderr)
        self.assertEqual(done.stderr.count("is cast"), 2)
        for command in ("check", "explain", "compare"):
            self.expect(OK, command, path, "--repair-types")

    def test_a_fixed_shape_is_named_and_may_be_replaced(self):
        path = self.save(fixed_model())
        refused = self.expect(INVALID_MODEL, "run", path, "--device", "cpu").stderr
        self.assertIn("node 'flat': needs 12 = 3: a reshape keeps the number of elements", refused)
        self.assertIn("input 'x', declared [1, 3]", refused)
        self.assertIn("--shape x=1x3 with other numbers", refused)
        done = self.expect(OK, "run", path, "--device", "cpu", "--shape", "x=4x3")
        self.assertIn("the declared dimension 1 is taken to be 4", done.stderr)
        self.assertIn("[4, 3]", done.stdout)
        self.expect(OK, "compile", path, "--shape", "x=4x3", "--emit", "mlir")

    def test_a_shape_that_does_not_help_is_refused(self):
        self.expect(USAGE, "run", self.save(fixed_model()), "--device", "cpu", "--shape", "x=5x3")


if __name__ == "__main__":
    support.main()
