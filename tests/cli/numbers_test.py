"""One number for each kernel: explain, inspect, bench, dumps, reports and traces call the same thing by the same number.

The model has what they could count apart: a table of sizes alone, computed once for each shape though the file has it in the middle,
a reduction that takes two launches, layers that share one machine code, and products with one kernel for each range of rows.
"""

import json
import os
import re
import unittest

import numpy as np
from onnx import TensorProto, helper

import support
from support import OK, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake
SHAPE = ("--dim", "n=6")


def mixed_model():
    draw = np.random.default_rng(0)
    node, constant = helper.make_node, support.constant
    weights = [constant(f"w{i}", draw.normal(size=(256, 256)).astype(np.float16)) for i in range(3)]
    weights += [
        constant("zero", np.int64(0)),
        constant("one", np.int64(1)),
        constant("column", np.array([1], np.int64)),
        constant("frequencies", draw.normal(size=(1, 256)).astype(np.float16)),
    ]
    nodes = [
        node("MatMul", ["x", "w0"], ["p0"], name="/first/MatMul"),
        node("Softmax", ["p0"], ["s0"], name="/first/Softmax"),
        node("Shape", ["x"], ["shape"], name="/table/Shape"),
        node("Gather", ["shape", "zero"], ["rows"], name="/table/Gather"),
        node("Range", ["zero", "rows", "one"], ["range"], name="/table/Range"),
        node("Cast", ["range"], ["positions"], to=TensorProto.FLOAT16, name="/table/Cast"),
        node("Unsqueeze", ["positions", "column"], ["upright"], name="/table/Unsqueeze"),
        node("Mul", ["upright", "frequencies"], ["angles"], name="/table/Mul"),
        node("Softmax", ["angles"], ["table"], name="/table/Softmax"),
        node("Mul", ["s0", "table"], ["m0"], name="/mix/Mul"),
        node("MatMul", ["m0", "w1"], ["p1"], name="/second/MatMul"),
        node("Softplus", ["p1"], ["s1"], name="/second/Softplus"),
        node("MatMul", ["s1", "w2"], ["p2"], name="/third/MatMul"),
        node("Softplus", ["p2"], ["y"], name="/third/Softplus"),
        node("ReduceMax", ["long"], ["most"], axes=[1], keepdims=1, name="/most/ReduceMax"),
    ]
    half = TensorProto.FLOAT16
    inputs = [support.tensor_info("x", ["n", 256], half), support.tensor_info("long", [1, 262144], half)]
    outputs = [support.tensor_info("y", ["n", 256], half), support.tensor_info("most", [1, 1], half)]
    return support.model(nodes, inputs, outputs, weights)


class Numbers(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = cls.make_once()
        cls.model, cls.plan = made.save(mixed_model()), made.folder / "model.plan"
        made.expect(OK, "compile", cls.model, "-o", cls.plan, "--dump-dir", made.folder / "dump")
        inspected = made.expect_json("smelt.inspect/1", "inspect", cls.plan)
        cls.launches = inspected["programs"][0]["launches"]
        cls.nodes = {launch["number"]: launch["onnx_nodes"] for launch in cls.launches}

    def test_the_model_is_what_this_is_about(self):
        once = {launch["number"] for launch in self.launches if launch["once"]}
        self.assertEqual(once, {"0"})
        self.assertIn("/table/Softmax", self.nodes["0"])
        self.assertTrue([number for number in self.nodes if number.endswith(".2")], self.nodes)
        self.assertLess(len({launch["entry"] for launch in self.launches if "entry" in launch}), len(self.launches))
        self.assertGreater(len(self.launches), len(self.nodes))  # several kernels for one number, by rows

    def test_explain(self):
        kernels = {}
        for node in self.made.expect_json("smelt.explain/1", "explain", self.model)["nodes"]:
            for number in node["kernels"]:
                kernels.setdefault(number, set()).add(node["name"])
        steps = {launch["step"]: set(launch["onnx_nodes"]) for launch in self.launches}
        self.assertEqual({number: nodes & steps[number] for number, nodes in kernels.items()}, steps)
        self.assertEqual({number.split(".")[0] for number in self.nodes}, {str(number) for number in kernels})

    def bench(self):
        self.made.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.addCleanup(self.made.environment.pop, "LD_LIBRARY_PATH")
        return ("bench", self.plan, *SHAPE, "--duration", "0.05")

    def test_bench(self):
        command = self.bench()
        kernels = self.made.expect_json("smelt.bench/1", *command)["kernels"]
        self.assertNotIn("0", [kernel["number"] for kernel in kernels])
        self.assertEqual([kernel["onnx_nodes"] for kernel in kernels], [self.nodes[kernel["number"]] for kernel in kernels])
        text = self.made.expect(OK, *command).stdout
        for kernel in kernels:
            self.assertRegex(text, rf"(?m)^ *{re.escape(kernel['number'])} +{re.escape(kernel['name'])} ")

    def test_dumps(self):
        entries = {launch["number"]: set() for launch in self.launches}
        for launch in self.launches:
            entries[launch["number"]].add(launch["entry"])
        dumped = {number: set() for number in entries}
        for path in (self.made.folder / "dump/sm_90a").glob("*.cu"):
            number, entry = path.stem.split("_", 1)
            listed = re.match(r"// kernel ([0-9., ]+): ", path.read_text())[1].split(", ")
            self.assertEqual(listed[0], number)
            for each in listed:
                dumped[each].add(entry)
        self.assertEqual(dumped, entries)

    def test_report_and_trace(self):
        page, trace = self.made.folder / "page.html", self.made.folder / "trace.json"
        flags = ("--shape", "x=6x256", "-o", page, "--perfetto", trace)
        self.made.expect(OK, "report", self.plan, *flags)
        data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1])
        steps = data["steps"]
        for launch in data["launches"]:
            self.assertEqual(steps[launch["step"]]["onnx_nodes"], self.nodes[launch["number"]])
            self.assertEqual(launch["number"].split(".")[0], str(launch["step"]))
        runs = [launch for launch in data["launches"] if not steps[launch["step"]]["once"]]
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual([event["name"] for event in events], [f"{run['number']} {run['name']}" for run in runs])
        self.assertEqual([event["args"]["number"] for event in events], [run["number"] for run in runs])


if __name__ == "__main__":
    unittest.main()
