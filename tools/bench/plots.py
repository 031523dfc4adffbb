"""Plots of the results, as SVG by matplotlib: the README's bars of latency and docs/benchmarks.md's roofline.

The same results and the same matplotlib give the same text: nothing in a file depends on when or where it was drawn.
"""

import io
import json

import matplotlib
from matplotlib.figure import Figure

from gpu_peaks import PEAKS

SMELT, ANY_SHAPE, PEER, INK = "#0f766e", "#7cc4bb", "#b45309", "#333333"
STYLE = {
    "svg.hashsalt": "smelt",
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
}
# File in results/, how its points are named, and their mark.
KERNELS = [
    ("gemm", "products", "o"),
    ("attention", "attention", "^"),
    ("attention_bias", "attention with biases", "v"),
    ("attention_decode", "attention, few queries", "<"),
    ("conv", "convolutions", "s"),
    ("rowwise", "norms and softmax", "D"),
]


def text_of(figure):
    """White behind it: pages are dark for some readers."""
    figure.set_facecolor("white")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def caption(results):
    return f"one {results['gpu']}; {results['date']}, commit {results['commit'][:10]}"


def latency(results):
    """A group of bars for each row: times as shares of PyTorch's best mode, with milliseconds beside them."""
    rows = sorted(results["rows"], key=lambda row: row["ratio"])
    series = [
        ("Smelt, a plan for the shape", SMELT, lambda row: row["smelt_ms"]),
        ("Smelt, a plan for any shape", ANY_SHAPE, lambda row: row.get("smelt_dynamic_ms")),
        ("PyTorch's best mode", PEER, lambda row: row["torch_best_ms"]),
    ]
    height = 0.27
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 0.42 * len(rows) + 1.1))
        axes = figure.subplots()
        for place, (label, color, time_of) in enumerate(series):
            shown = [(i, time_of(row), row["torch_best_ms"]) for i, row in enumerate(rows) if time_of(row)]
            offset = (1 - place) * height
            axes.barh([i + offset for i, _, _ in shown], [100 * ms / best for _, ms, best in shown], height, label=label, color=color)
            for i, ms, best in shown:
                axes.text(100 * ms / best + 0.8, i + offset, f"{ms:.3g} ms", va="center", fontsize=6.5)
        axes.set_yticks(range(len(rows)), [f"{row['name']}  {row['ratio']:.2f}x" for row in rows])
        axes.set_xlim(0, 112)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel(f"time, % of PyTorch's best mode (shorter is better); {caption(results)}")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=7.5)
        axes.spines[["top", "right"]].set_visible(False)
        return text_of(figure)


def roofs(gpu):
    """(operations a second in half precision, bytes a second) of a GPU of gpu_peaks.PEAKS."""
    return next((operations["half"], memory) for name, (operations, memory) in PEAKS.items() if name in gpu)


def draw_kernels(axes, results, label, mark, operations, memory):
    """Smelt's points filled, its best peer's hollow; kernels of no products lie at a FLOP a byte."""
    rows = [row for row in results["rows"] if "error" not in row]
    at = [max(row["flops"] / row["bytes"], 1) for row in rows]
    for times, face, name in (("smelt_us", SMELT, label), ("peer_us", "none", None)):
        least = [1e6 * max(row["flops"] / operations, row["bytes"] / memory) for row in rows]
        share = [100 * best / row[times]["median"] for best, row in zip(least, rows)]
        edge = SMELT if face == SMELT else PEER
        axes.scatter(at, share, s=16, marker=mark, facecolors=face, edgecolors=edge, linewidths=0.7, alpha=0.8, label=name)


def roofline(folder):
    """All single kernels of `folder`: the share of what the GPU could do at most, by FLOPs for each byte."""
    files = [(folder / f"{name}.json", label, mark) for name, label, mark in KERNELS]
    found = [(json.loads(file.read_text()), label, mark) for file, label, mark in files if file.exists()]
    operations, memory = roofs(found[0][0]["gpu"])
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 5))
        axes = figure.subplots()
        for results, label, mark in found:
            draw_kernels(axes, results, label, mark, operations, memory)
        ridge = operations / memory
        axes.axvline(ridge, color=INK, linewidth=0.8, linestyle=":")
        axes.text(ridge / 1.05, 103, "bound by memory", ha="right", fontsize=7.5)
        axes.text(ridge * 1.05, 103, "bound by arithmetic", ha="left", fontsize=7.5)
        axes.scatter([], [], s=16, marker="o", facecolors="none", edgecolors=PEER, label="the best peer of the same row")
        axes.set_xscale("log")
        axes.set_ylim(0, 110)
        axes.set_xlabel("FLOPs for each byte that must move")
        dates = sorted({results["date"] for results, _, _ in found})
        axes.set_ylabel(f"% of the roofline: {operations / 1e12:.0f} TFLOP/s, {memory / 1e12:.1f} TB/s")
        axes.set_title(f"Single kernels on one {found[0][0]['gpu']}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}", fontsize=9)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=7.5)
        axes.spines[["top", "right"]].set_visible(False)
        return text_of(figure)


def all_plots(folder):
    """{file name: text} of the plots of the results in `folder`."""
    return {
        "latency.svg": latency(json.loads((folder / "peers.json").read_text())),
        "roofline.svg": roofline(folder),
    }
