#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets that take models: the models of ONNX's node tests (from the installed `onnx` package), one per
distinct graph, each with its short integer inputs made constant and its leading dimension made symbolic; and models
that once crashed. Beside the folder lie lists of them for libFuzzer: FOLDER.all, and of one in 16, FOLDER.few.

usage: fuzz_corpus.py FOLDER
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from node_tests import cases

MAX_BYTES = 4096


def with_symbols(model):
    """Names the first dimension of each input: the cases' own shapes are all constant."""
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims:
            dims[0].dim_param = "n"
    return model


def make_constant(model, inputs):
    """Turns inputs that may be shapes, axes and the like into initializers: nobody gives their values here."""
    short = [
        info.name
        for info, value in zip(model.graph.input, inputs)
        if getattr(value, "dtype", None) == np.int64 and value.size <= 8
    ]
    values = {info.name: value for info, value in zip(model.graph.input, inputs)}
    left = [info for info in model.graph.input if info.name not in short]
    del model.graph.input[:]
    model.graph.input.extend(left)
    model.graph.initializer.extend(numpy_helper.from_array(values[name], name) for name in short)


def overflowing(nodes, numbers, shape):
    """x of a shape, and int64 constants that overflow where they are computed with."""
    constants = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in numbers.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "overflowing", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def crashes():
    """The smallest int64 by -1, as a shape; a shape whose product wraps around; a table of far indices, and one
    beyond an axis of one element."""
    divide = helper.make_node("Div", ["smallest", "divisor"], ["shape"])
    reshape = helper.make_node("Reshape", ["x", "shape"], ["y"])
    gather = helper.make_node("GatherND", ["x", "indices"], ["y"])
    largest = 2**63 - 1
    yield overflowing([divide, reshape], {"smallest": [-largest - 1], "divisor": [-1]}, ["n", 3])
    yield overflowing([reshape], {"shape": [4, -1, largest]}, [2, 3, 4])
    yield overflowing([gather], {"indices": [[[0, 1]], [[largest, 0]]]}, [2, 2, 2])
    yield overflowing([gather], {"indices": [[1], [0]]}, [1, "n", 2])


def seeds():
    for model in crashes():
        yield model.SerializeToString()
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
    small = {hashlib.sha256(data).hexdigest()[:16]: data for data in seeds() if len(data) <= MAX_BYTES}
    for name, data in small.items():
        (folder / name).write_bytes(data)
    for ending, chosen in (("all", small), ("few", [name for name in small if name.startswith("0")])):
        Path(f"{folder}.{ending}").write_text(",".join(str(folder / name) for name in sorted(chosen)))
    print(f"{len(small)} seeds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
