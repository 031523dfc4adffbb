"""docs/benchmarks.md: what the benchmarks of single kernels say of themselves, and the tables of their results."""

import ast
import json
import math
from pathlib import Path

HEAD = """# Kernels against their peers

Written by `tools/bench/make_tables.py` from the scripts and from `tools/bench/results/`; do not edit. A ratio is the peer's time
over Smelt's: above 1, Smelt is faster. The geometric mean is over the rows that ran and were right; one that was not says `failed`.
The README's chapter "Measured" says what has changed since a table was measured.

![Single kernels: what share of the roofline they reach, by FLOPs for each byte, and what their best peers do](plots/roofline.svg)
"""


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def grid(corner, rows, line_of, column_of, cell):
    """A table of one cell for each row of the results; "failed" where that has an error."""
    lines, columns = (list(dict.fromkeys(map(of, rows))) for of in (line_of, column_of))
    cells = {(line_of(row), column_of(row)): "failed" if "error" in row else cell(row) for row in rows}
    return table([corner, *columns], [[line, *(cells.get((line, column), "") for column in columns)] for line in lines])


def ratio_and_tflops(row):
    return f"{row['ratio']:.2f} ({row['tflops']:.0f})"


def ratio_and_bandwidth(row):
    return f"{row['ratio']:.2f} ({row['gb_per_s']:.0f})"


def gemm(results):
    """Few rows are bound by memory: the bandwidth says more there."""
    cell = lambda row: f"{row['ratio']:.2f} ({row['gb_per_s']:.0f} GB/s)" if row["m"] <= 64 else ratio_and_tflops(row)
    text = grid("N x K", results["rows"], lambda row: f"{row['n']} x {row['k']}", lambda row: f"M = {row['m']}", cell)
    return text, f"Ratio (TFLOP/s, or GB/s of operands and results), set {results['set']}"


def attention(results):
    if results["set"] == "decode":
        cell = lambda row: f"{100 * row['gb_per_s'] / results['copy_gb_per_s']:.0f} % ({row['ratio']:.2f})"
        text = grid("batch", results["rows"], lambda row: str(row["batch"]), lambda row: f"{row['length']} tokens", cell)
        return text, f"Share of a copy's bandwidth, {results['copy_gb_per_s']:.0f} GB/s (ratio to PyTorch's best), decode"
    name = lambda row: f"heads of {row['head']}, {'causal' if row['causal'] else 'full'}"
    text = grid("fp16", results["rows"], name, lambda row: f"{row['length']}", ratio_and_tflops)
    return text, f"Ratio (TFLOP/s) by the length of a sequence, set {results['set']}"


def rowwise(results):
    text = grid("fp16", results["rows"], lambda row: f"{row['op']}, {row['width']} wide", lambda row: f"{row['rows']} rows",
                ratio_and_bandwidth)
    return text, "Ratio (GB/s)"


def conv(results):
    cell = lambda row: f"{row['ratio']:.2f} ({row['smelt_us']['median']:.1f} us)"
    text = grid("layer", results["rows"], lambda row: row["name"].split("_", 1)[1], lambda row: f"batch {row['batch']}", cell)
    return text, "Ratio (Smelt's time)"


MAKERS = {"gemm": gemm, "attention": attention, "rowwise": rowwise, "conv": conv}


# What the sets are, and the peer that each is held against.
SETS = {
    ("gemm", "fp16"): ("products in fp16", "cuBLASLt"),
    ("gemm", "bf16"): ("products in bf16", "cuBLASLt"),
    ("gemm", "odd"): ("products in fp16 of rows that no tile divides", "cuBLASLt"),
    ("gemm", "epilogue"): ("products in fp16 with bias, GELU and residual", "cuBLASLt, and a kernel of PyTorch"),
    ("gemm", "fp8"): ("products of float8e4m3fn", "cuBLASLt, accumulating fast"),
    ("gemm", "int8"): ("products of int8", "cuBLASLt"),
    ("attention", "prefill"): ("attention", "cuDNN, flash"),
    ("attention", "bias"): ("attention with a bias", "FlexAttention, PyTorch's backends"),
    ("attention", "decode"): ("decoding", "cuDNN, flash"),
    ("rowwise", "all"): ("norms and softmax over rows", "eager, torch.compile"),
    ("conv", "all"): ("ResNet-50's convolutions", "cuDNN"),
}


def mean_and_least(rows):
    """Of the ratios of the rows that ran and were right; none where none did."""
    ratios = [row["ratio"] for row in rows if "error" not in row]
    return (math.exp(sum(map(math.log, ratios)) / len(ratios)), min(ratios)) if ratios else None


def summary(rows):
    found = mean_and_least(rows)
    ran = sum("error" not in row for row in rows)
    return f"geometric mean {found[0]:.2f}, least {found[1]:.2f}, {ran} of {len(rows)} rows" if found else "no row ran"


def overview(folder):
    """One line for each set of single kernels that has results in `folder`."""
    found = {}
    for path in folder.glob("*.json"):
        results = json.loads(path.read_text())
        found[results["schema"].removeprefix("smelt.").removesuffix("/1"), results.get("set")] = results
    lines = []
    for key, (what, peer) in SETS.items():
        if key not in found or not (both := mean_and_least(found[key]["rows"])):
            continue
        machine = f"{found[key]['gpu']}, {found[key]['commit'][:10]}"
        lines.append([what, peer, f"{both[0]:.2f}", f"{both[1]:.2f}", str(len(found[key]["rows"])), machine])
    return table(["", "against the best of", "geometric mean", "least", "shapes", "on one GPU, commit"], lines)


def one_table(results, maker):
    text, caption = maker(results)
    machine = f"one {results['gpu']}, driver {results['driver']}, PyTorch {results['torch']}"
    return f"{text}\n{caption}; {summary(results['rows'])}; {machine}; {results['date']}, commit {results['commit'][:10]}.\n"


def described(script):
    """(title, method, usage) of a script's docstring."""
    title, usage, *method = ast.get_docstring(ast.parse(script.read_text())).split("\n\n")
    return title.rstrip("."), "\n\n".join(method), usage.removeprefix("usage: ")


def page(folder):
    """The text of docs/benchmarks.md, from the scripts in `folder` and from `results` in it; a table for each file that is there."""
    text = HEAD
    for name, maker in MAKERS.items():
        title, method, usage = described(folder / f"{name}.py")
        text += f"\n## {title}\n\n{method}\n\n    {usage}\n"
        for path in sorted(Path(folder, "results").glob(f"{name}*.json")):
            results = json.loads(path.read_text())
            if results["schema"] == f"smelt.{name}/1":
                text += "\n" + one_table(results, maker)
    return text
