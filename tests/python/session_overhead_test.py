"""What a run adds to the C API's, by the benchmark's own figures on the fake driver: little, also on a machine that does other things."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import DIGITS, SOURCE


class SessionOverhead(unittest.TestCase):
    def test_is_at_most_15_us(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        figures = Path(folder, "figures.json")
        script = SOURCE / "tools/bench/session_overhead.py"
        options = ["--model", DIGITS, "--runtime", os.environ["RUNTIME"], "--calls", "1000", "--json", figures]
        result = subprocess.run([sys.executable, script, *options], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        report = json.loads(figures.read_text())
        self.assertEqual((report["schema"], report["device"]), ("smelt.session_overhead/1", "Fake GPU"))
        row = report["rows"][0]
        self.assertEqual(row["name"], "numpy")
        for call in ("session", "plan", "into"):
            self.assertLess(row[f"added_{call}_us"], 15)


if __name__ == "__main__":
    unittest.main()
