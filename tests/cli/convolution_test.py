"""Convolutions on Hopper: whose windows the hardware finds, why others are gathered, and that the driver takes what it is told.

The device is the fake driver, which refuses the maps of images that the driver's documentation does."""

import os
import unittest

import numpy as np
from onnx import helper

import encoder
import support
from support import OK, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


def convolution(image, channels, window, batch="n", **attributes):
    """Of an image (rows, columns), kept with its channels last, by a window (rows, columns), to 64 channels."""
    weights = np.random.default_rng(1).normal(size=(64, channels, *window)).astype(np.float16)
    nodes = [
        helper.make_node("Transpose", ["x"], ["image"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["image", "w"], ["c"], name="/conv", **attributes),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=[0, 2, 3, 1]),
    ]
    given = support.tensor_info("x", [batch, *image, channels], encoder.HALF)
    result = support.tensor_info("y", [batch, None, None, 64], encoder.HALF)
    return support.model(nodes, [given], [result], [support.constant("w", weights)])


class Convolutions(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER

    def products(self, model):
        """The names of the products' kernels, at every number of images."""
        plan = self.folder / "model.plan"
        self.expect(OK, "compile", self.save(model), "-o", plan, "--arch", "sm_90a")
        launches = self.expect_json("smelt.inspect/1", "inspect", plan)["programs"][0]["launches"]
        self.plan = plan
        return [launch["name"] for launch in launches if launch["name"].startswith("gemm")]

    def test_windows_that_the_hardware_finds(self):
        for name, attributes in {
            "padded": {"pads": [1, 1, 1, 1]},
            "strided": {"pads": [1, 1, 1, 1], "strides": [2, 2]},
            "dilated": {"pads": [2, 0, 2, 4], "dilations": [2, 3], "strides": [1, 2]},
            "without zeros": {},
        }.items():
            with self.subTest(name):
                names = self.products(convolution((56, 58), 64, (3, 3), **attributes))
                self.assertTrue(names[-1].endswith(", windows"), names)  # of any number of images
                for batch in (1, 3, 64):
                    self.expect(OK, "bench", self.plan, "--dim", f"n={batch}", "--iterations", "1", "--duration", "0.001")

    def test_one_pixel_of_two(self):
        self.assertTrue(self.products(convolution((56, 56), 256, (1, 1), 64, strides=[2, 2]))[0].endswith(", windows"))

    def test_a_first_layer(self):
        """Its few channels and the taps of a row are one pixel."""
        names = self.products(convolution((224, 224), 3, (7, 7), 64, pads=[3, 3, 3, 3], strides=[2, 2]))
        self.assertTrue(names[0].endswith(", windows"), names)
        self.expect(OK, "bench", self.plan, "--iterations", "1", "--duration", "0.001")

    def test_why_they_are_gathered(self):
        names = self.products(convolution((56, 56), 96, (3, 3), 64, pads=[1, 1, 1, 1]))
        self.assertTrue(names[0].endswith(", gathered: 96 channels are no multiple of 64"), names)
        names = self.products(convolution((300, 300), 64, (3, 3), pads=[1, 1, 1, 1], strides=[9, 1]))
        self.assertTrue(names[0].endswith(", gathered: its windows are not a constant stride of at most 8 apart"), names)


if __name__ == "__main__":
    unittest.main()
