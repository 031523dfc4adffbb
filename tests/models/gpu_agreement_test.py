#!/usr/bin/env python3
"""`smelt run --device cuda` of one plan a model against the interpreter, at several shapes without recompiling.

Needs a GPU. Models are taken side by side, for it is the interpreter that takes the time. Writes its figures as JSON where
--json says.
"""
import argparse
import concurrent.futures
import os
import sys

import models


def report(row):
    if 'error' in row:
        print(f'FAIL {row["model"]} {row.get("shape", "")}: {row["error"]}', flush=True)
        return
    good = row['relative'] <= row['limit']
    print(f'{"ok  " if good else "FAIL"} {row["model"]:22} {str(row["shape"]):11} {row["output"]:24} relative '
          f'{row["relative"]:.2e} (limit {row["limit"]:.0e}), worst element {row["worst"]:.2e}', flush=True)


def compare(args, model, path, plan, shape, seed):
    """A row for each output, or one that says what failed."""
    inputs = models.make_inputs(model, shape, seed)
    try:
        expected = models.run(args.smelt, path, inputs, 'cpu')
        actual = models.run(args.smelt, plan, inputs, 'cuda')
    except RuntimeError as error:
        return [{'model': model.name, 'shape': shape, 'error': str(error)[-500:]}]
    rows = []
    for name, reference in expected.items():
        norm, worst = models.relative_error(actual[name], reference)
        rows.append({'model': model.name, 'shape': shape, 'output': name, 'relative': norm, 'worst': worst,
                     'limit': model.gpu_tolerance})
    return rows


def check(args, model):
    """The rows of a model; None where it cannot be had here."""
    try:
        path = models.find(model, args.model_dir, args.cache)
    except models.Missing as reason:
        print(f'SKIPPED {model.name}: {reason}', flush=True)
        return None
    plan = os.path.join(args.cache, model.name + '.plan')
    try:
        models.call(args.smelt, 'compile', path, '-o', plan, '--arch', args.arch)
        rows = [row for seed, shape in enumerate(models.SHAPES[model.inputs])
                for row in compare(args, model, path, plan, shape, 100 + seed)]
        os.remove(plan)
    except RuntimeError as error:
        rows = [{'model': model.name, 'error': str(error)[-500:]}]
    for row in rows:
        report(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    parser.add_argument('--json', help='file for the figures')
    parser.add_argument('--arch', default='sm_90a')
    parser.add_argument('--jobs', type=int, default=max(1, (os.cpu_count() or 1) // 2), help='models at a time')
    args = parser.parse_args()
    machine = models.gpu() if args.json else {}
    known = models.named(models.MODELS + models.FURTHER, args.models)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = [row for found in pool.map(lambda model: check(args, model), known) for row in found or []]
    models.write_figures(args.json, 'smelt.gpu_agreement/2', machine, rows)
    failed = sum('error' in row or row['relative'] > row['limit'] for row in rows)
    print(f'{len(rows) - failed} passed, {failed} failed')
    return 1 if failed or not rows else 0


if __name__ == '__main__':
    sys.exit(main())
