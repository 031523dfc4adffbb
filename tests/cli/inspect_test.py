"""smelt inspect: kernels by the sizes at which they run, at one shape, along a sweep, and one by itself; sizes as people write them."""

import re
import unittest

import numpy as np
from onnx import helper

import encoder
import support
from support import OK, USAGE, CliTest


def layers(count):
    """So many times a product and an activation, of any number of rows, in half precision; a softmax."""
    draw = np.random.default_rng(1)
    nodes, weights = [], []
    for i in range(count):
        weights.append(support.constant(f"w{i}", draw.normal(size=(256, 256)).astype(np.float16)))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"], name=f"/layer.{i}/MatMul"),
            helper.make_node("Softplus", [f"p{i}"], [f"x{i + 1}"], name=f"/layer.{i}/Softplus"),
        ]
    infos = [support.tensor_info(name, ["rows", 256], encoder.HALF) for name in ("x0", "y")]
    nodes.append(helper.make_node("Softmax", [f"x{count}"], ["y"], name="/end/Softmax"))
    return support.model(nodes, infos[:1], infos[1:], weights)


class Inspect(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = cls.make_once()
        cls.plan = made.folder / "model.plan"
        made.expect(OK, "compile", made.save(layers(4)), "-o", cls.plan)
        cls.inspected = made.expect_json("smelt.inspect/1", "inspect", cls.plan)
        cls.launches = cls.inspected["programs"][0]["launches"]

    def text(self, *flags):
        return self.made.expect(OK, "inspect", self.plan, *flags).stdout

    def at(self, rows):
        return self.made.expect_json("smelt.inspect_shape/1", "inspect", self.plan, "--dim", f"rows={rows}")["programs"][0]

    def sweep(self, text):
        return self.made.expect_json("smelt.sweep/1", "inspect", self.plan, "--sweep", text)["programs"][0]

    def test_a_table_for_each_set_of_kernels(self):
        """Each names what runs there, and the ranges follow each other without a gap."""
        tables = re.split(r"\n\n", self.text())[1:]
        self.assertTrue(any(table.startswith("at every size\n") or "\nat every size" in table for table in tables), tables)
        ranges = [re.match(r"(\d+) (?:to (\d+)|or more) ?rows \(rows\)\n", table) for table in tables]
        ranges = [(int(match[1]), match[2] and int(match[2]), table) for match, table in zip(ranges, tables) if match]
        self.assertGreater(len(ranges), 1)
        for (_, last, _), (first, _, _) in zip(ranges, ranges[1:]):
            self.assertEqual(first, last + 1)
        self.assertIsNone(ranges[-1][1])
        for first, _, table in ranges:
            running = {kernel["name"] for kernel in self.at(max(first, 1))["kernels"] if "MatMul" in kernel["onnx_nodes"][0]}
            self.assertEqual(len(running), 1)
            self.assertIn(running.pop(), table)
            self.assertIn("x 4", table)  # layers that are alike are one row

    def test_sizes_and_grids_as_people_write_them(self):
        text = self.text()
        self.assertRegex(text, r"memory: [0-9.]+ [KM]iB file, 512\.0 KiB weights")
        self.assertRegex(text, r"ceildiv\(rows, \d+\) blocks  ")
        self.assertRegex(text, r"[0-9.]+ KiB  ")
        self.assertRegex(self.text("--dim", "rows=300"), r" \d+ blocks? ")

    def test_machine_code(self):
        for launch in self.launches:
            facts = launch["machine_code"]
            self.assertTrue(16 <= facts["registers"] <= 255, facts)
            self.assertEqual(facts["local_bytes"], 0)
            self.assertGreaterEqual(facts["shared_bytes"], launch["shared_bytes"])
            blocks = facts["blocks_per_multiprocessor"]
            self.assertAlmostEqual(facts["occupancy"], blocks * launch["block"] / 2048)
            self.assertLessEqual(blocks * facts["registers"] * launch["block"], 65536)
            self.assertLessEqual(blocks * (facts["shared_bytes"] + 1024), 233472)

    def test_one_kernel(self):
        text = self.text("--kernel", "1")
        wanted = [launch for launch in self.launches if launch["step"] == 1]
        self.assertEqual(re.findall(r"(?m)^  entry +(.*)$", text), [launch["entry"] for launch in wanted])
        self.assertIn(wanted[0]["onnx_nodes"][0], text)
        self.assertIn(f"{wanted[0]['machine_code']['registers']} registers", text)
        self.made.expect(USAGE, "inspect", self.plan, "--kernel", "99", says="there is no kernel 99")
        self.made.expect(USAGE, "inspect", self.plan, "--kernel", "x", says="'x' is no kernel's number")

    def test_one_shape(self):
        program = self.at(64)
        self.assertEqual(program["input_bytes"], 64 * 256 * 2)
        self.assertEqual(program["output_bytes"], 64 * 256 * 2)
        self.assertGreater(program["arena_bytes"], 0)
        self.assertAlmostEqual(program["least_us"], sum(kernel["least_us"] for kernel in program["kernels"]))
        product = next(kernel for kernel in program["kernels"] if "MatMul" in kernel["onnx_nodes"][0])
        peak = product["bytes"] / 4.8e12 * 1e6  # the H200's memory, by its data sheet
        self.assertAlmostEqual(product["least_us"], peak)
        text = self.text("--shape", "x0=64x256")
        self.assertIn("32.0 KiB inputs, 32.0 KiB outputs", text)
        self.assertIn("by the roofline of H200", text)

    def test_shared_memory_at_a_shape(self):
        """Blocks behind others that fill a multiprocessor each ask for so much that no two of them lie together."""
        draw = np.random.default_rng(2)
        nodes, weights = [], []
        for i, size in enumerate(((768, 3072), (3072, 768))):
            weights.append(support.constant(f"w{i}", draw.normal(size=size).astype(np.float16)))
            nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"]))
            nodes.append(helper.make_node("Softplus", [f"p{i}"], [f"x{i + 1}"]))
        infos = [support.tensor_info(name, [64, 768], encoder.HALF) for name in ("x0", "x2")]
        self.expect(OK, "compile", self.save(support.model(nodes, infos[:1], infos[1:], weights)), "-o", "mlp.plan")
        needed = [launch["shared_bytes"] for launch in self.expect_json("smelt.inspect/1", "inspect", "mlp.plan")["programs"][0]["launches"]]
        at_shape = self.expect_json("smelt.inspect_shape/1", "inspect", "mlp.plan", "--shape", "x0=64x768")["programs"][0]["kernels"]
        first, second = (kernel["shared_bytes"] for kernel in at_shape)
        multiprocessor = 228 * 1024
        self.assertEqual(first, needed[0])
        self.assertLess(2 * needed[1], multiprocessor)
        self.assertGreater(2 * (second + 1024), multiprocessor)
        self.assertIn(f"{second / 1024:.1f} KiB", self.expect(OK, "inspect", "mlp.plan", "--shape", "x0=64x768").stdout)

    def test_a_sweep(self):
        program = self.sweep("rows=1..512")
        self.assertEqual([point["size"] for point in program["points"]], list(range(1, 513)))
        for point in (program["points"][0], program["points"][255], program["points"][511]):
            alone = self.at(point["size"])
            for key in ("least_us", "arena_bytes", "input_bytes", "output_bytes", "launches"):
                self.assertEqual(point[key], alone[key])
            names = [f"{kernel['number']} {kernel['name']}" for kernel in alone["kernels"]]
            self.assertEqual(program["sets"][point["set"]], names)
        self.assertGreater(len(program["sets"]), 1)
        self.assertEqual([point["size"] for point in self.sweep("rows=8..40:16")["points"]], [8, 24, 40])
        self.assertEqual(len(self.text("--sweep", "rows=8..40:16").splitlines()), 5)

    def test_what_is_no_sweep(self):
        for text, says in (("rows", "is no range of sizes"), ("rows=9..1", "is no range"), ("rows=1..", "is no range"),
                           ("rows=1..9:0", "is no range"), ("lines=1..9", "no input has a dimension 'lines'"),
                           ("rows=1..9999999", "more than 65536 sizes")):
            self.made.expect(USAGE, "inspect", self.plan, "--sweep", text, says=says)


if __name__ == "__main__":
    unittest.main()
