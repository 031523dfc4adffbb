"""A signal ends `smelt` whatever it does at that moment, NVRTC's compilation included: it dies of that signal and leaves no unfinished file.

usage: interrupt_test.py [COUNT]     interrupts COUNT compilations (24)
"""

import ctypes
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from onnx import helper

import support
from support import CliTest

COUNT = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 24
LIBC, TGKILL = ctypes.CDLL(None), {"x86_64": 234, "aarch64": 131}[platform.machine()]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def wait_for_first_line(process):
    """Until `smelt` blocks SIGTERM, which is what main() begins with: a crash before is not its own to report, and where a sanitizer
    sets itself up it meets that sanitizer's locks."""
    status, limit = Path(f"/proc/{process.pid}/status"), time.monotonic() + 30
    while time.monotonic() < limit:
        blocked = int(re.search(r"^SigBlk:\s*(\w+)", status.read_text(), re.M)[1], 16)
        if blocked >> (signal.SIGTERM - 1) & 1 or process.poll() is not None:
            return
        time.sleep(0.001)
    raise AssertionError("smelt does not begin")


def crash(process, draw):
    """Makes one thread of the process crash, whichever: often the one that waits for the others, to which a signal to the process goes."""
    threads = [int(thread.name) for thread in Path(f"/proc/{process.pid}/task").iterdir()]
    thread = draw.choice([process.pid, *threads])
    LIBC.syscall(TGKILL, process.pid, thread, int(signal.SIGSEGV))  # which fails where the thread is over, as send_signal() then may


class Interrupts(CliTest):
    def interrupt(self, model, number, delay):
        plan, temporary = self.folder / "out.plan", self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = {**self.environment, "SMELT_CACHE_DIR": str(self.folder / f"cache{number}"), "TMPDIR": str(temporary)}
        command = [support.SMELT, "compile", str(model), "-o", str(plan)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder)
        time.sleep(delay)
        sent = SIGNALS[number % len(SIGNALS)]
        process.send_signal(sent)
        try:
            _, text = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"attempt {number}: hangs {delay:.2f} s after its start on {sent.name}")
        left = [file for file in self.folder.rglob("*") if ".tmp" in file.name or file.parent == temporary]
        self.assertEqual(left, [], f"attempt {number}, {sent.name} after {delay:.2f} s")
        if process.returncode != 0:  # it may have finished before
            self.assertEqual(process.returncode, -sent, f"attempt {number} after {delay:.2f} s: {text.decode()}")
            if plan.exists():  # the signal came behind the last byte
                self.expect(support.OK, "inspect", plan)
        plan.unlink(missing_ok=True)
        return process.returncode != 0

    def test_dies_of_the_signal_and_leaves_nothing(self):
        model = self.save(support.many_kernels())
        start = time.monotonic()
        self.expect(support.OK, "compile", model, "-o", self.folder / "out.plan")
        whole = time.monotonic() - start
        (self.folder / "out.plan").unlink()
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        # Before its first line of code a process dies as every process does.
        hits = sum(self.interrupt(model, i, draw.uniform(0.02, whole)) for i in range(COUNT))
        self.assertGreater(hits, COUNT // 3, f"seed {seed}: too few were interrupted")
        print(f"{hits} of {COUNT} interrupted, seed {seed}", file=sys.stderr)

    def test_a_crash_is_reported_wherever_it_is(self):
        """In the allocator too, whose lock nobody gives back then."""
        model, seed = self.save(support.many_kernels()), random.randrange(1 << 32)
        draw, reported = random.Random(seed), 0
        for i in range(COUNT):
            environment = {**self.environment, "SMELT_CACHE_DIR": str(self.folder / f"cache{i}")}
            command = [support.SMELT, "compile", str(model), "-o", str(self.folder / "out.plan")]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder)
            wait_for_first_line(process)
            delay = draw.uniform(0, 1)
            time.sleep(delay)
            crash(process, draw)
            try:
                _, text = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.fail(f"seed {seed}: hangs {delay:.2f} s after its first line")
            if process.returncode == support.INTERNAL:
                self.assertIn("this is a defect of Smelt", text)
                self.assertIn("out.plan", text)  # the command
                reported += 1
            else:  # behind its last line
                self.assertEqual(process.returncode, support.OK, text)
            self.assertEqual([file for file in self.folder.rglob("*.tmp")], [])
            (self.folder / "out.plan").unlink(missing_ok=True)
        self.assertGreater(reported, COUNT // 3, f"seed {seed}")

    def test_a_crash_in_a_pass_leaves_a_reproducer(self):
        nodes = [helper.make_node("Relu" if i % 2 else "Neg", [f"t{i}"], [f"t{i + 1}"]) for i in range(12000)]  # whose passes take long enough to be met
        infos = [support.tensor_info(name, ["n", 64]) for name in ("t0", "t12000")]
        command = [support.SMELT, "compile", str(self.save(support.model(nodes, infos[:1], infos[1:]))), "--emit", "mlir", "--verbose"]
        process = subprocess.Popen(
            [*command, "--json", "-o", "out"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )
        while "running the pass" not in (line := process.stderr.readline()):
            self.assertTrue(line, "no pass was run")
        process.send_signal(signal.SIGSEGV)
        report, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, support.INTERNAL, text)
        reproducer = self.folder / f"smelt-reproducer-{process.pid}.mlir"
        self.assertIn(f"{reproducer.name} reproduces it", text)
        self.assertIn(f"{reproducer.name} reproduces it", json.loads(report)["message"])
        smelt_opt = Path(support.SMELT).with_name("smelt-opt")
        again = subprocess.run([smelt_opt, reproducer, "--run-reproducer"], capture_output=True, text=True)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertTrue("smelt.fusion" in again.stdout)

    def stop_while_it_writes(self, *command):
        """Interrupts a command that is seen to have an unfinished file, and returns the files that are left."""
        before = set(self.folder.rglob("*"))
        process = subprocess.Popen([support.SMELT, *map(str, command)], env=self.environment, stdout=subprocess.DEVNULL, cwd=self.folder)
        unfinished = []
        while process.poll() is None and not unfinished:
            unfinished = [path for path in self.folder.rglob("*.tmp*")]
            if unfinished:
                process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                unfinished = [path for path in unfinished if path.exists()]
                process.send_signal(signal.SIGINT if unfinished else signal.SIGCONT)
                process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(60), -signal.SIGINT, f"no unfinished file was seen of {command}")
        return set(self.folder.rglob("*")) - before

    def test_outputs_of_a_run_are_whole_or_not_there(self):
        node = helper.make_node("Neg", ["x"], ["y"])
        infos = [support.tensor_info(name, [4096, 4096]) for name in "xy"]
        run = ("run", self.save(support.model([node], infos[:1], infos[1:])), "--device", "cpu")
        (self.folder / "out").mkdir()
        for where in (("--output", "y=@y.npy"), ("--output", "@y.npz"), ("--output-dir", "out")):
            self.assertEqual(self.stop_while_it_writes(*run, *where), set())

    def test_an_ignored_signal_stays_ignored(self):
        model = self.save(support.scale_model())
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        command = [support.SMELT, "compile", str(model), "-o", str(self.folder / "out.plan")]
        process = subprocess.Popen(command, env=self.environment, preexec_fn=ignore, stdout=subprocess.DEVNULL)
        for _ in range(20):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.005)
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
