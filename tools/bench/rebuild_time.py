#!/usr/bin/env python3
"""How long everything takes to build again after an edit of one file, and with --clean the whole build.

usage: tools/bench/rebuild_time.py [--clean] [--json tools/bench/results/rebuild_time.json]

Each edit appends a comment to a file of the checkout, builds the default target of build/release and takes the comment
away again. The clean build is configured in a folder of its own, without ccache's cache. Fails over a limit.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

EDITS = {"one pass": "passes/raise/raise_norm.cpp", "one op handler": "frontend/ops/arithmetic.cpp"}
EDIT_LIMIT, CLEAN_LIMIT = 45.0, 15 * 60.0


def build(folder):
    """Seconds of one build of the default target, and how many steps it had."""
    started = time.monotonic()
    done = subprocess.run(
        ["cmake", "--build", folder, "--parallel", str(os.cpu_count())],
        capture_output=True,
        text=True,
        env={**os.environ, "CCACHE_DISABLE": "1"},
    )
    if done.returncode:
        sys.exit(f"the build in {folder} fails:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    steps = len(re.findall(r"^\[[1-9][0-9]*/", done.stdout, re.MULTILINE))
    return time.monotonic() - started, steps


def rebuild(folder, source):
    """Builds again after an edit of `source`, which is as it was afterwards, and so is the build."""
    path = common.REPOSITORY / source
    before = path.read_bytes()
    try:
        path.write_bytes(before + f"// {time.time_ns()}\n".encode())
        return build(folder)
    finally:
        path.write_bytes(before)
        build(folder)


def clean_build():
    with tempfile.TemporaryDirectory() as folder:
        command = ["cmake", "--preset", "release", "-S", str(common.REPOSITORY), "-B", folder]
        subprocess.run(command, check=True, capture_output=True, cwd=common.REPOSITORY)
        return build(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clean", action="store_true", help="time a build from nothing as well")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    machine = common.cpu()
    folder = common.REPOSITORY / "build" / "release"
    build(folder)
    jobs = [
        (what, source, EDIT_LIMIT, lambda source=source: rebuild(folder, source))
        for what, source in EDITS.items()
    ]
    if arguments.clean:
        jobs.append(("everything", "", CLEAN_LIMIT, clean_build))
    rows = []
    for what, source, limit, measure in jobs:
        seconds, steps = measure()
        row = {"name": what, "file": source, "seconds": round(seconds, 1), "steps": steps}
        rows.append({**row, "limit_s": limit})
        print(f"{what:16} {seconds:7.1f} s (limit {limit:g}), {steps} steps  {source}", flush=True)
    common.write(arguments.json, "smelt.rebuild_time/1", machine, rows)
    return 0 if all(row["seconds"] <= row["limit_s"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
