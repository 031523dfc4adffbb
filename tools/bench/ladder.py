#!/usr/bin/env python3
"""Runs the ladder of kernels (tools/ladder) on a GPU and keeps its figures; docs/ladder.md is made of both.

usage: tools/bench/ladder.py [--ladder build/release/bin/ladder] [--size N] [--json tools/bench/results/ladder.json]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from kernel_tables import table

HEAD = """# The ladder

Written by `tools/bench/make_tables.py` from `tools/ladder/` and `tools/bench/results/`; do not edit. Each step is one short file
that differs from the step before in one idea, over the device headers that Smelt's own kernels use (`codegen/device/`). Plans
run none of them; they are for readers, and for measuring what each idea is worth. `build/release/bin/ladder` compiles them by
NVRTC, checks the first of each kind against the host and the others against it, and times them: a graph of launches on random
values. `ladder --compile-only` needs no GPU.
"""
TITLES = {"gemm": "Matrix products", "attention": "Attention"}


def comment_of(path):
    """The comment that a file opens with."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    return "\n".join(lines)


def files(folder):
    """Of the steps, in their order, as steps.cpp lists them."""
    return re.findall(r'"(\w+\.cu)"', (folder / "steps.cpp").read_text())


def figures(rows):
    """A table of the steps of one kind; how much faster each is than the one before."""
    lines, before = [], None
    for row in rows:
        share = f"{100 * row['peak_share']:.1f} %" if row["peak_share"] else ""
        gain = f"{before / row['us']:.1f}" if before and row["us"] else ""
        wrong = f" (failed: {row['failure']})" if row["failure"] else ""
        lines.append([row["step"] + wrong, f"{row['us']:.0f}", f"{row['tflops']:.1f}", share, gain])
        before = row["us"]
    return table(["step", "us", "TFLOP/s", "of the dense peak", "times the step before"], lines)


def page(folder, path):
    """The text of docs/ladder.md, of the steps in `folder`, and of the results in the file `path` if there is one."""
    results = json.loads(path.read_text()) if path.exists() else None
    text = HEAD
    for family, title in TITLES.items():
        text += f"\n## {title}\n"
        if results:
            text += "\n" + figures([row for row in results["rows"] if row["family"] == family])
            size = results["size"]
            what = f"{size} x {size} x {size}" if family == "gemm" else f"16 heads of 128 elements, {size} tokens"
            text += f"\n{what}; one {results['gpu']}, driver {results['driver']}; {results['date']}, commit {results['commit'][:10]}.\n"
        for name in files(folder):
            if name.startswith(family):
                text += f"\n### [`{name}`](../tools/ladder/{name})\n\n{comment_of(folder / name)}\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ladder", default=str(common.REPOSITORY / "build/release/bin/ladder"))
    parser.add_argument("--size", default="4096", help="of matrices, and tokens (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [arguments.ladder, "--source", common.REPOSITORY, "--size", arguments.size, "--json", file.name]
        code = subprocess.run(command).returncode
        text = Path(file.name).read_text()
    if text:
        found = json.loads(text)
        common.write(arguments.json, found["schema"], {**common.models.gpu(), "size": found["size"]}, found["rows"])
    return code


if __name__ == "__main__":
    sys.exit(main())
