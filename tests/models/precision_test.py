#!/usr/bin/env python3
"""`--precision fp16|bf16` on float32 models with trained or filled weights, on the CPU: the narrowed module, its stored
values rounded, against the model in float64; and that a bound which bfloat16 breaks is kept by what stays wide. minilm is
optional developer data.
"""
import argparse
import os
import sys
import tempfile

import numpy as np

import models

# Of the outputs, by relative norm: what half precision exports of such models lose too (gpu_agreement.json).
LIMITS = {'fp16': 2e-3, 'bf16': 2e-2}
TIGHT = 2e-3  # which bfloat16 alone breaks in every model
SHAPES = {'digits_vit': [], 'rxnmap': ['--shape', 'atoms=1x77'], 'minilm.ts_fp32': ['--shape', 'input_ids=3x77']}
DIGITS = os.path.join(models.REPOSITORY, 'tools', 'demo', 'digits_test_')


def inputs_of(model):
    return ['--input', f'images=@{DIGITS}images.npy'] if model.name == 'digits_vit' else SHAPES[model.name]


def error_of(args, model, path, precision, *more):
    """The largest relative error of an output."""
    command = ('compare', path, '--device', 'cpu', '--precision', precision, *inputs_of(model), '--tolerance', 1, *more)
    return max(output['relative_norm'] for output in models.smelt_json(args.smelt, *command)['outputs'])


def check_limit(args, tally, model, path):
    for precision, limit in LIMITS.items():
        error = error_of(args, model, path, precision)
        tally.add(0 < error <= limit, f'{model.name} {precision}', f'error {error:.1e}, limit {limit:.0e}')


def check_bound(args, tally, model, path):
    """In bfloat16 within a bound that it breaks: something stays float32, and the bound holds."""
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, 'model.plan')
        report = models.smelt_json(args.smelt, 'compile', path, '-o', plan, '--precision', 'bf16', '--within', TIGHT)
    narrowing = report['narrowing']
    good = narrowing['relative_norm'] <= TIGHT and narrowing['wide_ops']
    tally.add(good, f'{model.name} bf16 --within {TIGHT:g}',
              f'{len(narrowing["wide_ops"])} ops stay wide, error {narrowing["relative_norm"]:.1e}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    args.models = args.models or ','.join(SHAPES)
    tally = models.Tally()
    for model, path in models.selected(args):
        check_limit(args, tally, model, path)
        if model.name == 'digits_vit':
            check_bound(args, tally, model, path)
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
