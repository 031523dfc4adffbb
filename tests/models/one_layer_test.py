#!/usr/bin/env python3
"""One layer of each family: counts, agreement with ONNX Runtime on the CPU, and shapes that reach every kernel.

The last is what the sanitizers' run on a GPU leans on (gpu_sanitizer_test.py): a launch of the plan whose grid is
empty at all of a layer's shapes would never be looked at there.
"""
import os
import re
import sys

import models
import one_layer
import subject_checks

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


def check_counts(args, layer, path):
    counts = models.smelt_json(args.smelt, 'explain', path)['counts']
    good = counts['attention'] == 1 and counts['norm'] == layer.norms and counts['gelu'] == 1
    return good, f'attention {counts["attention"]} of 1, norms {counts["norm"]} of {layer.norms}, GELU {counts["gelu"]} of 1'


def check_reach(args, layer, path):
    plan = path.replace('.onnx', '.plan')
    models.smelt_json(args.smelt, 'compile', path, '-o', plan, '--arch', ARCHITECTURE)
    inspected = models.smelt_json(args.smelt, 'inspect', plan)
    os.remove(plan)
    sizes = [named_sizes(inspected['inputs'], layer.make_inputs(shape, 0)) for shape in layer.shapes]
    launches = inspected['programs'][0]['launches']
    never = [launch['name'] for launch in launches if all(grid_is_empty(launch['grid'], size) for size in sizes)]
    return not never, f'{len(launches) - len(never)} of {len(launches)} launches run at some shape' + \
        ''.join(f'\n     never: {name}' for name in never)


def main():
    args = subject_checks.arguments(__doc__)
    return subject_checks.run(args, models.named(one_layer.LAYERS, args.models), [check_counts, check_reach])


if __name__ == '__main__':
    sys.exit(main())
