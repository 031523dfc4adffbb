"""What the benchmarks of single kernels share: their options, compiling every row's plan, measuring row by row, the results.

A row that fails says why in its place in the results, and the next one runs. Results are written after each row.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import common
import gpu_peaks
import onnx
from common import models


def parse(description, sets):
    """The options. `sets` are the script's groups of rows, the first of them the default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smelt", default=str(common.REPOSITORY / "build/release/bin/smelt"))
    parser.add_argument("--library", help="libsmelt_rt.so (default: of the build tree of --smelt)")
    parser.add_argument("--set", default=next(iter(sets)), choices=sets, help="which rows (default: %(default)s)")
    parser.add_argument("--rows", help="comma-separated parts of names: only rows with one of them")
    parser.add_argument("--seconds", type=float, default=0.4, help="of turns, for each row (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no row is begun")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="models compiled at once (default: %(default)s)")
    parser.add_argument("--compile-only", action="store_true", help="compile the rows for sm_90a and stop; needs no GPU")
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser.parse_args()


def selected(rows, parts):
    """Those whose name has one of the comma-separated parts; all of them for None."""
    if not parts:
        return rows
    known = parts.split(",")
    found = [row for row in rows if any(part in row.name for part in known)]
    for part in known:
        if not any(part in row.name for row in rows):
            sys.exit(f"no row has '{part}' in its name; there are: {', '.join(row.name for row in rows)}")
    return found


def compile_row(row, smelt, folder, architecture):
    """The finished plan: {"plan", "kernels"}, or {"error"}."""
    try:
        model, plan = folder / f"{row.name}.onnx", folder / f"{row.name}.plan"
        onnx.save(row.build(folder), model)
        models.call(smelt, "compile", model, "-o", plan, "--arch", architecture)
        launches = models.smelt_json(smelt, "inspect", plan)["programs"][0]["launches"]
        return {"plan": plan, "kernels": [launch["name"] for launch in launches if not launch["once"]]}
    except Exception as error:
        return {"error": f"compiling: {error}"}


def compile_rows(rows, arguments, folder, architecture):
    """By the rows' names, all at once; prints those that fail, and with --compile-only what the others launch."""
    start = time.monotonic()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        compiled = list(pool.map(lambda row: compile_row(row, arguments.smelt, folder, architecture), rows))
    plans = {row.name: plan for row, plan in zip(rows, compiled)}
    failed = [(name, plan["error"]) for name, plan in plans.items() if "error" in plan]
    print(f"compiled {len(rows) - len(failed)} of {len(rows)} rows in {time.monotonic() - start:.1f} s", flush=True)
    for name, error in failed:
        print(f"FAILED {name}: {error}", flush=True)
    for row in rows:
        if arguments.compile_only and "kernels" in plans[row.name]:
            print(f"{row.name:32} {'; '.join(plans[row.name]['kernels'])}")
    return plans


def library_of(arguments):
    built = Path(arguments.smelt).resolve().parent.parent / "runtime" / "libsmelt_rt.so"
    library = Path(arguments.library) if arguments.library else built
    if not library.exists():
        sys.exit(f"{library} is not there; build it, or name it with --library")
    return str(library)


def measure(row, compiled, runtime, peers_of, seconds):
    """The figures of one row: `peers_of(row, sets)` gives calls of its peers by their labels."""
    import torch
    import turns

    if "error" in compiled:
        return {"error": compiled["error"]}
    sets = turns.operand_sets(row)
    plan = turns.SmeltPlan(runtime, compiled["plan"], row, sets)
    try:
        own = turns.Captured(plan.call, len(sets))
        label, peer, scouted, failures = turns.fastest(peers_of(row, sets), len(sets))
        error = turns.relative_error(own.first_result(), peer.first_result())
        smelt_us, peer_us = turns.samples_in_turns([own, peer], seconds)
        return {
            **figures(row, torch.cuda.get_device_name(0), smelt_us, peer_us),
            "peer": label,
            "peers_us": {name: round(time, 5) for name, time in scouted.items()},
            **({"peers_failed": failures} if failures else {}),
            "relative_error": error,
            **({} if error <= row.tolerance else {"error": f"results differ by {error:.2e}, more than {row.tolerance:g}"}),
            "sets": len(sets),
            "samples": len(smelt_us),
        }
    finally:
        plan.close()


def figures(row, gpu, smelt_us, peer_us):
    import turns

    own, other = turns.spread(smelt_us), turns.spread(peer_us)
    least = gpu_peaks.least_seconds(gpu, row)
    share = lambda time: round(least / (time["median"] * 1e-6), 4) if least else None
    seconds = own["median"] * 1e-6
    return {
        "smelt_us": own,
        "peer_us": other,
        "ratio": round(other["median"] / own["median"], 4),
        "ratio_spread": turns.spread([theirs / mine for mine, theirs in zip(smelt_us, peer_us)]),
        "tflops": round(row.flops / seconds * 1e-12, 2),
        "gb_per_s": round(row.bytes / seconds * 1e-9, 1),
        "roofline_share": share(own),
        "peer_roofline_share": share(other),
    }


def described(row, compiled):
    return {"name": row.name, **row.facts, "flops": row.flops, "bytes": row.bytes, "kernels": compiled.get("kernels")}


def line(row):
    """Of the table that is printed last."""
    if "ratio" not in row:
        return f"{row['name']:32} {row['error'][:120]}"
    flag = "  WRONG: " + row["error"] if "error" in row else ""
    share = "" if row["roofline_share"] is None else f"{100 * row['roofline_share']:4.0f} %"
    return (f"{row['name']:32} {row['smelt_us']['median']:10.2f} {row['peer_us']['median']:10.2f} us {row['ratio']:6.3f}x "
            f"{row['tflops']:7.1f} TFLOP/s {row['gb_per_s']:7.0f} GB/s {share} {len(row['kernels'])} kernels, {row['peer']}{flag}")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def report(rows, total):
    """Prints the table; an exit code."""
    print()
    for row in rows:
        print(line(row))
    good = [row["ratio"] for row in rows if "error" not in row]
    if good:
        print(f"geometric mean {geometric_mean(good):.3f}x, least {min(good):.3f}x of {len(good)} rows")
    if len(rows) < total:
        print(f"{total - len(rows)} rows were not begun within --limit")
    return 0 if good and len(good) == len(rows) else 1


def measure_rows(rows, plans, arguments, peers_of, schema, machine, began):
    import smelt_runtime
    import torch
    import turns

    runtime, done = smelt_runtime.Runtime(library_of(arguments)), []
    for row in rows:
        if time.monotonic() - began > arguments.limit:
            break
        try:
            found = measure(row, plans[row.name], runtime, peers_of, arguments.seconds)
        except Exception as error:
            found = {"error": turns.one_line(error)}
        torch.cuda.empty_cache()
        done.append({**described(row, plans[row.name]), **found})
        print(line(done[-1]), flush=True)
        if "plan" in plans[row.name]:
            plans[row.name]["plan"].unlink()
        models.write_figures(arguments.json, schema, machine, done)
    return done


def run(name, rows, arguments, make_peers, prepare=None, describe=dict):
    """Compiles and measures the rows of the benchmark `name`; an exit code. `make_peers()` gives peers_of of measure(), and
    `prepare(folder, rows)` writes what the models have in common. What `describe()` measures is kept beside the machine."""
    began = time.monotonic()
    rows = selected(rows, arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        if prepare:
            prepare(Path(folder), rows)
        if arguments.compile_only:
            plans = compile_rows(rows, arguments, Path(folder), "sm_90a")
            return int(any("error" in plan for plan in plans.values()))
        import torch

        major, minor = torch.cuda.get_device_capability()
        architecture = f"sm_{major}{minor}" + ("a" if major == 9 else "")
        machine = {**models.gpu(), "torch": torch.__version__, "cuda": torch.version.cuda, "set": arguments.set, **describe()}
        plans = compile_rows(rows, arguments, Path(folder), architecture)
        done = measure_rows(rows, plans, arguments, make_peers(), f"smelt.{name}/1", machine, began)
    return report(done, len(rows))
