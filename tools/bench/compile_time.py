#!/usr/bin/env python3
"""How long `smelt compile` takes for each model: with an empty cache (cold) and again (warm). Needs no GPU.

usage: tools/bench/compile_time.py [--arch sm_90a] [--models a,b] [--json tools/bench/results/compile_time.json]

One process after the other; the figures are wall-clock seconds of the whole process, weights read and written.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import common
from common import models


def timed_compile(arguments, path, folder):
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
        arguments.arch,
        environment={"SMELT_CACHE_DIR": str(folder / "cache")},
    )
    seconds = time.monotonic() - started
    return round(seconds, 3), report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    parser.add_argument("--arch", default="sm_90a")
    arguments = parser.parse_args()
    rows = []
    for model, path in models.selected(arguments):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            cold, report = timed_compile(arguments, path, folder)
            warm, _ = timed_compile(arguments, path, folder)
            size = (folder / "model.plan").stat().st_size
        rows.append(
            {
                "name": model.name,
                "cold_s": cold,
                "warm_s": warm,
                "launches": report["launches"],
                "kernels": report["kernels"],
                "plan_bytes": size,
            }
        )
        print(f"{model.name:22} cold {cold:7.2f} s  warm {warm:6.2f} s", flush=True)
    machine = {"cpu": common.cpu_name(), "cores": os.cpu_count(), "arch": arguments.arch}
    common.write(arguments.json, "smelt.compile_time/1", machine, rows)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
