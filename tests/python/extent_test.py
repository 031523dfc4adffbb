"""The shapes of outputs by their spelling: as the runtime spells and computes them, and what is no size."""

import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import smelt
from smelt._extent import OutputShapes
from smelt._session import Session
from smelt._tensor import TensorInfo


def every_second_model():
    """y: every second row of x, twice; of sizes with a name that is no identifier."""
    ends = [numpy_helper.from_array(np.asarray([value], np.int64), name) for name, value in (("from", 0), ("to", 2**31), ("step", 2))]
    axes = numpy_helper.from_array(np.asarray([0], np.int64), "axes")
    nodes = [
        helper.make_node("Slice", ["x", "from", "to", "axes", "step"], ["some"]),
        helper.make_node("Concat", ["some", "x", "x"], ["y"], axis=0),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 4]) for name, rows in (("x", "the rows"), ("y", "out")))
    graph = helper.make_graph(nodes, "rows", [x], [y], [*ends, axes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Extent(unittest.TestCase):
    def check(self, session, inputs, outputs):
        shapes = OutputShapes(inputs, outputs)
        for rows in (1, 2, 7, 8):
            (y,) = session.run(None, {"x": np.zeros((rows, 4), np.float32)})
            self.assertEqual(shapes.of([(rows, 4)]), [y.shape])

    def test_as_the_interpreter_and_a_plan_spell_them(self):
        plan = smelt.compile(every_second_model())
        session = Session(plan, device="cpu")
        for described in (plan, session):
            inputs = plan.inputs if described is plan else session.get_inputs()
            outputs = plan.outputs if described is plan else session.get_outputs()
            self.assertIsInstance(outputs[0].shape[0], str)
            self.check(session, inputs, outputs)

    def test_every_operation(self):
        inputs = [TensorInfo("x", ["batch", "2nd size", 3], "float32")]
        cases = {
            "2*batch - 3": 11, "batch*(2nd size + 1)": 42, "floordiv(batch, 2nd size)": 1, "ceildiv(batch, 2nd size)": 2,
            "mod(batch, 4)": 3, "min(batch, 2nd size)": 5, "max(batch + 1, 2)": 8, "-batch + 9": 2,
        }  # fmt: skip
        for text, expected in cases.items():
            shapes = OutputShapes(inputs, [TensorInfo("y", [text, 4], "float32")])
            self.assertEqual(shapes.of([(7, 5, 3)]), [(expected, 4)], text)

    def test_what_is_no_size(self):
        inputs = [TensorInfo("x", ["batch"], "float32")]
        for text in ("other", "batch +", "batch.real", "__import__('os')", "batch / 2"):
            with self.assertRaisesRegex(smelt.UsageError, "no expression of sizes of inputs"):
                OutputShapes(inputs, [TensorInfo("y", [text], "float32")]).of([(7,)])


if __name__ == "__main__":
    unittest.main()
