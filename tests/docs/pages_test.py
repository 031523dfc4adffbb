"""Runs a page of docs/ line by line, as its reader would, in a folder with the demo model's files.

usage: pages_test.py PAGE...     SMELT is the binary; BUILD, where a page builds against an installed Smelt, the build folder

A block ```console holds commands, each behind `$ `, and below each what it prints; every command must succeed. In what is
printed, a line `...` stands for any lines, and ` ... ` within a line or `...` at its end for any text: times, addresses,
what would not fit. Spaces at the end of a line do not count, nor do lines of progress, which slow machines print. A block whose first line names a file (```cpp digits.cpp) is
what that file holds.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SMELT = Path(os.environ["SMELT"]).resolve()
DEMO = Path(__file__).resolve().parents[2] / "tools" / "demo"
BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

PROGRESS = re.compile(r"^smelt: .* \(\d+ s\)\n", re.MULTILINE)


def commands(text):
    """(a command, what it prints) of a console block; a command goes on behind a backslash."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        end = 1 + next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[:end]), "\n".join(lines[end:])


def pattern(shown):
    """A regular expression of what a page shows."""
    lines = []
    for line in shown.rstrip("\n").split("\n"):
        if line == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*".join(re.escape(piece) for piece in line.rstrip().split("...")) + r"[ ]*\n")
    return "".join(lines)


def agrees(shown, printed):
    printed = PROGRESS.sub("", printed)
    return re.fullmatch(pattern(shown), printed if printed.endswith("\n") else printed + "\n") is not None


class Rules(unittest.TestCase):
    def test_what_is_elided(self):
        for shown in ("a\nb 1 s\nc", "a\n...", "...\nc", "a\nb ... s\nc", "a\nb ...\nc", "..."):
            self.assertTrue(agrees(shown, "a\nb 1 s  \nc\n"), shown)
        self.assertTrue(agrees("a", "smelt: compiling kernels: 8 of 17 (11 s)\na\n"))
        for shown in ("a\nb\nc", "a\n...\nb", "a ... b", "", "a\nb 1 s"):
            self.assertFalse(agrees(shown, "a\nb 1 s\nc\n"), shown)
        self.assertEqual(list(commands("$ one \\\n  more\nsays\n$ two\n")), [("one \\\n  more", "says\n"), ("two", "")])


class Page(unittest.TestCase):
    path: Path

    def setUp(self):
        holder = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = Path(holder, "reader")
        self.folder.mkdir()
        for file in DEMO.glob("digits_*"):
            shutil.copy(file, self.folder)
        path = [str(SMELT.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        self.environment = {**os.environ, "PATH": ":".join(path), "SMELT_CACHE_DIR": str(Path(holder, "cache"))}
        if "BUILD" in os.environ:
            prefix = Path(holder, "prefix")
            for component in ("runtime", "runtime_dev", "compiler"):
                install = ["cmake", "--install", os.environ["BUILD"], "--component", component, "--prefix", prefix]
                subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
            self.environment["CMAKE_PREFIX_PATH"] = str(prefix)

    def check(self, command, shown):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        self.assertEqual(done.returncode, 0, f"$ {command}\n{done.stdout}")
        self.assertTrue(agrees(shown, done.stdout), f"$ {command}\n{done.stdout}\n{self.path} shows:\n{shown}")

    def test_line_by_line(self):
        count = 0
        for block in BLOCK.finditer(self.path.read_text()):
            if block["file"]:
                Path(self.folder, block["file"]).write_text(block["text"])
            elif block["kind"] == "console":
                for command, shown in commands(block["text"]):
                    with self.subTest(command):
                        self.check(command, shown)
                        count += 1
        self.assertGreater(count, 2)
        print(f"{self.path.name}: {count} commands", file=sys.stderr)


def load_tests(loader, tests, pattern):
    suite = unittest.TestSuite([loader.loadTestsFromTestCase(Rules)])
    for page in PAGES:
        suite.addTest(loader.loadTestsFromTestCase(type(Path(page).stem, (Page,), {"path": Path(page)})))
    return suite


if __name__ == "__main__":
    PAGES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
