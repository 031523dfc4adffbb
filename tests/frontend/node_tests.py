#!/usr/bin/env python3
"""Runs ONNX's own node tests through `smelt run` on the CPU.

usage: node_tests.py SMELT [NAME...]     (NAME: only the cases whose name contains it)

The cases come from the installed `onnx` package. Inputs that give shapes, axes and the like are data in those cases;
Smelt wants them constant, so they become initializers. A case passes, or fails, or is unsupported: that is, `smelt
run` says so, with exit code 3 and one of the messages in UNSUPPORTED. The test fails if any case fails, or if
fewer pass than EXPECTED: support must not shrink unnoticed.
"""

import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import onnx
from onnx import numpy_helper

EXPECTED = 1026

# Inputs that must be known when a model is compiled, by op.
CONSTANT_INPUTS = {
    "ConstantOfShape": [0],
    "CumSum": [1],
    "Dropout": [2],
    "Expand": [1],
    "Range": [0, 1, 2],
    "Reshape": [1],
    "Slice": [1, 2, 3, 4],
    "Split": [1],
    "Squeeze": [1],
    "Tile": [1],
    "TopK": [1],
    "Unsqueeze": [1],
} | {
    "Reduce" + kind: [1]
    for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
}

UNSUPPORTED = re.compile(
    r"is not supported|are not supported|opsets 7 to 28|must be constant|must be constants|is no tensor"
    r"|depends on the data|imports no version"
)


def cases(names):
    """(name, model, inputs, outputs) of every case with a data set of plain arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    for case in collected:
        wanted = not names or any(name in case.name for name in names)
        if wanted and case.model is not None and case.data_sets:
            yield case.name, case.model, *case.data_sets[0]


def make_constant(model, inputs):
    """Turns the inputs that must be constant into initializers; returns the inputs that are left."""
    constant = {
        node.input[index]
        for node in model.graph.node
        for index in CONSTANT_INPUTS.get(node.op_type, [])
        if index < len(node.input)
    }
    declared = list(model.graph.input)
    left = []
    del model.graph.input[:]
    for info, value in zip(declared, inputs):
        if info.name in constant and hasattr(value, "dtype"):
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
        else:
            model.graph.input.append(info)
            left.append((info.name, value))
    return left


def write(folder, model, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    left = make_constant(model, inputs)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    named = [("input", left), ("output", zip([info.name for info in model.graph.output], outputs))]
    for kind, values in named:
        for index, (name, value) in enumerate(values):
            tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name)
            tensor.name = name
            (data / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def run(smelt, folder):
    command = [smelt, "run", folder / "model.onnx", "--device", "cpu", "--input", f"@{folder}/test_data_set_0"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode == 0:
        return "pass", ""
    if done.returncode == 3 and UNSUPPORTED.search(done.stderr):
        return "unsupported", done.stderr
    return "fail", f"exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"


def attempt(smelt, root, name, model, inputs, outputs):
    try:
        write(root / name, model, inputs, outputs)
    except (AttributeError, TypeError, NotImplementedError, ValueError):
        return "unsupported", "its data are no plain tensors"  # sequences, optionals, types that NumPy lacks
    return run(smelt, root / name)


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip().splitlines()[2])
        return 2
    smelt, names = sys.argv[1], sys.argv[2:]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        submitted = {
            name: pool.submit(attempt, smelt, Path(root), name, *case) for name, *case in cases(names)
        }
        for name, future in submitted.items():
            status, detail = future.result()
            counts[status] += 1
            if status == "fail" or names:
                print(f"{status}: {name} {detail}")
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['unsupported']} unsupported")
    if not names and counts["pass"] < EXPECTED:
        print(f"fewer than {EXPECTED} passed")
        return 1
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
