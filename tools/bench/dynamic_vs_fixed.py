#!/usr/bin/env python3
"""One plan for any shape against a plan for each shape, in one run on one GPU.

usage: tools/bench/dynamic_vs_fixed.py [--models a,b] [--shapes N] [--seconds S] [--plans DIR] [--compile-only]
                                       [--json tools/bench/results/dynamic_vs_fixed.json]

The models are those of tests/models/models.py, with random weights where they come without; the shapes of a model
include those that its rows of the comparison with PyTorch have. For each shape: median and p99 of single runs of both
plans, which take turns; the time to make the shape ready that the dynamic plan has never seen, the same in the place of
another shape, the time to go back to it, and the processor's time for one enqueue (of both plans) while the GPU is idle and
behind others. Fails where the dynamic plan's median is more than 1.05 times that of the plan for the shape.

Plans are kept in the folder that --plans names and taken from there where they are; with --compile-only they are made,
which needs no GPU.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import common

LIMIT = 1.05
SHAPES = {
    "tokens": [(1, 1), (1, 77), (1, 128), (3, 77), (2, 197), (8, 128), (32, 128), (8, 512)],
    "ids": [(1, 1), (1, 77), (1, 128), (3, 77), (2, 197), (4, 256), (8, 128), (8, 512)],
    "pixels": [(1,), (2,), (3,), (5,), (8,), (16,), (32,), (64,)],
    "reaction": [(1, 8), (1, 40), (1, 77), (1, 128), (1, 197), (1, 256), (1, 384), (1, 512)],
    "digits": [(1,), (2,), (3,), (8,), (32,), (77,), (128,), (512,)],
}


def shape_text(shape):
    return "x".join(map(str, shape))


def input_shapes(model, shape):
    inputs = common.models.make_inputs(model, shape, 0)
    return {name: shape_text(array.shape) for name, array in inputs.items()}


def compile_plan(arguments, model, shape):
    """The plan for one shape, or for any where there is none."""
    name = model.name + ("" if shape is None else "_" + shape_text(shape))
    plan = Path(arguments.plans) / f"{name}.plan"
    if plan.exists():
        return plan
    path, flags = common.models.find_structure(model, arguments.model_dir, arguments.cache)
    if shape is not None:
        for name, text in input_shapes(model, shape).items():
            flags = [*flags, "--shape", f"{name}={text}"]
    common.smelt_json(arguments.smelt, "compile", path, "-o", plan, "--arch", arguments.arch, *flags)
    return plan


def measure(arguments, dynamic, fixed, model):
    """What measure-plan says of each shape, by the shape; the plans take turns."""
    command = [str(Path(arguments.smelt).parent / "measure-plan"), str(dynamic)]
    command += ["--seconds", str(arguments.seconds)]
    for shape, plan in fixed.items():
        texts = input_shapes(model, shape).items()
        command += ["--shape", ",".join(f"{name}={text}" for name, text in texts)]
        command += ["--rival", str(plan)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stderr.strip()}")
    return dict(zip(fixed, json.loads(result.stdout)["shapes"]))


def rows_of(arguments, model):
    shapes = SHAPES[model.inputs][: arguments.shapes]
    dynamic = compile_plan(arguments, model, None)
    fixed = {shape: compile_plan(arguments, model, shape) for shape in shapes}
    if arguments.compile_only:
        return
    for shape, one in measure(arguments, dynamic, fixed, model).items():
        yield {
            "name": model.name,
            "shape": shape_text(shape),
            "launches": one["launches"],
            "dynamic_ms": one["median_ms"],
            "dynamic_p99_ms": one["p99_ms"],
            "fixed_ms": one["rival_median_ms"],
            "fixed_p99_ms": one["rival_p99_ms"],
            "ratio": round(one["median_ms"] / one["rival_median_ms"], 3),
            **{key: round(one[key], 2) for key in ("new_us", "update_us", "known_us", "enqueue_us", "queued_us")},
            "fixed_enqueue_us": round(one["rival_enqueue_us"], 2),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--shapes", type=int, default=8, help="of each model, the first so many")
    parser.add_argument("--seconds", type=float, default=1.0, help="of single runs, for each shape")
    parser.add_argument("--plans", default=str(common.REPOSITORY / "build/plans"))
    parser.add_argument("--compile-only", action="store_true")
    arguments = parser.parse_args()
    Path(arguments.plans).mkdir(parents=True, exist_ok=True)
    rows = []
    for model in common.models.named(common.models.MODELS, arguments.models):
        try:
            for row in rows_of(arguments, model):
                rows.append(row)
                print(
                    f"{row['name']} {row['shape']}: {row['dynamic_ms']:.4f} ms (p99"
                    f" {row['dynamic_p99_ms']:.4f}), for the shape {row['fixed_ms']:.4f} ms,"
                    f" {row['ratio']:.2f}x; new {row['new_us']:.0f} us, known"
                    f" {row['known_us']:.1f} us, enqueue {row['enqueue_us']:.1f} us",
                    flush=True,
                )
        except common.models.Missing as missing:
            print(f"SKIPPED {model.name}: {missing}")
    if arguments.compile_only:
        return 0
    common.write(arguments.json, "smelt.dynamic_vs_fixed/1", common.models.gpu(), rows)
    slow = [row for row in rows if row["ratio"] > LIMIT]
    print(f"{len(rows) - len(slow)} passed, {len(slow)} above {LIMIT}x")
    return 1 if slow or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
