#!/usr/bin/env python3
"""Writes the README's tables, docs/benchmarks.md, docs/ladder.md and docs/plots/ from tools/bench/results/*.json.

usage: tools/bench/make_tables.py          rewrites the tables in README.md, the pages and the plots
       tools/bench/make_tables.py --check  fails where they do not say what the results say

A table stands between `<!-- table: NAME -->` and `<!-- end -->`, where NAME is a file in results/, or single_kernels: all of theirs.
"""

import json
import re
import sys

import kernel_tables
import ladder
import plots
from common import REPOSITORY, RESULTS
from kernel_tables import table

TABLE = re.compile(
    r"(?P<open><!-- table: (?P<name>[a-z0-9_]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL
)


def share(value):
    return "" if value is None else f"{100 * value:.0f} %"


def milliseconds(value):
    """Empty where it was not measured."""
    return "" if value is None else f"{value:.3f}"


def peers(results):
    rows = [
        [
            row["name"],
            milliseconds(row.get("smelt_dynamic_ms")),
            milliseconds(row["smelt_ms"]),
            f"{row['torch_best_ms']:.3f}",
            min(row["torch_ms"], key=row["torch_ms"].get),
            f"{row['ratio']:.2f}",
            str(row["kernels"]),
            share(row["roofline_share"]),
        ]
        for row in results["rows"]
    ]
    caption = f"One {results['gpu']}, driver {results['driver']}, PyTorch {results['torch']}"
    header = ["model", "Smelt for any shape, ms", "for this shape, ms", "PyTorch, ms", "its best mode", "ratio", "kernels", "roofline"]
    return table(header, rows), caption


def int8(results):
    rows = [
        [
            row["name"],
            row["shape"],
            f"{row['ms']:.3f} ({row['half_ms']:.3f})",
            f"{row['ratio']:.2f}",
            f"{row['fixed_ms']:.3f} ({row['half_fixed_ms']:.3f})",
            str(row["kernels"]),
            f"{row['error']:.1e}",
            f"{row['onnxruntime_error']:.1e}",
        ]
        for row in results["rows"]
    ]
    header = ["Q/DQ model", "at", "ms (half precision)", "ratio", "for the shape, ms", "kernels", "error",
              "ONNX Runtime's own"]
    return table(header, rows), f"One {results['gpu']}, driver {results['driver']}"


def processor(results):
    return f"{results['cores']} cores of {results['cpu']} at a load of {results['load']:g} before"


def seconds(row):
    return [f"{row['cold_s']:.2f}", f"{row['warm_s']:.2f}", str(row["kernels"])] if row else [""] * 3


def compile_time(results):
    row_of = {(row["name"], row["arch"]): row for row in results["rows"]}
    names = dict.fromkeys(row["name"] for row in results["rows"])
    rows = [
        [name, *(cell for arch in results["arch"] for cell in seconds(row_of.get((name, arch))))]
        for name in names
    ]
    caption = processor(results)
    columns = ["cold, s", "warm, s", "kernels"]
    header = ["model", *(f"{arch}: {column}" for arch in results["arch"] for column in columns)]
    return table(header, rows), caption


def cpu_vs_onnxruntime(results):
    rows = [
        [
            row["name"],
            f"{row['smelt_ms']:.1f}",
            f"{row['onnxruntime_ms']:.1f}",
            f"{row['ratio']:.2f}",
        ]
        for row in results["rows"]
    ]
    caption = f"{processor(results)}, ONNX Runtime {results['onnxruntime']}"
    return table(["model, 1x128", "Smelt, ms", "ONNX Runtime, ms", "times"], rows), caption


def rebuild_time(results):
    rows = [
        [row["name"], f"{row['seconds']:.1f}", f"{row['limit_s']:g}", str(row["steps"])]
        for row in results["rows"]
    ]
    caption = processor(results)
    return table(["edited", "seconds", "limit", "steps"], rows), caption


def dynamic_vs_fixed(results):
    """One line a model: the range over its shapes."""
    rows = []
    for name in dict.fromkeys(row["name"] for row in results["rows"]):
        own = [row for row in results["rows"] if row["name"] == name]
        keys = ("ratio", "new_us", "known_us", "enqueue_us", "queued_us", "fixed_enqueue_us")
        most = {key: max(row[key] for row in own) for key in keys}
        tail = max(row["dynamic_p99_ms"] / row["dynamic_ms"] for row in own)
        rows.append(
            [
                name,
                str(len(own)),
                str(max(row["launches"] for row in own)),
                f"{min(row['ratio'] for row in own):.2f} to {most['ratio']:.2f}",
                f"{tail:.2f}",
                f"{most['new_us']:.0f}",
                f"{most['known_us']:.0f}",
                f"{most['queued_us']:.1f}",
                f"{most['enqueue_us']:.1f} ({most['fixed_enqueue_us']:.1f})",
            ]
        )
    header = ["model", "shapes", "launches", "median, times a plan for the shape", "p99 over median"]
    header += ["new shape, us", "known shape, us"]
    header += ["enqueue behind others, us", "on an idle GPU (for the shape), us"]
    return table(header, rows), f"One {results['gpu']}, driver {results['driver']}; the most over the shapes"


def precision(results):
    rows = [
        [row["name"], f"{row['ms']:.3f}", f"{row['relative_norm']:.1e}", str(row["kernels"])]
        for row in results["rows"]
    ]
    caption = f"One {results['gpu']}, driver {results['driver']}, times at 32x128, errors at 3x77"
    return table(["model", "ms", "error, relative norm", "kernels"], rows), caption


def float_products(results):
    rows = [
        [row["name"], str(row["checks"]), *(f"{row[key]:.1e}" for key in ("median", "p90", "largest", "worst_element"))]
        for row in results["rows"]
    ]
    header = ["float32 products", "checks", "median of relative norms", "90th percentile", "largest", "worst element"]
    return table(header, rows), f"One {results['gpu']}, driver {results['driver']}, `kernel_check`"


MAKERS = {
    "smelt.precision/1": precision,
    "smelt.float_products/1": float_products,
    "smelt.dynamic_vs_fixed/1": dynamic_vs_fixed,
    "smelt.int8/1": int8,
    "smelt.peers/1": peers,
    "smelt.compile_time/2": compile_time,
    "smelt.cpu_vs_onnxruntime/1": cpu_vs_onnxruntime,
    "smelt.rebuild_time/1": rebuild_time,
}


def fill(match):
    if match["name"] == "single_kernels":
        return f"{match['open']}{kernel_tables.overview(RESULTS)}{match['close']}"
    results = json.loads((RESULTS / f"{match['name']}.json").read_text())
    text, caption = MAKERS[results["schema"]](results)
    return f"{match['open']}{text}\n{caption}; {results['date']}, commit {results['commit'][:10]}.\n{match['close']}"


def main():
    readme, docs, tools = (REPOSITORY / name for name in ("README.md", "docs", "tools"))
    texts = {
        readme: TABLE.sub(fill, readme.read_text()),
        docs / "benchmarks.md": kernel_tables.page(tools / "bench"),
        docs / "ladder.md": ladder.page(tools / "ladder", RESULTS / "ladder.json"),
    }
    texts |= {docs / "plots" / name: text for name, text in plots.all_plots(RESULTS).items()}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if sys.argv[1:] == ["--check"]:
        for path in stale:
            print(f"{path.relative_to(REPOSITORY)}: it does not say what is in tools/bench/results; run make_tables.py")
        return int(bool(stale))
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(texts[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
