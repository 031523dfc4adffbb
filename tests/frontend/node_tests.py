#!/usr/bin/env python3
"""Runs ONNX's own node tests through `smelt run` on the CPU; with --compile, compiles what passes for sm_90a, but for the
expanded forms of ops that compile as themselves.

usage: node_tests.py SMELT [--compile] [--update] [NAME...]     (NAME: only the cases whose name contains it)

The cases come from the installed `onnx` package. A case passes, or fails, or is unsupported: that is, `smelt run` says
so, with exit code 3 and one of the messages in UNSUPPORTED. Those that are unsupported are listed beside this file, in
LIST, each with its reason. The test fails if a case fails, if one is unsupported that is not listed, or for another
reason, and if a listed one passes: support must neither shrink nor grow unnoticed. --update writes the list anew.
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

LIST = Path(__file__).with_name("node_tests_unsupported.txt")

# What a message says, and the reason that it stands for; the first that fits holds.
REASONS = [
    (r"op ([\w.:]+) \(opset", r"op \1"),
    (r"imports no version|opsets 1 to 28", "opset"),
    (r"type string|to string|of strings|plain tensors|is no tensor|sequence|optional", "not a tensor of numbers"),
    (r"depends on the data|data-dependent", "size depends on data"),
    (r"must be constants?", "value of an input"),
]

UNSUPPORTED = re.compile(
    r"is not supported|are not supported|opsets 1 to 28|must be constant|must be constants|is no tensor"
    r"|depends on the data|imports no version"
)


# An op as the function that defines it, in many small ops: "test_NAME_expanded", and some with the opset behind.
EXPANDED = re.compile(r"_expanded(_ver\d+)?$")

# What these expect was drawn at random, by another generator.
RANDOM = re.compile(r"^test_(training_dropout(?!_zero_ratio)|bernoulli)")


def cases(names):
    """(name, model, inputs, outputs) of every case with a data set of plain arrays that has one answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    for case in collected:
        wanted = not names or any(name in case.name for name in names)
        if wanted and case.model is not None and case.data_sets and not RANDOM.match(case.name):
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


def reason_of(detail):
    """The class of a refusal, short and without the names of files."""
    for pattern, reason in REASONS:
        if found := re.search(pattern, detail):
            return found.expand(reason)
    return "variant"


def read_list():
    """{case: reason} of the cases that are known not to be supported."""
    return dict(line.split(": ", 1) for line in LIST.read_text().splitlines() if line and not line.startswith("#"))


def write_list(refused):
    lines = [f"{name}: {reason}" for name, reason in sorted(refused.items())]
    LIST.write_text("\n".join(["# Node cases that are refused, and why (node_tests.py --update writes this file).", *lines, ""]))


def compare_list(refused, known):
    """What differs from the list, a line each; `known` has the listed cases among those that ran."""
    lines = [f"{name} passes: take it off {LIST.name}" for name in sorted(known.keys() - refused.keys())]
    lines += [f"{name} is refused ({refused[name]}), but not in {LIST.name}" for name in sorted(refused.keys() - known.keys())]
    return lines + [
        f"{name} is refused for '{refused[name]}', {LIST.name} says '{known[name]}'"
        for name in sorted(refused.keys() & known.keys())
        if refused[name] != known[name]
    ]


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


def is_twin(name, as_themselves):
    """Whether the case is the expanded form of one of those."""
    return EXPANDED.search(name) is not None and EXPANDED.sub("", name) in as_themselves


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
    smelt, compiles, updates = sys.argv[1], "--compile" in sys.argv, "--update" in sys.argv
    names = [name for name in sys.argv[2:] if not name.startswith("--")]
    counts, refused, ran = collections.Counter(), {}, set()
    known = read_list()
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        all_cases = list(cases(names))
        as_themselves = {name for name, *_ in all_cases} - known.keys()
        submitted = {
            name: pool.submit(attempt, smelt, compiles and not is_twin(name, as_themselves), Path(root), name, *case)
            for name, *case in all_cases
        }
        for name, future in submitted.items():
            status, detail = future.result()
            counts[status] += 1
            if status == "fail" or names:
                print(f"{status}: {name} {detail}")
            if status == "unsupported":
                refused[name] = reason_of(detail)
            if status != "fail":
                ran.add(name)
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['unsupported']} unsupported")
    if updates and not names:
        write_list(refused)
    differences = compare_list(refused, {name: reason for name, reason in known.items() if name in ran})
    print("\n".join(differences))
    return 1 if counts["fail"] or differences else 0


if __name__ == "__main__":
    sys.exit(main())
