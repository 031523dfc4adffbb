#!/usr/bin/env python3
"""`smelt compile` of every model, and of one of each kind for every architecture, on a machine without a GPU. What two
exports have in common is compiled once: the cache of cubins is the user's.

Each plan must be one that `smelt inspect` reads, with a program of launches for each architecture, the model's inputs,
and generic kernels only for the ops that models.py lists. No kernel of any model may spill registers, of which compilation
warns.
"""
import argparse
import os
import sys
import tempfile
import time

import models

# The portable kernels compile for others too: a float32 model for all, and one of each family for the oldest.
OLDEST = ['sm_90a', 'sm_80']
MORE_ARCHITECTURES = {
    'digits_vit': ['sm_80', 'sm_86', 'sm_87', 'sm_89', 'sm_90a', 'sm_100', 'sm_103', 'sm_120', 'compute_80'],
    **{name: OLDEST for name in ('minilm.ts_fp16', 'minilm.ts_fp32', 'vit_b16.ts_fp16', 'gpt2.dy20_fp16')},
}


def architectures_of(model):
    return MORE_ARCHITECTURES.get(model.name, ['sm_90a'])


def generic_ops(program):
    """The ops of the program's generic kernels, by the launches' names: `generic+cumsum ...`."""
    names = {launch['name'].split(' ')[0] for launch in program['launches']}
    return {op for name in names if name.startswith('generic') for op in name.split('+')[1:]}


def complaints(model, plan):
    """What is wrong with an inspected plan."""
    architectures = [program['arch'] for program in plan['programs']]
    if architectures != architectures_of(model):
        yield f'the plan is for {architectures}'
    inputs = {port['name'] for port in plan['inputs']}
    expected = set(models.make_inputs(model, models.SHAPES[model.inputs][0], 0))
    if inputs != expected:
        yield f'its inputs are {sorted(inputs)}, not {sorted(expected)}'
    for program in plan['programs']:
        unexpected = generic_ops(program) - set(model.generic)
        if unexpected:
            yield f'generic kernels of {sorted(unexpected)} on {program["arch"]}'
        if not 0 < program['kernels'] <= len(program['launches']):
            yield f'{len(program["launches"])} launches of {program["kernels"]} kernels on {program["arch"]}'


def check(args, folder, model, path, flags):
    """(launches and kernels per architecture as text, what is wrong)"""
    plan = os.path.join(folder, 'model.plan')
    try:
        models.compile_unspilled(args.smelt, path, plan, ','.join(architectures_of(model)), *flags)
        inspected = models.smelt_json(args.smelt, 'inspect', plan)
    except RuntimeError as error:
        return '', [str(error)]
    os.remove(plan)
    summary = ', '.join(f'{program["arch"]} {len(program["launches"])} launches of {program["kernels"]} kernels'
                        for program in inspected['programs'])
    return summary, list(complaints(model, inspected))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    tally = models.Tally()
    with tempfile.TemporaryDirectory() as folder:
        for model, (path, flags) in models.selected(args, models.find_structure, models.MODELS + models.FURTHER):
            started = time.monotonic()
            summary, problems = check(args, folder, model, path, flags)
            tally.add(not problems, model.name, f'{time.monotonic() - started:5.1f} s  {"; ".join(problems) or summary}')
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
