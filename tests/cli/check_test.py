"""`smelt check`: what a model is, op by op, beside what keeps it from being compiled."""

import support
from onnx import TensorProto, helper
from support import INVALID_MODEL, OK

class CheckTest(support.CliTest):
    def test_says_what_the_model_is(self):
        path = self.save(support.scale_model())
        lines = [line.split() for line in self.expect(OK, "check", path).stdout.splitlines()]
        self.assertIn(["opset", "17"], lines)
        self.assertIn(["input", "x", "float32", "[batch,", "4]"], lines)
        self.assertIn(["output", "y", "float32", "[batch,", "4]"], lines)
        self.assertIn(["weights", "float32", "20", "B"], lines)
        self.assertIn(["Mul", "17", "1", "all"], lines)
        self.assertEqual(lines[-1], [f"{path}:", "supported"])

    def test_counts_what_is_supported_of_each_op(self):
        nodes = [
            helper.make_node("Relu", ["x"], ["a"]),
            helper.make_node("NoSuchOp", ["a"], ["b"], name="odd"),
            helper.make_node("Relu", ["b"], ["y"]),
        ]
        info = [support.tensor_info(name, [2, 3]) for name in "xy"]
        path = self.save(support.model(nodes, info[:1], info[1:]))
        found = self.expect(INVALID_MODEL, "check", path).stdout
        lines = [line.split() for line in found.splitlines()]
        self.assertIn(["NoSuchOp", "17", "1", "none"], lines)
        self.assertIn(["Relu", "17", "2", "all"], lines)
        self.assertIn("needed by 'odd'", found)

    def test_json_has_the_same(self):
        report = self.expect_json("smelt.check/1", "check", self.save(support.scale_model()))
        self.assertEqual(report["opsets"], {"ai.onnx": 17})
        self.assertEqual(report["inputs"], [{"name": "x", "type": "float32 [batch, 4]"}])
        self.assertEqual(report["weight_bytes"], {"float32": 20})
        self.assertEqual(report["precision"], "float32")
        self.assertEqual({node["op"]: node["supported"] for node in report["nodes"]}, {"Mul": True, "Add": True})

    def test_an_initializer_is_no_input(self):
        model = support.scale_model()
        model.graph.input.append(support.tensor_info("scale", [4], TensorProto.FLOAT))
        lines = self.expect(OK, "check", self.save(model)).stdout.splitlines()
        self.assertEqual(1, sum(line.startswith("input ") for line in lines))

if __name__ == "__main__":
    support.main()
