"""smelt compile --refit: weights stay as they are, and the plan says what became of each initializer.

That an engine's weights then become those of the other model, byte for byte, is shown by tests/compiler/refit_test.cpp.
"""

import numpy as np
import support
from onnx import helper, numpy_helper
from support import OK, CliTest, tensor_info


def model_with_twins():
    """y = (x * scale + first) * scale + second, whose two biases are the same numbers."""
    rng = np.random.default_rng(1)
    bias = rng.standard_normal(256, dtype=np.float32)
    tensors = {
        "scale": rng.standard_normal(256, dtype=np.float32),
        "first": bias,
        "second": bias,
        "zeros": np.zeros(256, np.float32),
        "unused": np.ones(300, np.float32),
        "half": np.array(0.5, np.float32),
    }
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["a"]),
        helper.make_node("Add", ["a", "first"], ["b"]),
        helper.make_node("Mul", ["b", "half"], ["h"]),
        helper.make_node("Add", ["h", "zeros"], ["z"]),
        helper.make_node("Relu", ["z"], ["r"]),
        helper.make_node("Add", ["r", "second"], ["y"]),
    ]
    initializers = [numpy_helper.from_array(values, name) for name, values in tensors.items()]
    return support.model(nodes, [tensor_info("x", ["rows", 256])], [tensor_info("y", ["rows", 256])], initializers)


class Refit(CliTest):
    def initializers(self, *flags):
        plan = self.folder / "model.plan"
        self.expect(OK, "compile", self.save(model_with_twins()), "-o", plan, *flags)
        listed = self.expect_json("smelt.inspect/1", "inspect", plan)["initializers"]
        updatable = sum(entry["refusal"] is None for entry in listed)
        self.assertIn(f"{updatable} of the model's 6 initializers can be updated", self.expect(OK, "inspect", plan).stdout)
        return {entry["name"]: entry for entry in listed}

    def test_weights_stay_as_they_are(self):
        found = self.initializers("--refit")
        for name in ("scale", "first", "second", "zeros"):
            self.assertIsNone(found[name]["refusal"], name)
            self.assertTrue(found[name]["copied"], name)
            self.assertEqual((found[name]["shape"], found[name]["type"]), ([256], "float32"))
        self.assertNotEqual(found["first"]["weights"], found["second"]["weights"])
        for name in ("half", "unused"):
            self.assertEqual(found[name]["refusal"], "its values became constants when compiling, or nothing uses it")

    def test_without_it_a_plan_says_what_cannot_be_updated(self):
        found = self.initializers()
        self.assertIsNone(found["scale"]["refusal"])
        self.assertIn("the same bytes as 'second'", found["first"]["refusal"])
        self.assertIn("the same bytes as 'first'", found["second"]["refusal"])
        self.assertIn("became constants", found["zeros"]["refusal"])
        for name in ("first", "zeros"):
            self.assertIn("compile with --refit", found[name]["refusal"])


    def test_a_weight_that_decided_the_structure(self):
        """The columns that a weight picks are those that were compiled, so that it cannot become another."""
        mask = np.where(np.arange(200) % 3 == 0, 0, np.arange(200)).astype(np.float32)
        nodes = [
            helper.make_node("NonZero", ["mask"], ["places"]),
            helper.make_node("Reshape", ["places", "flat"], ["columns"]),
            helper.make_node("Gather", ["x", "columns"], ["picked"], axis=1),
            helper.make_node("Mul", ["x", "mask"], ["masked"]),
        ]
        constants = [support.constant("mask", mask), support.constant("flat", np.array([-1]))]
        outputs = [tensor_info("picked", ["rows", "n"]), tensor_info("masked", ["rows", 200])]
        model = self.save(support.model(nodes, [tensor_info("x", ["rows", 200])], outputs, constants))
        plan = self.folder / "model.plan"
        self.expect(OK, "compile", model, "-o", plan, "--refit")
        found = self.expect_json("smelt.inspect/1", "inspect", plan)["initializers"]
        self.assertEqual(found[0]["name"], "mask")
        self.assertEqual(found[0]["refusal"], "its values decided the structure that was compiled")


if __name__ == "__main__":
    support.main()
