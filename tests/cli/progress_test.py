"""Progress of long work: in a real terminal one line with an estimate, which goes away; elsewhere a line every ten seconds."""

import os
import pty
import re
import subprocess
import unittest

import support
from support import OK, SMELT, CliTest

CLEAR = "\r\x1b[K"


class Progress(CliTest):
    def in_terminal(self, *arguments):
        """(what stdout says, what the terminal got as stderr)"""
        ours, theirs = pty.openpty()
        command = [SMELT, *map(str, arguments)]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=self.environment, cwd=self.folder)
        os.close(theirs)
        pieces = []
        try:
            while piece := os.read(ours, 4096):
                pieces.append(piece)
        except OSError:  # how Linux tells of a terminal whose other end is closed
            pass
        os.close(ours)
        printed = running.communicate(timeout=120)[0]
        self.assertEqual(running.returncode, OK, b"".join(pieces))
        return printed, b"".join(pieces).decode()

    def test_a_terminal_shows_one_line_with_an_estimate(self):
        model = self.save(support.many_kernels())
        printed, shown = self.in_terminal("compile", model, "-o", "m.plan", "--arch", "sm_80,sm_86")
        self.assertIn("m.plan: ", printed)
        lines = shown.split(CLEAR)
        self.assertEqual((lines[0], lines[-1]), ("", ""), shown)  # each is written over the one before, and the last is cleared
        for line in lines[1:-1]:
            self.assertRegex(line, r"^smelt: compiling kernels: \d+ of \d+(, about \d+ s left)?$")
        self.assertTrue(any("s left" in line for line in lines), shown)
        printed, shown = self.in_terminal("compile", model, "-o", "m.plan", "--arch", "sm_80,sm_86")
        self.assertEqual(shown, "")  # all kernels lie in the cache: too quick to be worth a line

    def test_elsewhere_there_is_a_line_every_ten_seconds(self):
        done = self.expect(OK, "compile", self.save(support.many_kernels()), "-o", "m.plan")
        for line in done.stderr.splitlines():
            found = re.fullmatch(r"smelt: compiling kernels: \d+ of \d+(?:, about \d+ s left)? \((\d+) s\)", line)
            self.assertTrue(found and int(found[1]) >= 10, done.stderr)


if __name__ == "__main__":
    support.main()
