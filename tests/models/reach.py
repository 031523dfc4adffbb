"""Whether the shapes of a generated model reach every kernel of its plan.

The sanitizers' run on a GPU leans on it (gpu_sanitizer_test.py): a launch that runs at none of a model's shapes would
never be looked at there.
"""
import os
import re

import models

ARCHITECTURE = 'sm_90a'


class Size(int):
    """An integer whose `@` divides rounding up, so that Python can evaluate the extents that `smelt inspect` prints."""

    def __matmul__(self, other):
        return Size(-(-int(self) // int(other)))


for _name in ('__add__', '__sub__', '__mul__', '__floordiv__', '__neg__'):
    setattr(Size, _name, lambda self, *others, _plain=getattr(int, _name): Size(_plain(self, *others)))


def value_of(text, sizes):
    """What a dim, or several with commas between them, comes to over named sizes."""
    text = re.sub(r'\b\d+\b', r'Size(\g<0>)', text).replace('ceildiv', '@').replace('floordiv', '//')
    scope = {'__builtins__': {}, 'Size': Size, 'min': min, 'max': max}
    return eval(text, scope, {name: Size(size) for name, size in sizes.items()})


def is_launched(launch, sizes):
    """Whether a launch runs at these sizes: the rule of its variant holds, and its grid is not empty."""
    rule = launch.get('rule')
    if rule:
        value = value_of(rule['value'], sizes)
        if value < rule['first'] or (rule['last'] is not None and value > rule['last']):
            return False
    return 'grid' not in launch or min(value_of(f'({launch["grid"]})', sizes)) > 0


def named_sizes(ports, inputs):
    return {name: size for port in ports for name, size in zip(port['shape'], inputs[port['name']].shape)
            if isinstance(name, str)}


def check_reach(args, subject, path):
    plan = path.replace('.onnx', '.plan')
    models.smelt_json(args.smelt, 'compile', path, '-o', plan, '--arch', ARCHITECTURE)
    inspected = models.smelt_json(args.smelt, 'inspect', plan)
    os.remove(plan)
    sizes = [named_sizes(inspected['inputs'], subject.make_inputs(shape, 0)) for shape in subject.shapes]
    launches = inspected['programs'][0]['launches']
    never = [launch['name'] for launch in launches if not any(is_launched(launch, size) for size in sizes)]
    return not never, f'{len(launches) - len(never)} of {len(launches)} launches run at some shape' + \
        ''.join(f'\n     never: {name}' for name in never)
