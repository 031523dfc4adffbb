#!/usr/bin/env python3
"""One layer of each family: counts, agreement with ONNX Runtime on the CPU, and shapes that reach every kernel.

The last is what the sanitizers' run on a GPU leans on (gpu_sanitizer_test.py): a launch of the plan whose grid is
empty at all of a layer's shapes would never be looked at there.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import models
import one_layer

ARCHITECTURE = 'sm_90a'


class Size(int):
    """An integer whose `@` divides rounding up, so that Python can evaluate the extents that `smelt inspect` prints."""

    def __matmul__(self, other):
        return Size(-(-int(self) // int(other)))


for _name in ('__add__', '__sub__', '__mul__', '__floordiv__', '__neg__'):
    setattr(Size, _name, lambda self, *others, _plain=getattr(int, _name): Size(_plain(self, *others)))


def grid_is_empty(grid, sizes):
    """Whether `grid`, three extents over named sizes, launches nothing."""
    text = re.sub(r'\b\d+\b', r'Size(\g<0>)', grid).replace('ceildiv', '@').replace('floordiv', '//')
    scope = {'__builtins__': {}, 'Size': Size, 'min': min, 'max': max}
    return min(eval(f'({text})', scope, {name: Size(size) for name, size in sizes.items()})) <= 0


def named_sizes(ports, inputs):
    return {name: size for port in ports for name, size in zip(port['shape'], inputs[port['name']].shape)
            if isinstance(name, str)}


def smelt_json(args, *command):
    done = subprocess.run([args.smelt, *command, '--json'], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f'smelt {" ".join(command)} exits with {done.returncode}\n{done.stderr[-2000:]}')
    return json.loads(done.stdout)


def check_counts(args, layer, path):
    counts = smelt_json(args, 'explain', path)['counts']
    good = counts['attention'] == 1 and counts['norm'] == layer.norms and counts['gelu'] == 1
    return good, f'attention {counts["attention"]} of 1, norms {counts["norm"]} of {layer.norms}, GELU {counts["gelu"]} of 1'


def check_reach(args, layer, path):
    plan = path.replace('.onnx', '.plan')
    smelt_json(args, 'compile', path, '-o', plan, '--arch', ARCHITECTURE)
    inspected = smelt_json(args, 'inspect', plan)
    os.remove(plan)
    sizes = [named_sizes(inspected['inputs'], layer.make_inputs(shape, 0)) for shape in layer.shapes]
    launches = inspected['programs'][0]['launches']
    never = [launch['name'] for launch in launches if all(grid_is_empty(launch['grid'], size) for size in sizes)]
    return not never, f'{len(launches) - len(never)} of {len(launches)} launches run at some shape' + \
        ''.join(f'\n     never: {name}' for name in never)


def check_agreement(args, layer, path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    worst = 0.0
    for seed, shape in enumerate(layer.shapes):
        inputs = layer.make_inputs(shape, seed)
        actual = models.run(args.smelt, path, inputs, 'cpu')
        for output, reference in zip(session.get_outputs(), session.run(None, inputs)):
            worst = max(worst, models.relative_error(actual[output.name], reference)[0])
    return worst <= layer.tolerance, \
        f'relative error at most {worst:.1e} (limit {layer.tolerance:.0e}) at {len(layer.shapes)} shapes'


def have_onnxruntime():
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        print('SKIPPED agreement: the onnxruntime package is not installed')
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True, help='the smelt binary')
    parser.add_argument('--models', help='comma-separated names; all by default')
    parser.add_argument('--seed', type=int, default=0, help='of the weights')
    args = parser.parse_args()
    checks = [check_counts, check_reach] + ([check_agreement] if have_onnxruntime() else [])
    passed = failed = 0
    for layer in one_layer.selected(args.models):
        with tempfile.TemporaryDirectory() as folder:
            path = layer.write(folder, args.seed)
            for check in checks:
                try:
                    good, text = check(args, layer, path)
                except RuntimeError as error:
                    good, text = False, str(error)
                passed, failed = passed + good, failed + (not good)
                print(f'{"ok  " if good else "FAIL"} {layer.name:20} {text}', flush=True)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
