#!/usr/bin/env python3
"""Writes the seeds of fuzz_import: the models of ONNX's node tests (from the installed `onnx` package), one per
distinct graph, each with its shape-like inputs made constant and its leading dimension made symbolic; and models that
once crashed.

usage: fuzz_corpus.py FOLDER
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from node_tests import cases, make_constant

MAX_BYTES = 4096


def with_symbols(model):
    """Names the first dimension of each input: the cases' own shapes are all constant."""
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims:
            dims[0].dim_param = "n"
    return model


def overflowing_division():
    """The smallest int64 by -1, as a shape."""
    nodes = [
        helper.make_node("Div", ["smallest", "divisor"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    numbers = {"smallest": -(2**63), "divisor": -1}
    constants = [numpy_helper.from_array(np.array([value], np.int64), name) for name, value in numbers.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "overflowing_division", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def seeds():
    yield overflowing_division().SerializeToString()
    for _, model, inputs, _ in cases([]):
        make_constant(model, inputs)
        yield model.SerializeToString()
        yield with_symbols(model).SerializeToString()


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip().splitlines()[-1])
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for data in seeds():
        path = folder / hashlib.sha256(data).hexdigest()[:16]
        if len(data) <= MAX_BYTES and not path.exists():
            path.write_bytes(data)
            count += 1
    print(f"{count} seeds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
