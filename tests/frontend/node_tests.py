#!/usr/bin/env python3
"""Runs ONNX's own node tests through `smelt run` on the CPU; with --compile, compiles what passes for sm_90a.

usage: node_tests.py SMELT [--compile] [NAME...]     (NAME: only the cases whose name contains it)

The cases come from the installed `onnx` package. A case passes, or fails, or is unsupported: that is, `smelt run` says
so, with exit code 3 and one of the messages in UNSUPPORTED. The test fails if any case fails, or if fewer pass than
EXPECTED: support must not shrink unnoticed.
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

EXPECTED = 1516

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


def write(folder, model, inputs, outputs):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, ports, values in [("input", model.graph.input, inputs), ("output", model.graph.output, outputs)]:
        for index, (name, value) in enumerate(zip([port.name for port in ports], values)):
            tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name)
            tensor.name = name
            (data / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def call(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)


def run(smelt, folder, outputs):
    data = ["--input", f"@{folder}/test_data_set_0"]
    if not any(str(getattr(value, "dtype", "")).endswith("float16") for value in outputs):
        data += ["--tolerance", "1e-3"]  # as ONNX's own runner; for 16 bits what `run` allows
    command = [smelt, "run", folder / "model.onnx", "--device", "cpu", *data]
    done = call(command)
    if done.returncode == 0:
        return "pass", ""
    if done.returncode == 3 and UNSUPPORTED.search(done.stderr):
        return "unsupported", done.stderr
    return "fail", f"exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"


def compile_case(smelt, folder):
    """What a case that passed is after it was compiled for a GPU."""
    plan = folder / "model.plan"
    done = call([smelt, "compile", folder / "model.onnx", "--value", f"@{folder}/test_data_set_0", "-o", plan])
    return ("pass", "") if done.returncode == 0 else ("fail", f"compile, exit {done.returncode}: {done.stderr.strip()}")


def attempt(smelt, compiles, root, name, model, inputs, outputs):
    try:
        write(root / name, model, inputs, outputs)
    except (AttributeError, TypeError, NotImplementedError, ValueError):
        return "unsupported", "its data are no plain tensors"  # sequences, optionals, types that NumPy lacks
    status, detail = run(smelt, root / name, outputs)
    return compile_case(smelt, root / name) if compiles and status == "pass" else (status, detail)


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip().splitlines()[2])
        return 2
    smelt, compiles = sys.argv[1], "--compile" in sys.argv
    names = [name for name in sys.argv[2:] if name != "--compile"]
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        submitted = {
            name: pool.submit(attempt, smelt, compiles, Path(root), name, *case) for name, *case in cases(names)
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
