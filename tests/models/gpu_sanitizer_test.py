#!/usr/bin/env python3
"""compute-sanitizer's memcheck and racecheck over the demo model, one layer of each family and the models at the
templates' edges. Needs a GPU.

Each model is compiled once, outside the sanitizer; each run of its plan under a tool must end without a finding, and
with the interpreter's outputs. The shapes reach every kernel of a generated model's plan for sm_90a (reach.py).
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Callable

import numpy as np

import edges
import models
import one_layer

FINDING = 86  # the exit code that stands for "the tool found something"; none of smelt's
SUMMARY = re.compile(r'^=+ (?:ERROR|RACECHECK) SUMMARY: (.*)$', re.MULTILINE)
CLEAN = re.compile(r'0 errors|0 hazards displayed \(0 errors, 0 warnings\)')


@dataclass(frozen=True)
class Subject:
    name: str
    path: str
    shapes: tuple
    make_inputs: Callable  # of a shape and a seed
    tolerance: float


def subjects(args, folder):
    whole = models.named(models.MODELS, args.whole) if args.whole else []
    generated = models.named(one_layer.LAYERS + edges.EDGES, args.models)
    for model in whole:
        yield Subject(model.name, models.find(model, args.model_dir, args.cache), tuple(models.SHAPES[model.inputs]),
                      lambda shape, seed, model=model: models.make_inputs(model, shape, seed), model.gpu_tolerance)
    for each in generated:
        yield Subject(each.name, each.write(folder, args.seed), each.shapes, each.make_inputs, each.gpu_tolerance)


def sanitized(args, tool, command):
    """(the tool's summary, whether the tool attached and found nothing, the whole output)."""
    prefix = [args.sanitizer, '--tool', tool, '--error-exitcode', str(FINDING), '--print-limit', '10']
    if tool == 'memcheck':
        prefix += ['--report-api-errors', 'no']  # the runtime asks the driver for entry points that it may lack
    try:
        done = subprocess.run(prefix + command, capture_output=True, text=True, timeout=args.timeout)
    except subprocess.TimeoutExpired:
        return f'no end within {args.timeout} s', False, ''
    found = SUMMARY.search(done.stdout + done.stderr)
    summary = found[1] if found else 'the tool printed no summary'
    clean = done.returncode == 0 and found is not None and CLEAN.fullmatch(summary) is not None
    return summary if done.returncode in (0, FINDING) else f'exit {done.returncode}; {summary}', clean, \
        done.stdout + done.stderr


def check(args, subject, plan, shape, tool, inputs, expected):
    """One row of the results."""
    row = {'model': subject.name, 'shape': shape, 'tool': tool}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [args.smelt, 'run', plan, '--device', 'cuda', '--output-dir', os.path.join(folder, 'out'),
                   *models.input_flags(inputs, folder)]
        row['summary'], row['clean'], output = sanitized(args, tool, command)
        if row['clean']:
            row['relative'] = max(models.relative_error(np.load(os.path.join(folder, 'out', f'{name}.npy')), value)[0]
                                  for name, value in expected.items())
    row['good'] = row['clean'] and row['relative'] <= subject.tolerance
    row['seconds'] = round(time.monotonic() - started, 1)
    if not row['good']:
        row['output'] = output[:4000]
    return row


def compile_plan(args, subject, folder):
    plan = os.path.join(folder, subject.name + '.plan')
    models.call(args.smelt, 'compile', subject.path, '-o', plan, '--arch', args.arch)
    return plan


def check_subject(args, subject, folder, pool):
    """The rows of every shape and tool."""
    plan = compile_plan(args, subject, folder)
    runs = []
    for seed, shape in enumerate(subject.shapes):
        inputs = subject.make_inputs(shape, seed)
        expected = models.run(args.smelt, subject.path, inputs, 'cpu')
        runs += [pool.submit(check, args, subject, plan, shape, tool, inputs, expected) for tool in args.tools.split(',')]
    for run in runs:
        yield run.result()
    os.remove(plan)


def line(row):
    error = f', relative error {row["relative"]:.1e}' if 'relative' in row else ''
    text = f'{"ok  " if row["good"] else "FAIL"} {row["model"]:20} {str(row["shape"]):11} {row["tool"]:9} ' \
        f'{row["seconds"]:6.1f} s  {row["summary"]}{error}'
    return text + ''.join('\n     ' + each for each in row.get('output', '').splitlines())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    parser.add_argument('--whole', default='digits_vit', help='comma-separated whole models to check as well; may be empty')
    parser.add_argument('--tools', default='memcheck,racecheck')
    parser.add_argument('--arch', default='sm_90a')
    parser.add_argument('--sanitizer', default='compute-sanitizer', help='the program')
    parser.add_argument('--jobs', type=int, default=4, help='runs at a time')
    parser.add_argument('--timeout', type=int, default=300, help='seconds for one run')
    parser.add_argument('--seed', type=int, default=0, help='of the weights')
    parser.add_argument('--json', help='file for the results')
    return parser.parse_args()


def main():
    args = arguments()
    machine = models.gpu() if args.json else {}
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        for subject in subjects(args, folder):
            try:
                found = check_subject(args, subject, folder, pool)
                for row in found:
                    rows.append(row)
                    print(line(row), flush=True)
            except RuntimeError as error:
                rows.append({'model': subject.name, 'good': False, 'summary': str(error)[-2000:]})
                print(f'FAIL {subject.name}: {error}', flush=True)
            models.write_figures(args.json, 'smelt.gpu_sanitizer/2', machine, rows)
    failed = sum(not row['good'] for row in rows)
    print(f'{len(rows) - failed} passed, {failed} failed')
    return 1 if failed or not rows else 0


if __name__ == '__main__':
    sys.exit(main())
