"""smelt compile --tune and --tuning: what is measured decides, is kept, and goes on where it ended.

The device is the fake driver, whose kernels take as long as a file says, or crash, hang, and break the device.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import progress_test
import support
from support import ACCURACY, ENVIRONMENT, OK, PLAN, RUN_FAILED, SMELT, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


def two_products(rows):
    """gemm+tanh and gemm+relu, of 16 bits."""
    draw = np.random.default_rng(0)
    weights = [support.constant(f"w{i}", draw.normal(size=size).astype(np.float16)) for i, size in enumerate([(256, 512), (512, 256)])]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["p0"], name="/first/MatMul"),
        helper.make_node("Tanh", ["p0"], ["t0"], name="/first/Tanh"),
        helper.make_node("MatMul", ["t0", "w1"], ["p1"], name="/second/MatMul"),
        helper.make_node("Relu", ["p1"], ["y"], name="/second/Relu"),
    ]
    infos = [support.tensor_info(name, [rows, 256], TensorProto.FLOAT16) for name in ("x", "y")]
    return support.model(nodes, infos[:1], infos[1:], weights)


class TuneTest(CliTest):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.cache = holder.name  # kernels are compiled once for all tests

    def setUp(self):
        super().setUp()
        self.environment["SMELT_CACHE_DIR"] = self.cache
        self.model = self.save(two_products("n"))
        self.file = self.folder / "m.tuning.json"

    def change(self, change):
        tuning = json.loads(self.file.read_text())
        change(tuning)
        self.file.write_text(json.dumps(tuning))

    def compile(self, plan, *flags, code=OK, says=()):
        return self.expect(code, "compile", self.model, "-o", plan, "--shape", "x=64x256", *flags, says=says)

    def launches(self, plan):
        return self.expect_json("smelt.inspect/1", "inspect", plan)["programs"][0]["launches"]


class WithoutAGpu(TuneTest):
    def test_is_refused_in_words(self):
        self.compile("m.plan", "--tune", code=ENVIRONMENT, says=("--tune measures on a GPU", "--tuning FILE"))
        self.assertFalse((self.folder / "m.plan").exists())

    def test_flags_that_make_no_sense(self):
        self.compile("m.plan", "--tuning", "none.json", code=USAGE, says="none.json")
        self.compile("m.txt", "--tune", "--emit", "cuda", code=USAGE, says="--tune measures for a plan")
        self.write("bad.json", b"{}")
        self.compile("m.plan", "--tuning", "bad.json", code=PLAN, says=("bad.json: ", "no times of tilings"))
        self.compile("m.plan")
        self.compile("n.plan", "--tuning", "m.plan", code=USAGE, says="m.plan holds no measured times")

    def test_the_worker_is_no_command_for_people(self):
        self.assertNotIn("tune-worker", self.expect(OK, "--help").stdout + self.expect(OK, "help", "man").stdout)
        self.expect(USAGE, "tune-worker", "none.json", says="none.json holds no jobs")


class OnAFakeGpu(TuneTest):
    def setUp(self):
        super().setUp()
        self.without_gpu = self.environment
        self.environment = {**self.environment, "LD_LIBRARY_PATH": FAKE_DRIVER}
        self.play("* shared")

    def play(self, *lines):
        script = self.write("kernels.txt", "\n".join(lines).encode())
        self.environment["SMELT_FAKE_KERNELS"] = str(script)

    def tune(self, *flags, plan="m.plan", code=OK, says=()):
        return self.compile(plan, "--tune", *flags, code=code, says=says)

    def report(self, *flags):
        return json.loads(self.tune("--json", *flags).stdout)["tuning"]

    def products(self):
        """The products of the tuning file by their first op, as lists of their times."""
        products = json.loads(self.file.read_text())["products"]
        return {re.match(r"gemm\+(\w+)", product["description"])[1]: product["times"] for product in products.values()}

    def tilings(self, plan):
        """The tiling of each product."""
        return dict(re.match(r"gemm\+(\w+) (.*)", launch["name"]).groups() for launch in self.launches(plan))

    def entry_of(self, op, tiling):
        """The kernel of a product with a tiling that was measured: it is in the plan where it is the fastest."""
        tuning = json.loads(self.file.read_text())
        for product in tuning["products"].values():
            if product["description"].startswith(f"gemm+{op}"):
                next(each for each in product["times"] if each["tiling"] == tiling)["ns"] = 1
        (self.folder / "changed.json").write_text(json.dumps(tuning))
        self.compile("changed.plan", "--tuning", "changed.json")
        launch = next(each for each in self.launches("changed.plan") if each["name"].startswith(f"gemm+{op}"))
        self.assertEqual(launch["name"], f"gemm+{op} {tiling}")
        return launch["entry"]

    def check_fastest_is_taken(self, plan):
        fastest = {op: min((each for each in times if "ns" in each), key=lambda each: each["ns"])["tiling"]
                   for op, times in self.products().items()}
        self.assertEqual(self.tilings(plan), fastest)

    def test_the_fastest_is_in_the_plan_and_its_times_travel(self):
        self.compile("model.plan")
        done = self.tune()
        self.assertRegex(done.stdout, r"tuned on Fake GPU: 12 tilings of 2 products measured, 0 failed; in m\.tuning\.json")
        self.assertEqual({op: len(times) for op, times in self.products().items()}, {"tanh": 6, "relu": 6})
        for times in self.products().values():
            self.assertEqual({each["rows"] for each in times}, {64})
        self.check_fastest_is_taken("m.plan")
        self.assertNotEqual(self.tilings("m.plan"), self.tilings("model.plan"))  # or nothing was shown
        self.assertIn("tilings: those of 2 launches by times measured on Fake GPU", self.expect(OK, "inspect", "m.plan").stdout)
        self.assertNotIn("by times measured", self.expect(OK, "inspect", "model.plan").stdout)
        self.assertEqual([launch["tuned"] for launch in self.launches("m.plan")], [True, True])
        self.environment = self.without_gpu
        tuned = (self.folder / "m.plan").read_bytes()
        for source in ("m.tuning.json", "m.plan"):
            self.compile("again.plan", "--tuning", source)
            self.assertEqual((self.folder / "again.plan").read_bytes(), tuned, source)
        text = self.expect(OK, "compile", self.model, "--shape", "x=64x256", "--tuning", "m.plan", "--emit", "cuda").stdout
        for launch in self.launches("m.plan"):
            self.assertIn(launch["entry"], text)
        changes = {change["what"]: (change["before"], change["after"])
                   for change in self.expect_json("smelt.diff/1", "diff", "model.plan", "m.plan", code=RUN_FAILED)["changes"]}
        self.assertEqual(changes["tilings by times of"], ("none", "Fake GPU"))

    def test_what_is_known_is_not_measured_again(self):
        first = self.report()
        self.assertEqual((first["comparisons"], first["known"], first["measured"]), (2, 0, 12))
        before = self.file.read_bytes()
        self.play("* 1000000")
        again = self.report()
        self.assertEqual((again["known"], again["measured"]), (2, 0))
        self.assertEqual(self.file.read_bytes(), before)

        def forget(tuning):
            for product in tuning["products"].values():
                if product["description"].startswith("gemm+relu"):
                    product["times"] = product["times"][:2]  # as if it had ended in between

        self.change(forget)
        rest = self.report()
        self.assertEqual((rest["known"], rest["measured"]), (1, 6))
        self.assertEqual(self.products()["tanh"], [each for product in json.loads(before)["products"].values()
                         if product["description"].startswith("gemm+tanh") for each in product["times"]])
        for each in self.products()["relu"]:
            self.assertAlmostEqual(each["ns"] / 1e9, 1, delta=0.5)

    def test_tilings_that_break_are_left_out(self):
        self.tune()
        order = [each["tiling"] for each in sorted(self.products()["tanh"], key=lambda each: each["ns"])]
        crash, hang, error = order[:3]
        lines = [f"{self.entry_of('tanh', tiling)} {what}" for tiling, what in ((crash, "crash"), (hang, "hang"), (error, "error"))]
        self.file.unlink()
        self.play(*lines, "* shared")
        done = self.tune(says=(f"warning: {crash} of gemm+tanh, 512 columns, 256 deep at 64 rows is left out", "signal 9 (Killed)",
                               f"warning: {hang} of", "nothing came back within 10 s", f"warning: {error} of", "the device is lost"))
        self.assertIn("9 tilings of 2 products measured, 3 failed", done.stdout)
        failures = {each["tiling"]: each["failure"] for each in self.products()["tanh"] if "failure" in each}
        self.assertEqual(failures.keys(), {crash, hang, error})
        self.check_fastest_is_taken("m.plan")
        self.assertEqual(self.tilings("m.plan")["tanh"], order[3])
        self.play("* crash")  # no failed one is tried again
        self.assertEqual(self.report()["known"], 2)

    def test_where_nothing_can_be_measured_nothing_is_kept(self):
        self.play("* crash")
        self.tune(code=RUN_FAILED, says="no tiling of gemm+")
        self.assertFalse(self.file.exists())
        self.assertFalse((self.folder / "m.plan").exists())

    def test_times_of_something_else_are_refused(self):
        self.tune()
        self.compile("m.plan", "--tuning", "m.tuning.json", "--arch", "sm_80", code=USAGE,
                     says=("Fake GPU, which is sm_90a", "the plan is for sm_80"))
        self.tune("--arch", "sm_80", code=USAGE, says="--tune measures on Fake GPU, which is sm_90a")
        good = self.file.read_text()
        self.change(lambda tuning: tuning.update(device="NVIDIA A100"))
        self.tune(code=PLAN, says=("m.tuning.json: the times are of NVIDIA A100 (sm_90a)", "this GPU is Fake GPU"))
        self.compile("m.plan", "--tuning", "m.tuning.json")  # a plan for elsewhere
        self.file.write_text(good)
        self.change(lambda tuning: tuning.update(smelt_version="0.0.1"))
        for flags in (("--tune",), ("--tuning", "m.tuning.json")):
            self.compile("m.plan", *flags, code=PLAN, says=("of Smelt 0.0.1", "measure again with --tune"))
        self.file.write_text(good[: len(good) // 2])
        self.tune(code=PLAN, says="m.tuning.json: no times of tilings")
        self.file.write_text(good)
        self.tune()

    def test_what_looks_into_a_tuned_plan_chooses_as_it_did(self):
        self.tune()
        self.compile("model.plan")
        entries = {launch["entry"] for launch in self.launches("m.plan")}
        of_the_model = {launch["entry"] for launch in self.launches("model.plan")}
        (entry, *_) = entries - of_the_model  # or nothing would be shown
        shape = ("--shape", "x=64x256")
        done = self.expect(ACCURACY, "compare", self.model, "--plan", "m.plan", "--all-tensors", *shape)  # kernels leave zeros
        self.assertIn("first fusion that differs", done.stderr)
        text = self.expect(OK, "inspect", "m.plan", "--source", entry).stdout
        changed = self.write("changed.cu", b"// by hand\n" + text.encode())
        self.expect(ACCURACY, "patch", "m.plan", f"{entry}={changed}", says="disagrees with the interpreter")

    def test_open_rows_are_measured_in_every_range(self):
        self.expect(OK, "compile", self.model, "-o", "model.plan")
        self.expect(OK, "compile", self.model, "-o", "m.plan", "--tune")
        by_rule = {}
        for launch in self.launches("m.plan"):
            op, tiling = re.match(r"gemm\+(\w+) (.*)", launch["name"]).groups()
            rule = launch.get("rule", {"first": 0, "last": None})
            by_rule.setdefault(op, []).append((rule["first"], rule["last"] or 1 << 60, tiling))
        for op, times in self.products().items():
            points = {each["rows"] for each in times}
            self.assertGreater(len(points), 1)
            for rows in points:
                took = {each["tiling"]: each["ns"] for each in times if each["rows"] == rows}
                taken = next(tiling for first, last, tiling in by_rule[op] if first <= rows <= last)
                if taken in took:
                    self.assertLess(took[taken], 1.15 * min(took.values()), (op, rows))
            # Time does not depend on rows here, so that one tiling is the best wherever it was measured.
            best = min(times, key=lambda each: each["ns"])["tiling"]
            self.assertIn(best, {tiling for _, _, tiling in by_rule[op]})
        names = lambda plan: [launch["name"] for launch in self.launches(plan)]
        self.assertNotEqual(names("m.plan"), names("model.plan"))

    def test_an_interrupt_leaves_a_file_to_go_on_with(self):
        self.tune()  # the kernels lie in the cache
        self.file.unlink()
        self.play("gemm_relu hang", "* shared")
        temporary = self.folder / "tmp"
        temporary.mkdir()
        command = [SMELT, "compile", self.model, "-o", "m.plan", "--shape", "x=64x256", "--tune"]
        process = subprocess.Popen(command, env={**self.environment, "TMPDIR": str(temporary)}, cwd=self.folder, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self.file.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), -signal.SIGINT)
        self.assertEqual(list(temporary.iterdir()), [])
        self.assertEqual(self.workers_of(temporary), [])
        self.assertEqual(self.products().keys(), {"tanh"})
        self.play("* shared")
        self.assertEqual(self.report()["known"], 1)
        self.check_fastest_is_taken("m.plan")

    def workers_of(self, folder):
        """Worker processes that still run a second later, with jobs in the folder."""
        def running():
            found = []
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    command = path.read_bytes()
                except OSError:  # it ended meanwhile
                    continue
                if b"tune-worker" in command and os.fsencode(folder) in command:
                    found.append(command)
            return found

        deadline = time.monotonic() + 10
        while running() and time.monotonic() < deadline:
            time.sleep(0.05)
        return running()

    def test_a_terminal_shows_how_far_it_is(self):
        in_terminal = progress_test.TerminalTest.in_terminal
        arguments = ("compile", self.model, "-o", "m.plan", "--shape", "x=64x256", "--tune")
        self.use_fake_clock(100)  # what takes a few looks at the clock is worth a line
        _, shown = in_terminal(self, *arguments)
        self.assertRegex(shown, r"smelt: measuring tilings: [01] of 2")


if __name__ == "__main__":
    support.main()
