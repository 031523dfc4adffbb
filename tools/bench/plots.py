"""Plots of the results: the README's bars of latency and docs/benchmarks.md's roofline.

The charts are those of `smelt report` (tools/smelt/html), run in Chromium; what is drawn is said here. The same results give the
same text: nothing in a file depends on when or where it was drawn, nor on the fonts there.
"""

import json
import sys

from common import REPOSITORY
from gpu_peaks import PEAKS

sys.path.insert(0, str(REPOSITORY / "tools"))
from headless_browser import open_browser  # noqa: E402

HTML = REPOSITORY / "tools" / "smelt" / "html"
DRAW = """
return arguments[0].map(([draw, chart]) => {
  const picture = { drawBars, drawRoofline }[draw](chart).picture;
  picture.prepend(svg("style", {}, arguments[1]));
  return new XMLSerializer().serializeToString(picture);
});
"""
# File in results/, how its points are named, and their mark.
KERNELS = [
    ("gemm", "products", "circle"),
    ("attention", "attention", "up"),
    ("attention_bias", "attention with biases", "down"),
    ("attention_decode", "attention, few queries", "left"),
    ("conv", "convolutions", "square"),
    ("rowwise", "norms and softmax", "diamond"),
]


def draw(charts):
    """The SVG texts of charts, each (a function of plots.js, what it takes)."""
    scripts = "\n".join((HTML / name).read_text() for name in ("svg.js", "plots.js"))
    browser = open_browser()
    try:
        texts = browser.execute_script(scripts + DRAW, charts, "\n" + (HTML / "charts.css").read_text())
    finally:
        browser.quit()
    return [text.replace("><", ">\n<") + "\n" for text in texts]


def caption(results):
    return f"one {results['gpu']}; {results['date']}, commit {results['commit'][:10]}"


def latency(results):
    """A group of bars for each row: times as shares of PyTorch's best mode, with milliseconds beside them."""
    series = [
        ("Smelt, a plan for the shape", "own", "smelt_ms"),
        ("Smelt, a plan for any shape", "own-too", "smelt_dynamic_ms"),
        ("PyTorch's best mode", "peer", "torch_best_ms"),
    ]

    def bar(row, key):
        ms = row.get(key)
        return {"value": 100 * ms / row["torch_best_ms"], "text": f"{ms:.3g} ms"} if ms else None

    rows = sorted(results["rows"], key=lambda row: -row["ratio"])
    return "drawBars", {
        "label": "Times of Smelt's plans as shares of PyTorch's best mode",
        "series": [{"name": name, "className": look} for name, look, _ in series],
        "rows": [
            {"name": f"{row['name']}  {row['ratio']:.2f}x", "bars": [bar(row, key) for _, _, key in series]} for row in rows
        ],
        "axis": f"time, % of PyTorch's best mode (shorter is better); {caption(results)}",
    }


def roofs(gpu):
    """(operations a second in half precision, bytes a second) of a GPU of gpu_peaks.PEAKS."""
    return next((operations["half"], memory) for name, (operations, memory) in PEAKS.items() if name in gpu)


def points(results, key, who):
    """Shares of the roof of the results' own GPU. Kernels of no products lie at a FLOP a byte."""
    operations, memory = roofs(results["gpu"])
    found = []
    for row in results["rows"]:
        if "error" in row:
            continue
        least = 1e6 * max(row["flops"] / operations, row["bytes"] / memory)
        share = 100 * least / row[key]["median"]
        text = f"{row['name']}, {who}: {row[key]['median']:.4g} us, {share:.0f} %"
        found.append({"intensity": row["flops"] / row["bytes"], "share": share, "text": text})
    return found


def roofline(folder):
    """All single kernels of `folder`: the share of what the GPU could do at most, by FLOPs for each byte. Smelt's points are
    filled, its best peer's hollow."""
    files = [(folder / f"{name}.json", label, mark) for name, label, mark in KERNELS]
    found = [(json.loads(file.read_text()), label, mark) for file, label, mark in files if file.exists()]
    gpus = list(dict.fromkeys(results["gpu"] for results, _, _ in found))
    operations, memory = roofs(gpus[0])
    peaks = [f"{peak / 1e12:.0f} TFLOP/s, {bandwidth / 1e12:.1f} TB/s" for peak, bandwidth in map(roofs, gpus)]
    sides = [("peer_us", "its best peer", "peer"), ("smelt_us", "Smelt", "own")]
    dates = sorted({results["date"] for results, _, _ in found})
    return "drawRoofline", {
        "label": "Single kernels: shares of the roofline by FLOPs for each byte",
        "title": f"Single kernels on one {' and one '.join(gpus)}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}",
        "series": [
            {
                "name": label if look == "own" else "",
                "className": look,
                "mark": mark,
                "points": points(results, key, who),
            }
            for key, who, look in sides
            for results, label, mark in found
        ],
        "legend": [{"name": "the best peer of the same row", "className": "peer", "mark": "circle"}],
        "share": f"% of the roofline: {' and '.join(peaks)}",
        "ridge": operations / memory,
    }


def all_plots(folder):
    """{file name: text} of the plots of the results in `folder`."""
    charts = {
        "latency.svg": latency(json.loads((folder / "peers.json").read_text())),
        "roofline.svg": roofline(folder),
    }
    return dict(zip(charts, draw(list(charts.values()))))
