#!/usr/bin/env python3
"""Writes docs/ops.md, the table of the ops that Smelt takes, from what the tests show.

usage: tools/write_ops.py SMELT          writes docs/ops.md
       tools/write_ops.py SMELT --check  fails where docs/ops.md does not say what the tests show

Needs the `onnx` package, whose node cases these are. Which of them pass is what tests/frontend/node_tests_unsupported.txt
says, to which a test holds them; what kernels an op became is what `smelt explain` says of the cases; what ran on a GPU is
tools/bench/results/gpu_nodes.json. A case counts for an op if its graph is one node of that op.
"""

import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from onnx import TensorProto, defs

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "ops.md"
sys.path.insert(0, str(REPOSITORY / "tests" / "frontend"))
import node_tests  # noqa: E402

# A row of a handler's table: op, first opset, required inputs, handler, domain.
RULE = re.compile(r'\{"(?P<op>\w+)", (?P<since>\d+), (?:\d+|kEveryInput), [^,}]+(?:, (?P<domain>"[\w.]*"|\w+))?[^}]*\}')
DOMAIN_NAME = re.compile(r'StringLiteral (?P<name>k\w+) = "(?P<domain>[\w.]+)"')

HEAD = """# Ops

Written by `tools/write_ops.py` from the tests; do not edit.

- **from opset**: the first one in which Smelt knows the op; it knows all later ones up to 28.
- **cases**: of ONNX's node cases of one node of this op, how many pass on the CPU, of how many there are. A case that does
  not pass is refused with a message that names the reason; none is computed wrongly.
- **H200**: how many of those were run through a compiled plan on the GPU ({date}, commit {commit}) and agreed.
- **types**: element types of the first input in the cases that pass. Most ops take more: every type that ONNX defines for
  them and that Smelt has, which `tests/frontend/type_constraints_test.py` checks.
- **kernels**: the kinds of fusions that the cases became; alone, an op is `pointwise`, `rowwise`, `columnwise`, `gemm`,
  `attention`, `gather` or `selection`, or a `generic` kernel of its own. `-`: none is left, the result follows while compiling.
"""


@dataclass
class Row:
    """What the cases show of one op."""

    passed: int = 0
    cases: int = 0
    on_gpu: int = 0
    types: set = field(default_factory=set)
    kinds: set = field(default_factory=set)
    reasons: set = field(default_factory=set)


def handlers():
    """{(domain, op): the first opset} of every row of the handlers' tables."""
    found = {}
    for path in sorted((REPOSITORY / "frontend" / "ops").glob("*.cpp")):
        text = path.read_text()
        names = {match["name"]: match["domain"] for match in DOMAIN_NAME.finditer(text)}
        for match in RULE.finditer(text):
            domain = (match["domain"] or "").strip('"')
            domain = names.get(domain, domain)
            domain = "" if domain.startswith("k") else domain
            key = (domain, match["op"])
            found[key] = min(found.get(key, 99), int(match["since"]))
    return found


def explain(smelt, root, name, model, inputs, outputs):
    """The kinds of the kernels that a case became."""
    node_tests.write(root / name, model, inputs, outputs)
    values = ["--value", f"@{root / name}/test_data_set_0"]
    done = subprocess.run(
        [smelt, "explain", root / name / "model.onnx", *values, "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"write_ops.py: {name}: {done.stderr.strip()}")
    return {kernel["kind"] for kernel in json.loads(done.stdout)["kernels"]}


def first_type(model):
    """ONNX's name of the element type of the first input of a case."""
    ports = [port for port in model.graph.input if port.type.HasField("tensor_type")]
    return TensorProto.DataType.Name(ports[0].type.tensor_type.elem_type).lower() if ports else ""


def gather_rows(smelt):
    """{(domain, op): Row} of every op that has a case."""
    refused = node_tests.read_list()
    on_gpu = json.loads((REPOSITORY / "tools" / "bench" / "results" / "gpu_nodes.json").read_text())
    not_on_gpu = {row["case"] for row in on_gpu["rows"]}
    rows, kinds = collections.defaultdict(Row), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, *case in node_tests.cases([]):
            nodes = case[0].graph.node
            if len(nodes) != 1:
                continue
            row = rows[nodes[0].domain, nodes[0].op_type]
            row.cases += 1
            if name in refused:
                row.reasons.add(refused[name])
                continue
            row.passed += 1
            row.on_gpu += name not in not_on_gpu
            row.types.add(first_type(case[0]))
            kinds.append((row, pool.submit(explain, smelt, Path(folder), name, *case)))
        for row, future in kinds:
            row.kinds |= future.result()
    return rows, on_gpu


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def known_table(known, rows):
    lines = []
    for (domain, op), since in sorted(known.items()):
        if domain:
            continue
        row = rows.get((domain, op), Row())
        lines.append(
            [op, str(since), f"{row.passed} of {row.cases}" if row.cases else "", str(row.on_gpu) if row.cases else "",
             ", ".join(sorted(row.types - {""})), ", ".join(sorted(row.kinds)) or ("-" if row.passed else "")]
        )
    return table(["op", "from opset", "cases", "H200", "types", "kernels"], lines)


def tests_of(op):
    """The unit tests that name an op."""
    folder = REPOSITORY / "tests" / "frontend"
    return [path.name for path in sorted(folder.glob("*_test.cpp")) if f'"{op}"' in path.read_text()]


def contrib_table(known):
    lines = [[op, domain, ", ".join(tests_of(op))] for (domain, op) in sorted(known) if domain]
    return table(["op", "domain", "tested by"], lines)


def unknown_table(known, rows):
    newest = {schema.name for schema in defs.get_all_schemas() if not schema.domain and not schema.deprecated}
    lines = []
    for op in sorted(newest - {op for domain, op in known if not domain}):
        row = rows.get(("", op), Row())
        reasons = sorted(reason for reason in row.reasons if not reason.startswith("op "))
        lines.append([op, ", ".join(reasons) or "no handler"])
    return table(["op", "why"], lines)


def page(smelt):
    known = handlers()
    rows, on_gpu = gather_rows(smelt)
    return "\n".join(
        [
            HEAD.format(date=on_gpu["date"], commit=on_gpu["commit"][:7]),
            "## ONNX\n",
            known_table(known, rows),
            "## Other domains\n",
            contrib_table(known),
            "## Refused by name\n",
            unknown_table(known, rows),
        ]
    )


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip().splitlines()[2])
        return 2
    text = page(sys.argv[1])
    if "--check" not in sys.argv:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() == text:
        print(f"{text.count(chr(10))} lines, as the tests show")
        return 0
    print("docs/ops.md does not say what the tests show: run tools/write_ops.py SMELT")
    return 1


if __name__ == "__main__":
    sys.exit(main())
