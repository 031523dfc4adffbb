"""The rows of kernel benchmarks: one small ONNX model each, what it computes and moves. Needs numpy and onnx, no GPU."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

SEED = 1
CHUNK = 1 << 22  # elements that are drawn at once


@dataclass(frozen=True)
class Tensor:
    """An input or output of a row's model; `element` is numpy's or ml_dtypes' name, which is PyTorch's too."""

    shape: tuple[int, ...]
    element: str = "float16"

    @property
    def bytes(self):
        return math.prod(self.shape) * dtype_of(self.element).itemsize

    def info(self, name):
        return helper.make_tensor_value_info(name, onnx_type(self.element), self.shape)


@dataclass(frozen=True)
class Row:
    """`build(folder)` makes the model; `arithmetic`, of gpu_peaks.PEAKS, says which unit bounds `flops`; `facts` go into
    the results as they are."""

    name: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    build: Callable[[Path], onnx.ModelProto]
    flops: float
    weight_bytes: int = 0
    arithmetic: str = "half"
    tolerance: float = 1e-2
    facts: dict = field(default_factory=dict)

    @property
    def bytes(self):
        """That cannot be avoided: all operands read once, all results written once."""
        return self.weight_bytes + sum(tensor.bytes for tensor in (*self.inputs.values(), *self.outputs.values()))


def dtype_of(element):
    return np.dtype(getattr(ml_dtypes, element, element))


def onnx_type(element):
    return helper.np_dtype_to_tensor_dtype(dtype_of(element))


def draw(shape, element, scale=1.0, seed=SEED):
    """Normal values of this deviation; of integers, any of the range but the least, all alike."""
    dtype, rng = dtype_of(element), np.random.default_rng(seed)
    values = np.empty(math.prod(shape), dtype)
    for start in range(0, values.size, CHUNK):
        count = min(CHUNK, values.size - start)
        if dtype.kind == "i":
            values[start : start + count] = rng.integers(-127, 128, count)
        else:
            values[start : start + count] = rng.standard_normal(count, np.float32) * np.float32(scale)
    return values.reshape(shape)


def constant(name, value, element=None):
    return numpy_helper.from_array(np.asarray(value, dtype_of(element) if element else None), name)


def external(name, shape, element, location):
    """An initializer whose bytes are the whole of the file `location`, beside the model."""
    tensor = onnx.TensorProto(name=name, dims=shape, data_type=onnx_type(element), data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def model_of(row_inputs, row_outputs, nodes, initializers=(), opset=23):
    graph = helper.make_graph(
        nodes,
        "row",
        [tensor.info(name) for name, tensor in row_inputs.items()],
        [tensor.info(name) for name, tensor in row_outputs.items()],
        list(initializers),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
