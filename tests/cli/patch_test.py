"""smelt inspect --source and smelt patch: one kernel of a plan is compiled from other text, judged, and recorded.

The device is the fake driver, whose kernels leave their results as they are: whatever is patched is wrong there. What a
right kernel meets is in tests/tools/check_kernel_test.cpp.
"""

import os
import resource
import unittest
from pathlib import Path

import support
from compare_test import two_fusions
from support import ACCURACY, ENVIRONMENT, OK, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake
HAS_DRIVER = Path(FAKE_DRIVER, "libcuda.so.1").exists()


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Patch(CliTest):
    def setUp(self):
        super().setUp()
        self.plan = self.folder / "model.plan"
        self.expect(OK, "compile", self.save(two_fusions()), "-o", self.plan, "--arch", "sm_90a,sm_80")
        self.before = self.plan.read_bytes()
        launches = self.expect_json("smelt.inspect/1", "inspect", self.plan)["programs"][0]["launches"]
        self.kernel = next(launch["entry"] for launch in launches if launch["name"].startswith("rowwise"))
        self.text = self.expect(OK, "inspect", self.plan, "--source", self.kernel).stdout

    def patch(self, code, text, *flags, says=()):
        file = self.write("kernel.cu", text.encode())
        return self.expect(code, "patch", self.plan, f"{self.kernel}={file}", *flags, says=says)

    def test_the_text_of_one_kernel(self):
        self.assertIn(f" {self.kernel}(", self.text)
        self.assertIn(self.text.rstrip(), self.expect(OK, "compile", self.folder / "model.onnx", "--emit", "cuda").stdout)
        self.assertEqual(self.expect(OK, "inspect", self.plan, "--source", "rowwise_softmax").stdout, self.text)
        self.expect(USAGE, "inspect", self.plan, "--source", "none", says=("no kernel 'none'", self.kernel))
        self.expect(USAGE, "inspect", self.plan, "--source", "_", says=("a part of the names of", self.kernel))

    def test_what_nobody_checked_is_written_on_request_only(self):
        changed = "// by hand\n" + self.text
        self.patch(ENVIRONMENT, changed, says=("was compiled, but not run", "--unchecked"))
        self.assertEqual(self.plan.read_bytes(), self.before)
        new = self.folder / "new.plan"
        self.patch(OK, changed, "--unchecked", "-o", new)
        self.assertEqual(self.plan.read_bytes(), self.before)
        self.assertEqual(self.expect(OK, "inspect", new, "--source", self.kernel).stdout, changed)
        record = f"patched: {self.kernel} on sm_90a, never run"
        self.assertIn(record, self.expect(OK, "inspect", new).stdout)
        self.assertNotIn("patched", self.expect(OK, "inspect", self.plan).stdout)
        patches = self.expect_json("smelt.inspect/1", "inspect", new)["patches"]
        self.assertEqual([patch["arch"] for patch in patches], ["sm_90a", "sm_80"])
        self.patch(OK, self.text, "--unchecked")
        self.assertIn(record, self.expect(OK, "inspect", self.plan).stdout)

    @unittest.skipUnless(HAS_DRIVER, "sanitizers' build has no driver to open by name")
    def test_a_patched_plan_runs(self):
        self.patch(OK, self.text, "--unchecked")
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.expect(OK, "run", self.plan, "--device", "cuda", "--shape", "x=3x64")

    @unittest.skipUnless(HAS_DRIVER, "sanitizers' build has no driver to open by name")
    def test_a_wrong_kernel_is_refused_with_the_error(self):
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        says = ("disagrees with the interpreter", "output 0: relative error 1.0e+00 exceeds 2.0e-05", "should be")
        begin = cpu_seconds()
        done = self.patch(ACCURACY, "// wrong\n" + self.text, says=says)
        self.assertLess(cpu_seconds() - begin, 2)
        self.assertIn("DIFFERS", done.stdout)
        self.assertEqual(self.plan.read_bytes(), self.before)

    def test_text_that_is_no_such_kernel(self):
        self.patch(USAGE, self.text.replace("{", "{ int wrong = nothing;", 1), says=(f"{self.kernel}.cu(", "nothing"))
        self.patch(USAGE, self.text.replace(self.kernel, "other"), says=("defines no kernel", self.kernel))
        more = self.text.replace(f" {self.kernel}(", f" {self.kernel}(int more, ")
        self.patch(USAGE, more, says=("parameters in the text", "keep the signature"))
        self.assertEqual(self.plan.read_bytes(), self.before)

    def test_changes_that_name_nothing(self):
        self.expect(USAGE, "patch", self.plan, "kernel.cu", says="write KERNEL=FILE.cu")
        self.expect(USAGE, "patch", self.plan, f"{self.kernel}=absent.cu", says="absent.cu: ")
        self.expect(USAGE, "patch", self.plan, "none=absent.cu", says="no kernel 'none'")


if __name__ == "__main__":
    unittest.main()
