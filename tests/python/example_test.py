"""examples/python runs as it stands."""

import re
import subprocess
import sys
import unittest

from support import DEMO, SOURCE


class Example(unittest.TestCase):
    def test_digits(self):
        script = SOURCE / "examples" / "python" / "digits.py"
        run = subprocess.run([sys.executable, script, DEMO], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        accuracy = re.search(r"accuracy: ([\d.]+) %", run.stdout)
        self.assertGreater(float(accuracy[1]), 97, run.stdout)
        self.assertRegex(run.stdout, r"ONNX nodes became \d+ kernels")
        self.assertIn("on cpu, ", run.stdout)


if __name__ == "__main__":
    unittest.main()
