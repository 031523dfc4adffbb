"""What the tests of the package share: the digits, and small models."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = Path(os.environ["SMELT_SOURCE"])
DEMO = SOURCE / "tools" / "demo"
DIGITS = DEMO / "digits_vit.onnx"


def digits():
    """(images, labels)"""
    return np.load(DEMO / "digits_test_images.npy"), np.load(DEMO / "digits_test_labels.npy")


def scale_model(element_type=TensorProto.FLOAT):
    """y = x * [1, 2, 3, 4], with a dynamic batch."""
    scale = numpy_helper.from_array(np.arange(1, 5, dtype=helper.tensor_dtype_to_np_dtype(element_type)), "scale")
    node = helper.make_node("Mul", ["x", "scale"], ["y"], name="/scale/Mul")
    x, y = (helper.make_tensor_value_info(name, element_type, ["batch", 4]) for name in "xy")
    graph = helper.make_graph([node], "scale", [x], [y], [scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def product_model():
    """y = x * w of 64 columns."""
    weights = np.random.default_rng(3).standard_normal((64, 64), dtype=np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="/product/MatMul")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 64]) for name in "xy")
    graph = helper.make_graph([node], "product", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def many_kernels():
    """Products of many widths with a softmax behind each: NVRTC is busy for seconds."""
    widths = [32 + 8 * i for i in range(6)]
    nodes, weights = [], []
    for i, (rows, columns) in enumerate(zip(widths, widths[1:])):
        weights.append(numpy_helper.from_array(np.ones((rows, columns), np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"]))
        nodes.append(helper.make_node("Softmax", [f"p{i}"], [f"x{i + 1}"]))
    x, y = (helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, ["n", widths[i]]) for i in (0, len(widths) - 1))
    graph = helper.make_graph(nodes, "many", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def diamond_plan(folder, *kind):
    """The file of a plan that the fake driver computes: out = 4 * (x + y), element by element; of kind "newer", of a later version."""
    path = Path(folder, "diamond.plan")
    subprocess.run([os.environ["MAKE_PLAN"], path, *kind], check=True)
    return path


def without_memory(capsule):
    """The DLPack capsule, whose tensor has no memory from now on, as one that its library freed."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ctypes.c_void_p.from_address(pointer_of(capsule, b"dltensor")).value = None
    return capsule


def has_driver():
    """Whether this machine has a GPU's driver: what is to be seen without one cannot be seen there."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    print("there is a driver: what happens without one was not tested", file=sys.stderr)
    return True
