"""Files made to harm: `smelt` answers each soon, within bounded memory, with a documented exit code, and says what is wrong."""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hostile_files
import support
from support import OK, CliTest

SANITIZED = "sanitized" in sys.argv  # which is slower, and takes memory of its own
if SANITIZED:
    sys.argv.remove("sanitized")
SECONDS = 60 if SANITIZED else 10  # on a core that adds a million numbers in 50 ms; slower ones have as many times longer
BYTES = 2 << 30


class Hostile(CliTest):
    def answer(self, *arguments):
        """How `smelt` ends: its code, what it says, how long it took and how much memory at most."""
        command = [support.SMELT, *map(str, arguments)]
        start = time.monotonic()
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            said.seek(0)
            return process.returncode, said.read(), usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss * 1024

    def judge(self, case, path):
        for command in (("check", path), ("compile", path, "--emit", "cuda", "-o", self.folder / "out.cu")):
            code, said, busy, seconds, memory = self.answer(*command, "--timeout", 10 * SECONDS)
            shown = f"{case.name}: {command[0]}: code {code}, {busy:.1f} s, {memory >> 20} MB\n{said[:2000].decode(errors='replace')}"
            self.assertIn(code, case.codes, shown)
            if min(busy, seconds) >= SECONDS:
                self.assertLess(min(busy, seconds), SECONDS * support.slowness(), shown)
            if not SANITIZED:
                self.assertLess(memory, BYTES, shown)
            if code != OK:
                self.assertTrue(said.strip(), shown)
                self.assertIn(case.says, said.decode(errors="replace"), shown)
        self.assertEqual([file for file in self.folder.rglob("*.tmp")], [], case.name)


def add_test(made):
    def test(self):
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        cases = list(made(draw))
        for case in draw.sample(cases, min(len(cases), 4 if SANITIZED else len(cases))):
            with self.subTest(case.name, seed=seed), tempfile.TemporaryDirectory(dir=self.folder) as holder:
                (Path(holder) / "outside.bin").write_bytes(bytes(1024))
                folder = Path(holder) / "model"
                folder.mkdir()
                self.judge(case, hostile_files.write(case, folder))

    setattr(Hostile, f"test_{made.__name__}", test)


for made in hostile_files.CLASSES:
    add_test(made)

if __name__ == "__main__":
    support.main()
