"""Progress of long work: in a real terminal one line with an estimate, which goes away; elsewhere a line every ten seconds."""

import os
import pty
import re
import signal
import subprocess
import threading
import time
import unittest

from onnx import TensorProto, helper

import support
from support import ACCURACY, OK, SMELT, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake
CLEAR = "\r\x1b[K"


def chain(external, width=1024):
    """Products with 16 weights of 4 MiB each in an external file."""
    nodes, weights = [], []
    for i in range(16):
        weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[width, width], data_location=TensorProto.EXTERNAL)
        bytes_ = 4 * width * width
        for key, value in (("location", external), ("offset", i * bytes_), ("length", bytes_)):
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"], name=f"/MatMul.{i}"))
        nodes.append(helper.make_node("Tanh", [f"p{i}"], [f"x{i + 1}"], name=f"/Tanh.{i}"))
    infos = [support.tensor_info(name, ["n", width]) for name in ("x0", "x16")]
    return support.model(nodes, infos[:1], infos[1:], weights)


def slow_down(process):
    """Lets the process run a twentieth of the time, whatever the machine: what takes it 0.1 s takes two."""
    while process.poll() is None:
        for what, seconds in ((signal.SIGSTOP, 0.038), (signal.SIGCONT, 0.002)):
            process.send_signal(what)
            time.sleep(seconds)


class TerminalTest(CliTest):
    def in_terminal(self, *arguments, slow=False, code=OK):
        """(what stdout says, what the terminal got as stderr)"""
        ours, theirs = pty.openpty()
        command = [SMELT, *map(str, arguments)]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=self.environment, cwd=self.folder)
        os.close(theirs)
        if slow:
            throttle = threading.Thread(target=slow_down, args=(running,))
            throttle.start()
            self.addCleanup(throttle.join)
        pieces = []
        try:
            while piece := os.read(ours, 4096):
                pieces.append(piece)
        except OSError:  # how Linux tells of a terminal whose other end is closed
            pass
        os.close(ours)
        printed = running.communicate(timeout=120)[0]
        self.assertEqual(running.returncode, code, b"".join(pieces))
        return printed, b"".join(pieces).decode()

    def check_lines(self, shown, *wanted):
        """Of one line that is rewritten, and cleared in the end: there is one of each kind, and an estimate."""
        pieces = shown.split(CLEAR)
        self.assertEqual((pieces[0], pieces[-1]), ("", ""), shown)
        lines = [piece for piece in pieces if piece]
        for pattern in wanted:
            self.assertTrue(any(re.fullmatch(pattern, line) for line in lines), (pattern, lines))
        self.assertTrue(any("s left" in line for line in lines), lines)


class Progress(TerminalTest):

    def test_a_terminal_shows_one_line_with_an_estimate(self):
        model = self.save(support.many_kernels())
        printed, shown = self.in_terminal("compile", model, "-o", "m.plan", "--arch", "sm_80,sm_86")
        self.assertIn("m.plan: ", printed)
        lines = shown.split(CLEAR)
        self.assertEqual((lines[0], lines[-1]), ("", ""), shown)  # each is written over the one before, and the last is cleared
        # A disk that is busy with something else makes the weights' 55 KiB worth a line, too.
        kernels, weights = r"smelt: compiling kernels: \d+ of \d+", r"smelt: writing weights: [0-9.]+ KiB of [0-9.]+ KiB"
        for line in lines[1:-1]:
            self.assertRegex(line, rf"^({kernels}|{weights})(, about \d+ s left)?$")
        self.assertTrue(any(re.fullmatch(rf"{kernels}, about \d+ s left", line) for line in lines), shown)
        printed, shown = self.in_terminal("compile", model, "-o", "m.plan", "--arch", "sm_80,sm_86")
        self.assertNotIn("kernels", shown)  # all lie in the cache: too quick to be worth a line

    def test_weights_that_are_drawn_and_written(self):
        model = self.save(chain("missing.bin"))
        self.expect(OK, "compile", model, "-o", "m.plan", "--random-weights", "1")  # kernels lie in the cache from now on
        done, shown = self.in_terminal("compile", model, "-o", "m.plan", "--random-weights", "1", slow=True)
        self.assertIn("m.plan: ", done)
        self.check_lines(shown, r"smelt: writing weights: [0-9.]+ MiB of 64\.0 MiB(, about \d+ s left)?")

    def test_weights_that_are_read(self):
        with open(self.folder / "weights.bin", "wb") as file:
            file.truncate(16 * 4 * 4096 * 4096)  # zeros, which take no room on the disk
        _, shown = self.in_terminal("check", self.save(chain("weights.bin", width=4096)), slow=True)
        self.check_lines(shown, r"smelt: reading weights: [0-9.]+ [MG]iB of 1\.0 GiB(, about \d+ s left)?")

    def test_a_run_on_the_cpu(self):
        run = ("run", self.save(chain("missing.bin")), "--random-weights", "1", "--device", "cpu", "--shape", "x0=256x1024")
        printed, shown = self.in_terminal(*run, slow=True)
        self.assertRegex(printed, r"(?m)^x16 ")
        self.check_lines(shown, r"smelt: running ops on the CPU: \d+ of 48(, about \d+ s left)?")
        self.assertEqual(self.expect(OK, *run).stderr, "")  # no terminal, and less than ten seconds

    def test_what_16_bits_would_cost(self):
        model = self.save(chain("missing.bin", width=256))
        flags = ("--random-weights", "1", "--precision", "fp16", "--within", "1e-6", "-o", "m.plan")
        self.expect(OK, "compile", model, *flags)
        _, shown = self.in_terminal("compile", model, *flags, slow=True)
        self.check_lines(shown, r"smelt: measuring what 16 bits would cost: \d+ of \d+(, about \d+ s left)?")

    def test_elsewhere_there_is_a_line_every_ten_seconds(self):
        self.use_fake_clock(1000)
        done = self.expect(OK, "compile", self.save(support.many_kernels()), "-o", "m.plan", "--arch", "sm_80,sm_86")
        lines = []
        for line in done.stderr.splitlines():
            found = re.fullmatch(r"smelt: ([a-z ]+): [0-9.]+(?: [KM]iB)? of [0-9.]+(?: [KM]iB)?(, about \d+ s left)? \((\d+) s\)", line)
            self.assertTrue(found, done.stderr)
            lines.append((found[1], found[2], int(found[3])))
        kernels = [seconds for phase, _, seconds in lines if phase == "compiling kernels"]
        self.assertGreaterEqual(len(kernels), 2, done.stderr)
        self.assertGreaterEqual(min(later - earlier for earlier, later in zip([0, *kernels], kernels)), 10, done.stderr)
        self.assertTrue(any(estimate for _, estimate, _ in lines), done.stderr)
        self.assertLessEqual(10 * len(lines), float(self.clock_end.read_text()))

    def test_elsewhere_what_is_quick_says_nothing(self):
        self.use_fake_clock(1)
        done = self.expect(OK, "compile", self.save(support.many_kernels()), "-o", "m.plan", "--arch", "sm_80,sm_86")
        self.assertEqual(done.stderr, "")


SHARE = r"(?:\d+) %(, about \d+ s left)?"
BYTES = r"[0-9.]+ M?i?B of 64\.0 MiB(, about \d+ s left)?"


class OnAGpu(TerminalTest):
    """A fake one, on a clock that goes on when it is looked at, as whoever shows progress does."""

    @classmethod
    def setUpClass(cls):
        made = cls.make_once()
        made.save(chain("missing.bin"))
        made.expect(OK, "compile", "model.onnx", "-o", "m.plan", "--random-weights", "1")

    def setUp(self):
        super().setUp()
        self.environment |= {"LD_LIBRARY_PATH": FAKE_DRIVER, "SMELT_CACHE_DIR": self.made.environment["SMELT_CACHE_DIR"]}
        self.model, self.plan = (self.made.folder / name for name in ("model.onnx", "m.plan"))

    def test_a_measurement(self):
        self.use_fake_clock(50)
        _, shown = self.in_terminal("bench", self.plan, "--duration", "6", "--warm-up", "2")
        phases = ("warming up", "measuring launches back to back", "measuring single runs", "measuring kernels")
        self.check_lines(shown, *(f"smelt: {phase}: {SHARE}" for phase in phases))

    def test_a_measurement_of_so_many_runs(self):
        self.use_fake_clock(50)
        _, shown = self.in_terminal("bench", self.plan, "--duration", "0.1", "--warm-up", "0.1", "--iterations", "300")
        shares = [int(share) for share in re.findall(r"measuring single runs: (\d+) %", shown)]
        self.assertGreater(len(set(shares)), 5, shown)
        self.assertEqual(shares, sorted(shares))
        self.assertRegex(shown, r"measuring single runs: \d+ %, about \d+ s left")

    def test_a_measurement_on_the_cpu(self):
        self.use_fake_clock(50)
        model = self.save(support.scale_model())
        _, shown = self.in_terminal("bench", model, "--device", "cpu", "--duration", "6", "--warm-up", "2")
        self.check_lines(shown, f"smelt: warming up: {SHARE}", f"smelt: measuring single runs: {SHARE}")

    def test_elsewhere_a_measurement_says_a_line_every_ten_seconds(self):
        self.use_fake_clock(50)
        done = self.expect(OK, "bench", self.plan, "--duration", "60")
        lines = [re.fullmatch(rf"smelt: ([a-z ]+): {SHARE} \((\d+) s\)", line) for line in done.stderr.splitlines()]
        self.assertTrue(all(lines), done.stderr)
        self.assertEqual({line[1] for line in lines}, {"measuring launches back to back", "measuring single runs", "measuring kernels"})
        seconds = [int(line[3]) for line in lines]
        self.assertTrue(all(later - earlier >= 10 for earlier, later in zip([0, *seconds], seconds)), seconds)
        self.assertGreaterEqual(len(seconds), 7)

    def test_elsewhere_a_quick_measurement_says_nothing(self):
        self.use_fake_clock(1)
        self.assertEqual(self.expect(OK, "bench", self.plan, "--duration", "2").stderr, "")

    def test_weights_that_are_uploaded(self):
        self.use_fake_clock(50)
        compare = ("compare", self.model, "--random-weights", "1", "--plan", self.plan)
        report = ("report", self.plan, "-o", "report.html", "--duration", "1")
        for arguments, code in ((("run", self.plan), OK), (compare, ACCURACY), (report, OK)):  # the fake computes nothing
            _, shown = self.in_terminal(*arguments, code=code)
            self.assertRegex(shown, re.escape(CLEAR) + rf"smelt: uploading weights: {BYTES}" + re.escape(CLEAR))
        self.assertRegex(shown, r"smelt: measuring kernels: \d+ %, about")

    def test_a_plan_that_is_read(self):
        self.use_fake_clock(300)
        self.assertRegex(self.in_terminal("inspect", self.plan)[1], r"smelt: reading the plan: [0-9.]+ [KM]iB of 64\.\d MiB")

    def test_elsewhere_an_upload_says_a_line_every_ten_seconds(self):
        self.use_fake_clock(1500)
        lines = [line for line in self.expect(OK, "run", self.plan).stderr.splitlines() if "uploading" in line]
        for line in lines:
            self.assertRegex(line, rf"^smelt: uploading weights: {BYTES} \(\d+ s\)$")
        self.assertGreaterEqual(len(lines), 2)
        self.assertLess(len(lines), 10)


if __name__ == "__main__":
    support.main()
