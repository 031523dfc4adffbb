"""What every command takes: help without arguments, what a mistyped word was meant to be, sizes by the name of a dimension, devices,
and what is being done.
"""

import os
import unittest

from onnx import helper

import support
from support import ENVIRONMENT, INVALID_MODEL, OK, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


def two_inputs():
    """y = a + b, of [batch, 4] and [batch, n]."""
    infos = [support.tensor_info(name, shape) for name, shape in (("a", ["batch", 4]), ("b", ["batch", "n"]))]
    nodes = [helper.make_node("Concat", ["a", "b"], ["y"], axis=1)]
    return support.model(nodes, infos, [support.tensor_info("y", ["batch", "m"])])


class Words(CliTest):
    def test_nothing_prints_the_help(self):
        done = self.expect(OK)
        self.assertIn("examples:", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_help_of_all_and_of_a_command(self):
        everything = self.expect(OK).stdout
        self.assertEqual(self.expect(OK, "help").stdout, everything)
        for command in ("run", "compile", "help"):
            listed = self.expect(OK, command, "--help").stdout
            self.assertIn("examples:", listed)
            self.assertEqual(self.expect(OK, "help", command).stdout, listed)
        self.expect(USAGE, "help", "runn", says="'runn' is none of man, bash, zsh, fish, and no command")
        self.expect(USAGE, "help", "run", "more")

    def test_commands(self):
        self.expect(USAGE, "comple", "m.onnx", says=("did you mean 'compile'?", "the commands are run, compile"))
        done = self.expect(USAGE, "frobnicate", "m.onnx")
        self.assertNotIn("did you mean", done.stderr)

    def test_flags(self):
        path = self.save(support.scale_model())
        self.expect(USAGE, "run", path, "--shpae", "x=2x4", says="no flag '--shpae', did you mean '--shape'?")
        self.expect(USAGE, "run", path, "--shpae=x=2x4", says="did you mean '--shape'?")
        done = self.expect(USAGE, "run", path, "--frobnicate", says="no flag '--frobnicate'")
        self.assertNotIn("did you mean", done.stderr)


class Dimensions(CliTest):
    def shapes(self, path, *flags, command="run"):
        report = self.smelt(command, path, *flags, "--json")
        self.assertEqual(report.returncode, OK, report.stderr)
        return report.stdout

    def test_every_input_that_has_it(self):
        path = self.save(two_inputs())
        flags = ("--device", "cpu", "--duration", "0.01")
        report = self.expect_json("smelt.bench/1", "bench", path, "--dim", "batch=5", "--dim", "n=7", *flags)
        self.assertEqual(report["shapes"], {"a": [5, 4], "b": [5, 7]})
        report = self.expect_json("smelt.bench/1", "bench", path, "--dim", "batch=5", "--shape", "b=5x9", *flags)
        self.assertEqual(report["shapes"], {"a": [5, 4], "b": [5, 9]})

    def test_a_plan_leaves_the_others_open(self):
        path = self.save(two_inputs())
        self.expect(OK, "compile", path, "--dim", "n=7", "-o", "m.plan")
        report = self.expect_json("smelt.inspect/1", "inspect", "m.plan")
        self.assertEqual([port["shape"] for port in report["inputs"]], [["batch", 4], ["batch", 7]])

    def test_wrong_ones(self):
        path = self.save(two_inputs())
        for flags, says in (
            (("--dim", "bacth=5"), ("no input has a dimension 'bacth'", "did you mean 'batch'?", "batch, n")),
            (("--dim", "batch=x"), "'batch=x' is no size"),
            (("--dim", "=4"), "'=4' is no size"),
            (("--dim", "batch"), "'batch' is no size"),
            (("--dim", "batch=4", "--dim", "batch=5"), "given twice"),
            (("--dim", "batch=4", "--shape", "a=5x4"), ("--dim says that 'batch' is 4", "'a' says 5")),
        ):
            self.expect(USAGE, "run", path, "--device", "cpu", *flags, says=says)

    def test_all_commands_take_them(self):
        path = self.save(two_inputs())
        for command in ("run", "compare"):
            self.expect(OK, command, path, "--device", "cpu", "--dim", "batch=3", "--dim", "n=5")
        for command in ("check", "explain"):
            self.expect(OK, command, path, "--dim", "n=5")
            self.expect(USAGE, command, path, "--dim", "k=5", says="dimension 'k'")


class Devices(CliTest):
    def test_by_number(self):
        path = self.save(support.scale_model())
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        for device in ("0", "cuda", "cuda:0"):
            done = self.expect(OK, "run", path, "--device", device)
            self.assertIn("Fake GPU", done.stdout)
        self.expect(ENVIRONMENT, "run", path, "--device", "1", says="no CUDA device 1")
        self.expect(USAGE, "run", path, "--device", "gpu", says="'gpu' is no device")
        self.expect(USAGE, "run", path, "--device", "-1", says="no device")

    def test_the_second_of_two(self):
        path = self.save(support.scale_model())
        self.environment |= {"LD_LIBRARY_PATH": FAKE_DRIVER, "SMELT_FAKE_DEVICES": "2"}
        self.expect(OK, "compile", path, "-o", "m.plan")
        for device in (0, 1):
            for command in (("run", "m.plan"), ("run", path), ("bench", path, "--duration", "0.01")):
                self.assertIn(f"Fake GPU {device}\n", self.expect(OK, *command, "--device", device).stdout)
            line = ("trtexec", "--loadEngine=m.plan", f"--device={device}", "--duration=0.01")
            self.assertIn(f"[I] Selected Device: Fake GPU {device}\n", self.expect(OK, *line).stdout)
        self.expect(ENVIRONMENT, "run", path, "--device", 2, says="no CUDA device 2")

    def test_native_architecture(self):
        path = self.save(support.scale_model())
        self.expect(ENVIRONMENT, "compile", path, "--arch", "native")
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        report = self.expect_json("smelt.compile/1", "compile", path, "--arch", "native", "-o", "m.plan")
        self.assertEqual(report["architectures"], ["sm_90a"])


class Telling(CliTest):
    def test_verbose(self):
        path = self.save(support.scale_model())
        done = self.expect(OK, "compile", path, "-o", "m.plan", "-v", says="s: importing")
        self.assertRegex(done.stderr, r"(?m)^smelt: \d+\.\d{3} s: .*simplify")
        self.assertEqual(self.expect(OK, "compile", path, "-o", "m.plan").stderr, "")

    def test_missing_weights_are_said_to_be_drawn(self):
        model = support.scale_model()
        scale = model.graph.initializer[0]
        scale.ClearField("raw_data")
        scale.data_location = 1  # external
        for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "16")):
            scale.external_data.add(key=key, value=value)
        path = self.save(model)
        self.expect(INVALID_MODEL, "run", path, "--device", "cpu", says="--random-weights SEED")
        self.expect(OK, "run", path, "--device", "cpu", "--random-weights", "1")


if __name__ == "__main__":
    support.main()
