"""smelt report: what its kernels take, and the times that it measures itself, which are those of smelt bench."""

import json
import os
import re
import unittest

import support
from support import ENVIRONMENT, OK, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake
SHAPE = ("--shape", "x0=6x32")


class ReportTest(CliTest):
    """A model compiled for two architectures, the second of which is the fake GPU's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = cls.make_once()
        cls.model, cls.plan = made.save(support.many_kernels()), made.folder / "model.plan"
        made.expect(OK, "compile", cls.model, "-o", cls.plan, "--arch", "sm_80,sm_90a")

    def report(self, *arguments, of=None):
        page = self.folder / "page.html"
        self.expect(OK, "report", of or self.plan, *SHAPE, "-o", page, *arguments)
        return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)[1])

    def says(self, data, *texts):
        missing = "\n".join(data["missing"])
        for text in texts:
            self.assertIn(text, missing)


class OnAGpu(ReportTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.saved = self.folder / "bench.json"

    def measured(self, *arguments, of=None):
        return self.report("--duration", "0.05", *arguments, of=of)

    def test_figures_are_those_of_bench(self):
        data, saved = self.measured("--save-profile", self.saved), json.loads(self.saved.read_text())
        for key in ("median", "p99", "min", "mean"):
            self.assertEqual(data["profile"][key], saved["latency_ms"][key])
        self.assertGreater(data["profile"]["median"], 0)
        self.assertEqual(data["profile"]["device"], saved["device"])
        runs = [launch for launch in data["launches"] if not data["steps"][launch["step"]]["once"]]
        self.assertEqual([run["time_us"] for run in runs], [kernel["time_us"] for kernel in saved["kernels"]])
        self.assertFalse([text for text in data["missing"] if "Measured times" in text])
        again = self.report("--profile", self.saved, "--arch", "sm_90a")  # the same page of the same times
        for page in (data, again):
            del page["command"], page["profile"]["path"]
        self.assertEqual(data, again)

    def test_what_is_saved_is_what_bench_prints(self):
        self.measured("--save-profile", self.saved)
        saved = json.loads(self.saved.read_text())
        bench = self.expect_json("smelt.bench/1", "bench", self.plan, *SHAPE, "--duration", "0.05")
        self.assertEqual(saved.keys(), bench.keys())
        for key in ("schema", "model", "device", "shapes"):
            self.assertEqual(saved[key], bench[key])
        for key in ("number", "name", "entry", "bytes", "flops", "onnx_nodes"):
            self.assertEqual([kernel[key] for kernel in saved["kernels"]], [kernel[key] for kernel in bench["kernels"]])

    def test_the_kernels_of_the_gpu_are_shown(self):
        for of in (self.plan, self.model):
            data = self.measured(of=of)
            self.assertEqual(data["arch"], "sm_90a")
            self.assertIsNotNone(data["profile"])

    def test_other_kernels_are_not_measured(self):
        data = self.measured("--arch", "sm_80")
        self.assertEqual((data["arch"], data["profile"]), ("sm_80", None))
        self.says(data, "the GPU runs the kernels for sm_90a, not those for sm_80", "bench --json")
        page = ("-o", self.folder / "other.html")
        self.expect(USAGE, "report", self.plan, *page, "--arch", "sm_80", "--device", "0", says="not those for sm_80")
        self.expect(USAGE, "report", self.plan, *page, "--arch", "sm_80", "--save-profile", self.saved, says="not those for sm_80")
        self.assertFalse(page[1].exists() or self.saved.exists())

    def test_nothing_is_measured_on_request(self):
        self.assertIsNone(self.report("--device", "cpu")["profile"])

    def test_flags_that_contradict_each_other(self):
        self.measured("--save-profile", self.saved)
        page = ("report", self.plan, "-o", self.folder / "page.html")
        self.expect(USAGE, *page, "--profile", self.saved, "--device", "cuda", says="--profile gives the times")
        self.expect(USAGE, *page, "--profile", self.saved, "--save-profile", "x.json", says="--save-profile")
        self.expect(USAGE, *page, "--device", "cpu", "--save-profile", "x.json", says="--save-profile")
        self.expect(USAGE, *page, "--save-profile", self.plan)
        self.assertFalse((self.folder / "x.json").exists())


class WithoutAGpu(ReportTest):
    def test_the_report_says_why_nothing_is_measured(self):
        data = self.report()
        self.assertEqual((data["arch"], data["profile"]), ("sm_80", None))
        self.says(data, "Measured times: ", "bench --json")
        page = ("report", self.plan, "-o", self.folder / "other.html")
        self.expect(ENVIRONMENT, *page, "--device", "cuda", says="measuring times")
        self.expect(ENVIRONMENT, *page, "--save-profile", "bench.json", says="measuring times")
        self.assertFalse(page[-1].exists())

    def test_what_kernels_take_is_what_inspect_says(self):
        programs = self.expect_json("smelt.inspect/1", "inspect", self.plan)["programs"]
        for program in programs:
            code = {(launch["number"], launch["name"]): launch["machine_code"] for launch in program["launches"]}
            launches = self.report("--arch", program["arch"])["launches"]
            self.assertEqual([launch["machine_code"] for launch in launches], [code[launch["number"], launch["name"]] for launch in launches])
            self.assertTrue(all(launch["machine_code"]["registers"] > 0 for launch in launches))


if __name__ == "__main__":
    unittest.main()
