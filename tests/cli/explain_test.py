"""smelt explain: the summary first, layers that are alike once, what folded only on request, one node or kernel on request."""

import unittest

import numpy as np
from onnx import helper

import support
from support import OK, USAGE, CliTest

LAYERS = 12


def layers():
    """Twelve times a product and an activation, with an identity that folds."""
    draw = np.random.default_rng(1)
    nodes, weights = [], []
    for i in range(LAYERS):
        weights.append(support.constant(f"w{i}", draw.normal(size=(16, 16)).astype(np.float32)))
        nodes += [
            helper.make_node("Identity", [f"w{i}"], [f"t{i}"], name=f"/layer.{i}/Identity"),
            helper.make_node("MatMul", [f"x{i}", f"t{i}"], [f"p{i}"], name=f"/layer.{i}/MatMul"),
            helper.make_node("Softplus", [f"p{i}"], [f"x{i + 1}"], name=f"/layer.{i}/Softplus"),
        ]
    infos = [support.tensor_info(name, ["n", 16]) for name in ("x0", f"x{LAYERS}")]
    return support.model(nodes, infos[:1], infos[1:], weights)


class Explain(CliTest):
    def setUp(self):
        super().setUp()
        self.path = self.save(layers())

    def lines(self, *flags):
        return self.expect(OK, "explain", self.path, *flags).stdout.splitlines()

    def test_the_summary_is_first_and_layers_are_one(self):
        counts = self.expect_json("smelt.explain/1", "explain", self.path)["counts"]
        lines = self.lines()
        self.assertTrue(lines[0].startswith(f"{counts['kernels']} kernels for {3 * LAYERS} nodes, "), lines[0])
        self.assertIn(f"{LAYERS} of which are folded", lines[0])
        self.assertLess(len(lines), 12)
        self.assertRegex("\n".join(lines), rf"/layer\.\*/Softplus +x {LAYERS} +Softplus +gemm")
        self.assertRegex("\n".join(lines), rf"(?m)^ *0 +x {LAYERS} ")

    def test_what_folded_is_shown_on_request(self):
        self.assertFalse([line for line in self.lines() if "/Identity" in line])
        self.assertEqual(len(self.lines("--all")), 3 * LAYERS + 3)  # the summary, an empty line, the header

    def test_nodes_and_kernels_by_themselves(self):
        lines = self.lines("--node", "layer.7/")[3:]
        self.assertEqual([line.split()[0].rsplit("/")[-1] for line in lines], ["Identity", "MatMul", "Softplus"])
        kernels = self.expect_json("smelt.explain/1", "explain", self.path)
        wanted = [node["name"] for node in kernels["nodes"] if 3 in node["kernels"]]
        self.assertEqual([line.split()[0] for line in self.lines("--kernel", "3")[3:]], wanted)
        self.assertTrue(wanted)

    def test_code_on_an_architecture(self):
        plan = self.folder / "m.plan"
        self.expect(OK, "compile", self.path, "-o", plan, "--arch", "sm_80")
        (program,) = self.expect_json("smelt.inspect/1", "inspect", plan)["programs"]
        explained = self.expect_json("smelt.explain/1", "explain", self.path, "--arch", "sm_80")["kernels"]
        launches = [launch for kernel in explained for launch in kernel["launches"]]
        for key in ("number", "name", "machine_code"):
            self.assertEqual([launch[key] for launch in launches], [launch[key] for launch in program["launches"]])
        for number, kernel in enumerate(explained):
            self.assertEqual({launch["number"].split(".")[0] for launch in kernel["launches"]}, {str(number)})
        facts = launches[0]["machine_code"]
        shown = rf"{facts['registers']} .* {facts['blocks_per_multiprocessor']} +{100 * facts['occupancy']:.0f}  {facts['limited_by']}"
        self.assertRegex("\n".join(self.lines("--arch", "sm_80")), rf"(?m)^ *0 +x {LAYERS}  .* {shown}$")
        one = self.lines("--arch", "sm_80", "--kernel", "3")
        self.assertRegex("\n".join(one), rf"(?m)^ *3 +x 1  .* {shown}$")
        self.assertFalse([line for line in one if line.split()[:3] == ["0", "x", "1"]])
        self.expect(USAGE, "explain", self.path, "--arch", "sm_70", says="unknown architecture 'sm_70'")
        self.assertNotIn("launches", self.expect_json("smelt.explain/1", "explain", self.path)["kernels"][0])

    def test_wrong_numbers(self):
        self.expect(USAGE, "explain", self.path, "--kernel", "1000", says="there is no kernel 1000")
        self.expect(USAGE, "explain", self.path, "--kernel", "x", says="'x' is no kernel's number")


if __name__ == "__main__":
    support.main()
