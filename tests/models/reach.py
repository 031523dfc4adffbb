"""Shapes of a generated model that reach every kernel of its plan.

The sanitizers' run on a GPU leans on it (gpu_sanitizer_test.py): a kernel that runs at none of the shapes would never be
looked at there. A model comes with the shapes that its family is asked for; more are found where its plan has kernels for
other numbers of rows. Those for more than 1024 rows, and those that only larger shapes reach, are left to kernel_check,
which runs every tiling at any size: a sanitizer takes minutes over them. A kernel that no shape reaches is an error.
"""
import math
import os

import models

ARCHITECTURE = 'sm_90a'
MOST_ROWS = 1024


def ceildiv(a, b):
    return -(-a // b)


def floordiv(a, b):
    return a // b


def mod(a, b):
    return a % b


def value_of(text, sizes):
    """What a dim, or several with commas between them, comes to over named sizes."""
    scope = {'__builtins__': {}, 'ceildiv': ceildiv, 'floordiv': floordiv, 'mod': mod, 'min': min, 'max': max}
    return eval(text, scope, dict(sizes))


def holds(rule, sizes):
    if not rule:
        return True
    value = value_of(rule['value'], sizes)
    return value >= rule['first'] and (rule['last'] is None or value <= rule['last'])


def launched(launches, sizes):
    """The launches that run at these sizes: of a step's variants the first whose rule holds, where its grid is not empty."""
    step, chosen = None, None
    for launch in launches:
        if launch['step'] != step:
            step, chosen = launch['step'], None
        rule = launch.get('rule') or {}
        if chosen is None and holds(rule, sizes):
            chosen = rule
        if chosen == rule and ('grid' not in launch or min(value_of(f'({launch["grid"]})', sizes)) > 0):
            yield launch


def named_sizes(ports, inputs):
    return {name: size for port in ports for name, size in zip(port['shape'], inputs[port['name']].shape)
            if isinstance(name, str)}


def candidates(shapes):
    """Shapes like the given ones, of other batches or of one batch and other lengths: the small ones first."""
    sizes = [*range(1, 33), *range(36, 65, 4), *range(72, 257, 8), *range(288, 1057, 32)]
    rests = {shape[1:] for shape in shapes} | {tuple(1 for _ in shape[1:]) for shape in shapes}
    made = {(batch, *rest) for batch in sizes for rest in rests}
    made |= {(1, *(size for _ in shape[1:])) for size in sizes for shape in shapes}
    return sorted((shape for shape in made if math.prod(shape) <= 2 * MOST_ROWS), key=math.prod)


def larger(shapes):
    """Shapes that nobody runs here, of many batches and of long ones."""
    made = {(batch, *(size for _ in shape[1:]))
            for batch in (1, 8, 64, 128, 320) for size in (40, 100, 129, 197, 513, 1024) for shape in shapes}
    return sorted((shape for shape in made if 2 * MOST_ROWS < math.prod(shape) <= 16 * MOST_ROWS), key=math.prod)


def reaching_shapes(args, subject, path):
    """(the model's shapes and those that reach more kernels; kernels that no shape reaches; how many are reached,
    and how many by larger shapes only)."""
    plan = path.replace('.onnx', '.plan')
    models.smelt_json(args.smelt, 'compile', path, '-o', plan, '--arch', ARCHITECTURE)
    inspected = models.smelt_json(args.smelt, 'inspect', plan)
    os.remove(plan)
    launches = inspected['programs'][0]['launches']
    near = [launch for launch in launches if launch.get('rule', {}).get('first', 0) <= MOST_ROWS]
    missing, shapes = {launch.get('entry', launch['name']): launch['name'] for launch in near}, []

    def take(shape):
        """Whether kernels run at the shape that run at none before."""
        sizes = named_sizes(inspected['inputs'], subject.make_inputs(shape, 0))
        found = {launch.get('entry', launch['name']) for launch in launched(launches, sizes)} & missing.keys()
        for entry in found:
            del missing[entry]
        return bool(found)

    for shape in (*subject.shapes, *candidates(subject.shapes)):
        if not missing:
            break
        if take(shape) or shape in subject.shapes:
            shapes.append(shape)
    reached = len({launch.get('entry', launch['name']) for launch in near}) - len(missing)
    left = len(missing)
    for shape in larger(subject.shapes):
        if missing:
            take(shape)
    shapes += [shape for shape in subject.shapes if shape not in shapes]
    return shapes, list(missing.values()), reached, left - len(missing)


def check_reach(args, subject, path):
    shapes, never, reached, left = reaching_shapes(args, subject, path)
    return not never, f'{reached} of {reached + left + len(never)} kernels run at some of {len(shapes)} shapes, {left} at larger ones' + \
        ''.join(f'\n     never: {name}' for name in never)
