#!/usr/bin/env python3
"""Plans for any shape against the interpreter, their kernels run by the emulator, at several shapes.

A transformer's layer of each family, and what is at the edges of the templates (tests/models/one_layer.py, edges.py), each
with fresh random weights. Of each model's shapes the first, which are the smallest.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../models'))

import edges  # noqa: E402
import models  # noqa: E402
import one_layer  # noqa: E402


def worst_errors(smelt, plan, path, subject, shape, seed):
    """The largest relative norm and the worst element over all outputs."""
    inputs = subject.make_inputs(shape, seed)
    expected = models.run(smelt, path, inputs, 'cpu')
    actual = models.run(smelt, plan, inputs, 'cuda')
    errors = [models.relative_error(actual[name], reference) for name, reference in expected.items()]
    return max(norm for norm, _ in errors), max(worst for _, worst in errors)


def check(args, subject, folder):
    """Whether it agrees at every shape, and a line of text."""
    path = subject.write(folder, args.seed)
    plan = path + '.plan'
    models.call(args.smelt, 'compile', path, '-o', plan, '--arch', args.arch)
    shapes = subject.shapes[:args.shapes]
    errors = [worst_errors(args.smelt, plan, path, subject, shape, seed) for seed, shape in enumerate(shapes)]
    norm, worst = max(norm for norm, _ in errors), max(worst for _, worst in errors)
    return norm <= subject.gpu_tolerance, (
        f'relative error at most {norm:.1e} (limit {subject.gpu_tolerance:.0e}), worst element {worst:.1e}, '
        f'at {len(shapes)} shapes'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--smelt', required=True, help='the smelt binary')
    parser.add_argument('--models', help='comma-separated names; all by default')
    parser.add_argument('--seed', type=int, default=0, help='of the weights')
    parser.add_argument('--shapes', type=int, default=2, help='of each model')
    parser.add_argument('--arch', default='sm_90a')
    args = parser.parse_args()
    tally = models.Tally()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        os.environ['SMELT_CACHE_DIR'] = os.path.join(folder, 'cache')  # these kernels are not for a GPU
        subjects = models.named(one_layer.LAYERS + edges.EDGES, args.models)
        for subject, job in [(subject, pool.submit(check, args, subject, folder)) for subject in subjects]:
            try:
                good, text = job.result()
            except RuntimeError as error:
                good, text = False, str(error)[-2000:]
            tally.add(good, subject.name, text)
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
