#!/usr/bin/env python3
"""How long `smelt compile` takes for each model: with an empty cache (cold) and again (warm). Needs no GPU.

usage: tools/bench/compile_time.py [--arch sm_90a,sm_80] [--models a,b] [--json tools/bench/results/compile_time.json]

One process after the other; the figures are wall-clock seconds of the whole process, weights read and written. Warm
is the median of three. Fails where a model takes longer than its limit.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import common
from common import models

LIMITS = {"bert_base.dy20_fp16": {"cold_s": 15.0, "warm_s": 1.0}}  # on 2 cores
WARM_RUNS = 3


def timed_compile(arguments, path, arch, folder):
    """(seconds, what the command reports) of one compilation with the cache in `folder`."""
    plan = folder / "model.plan"
    started = time.monotonic()
    report = common.smelt_json(
        arguments.smelt,
        "compile",
        path,
        "-o",
        plan,
        "--arch",
        arch,
        environment={"SMELT_CACHE_DIR": str(folder / "cache")},
    )
    return time.monotonic() - started, report


def measure(arguments, name, path, arch):
    """The row of one model and architecture."""
    with tempfile.TemporaryDirectory() as folder:
        cold, report = timed_compile(arguments, path, arch, Path(folder))
        warm = [timed_compile(arguments, path, arch, Path(folder))[0] for _ in range(WARM_RUNS)]
    return {
        "name": name,
        "arch": arch,
        "cold_s": round(cold, 3),
        "warm_s": round(statistics.median(warm), 3),
        "launches": report["launches"],
        "kernels": report["kernels"],
        "plan_bytes": report["plan_bytes"],
    }


def over_limit(row):
    """What of the row exceeds the model's limits, as text."""
    limits = LIMITS.get(row["name"], {})
    return ", ".join(f"{key} over {limit:g}" for key, limit in limits.items() if row[key] > limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    parser.add_argument("--arch", default="sm_90a,sm_80", help="comma-separated")
    arguments = parser.parse_args()
    machine = {**common.cpu(), "arch": arguments.arch.split(",")}
    rows = []
    for model, path in models.selected(arguments):
        for arch in machine["arch"]:
            row = measure(arguments, model.name, path, arch)
            rows.append(row)
            print(
                f"{model.name:22} {arch:7} cold {row['cold_s']:7.2f} s  warm {row['warm_s']:6.2f} s"
                f"  {over_limit(row)}",
                flush=True,
            )
    common.write(arguments.json, "smelt.compile_time/2", machine, rows)
    return 0 if rows and not any(map(over_limit, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
