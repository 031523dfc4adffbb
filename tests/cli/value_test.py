"""Inputs that a model's structure depends on: run takes their values, compile asks for them."""

import support
from support import INVALID_MODEL, OK, USAGE, CliTest

import os
import unittest
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


def sum_model():
    """y = sum of x over the axes that an input lists."""
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], name="/sum/ReduceSum", keepdims=0)
    inputs = [
        support.tensor_info("axes", ["n"], TensorProto.INT64),
        support.tensor_info("x", ["batch", 3]),
    ]
    return support.model([node], inputs, [support.tensor_info("y", None)])


class Value(CliTest):
    def setUp(self):
        super().setUp()
        self.path = self.save(sum_model())
        self.x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def test_run_compiles_for_the_values_given(self):
        for axes in ([0], [1], [0, 1]):
            inputs = []
            for name, value in (("x", self.x), ("axes", np.array(axes, np.int64))):
                inputs += ["--input", f"{name}=@{self.array(name, value)}"]
            done = self.expect(OK, "run", self.path, "--device", "cpu", *inputs, "--output", "y=@y.npy")
            self.assertIn("input 'axes' is a constant", done.stderr)
            np.testing.assert_array_equal(np.load(self.folder / "y.npy"), self.x.sum(axis=tuple(axes)))

    @unittest.skipUnless(Path(FAKE_DRIVER, "libcuda.so.1").exists(), "sanitizers' build has no driver to open by name")
    def test_a_gpu_takes_the_values_compiled_for(self):
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        x, axes = self.array("x", self.x), self.array("axes", np.array([1], np.int64))
        done = self.expect(OK, "run", self.path, "--device", "cuda", "--input", f"x=@{x}", "--input", f"axes=@{axes}")
        self.assertIn("input 'axes' is a constant", done.stderr)

    def test_folders_keep_their_numbers(self):
        data = self.folder / "test_data_set_0"
        data.mkdir()
        values = {"input_0": np.array([0], np.int64), "input_1": self.x, "output_0": self.x.sum(axis=0)}
        for name, value in values.items():
            (data / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
        self.expect(OK, "run", self.path, "--device", "cpu", "--input", f"@{data}")
        done = self.expect(OK, "compile", self.path, "--value", f"@{data}", "--emit", "mlir")
        self.assertIn("axes [0]", done.stdout)

    def test_compile_check_and_explain(self):
        axes = self.array("axes", np.array([1], np.int64))
        self.assertIn("must be constant", self.expect(INVALID_MODEL, "check", self.path).stdout)
        self.expect(OK, "check", self.path, "--value", f"axes=@{axes}")
        self.expect(OK, "explain", self.path, "--value", f"axes=@{axes}")
        done = self.expect(OK, "compile", self.path, "--value", f"axes=@{axes}", "--emit", "mlir")
        self.assertIn("axes [1]", done.stdout)

    def test_wrong_values_are_usage_errors(self):
        self.expect(USAGE, "compile", self.path, "--value", "axes", "--emit", "mlir", says="is no value")
        self.expect(USAGE, "check", self.path, "--value", "axes=@missing.npy", says="missing.npy")
        text = self.array("text", np.array([1.5], np.float32))
        self.expect(INVALID_MODEL, "check", self.path, "--value", f"axes=@{text}")


if __name__ == "__main__":
    unittest.main()
