#!/usr/bin/env python3
"""Trained models from packages of PyPI: `smelt run` against ONNX Runtime on inputs as applications give them, states carried
from run to run, and `smelt compile` for sm_90a. Of convolutions and pooling no kernel is generic. With --device cuda the
runs are on a GPU, and are all that is checked.
"""
import argparse
import os
import sys
import tempfile
import time

import compile_test
import models
import numpy as np
import packages

OVER_PLACES = {'conv', 'pool', 'conv_transpose'}  # ops of which no kernel may be generic


def onnxruntime_session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])


def run_steps(args, model, path, session, size):
    """The outputs of all steps, Smelt's and the reference's, by name; each side carries its own states."""
    names = [output.name for output in session.get_outputs()]
    actual = expected = {}
    steps = {name: ([], []) for name in names}
    for step in range(model.steps):
        inputs = model.inputs(size, step)
        for_smelt = {**inputs, **{into: actual[name] for name, into in model.states.items() if step}}
        for_reference = {**inputs, **{into: expected[name] for name, into in model.states.items() if step}}
        expected = dict(zip(names, session.run(None, for_reference)))
        actual = models.run(args.smelt, path, for_smelt, args.device)
        for name in names:
            steps[name][0].append(actual[name.replace('/', '_')])
            steps[name][1].append(expected[name])
    return steps


def check_agreement(args, tally, model, path):
    session = onnxruntime_session(path)
    for size in model.sizes:
        started = time.monotonic()
        for name, (actual, expected) in run_steps(args, model, path, session, size).items():
            norm, worst = models.relative_error(np.stack(actual), np.stack(expected))
            tally.add(norm <= model.tolerance, model.name,
                      f'{str(size):13} {name:12} {model.steps:2} runs, relative {norm:.1e} '
                      f'(limit {model.tolerance:.0e}), worst element {worst:.1e}, {time.monotonic() - started:.1f} s')


def check_compile(args, tally, model, path):
    """For sm_90a with open sizes, or those that the model needs."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        flags = [f'--shape={shape}' for shape in model.shapes]
        for name in model.values:
            np.save(os.path.join(folder, f'{name}.npy'), model.inputs(model.sizes[0], 0)[name])
            flags.append(f'--value={name}=@{folder}/{name}.npy')
        plan = os.path.join(folder, 'model.plan')
        models.call(args.smelt, 'compile', path, '-o', plan, '--arch', 'sm_90a', *flags)
        program, = models.smelt_json(args.smelt, 'inspect', plan)['programs']
    generic = compile_test.generic_ops(program)
    tally.add(not generic & OVER_PLACES, model.name,
              f'sm_90a: {len(program["launches"])} launches of {program["kernels"]} kernels'
              f'{", generic " + ", ".join(sorted(generic)) if generic else ""}, {time.monotonic() - started:.1f} s')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    parser.add_argument('--device', choices=('cpu', 'cuda'), default='cpu')
    parser.add_argument('--json', help='file for the figures')
    args = parser.parse_args()
    machine = models.gpu() if args.device == 'cuda' else {}
    checks = (check_agreement,) if args.device == 'cuda' else (check_compile, check_agreement)
    tally, missing = models.Tally(), {}
    for model in models.named(packages.MODELS, args.models):
        try:
            if model.package not in missing:
                path = models.packaged(args.cache, model.package, model.file)
        except models.Missing as reason:
            missing[model.package] = reason
        if model.package in missing:
            print(f'SKIPPED {model.name}: {missing[model.package]}', flush=True)
            continue
        for check in checks:
            try:
                check(args, tally, model, path)
            except ImportError:
                print(f'SKIPPED {model.name}: the comparison, since the onnxruntime package is not installed', flush=True)
            except RuntimeError as error:
                tally.add(False, model.name, str(error))
    models.write_figures(args.json, 'smelt.packages/1', machine, tally.rows)
    return 77 if missing and not tally.passed + tally.failed else tally.finish()


if __name__ == '__main__':
    sys.exit(main())
