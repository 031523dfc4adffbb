"""smelt compare --against onnxruntime: ONNX Runtime judges; what is missing, or what it cannot run, is said."""

import os
import stat
import sys
import unittest
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import support
from support import ACCURACY, ENVIRONMENT, OK, RUN_FAILED, USAGE, CliTest

HALF = TensorProto.FLOAT16


def quadratic_model(name):
    """y = name(x, x), of ONNX's ops or others."""
    node = helper.make_node(name, ["x", "x"], ["y"], name="/node")
    infos = [support.tensor_info(value, ["n", 8]) for value in "xy"]
    return support.model([node], infos[:1], infos[1:])


class AgainstOnnxRuntime(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # the tests' python3

    def against(self, code, model, *flags, says=()):
        return self.expect(code, "compare", model, "--device", "cpu", "--against", "onnxruntime", *flags, says=says)

    def test_agreement_and_the_version(self):
        model = self.save(quadratic_model("Mul"))
        version = f"ONNX Runtime {onnxruntime.__version__}, CPUExecutionProvider"
        self.assertIn(f"against: {version}\n", self.against(OK, model).stdout)
        flags = ("--device", "cpu", "--against", "onnxruntime", "--shape", "x=5x8")
        report = self.expect_json("smelt.compare/1", "compare", model, *flags)
        self.assertEqual(report["against"], version)
        (output,) = report["outputs"]
        self.assertEqual((output["shape"], output["reference"], output["tolerance"]), ([5, 8], "ONNX Runtime", 1e-4))

    def test_it_gets_the_inputs_that_are_given(self):
        model = self.save(quadratic_model("Div"))
        x = np.full((2, 8), 3, np.float32)
        x[1, 2] = 0  # 0 / 0
        np.savez(self.folder / "x.npz", x=x)
        report = self.expect_json("smelt.compare/1", "compare", model, "--device", "cpu", "--against", "onnxruntime", "--input", "@x.npz")
        self.assertEqual((report["outputs"][0]["non_finite"], report["agrees"]), (1, True))

    def test_a_disagreement(self):
        """Two programs round differently, which a bound of zero finds."""
        node = helper.make_node("Exp", ["x"], ["y"], name="/exp")
        infos = [support.tensor_info(value, [500]) for value in "xy"]
        model = self.save(support.model([node], infos[:1], infos[1:]))
        self.against(ACCURACY, model, "--tolerance", 0, says=("disagrees with ONNX Runtime", "output 'y'", "exceeds"))

    def test_types_and_values_of_inputs(self):
        nodes = [
            helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Squeeze", ["f", "axes"], ["squeezed"]),
            helper.make_node("Where", ["b", "squeezed", "zero"], ["y"]),
        ]
        inputs = [
            support.tensor_info("h", [1, 6], HALF),
            support.tensor_info("b", [6], TensorProto.BOOL),
            support.tensor_info("axes", [1], TensorProto.INT64),
        ]
        model = self.save(support.model(nodes, inputs, [support.tensor_info("y", None)], [support.constant("zero", np.float32(0))]))
        self.array("axes", np.array([0]))
        self.against(OK, model, "--input", "axes=@axes.npy")

    def test_types_that_numpy_lacks(self):
        node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)
        infos = [support.tensor_info("x", [4]), support.tensor_info("y", [4], TensorProto.BFLOAT16)]
        self.against(USAGE, self.save(support.model([node], infos[:1], infos[1:])), says=("NumPy's types", "'y' is tensor(bfloat16)"))

    def test_a_model_that_it_does_not_run(self):
        model = quadratic_model("Mul")
        model.ir_version = 99  # which smelt does not look at
        self.against(RUN_FAILED, self.save(model), says=("ONNX Runtime does not run the model", "IR version"))

    def test_a_python_without_it(self):
        model = self.save(quadratic_model("Mul"))
        folder = self.folder / "bin"
        folder.mkdir()
        self.environment["PATH"] = str(folder)
        self.against(ENVIRONMENT, model, says="no python3 in PATH")
        python = self.write("bin/python3", f'#!/bin/sh\nexec {sys.executable} -S "$@"\n'.encode())
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        self.against(ENVIRONMENT, model, says=(str(python), "No module named", "pip install onnxruntime"))
        self.write("bin/python3", b"#!/bin/sh\necho broken >&2\nexit 3\n")
        self.against(RUN_FAILED, model, says=("ended with 3", "broken"))

    def test_nothing_of_the_working_directory_is_run(self):
        self.write("numpy.py", b"raise SystemExit(5)\n")
        self.against(OK, self.save(quadratic_model("Mul")))

    def test_what_onnx_runtime_cannot_do(self):
        model = self.save(quadratic_model("Mul"))
        self.against(USAGE, model, "--random-weights", 1, says="--random-weights")
        self.against(USAGE, model, "--repair-types", says="--repair-types")
        self.expect(USAGE, "compare", model, "--against", "tensorrt", says="none of interpreter, onnxruntime")


if __name__ == "__main__":
    unittest.main()
