#!/usr/bin/env python3
"""`smelt run --device cuda` of one plan a model against the interpreter, at several shapes without recompiling.

Needs a GPU. Writes its figures as JSON where --json says.
"""
import argparse
import os
import sys

import models


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    parser.add_argument('--json', help='file for the figures')
    parser.add_argument('--arch', default='sm_90a')
    args = parser.parse_args()
    machine = models.gpu() if args.json else {}
    rows, failed = [], 0
    for model, path in models.selected(args, known=models.MODELS + models.FURTHER):
        plan = os.path.join(args.cache, model.name + '.plan')
        try:
            models.call(args.smelt, 'compile', path, '-o', plan, '--arch', args.arch)
        except RuntimeError as error:
            print(f'FAIL {model.name}: {error}', flush=True)
            rows.append({'model': model.name, 'error': str(error)[-500:]})
            models.write_figures(args.json, 'smelt.gpu_agreement/2', machine, rows)
            failed += 1
            continue
        for seed, shape in enumerate(models.SHAPES[model.inputs]):
            inputs = models.make_inputs(model, shape, 100 + seed)
            try:
                expected = models.run(args.smelt, path, inputs, 'cpu')
                actual = models.run(args.smelt, plan, inputs, 'cuda')
            except RuntimeError as error:
                print(f'FAIL {model.name} {shape}: {error}', flush=True)
                rows.append({'model': model.name, 'shape': shape, 'error': str(error)[-500:]})
                failed += 1
                continue
            for name, reference in expected.items():
                norm, worst = models.relative_error(actual[name], reference)
                good = norm <= model.gpu_tolerance
                failed += not good
                rows.append({'model': model.name, 'shape': shape, 'output': name, 'relative': norm, 'worst': worst,
                             'limit': model.gpu_tolerance})
                print(f'{"ok  " if good else "FAIL"} {model.name:22} {str(shape):11} {name:24} relative {norm:.2e} '
                      f'(limit {model.gpu_tolerance:.0e}), worst element {worst:.2e}', flush=True)
        os.remove(plan)
        models.write_figures(args.json, 'smelt.gpu_agreement/2', machine, rows)
    print(f'{len(rows) - failed} passed, {failed} failed')
    return 1 if failed or not rows else 0


sys.exit(main())
