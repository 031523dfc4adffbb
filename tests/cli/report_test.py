"""smelt report: the page in a browser without a network, what each click shows, whose figures it has, and what is hostile.

Needs chromium, chromium-driver and selenium (tools/setup.sh).
"""

import json
import os
import sys
import unittest
from pathlib import Path

import axe_playwright_python
from onnx import TensorProto, helper
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import encoder
import support
from support import INVALID_MODEL, OK, PLAN, RESOURCES, USAGE, CliTest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from headless_browser import open_browser  # noqa: E402

FAKE_DRIVER = os.environ.get("FAKE_DRIVER", "")  # the folder of a libcuda.so.1; set by CMake
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
SHAPE = ("--shape", "ids=2x128")


class PageTest(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)

    def open(self, path):
        self.browser.get(path.as_uri())
        self.assertEqual(self.browser.get_log("browser"), [])

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def click(self, element):
        self.browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", element)

    def active(self):
        return self.browser.switch_to.active_element

    def data(self):
        return self.browser.execute_script("return data")

    def labels(self, selector):
        return [element.get_attribute("aria-label") for element in self.all(selector)]

    def node(self, graph, text):
        found = [g for g in self.all(f"#{graph} g.box") if text in g.get_attribute("aria-label")]
        self.assertTrue(found, f"{text} in {self.labels(f'#{graph} g.box')}")
        return found[0]

    def report(self, *arguments, code=OK, says=()):
        path = self.folder / "report.html"
        self.expect(code, "report", *arguments, "-o", path, says=says)
        return path


class Encoder(PageTest):
    """What there is to see of a model of bert_base's structure, with times of a (fake) device."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        maker = CliTest("setUp")
        maker.setUp()
        cls.addClassCleanup(maker.doCleanups)
        model = maker.save(encoder.encoder())
        plan, cls.bench, cls.path = (maker.folder / name for name in ("model.plan", "bench.json", "report.html"))
        maker.expect(OK, "compile", model, "-o", plan)
        maker.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        cls.bench.write_text(maker.expect(OK, "bench", plan, *SHAPE, "--json").stdout)
        maker.expect(OK, "report", model, "--profile", cls.bench, "--against", plan, "-o", cls.path)

    def setUp(self):
        super().setUp()
        self.open(self.path)

    def test_it_is_small_and_opens_at_once(self):
        self.assertGreater(len(self.data()["nodes"]), 500)
        self.assertGreater(len(self.data()["launches"]), 60)
        self.assertLess(self.path.stat().st_size, 3e6)
        times = []
        for _ in range(3):
            self.browser.get(self.path.as_uri())
            times.append(self.browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd"))
        self.assertLess(min(times), 1000, times)

    def test_nothing_is_fetched(self):
        self.assertEqual(self.browser.execute_script("return performance.getEntriesByType('resource').length"), 0)
        self.assertNotIn(" src=", self.path.read_text().split('<script type="application/json"')[0])

    def test_the_figures_are_those_of_bench(self):
        bench, data = json.loads(self.bench.read_text()), self.data()
        self.assertEqual(data["inputs"][0]["shape"], bench["shapes"]["ids"])
        for key in ("median", "p99", "min", "mean"):
            self.assertEqual(data["profile"][key], bench["latency_ms"][key])
        self.assertIn(f"median {bench['latency_ms']['median']} ms", self.find("#facts").text)
        runs = [launch for launch in data["launches"] if not data["steps"][launch["step"]]["once"]]
        self.assertEqual([run["time_us"] for run in runs], [kernel["time_us"] for kernel in bench["kernels"]])
        least = [kernel["roofline_share"] * kernel["time_us"] for kernel in bench["kernels"]]
        for run, expected in zip(runs, least):
            self.assertAlmostEqual(run["least_us"], expected, places=9)
        self.assertEqual([run["bytes"] for run in runs], [kernel["bytes"] for kernel in bench["kernels"]])
        self.assertIn("Measured on", self.find("#timeline-note").text)

    def test_layers_open_and_a_fusion_shows_its_nodes_its_text_and_its_time(self):
        self.assertLess(len(self.all("#fused g.box")), 15)
        self.click(self.node("fused", "× 11"))
        self.assertEqual(len([label for label in self.labels("#fused g.box") if label.startswith("part ")]), 11)
        self.click(self.node("fused", "part 3"))
        self.click(self.node("fused", "22 attention"))
        chosen = self.find("#chosen").text
        self.assertIn("/encoder/layer.4/Softmax", chosen)  # the first part begins within layer 0
        self.assertNotIn("/encoder/layer.3/Softmax", chosen)
        self.assertIn("measured", self.find("#chosen .bar").get_attribute("aria-label"))
        related = self.labels("#onnx g.related")
        self.assertTrue(len(related) > 2 and all("layer.4" in label for label in related), related)
        self.assertIn("kernels/attention/", self.find("#source").text)
        self.assertGreater(len(self.all("#source [class^=hljs]")), 5)
        row = self.find("#kernel-table tr.chosen")
        self.assertIn("attention", row.text)
        flops = 2 * 2 * 2 * 128 * 128 * (64 + 64)  # batch, heads, rows, columns
        self.assertEqual(row.find_element(By.CSS_SELECTOR, "td:nth-child(7)").text, str(flops))
        self.assertEqual(len(self.all("#timeline-chart rect.chosen")), 1)
        self.assertGreaterEqual(len(self.all("#memory-chart rect.chosen")), 1)

    def test_a_node_shows_its_fusion(self):
        self.click(self.node("onnx", "× 11"))
        self.click(self.node("onnx", "part 5"))
        self.click(self.node("onnx", "Softmax /encoder/layer.6/"))
        self.assertIn("ONNX node Softmax /encoder/layer.6/", self.find("#chosen").text)
        related = self.labels("#fused g.related")
        self.assertEqual(len(related), 1)
        self.assertIn("attention", related[0])

    def test_text_table_timeline_and_memory_choose_too(self):
        Select(self.find("#source-choice")).select_by_index(2)
        first = self.find("#fused g.chosen").get_attribute("aria-label")
        self.assertIn("kernel " + first, self.find("#chosen").text)
        for selector in ("#kernel-table tbody tr:nth-child(9) button", "#timeline-chart rect:nth-child(12)", "#memory-chart rect:nth-child(5)"):
            self.click(self.find(selector))
            label = self.find("#fused g.chosen").get_attribute("aria-label")
            self.assertIn("kernel " + label, self.find("#chosen").text)
            self.assertNotEqual(label, first)
            first = label

    def test_what_takes_the_time(self):
        data = self.data()
        times = {}
        for launch in data["launches"]:
            if not data["steps"][launch["step"]]["once"]:
                key = launch.get("kernel", launch["name"])
                times[key] = times.get(key, 0) + launch["time_us"]
        bars = self.all("#costs-chart rect.time[role=button]")
        self.assertEqual(len(bars), len(times))
        widths = [float(bar.get_attribute("width")) for bar in bars]
        for width, time in zip(widths, sorted(times.values(), reverse=True)):
            self.assertAlmostEqual(width / widths[0], time / max(times.values()), delta=0.01)
        attention = next(bar for bar in bars if "attention × 12" in bar.get_attribute("aria-label"))
        self.click(attention)
        self.assertIn("attention", self.find("#kernel-table tr.chosen").text)
        self.assertEqual(len(self.all("#costs-chart rect.chosen")), 2)  # its time and its roofline

    def test_the_roofline_has_a_mark_for_each_launch(self):
        data = self.data()
        runs = [launch for launch in data["launches"] if not data["steps"][launch["step"]]["once"] and launch["time_us"] and launch["least_us"]]
        marks = self.all("#roofline-chart path[role=button]")
        self.assertEqual(len(marks), len(runs))
        launch = runs[-1]
        label = f"{launch['number']} {launch['name']}: "
        mark = next(mark for mark in marks if mark.get_attribute("aria-label").startswith(label))
        share = 100 * launch["least_us"] / launch["time_us"]
        self.assertAlmostEqual(float(mark.get_attribute("aria-label").removeprefix(label).split()[0]), share, delta=0.01 * share)
        self.click(mark)
        self.assertIn(f"kernel {launch['step']} ", self.find("#chosen").text)
        self.assertEqual([chosen.get_attribute("aria-label") for chosen in self.all("#roofline-chart path.chosen")], [mark.get_attribute("aria-label")])

    def test_what_the_machine_code_takes(self):
        launch = self.data()["launches"][5]
        code = launch["machine_code"]
        row = self.find("#kernel-table tbody tr:nth-child(6)")
        cells = [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
        titles = [title.text for title in self.all("#kernel-table th")]
        shown = dict(zip(titles, cells))
        self.assertEqual(shown["registers"], str(code["registers"]))
        self.assertEqual(shown["blocks on a multiprocessor"], str(code["blocks_per_multiprocessor"]))
        self.assertEqual(shown["limited by"], code["limited_by"])
        self.assertAlmostEqual(float(shown["occupancy, %"]), 100 * code["occupancy"], places=1)
        self.click(row.find_element(By.CSS_SELECTOR, "button"))
        self.assertIn(f"{code['registers']} registers, ", self.find("#chosen").text)
        self.assertIn(f"limited by {code['limited_by']}", self.find("#chosen").text)

    def test_the_table_sorts(self):
        self.click(self.all("#kernel-table th button")[1])
        times = [float(cell.text) for cell in self.all("#kernel-table tbody td:nth-child(2)")]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertGreater(times[0], times[-1])
        self.assertEqual(self.find("#kernel-table th:nth-child(2)").get_attribute("aria-sort"), "descending")

    def test_memory_has_a_peak(self):
        data = self.data()
        order = [launch["step"] for launch in data["launches"] if not data["steps"][launch["step"]]["once"]]
        arena = [buffer for buffer in data["buffers"] if buffer["kind"] == "arena" and buffer["steps"]]
        live = {step: sum(b["bytes"] for b in arena if b["steps"][0] <= step <= b["steps"][-1]) for step in order}
        self.assertIn(f"at kernel {max(live, key=live.get)}", self.find("#peak").get_attribute("textContent"))
        self.assertTrue(0 < max(live.values()) <= data["arena_bytes"])
        for a in arena:  # what lives at once does not overlap
            for b in arena:
                if a is not b and a["steps"][0] <= b["steps"][0] <= a["steps"][-1]:
                    self.assertTrue(a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"], (a, b))

    def test_the_keyboard_is_enough(self):
        group = self.node("fused", "× 11")
        self.browser.execute_script("arguments[0].focus()", group)
        self.active().send_keys(Keys.ENTER)
        self.assertIn("part 0", self.active().get_attribute("aria-label"))
        self.active().send_keys(Keys.ENTER)
        fusion = self.active().get_attribute("aria-label")
        self.active().send_keys(Keys.SPACE)
        self.assertIn("kernel " + fusion, self.find("#chosen").text)
        self.assertEqual(self.active().get_attribute("aria-label"), fusion)
        self.active().send_keys(Keys.ESCAPE)
        self.assertIn("part 0", self.active().get_attribute("aria-label"))
        self.active().send_keys(Keys.TAB)
        self.assertIn("part 1", self.active().get_attribute("aria-label"))

    def test_light_and_dark_are_accessible(self):
        self.browser.execute_script(AXE.read_text())
        self.click(self.find("#kernel-table tbody button"))
        pages = set()
        for scheme in ("light", "dark"):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            pages.add(self.browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
            found = self.browser.execute_async_script("axe.run().then(arguments[0])")
            self.assertGreater(len(found["passes"]), 10)
            serious = [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"] if v["impact"] in ("serious", "critical")]
            self.assertEqual(serious, [], scheme)
        self.assertEqual(len(pages), 2)


class Files(PageTest):
    def compiled(self, proto, name="model"):
        model = self.save(proto, f"{name}.onnx")
        plan = self.folder / f"{name}.plan"
        self.expect(OK, "compile", model, "-o", plan)
        return model, plan

    def test_names_are_text(self):
        name = "</script><img src=x onerror=\"document.title='taken'\"><!--<script>"
        proto = support.scale_model()
        for node in proto.graph.node:
            node.name = name + node.op_type
        proto.graph.name = name
        self.open(self.report(self.save(proto)))
        self.assertEqual(self.all("img"), [])
        self.assertNotEqual(self.browser.title, "taken")
        self.click(self.find("#onnx g.box"))
        self.assertIn(name + "Mul", self.find("#chosen").text)

    def test_a_plan_says_what_it_lacks(self):
        _, plan = self.compiled(support.scale_model())
        self.open(self.report(plan))
        missing = self.find("#missing").text
        self.assertIn("a plan holds the names of nodes alone", missing)
        self.assertIn("bench --json", missing)
        self.assertIn("Predicted by the roofline of H200, not measured", self.find("#timeline-note").text)
        self.assertIn("measured times", self.find("#roofline-note").text)
        self.assertEqual(self.all("#roofline-chart svg"), [])
        self.assertEqual((len(self.all("#costs-chart rect.time")), len(self.all("#costs-chart rect.least"))), (0, 2))  # a bar, and its name
        self.click(self.find("#fused g.box"))
        self.assertIn("/scale/Mul", self.find("#chosen").text)
        self.assertIn("smelt report", self.find("#facts").text.replace(support.SMELT, "smelt"))

    def test_refusals_are_those_of_explain(self):
        model, _ = self.compiled(support.many_kernels())
        explained = self.expect_json("smelt.explain/1", "explain", model)
        self.open(self.report(model))
        shown = {}
        for remark in self.data()["remarks"]:
            shown.setdefault(remark["node"], []).append(remark["text"])
        self.assertEqual({n["name"]: n["remarks"] for n in explained["nodes"] if n["remarks"]}, shown)
        refused = [remark for remark in self.data()["remarks"] if not remark["taken"]]
        self.assertTrue(refused)
        self.assertEqual(len(self.all("#decision-table tbody tr")), len(refused))
        self.find("#taken").click()
        self.assertEqual(len(self.all("#decision-table tbody tr")), len(self.data()["remarks"]))
        row = self.find("#decision-table tbody tr")
        self.click(row.find_element(By.CSS_SELECTOR, "button"))
        self.assertIn(row.find_element(By.CSS_SELECTOR, "td:nth-child(2)").text, self.find("#chosen").text)

    def test_what_changed(self):
        _, before = self.compiled(support.scale_model(), "before")
        proto = support.scale_model()
        proto.graph.node[1].op_type = "Max"
        _, after = self.compiled(proto, "after")
        self.open(self.report(after, "--against", before))
        self.assertIn("/scale/Mul /shift/Add", self.find("#change-table").text)
        self.open(self.report(after, "--against", after))
        self.assertIn("no differences", self.find("#changes-note").text)

    def test_trace_and_dot(self):
        _, plan = self.compiled(support.many_kernels())
        trace, dot = self.folder / "trace.json", self.folder / "graph.dot"
        self.expect(OK, "report", plan, "--perfetto", trace, "--dot", dot)
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual({event["ph"] for event in events}, {"X"})
        ends = [event["ts"] + event["dur"] for event in events]
        self.assertTrue(all(event["dur"] > 0 for event in events))
        self.assertEqual([event["ts"] for event in events[1:]], ends[:-1])  # a chain
        text = dot.read_text()
        self.assertTrue(text.startswith("digraph"))
        self.assertIn("k0 -> k1;", text)
        self.assertIn('label="x0"', text)

    def test_a_model_and_a_plan_without_weights(self):
        infos = [support.tensor_info(name, ["n", 4]) for name in "xy"]
        proto = support.model([helper.make_node("Tanh", ["x"], ["y"], name="/tanh")], infos[:1], infos[1:])
        for of in self.compiled(proto):
            self.open(self.report(of))
            self.assertEqual(self.data()["weight_bytes"], 0)
            self.click(self.find("#fused g.box"))
            self.assertIn("/tanh", self.find("#chosen").text)

    def test_weights_whose_file_is_missing(self):
        proto = support.scale_model()
        weight = proto.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "16")):
            weight.external_data.add(key=key, value=value)
        model = self.save(proto)
        self.assertFalse(self.report(model, code=INVALID_MODEL, says=("weights.bin", "--random-weights SEED")).exists())
        self.open(self.report(model, "--random-weights", 1))

    def test_bad_input(self):
        model, plan = self.compiled(support.scale_model())
        other = self.save(support.many_kernels(), "other.onnx")
        bad = self.write("bad.json", b'{"schema": "smelt.run/1"}')
        profile = {"schema": "smelt.bench/1", "shapes": {"x": [2, 4]}, "latency_ms": {}, "kernels": [{"name": "a", "time_us": 1}]}
        strange = self.write("strange.json", json.dumps(profile).encode())
        self.expect(USAGE, "report", plan, says="-o report.html")
        self.report(plan, "--profile", bad, code=USAGE, says=(str(bad), "smelt bench --json"))
        self.report(plan, "--profile", strange, code=USAGE, says="has no times for 1 of 1 launches")
        self.report(plan, "--profile", self.folder / "none", code=USAGE, says="cannot be read")
        self.report(plan, "--arch", "sm_80", code=USAGE, says="it has sm_90a")
        self.report(plan, "--shape", "x=2x5", code=USAGE)
        self.report(plan, "--against", model, code=PLAN)
        self.assertFalse((self.folder / "report.html").exists())
        self.expect(USAGE, "report", other, "-o", other)
        self.expect(RESOURCES, "report", plan, "-o", self.folder / "none" / "report.html")


if __name__ == "__main__":
    unittest.main()
