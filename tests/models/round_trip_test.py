#!/usr/bin/env python3
"""Dumps of every phase of every model: they parse in smelt-opt, verify, and print as they were; and `smelt compile` goes on from them.

What is made from a dump, the fused IR and the kernels' text, is what is made from the model; of the demo model the plans
are compared too, byte by byte.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import models

PHASES = ['import', 'simplify', 'raise', 'fuse', 'lower']


def dumped(folder):
    """The file of each phase, as the index says; phases that changed nothing share that of the one before."""
    with open(os.path.join(folder, 'index.txt')) as file:
        ends = [line.split() for line in file if line.split()[0] == 'phase']
    if [words[1] for words in ends] != PHASES:
        raise RuntimeError(f'{folder} does not have the phases')
    return list(dict.fromkeys(os.path.join(folder, words[-1]) for words in ends))


def emitted(args, path, what, *flags):
    return models.call(args.smelt, 'compile', path, '--emit', what, *flags).stdout


def reprinted(args, dump):
    """What smelt-opt makes of a dump; it verifies what it reads."""
    command = [os.path.join(os.path.dirname(args.smelt), 'smelt-opt'), '--mlir-print-debuginfo', '--mlir-print-local-scope', dump]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[:2000])
    return done.stdout


def complaints(args, folder, name, path, flags):
    dumps = os.path.join(folder, name)
    fused = models.call(args.smelt, 'compile', path, '--emit', 'mlir', '--dump-dir', dumps, *flags).stdout
    kernels = emitted(args, path, 'cuda', *flags)
    for dump in dumped(dumps):
        phase = os.path.basename(dump)
        with open(dump) as file:
            if reprinted(args, dump).rstrip() != file.read().rstrip():
                yield f'{phase} prints otherwise than it was'
        if emitted(args, dump, 'mlir') != fused:
            yield f'{phase} is fused otherwise than the model'
    if emitted(args, dump, 'cuda') != kernels:
        yield 'the kernels of the last dump are others than the model\'s'


def plan_complaints(args, folder, path):
    """The plans of every phase against the model's own."""
    plans = []
    cache = {'SMELT_CACHE_DIR': os.path.join(folder, 'cubins')}
    dumps = dumped(os.path.join(folder, 'digits_vit'))
    for source in [path] + dumps:
        plan = os.path.join(folder, 'model.plan')
        models.call(args.smelt, 'compile', source, '-o', plan, environment=cache)
        with open(plan, 'rb') as file:
            plans.append(file.read())
    for dump, plan in zip(dumps, plans[1:]):
        if plan != plans[0]:
            yield f'{os.path.basename(dump)} makes another plan'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    tally = models.Tally()
    with tempfile.TemporaryDirectory() as folder:
        for model, (path, flags) in models.selected(args, models.find_structure):
            try:
                problems = list(complaints(args, folder, model.name, path, flags))
                if model.name == 'digits_vit':
                    problems += plan_complaints(args, folder, path)
            except RuntimeError as error:
                problems = [str(error)]
            tally.add(not problems, model.name, '; '.join(problems))
    return tally.finish()


sys.exit(main())
