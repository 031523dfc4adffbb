#!/usr/bin/env python3
"""Totals that products' epilogues add to (codegen/device/totals.cuh): what they count is what they stored, in every run.

A model has an input `x`, a residual `r` that puts infinities and NaNs where a case wants them, and outputs: `y`, what is
counted, and numbers of its infinities and NaNs. One context runs case after case, so that a total which a run finds as the
last one left it is noticed.
"""
import argparse
import concurrent.futures
import itertools
import os
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

import numpy as np
import onnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../models'))

import models  # noqa: E402
import smelt_runtime  # noqa: E402
from generated_model import Builder  # noqa: E402

DEPTH = 64
FLOAT, INT64, HALF = 1, 7, 10  # onnx.TensorProto
LARGE = {np.float16: 65504, np.float32: 3.4e38}


def count(b, value, test='IsInf'):
    holds = b.op(test, b.op('Cast', value, to=FLOAT))
    return b.op('ReduceSum', b.op('Cast', holds, to=INT64), keepdims=1)


def number(b, name, total):
    """The total as an output by way of another kernel."""
    b.output(name, b.op('Cast', b.op('Add', total, b.ints(0)), to=FLOAT if b.element == np.float32 else HALF), [1])


def clip(b, value, total):
    """As PyTorch's T5 guards against overflow."""
    bound = b.op('Where', b.op('Greater', total, b.ints(0)), b.scalar(64504), b.scalar(65504))
    return b.op('Max', b.op('Min', value, bound), b.op('Neg', bound))


def product(b, x, columns, depth=DEPTH, scale=8):
    return b.op('MatMul', x, b.normal(depth, columns, scale=scale))


def residual(columns, depth=DEPTH):
    """The total is read by two kernels, of which one reads what is counted, too."""
    def build(b):
        y = b.op('Add', product(b, b.input('x', b.element, ['rows', depth]), columns, depth),
                 b.input('r', b.element, ['rows', columns]))
        total = count(b, y)
        b.output('y', y, ['rows', columns])
        b.output('clipped', b.op('Softmax', clip(b, y, total), axis=-1), ['rows', columns])
        number(b, 'infinities', total)
    return build


def batched(b):
    """A product of activations in batches; the total is an output of the model."""
    x, other = b.input('x', b.element, ['batch', 33, DEPTH]), b.input('w', b.element, ['batch', DEPTH, 48])
    y = b.op('Add', b.op('MatMul', x, other), b.input('r', b.element, ['batch', 33, 48]))
    b.output('y', y, ['batch', 33, 48])
    b.output('infinities', count(b, y), [1, 1, 1], np.int64)


def chain(b):
    """Several products, each counted, of which each adds to the one before it."""
    value = b.input('x', b.element, ['rows', DEPTH])
    rest = b.input('r', b.element, ['rows', DEPTH])
    for layer in range(3):
        y = b.op('Add', product(b, value, DEPTH, scale=1 / DEPTH), rest)
        total = count(b, y)
        number(b, f'infinities_{layer}', total)
        b.output(f'y_{layer}', y, ['rows', DEPTH])
        value, rest = b.op('Tanh', clip(b, y, total)), y


def infinities_and_nans(b):
    """Two totals over one result."""
    y = b.op('Add', product(b, b.input('x', b.element, ['rows', DEPTH]), 64), b.input('r', b.element, ['rows', 64]))
    b.output('y', y, ['rows', 64])
    number(b, 'infinities', count(b, y))
    number(b, 'nans', count(b, y, 'IsNaN'))


def gated(b):
    """Two products in one kernel."""
    x = b.input('x', b.element, ['rows', DEPTH])
    gate, up = (product(b, x, 128, scale=1) for _ in range(2))
    y = b.op('Add', b.op('Mul', b.op('Mul', gate, b.op('Sigmoid', gate)), up), b.input('r', b.element, ['rows', 128]))
    b.output('y', y, ['rows', 128])
    number(b, 'infinities', count(b, y))


def normalised(columns):
    """The moments of the counted rows are a result, too."""
    def build(b):
        y = b.op('Add', product(b, b.input('x', b.element, ['rows', DEPTH]), columns),
                 b.input('r', b.element, ['rows', columns]))
        number(b, 'infinities', count(b, y))
        b.output('y', y, ['rows', columns])
        normed = b.layer_norm(y, columns)
        b.output('next', b.op('MatMul', normed, b.normal(columns, 48, scale=1 / 16)), ['rows', 48])
    return build


class TypedBuilder(Builder):
    def output(self, name, value, shape, element=None):
        own, self.element = self.element, element or self.element
        super().output(name, value, shape)
        self.element = own


@dataclass(frozen=True)
class Model:
    build: Callable
    element: type
    sizes: tuple      # of the open axis
    columns: int      # of what is counted
    pairs: tuple = (('y', 'infinities', np.isinf),)
    batched: bool = False
    rest: tuple = ()  # names and columns of outputs that nobody looks at
    depth: int = DEPTH
    kernel: str = '+add+is_inf+reduce'
    cases: int = 9  # the first so many; products of many columns or of long ones take the emulator seconds each

    @property
    def name(self):
        return f'{self.build.__qualname__.split(".")[0]}_{self.columns}x{self.depth}_{np.dtype(self.element).name}'


LAYERS = tuple((f'y_{layer}', f'infinities_{layer}', np.isinf) for layer in range(3))
ROWS = (1, 77, 197, 513)
MODELS = [
    *(Model(residual(columns), element, ROWS, columns, rest=(('clipped', columns),))
      for columns, element in ((96, np.float16), (40, np.float16), (77, np.float16), (72, np.float32))),
    # By tensor maps, with a tile a block, and by clusters.
    Model(residual(4096), np.float16, (77, 401), 4096, rest=(('clipped', 4096),), cases=3),
    Model(residual(1024, 512), np.float16, (33, 97), 1024, rest=(('clipped', 1024),), depth=512, cases=3),
    Model(residual(64, 2048), np.float16, (1, 77), 64, rest=(('clipped', 64),), depth=2048),
    Model(batched, np.float16, (1, 5), 48, batched=True),
    Model(batched, np.float32, (3,), 48, batched=True),
    Model(chain, np.float16, (77, 197), DEPTH, LAYERS),
    Model(infinities_and_nans, np.float16, (77, 513), 64, (('y', 'infinities', np.isinf), ('y', 'nans', np.isnan)),
          kernel='+add+is_inf+reduce+is_nan+reduce'),
    Model(gated, np.float16, (1, 77, 513), 128, kernel='+silu+mul+add+is_inf+reduce'),
    *(Model(normalised(columns), np.float16, rows, columns, rest=(('next', 48),), cases=cases,
            kernel='+add+is_inf+reduce+row_moments') for rows, columns, cases in (((1, 77, 197), 256, 9), ((197,), 4096, 3))),
]


def cases(shape, large, rng):
    """(what it is, the residual): with infinities and without in turn."""
    def at(*places, value=np.inf):
        rest = np.zeros(shape)
        for place in places:
            rest[place] = value
        return rest
    last = tuple(size - 1 for size in shape)
    odd = tuple(min(size - 1, size // 2 | 1) for size in shape)
    start = (0,) * len(shape)
    yield 'first and last element', at(start, last)
    yield 'none', at()
    yield 'last row, first column', at((*last[:-1], 0), value=-np.inf)
    yield 'first row, last column', at((*start[:-1], last[-1]))
    yield 'NaNs', at(start, odd, value=np.nan)
    yield 'odd row and column', at(odd)
    yield 'everywhere', np.full(shape, np.inf)
    yield 'none again', at()
    yield 'sums that only rounding or the sum makes infinite', np.where(rng.random(shape) < 0.5, large, -large)


def bind_arrays(model, session, size, rng):
    """The model's ports by name."""
    lead = (size, 33) if model.batched else (size,)
    inputs = {'x': (*lead, model.depth), 'r': (*lead, model.columns)} | ({'w': (size, model.depth, model.columns)} if model.batched else {})
    arrays = {name: smelt_runtime.HostArray(shape, model.element) for name, shape in inputs.items()}
    for name, shape in inputs.items():
        arrays[name].values[:] = rng.standard_normal(shape)
        session.shape(name, shape)
        session.bind('input', name, arrays[name], location=smelt_runtime.HOST)
    outputs = {name: smelt_runtime.HostArray((*lead, columns), model.element) for name, columns in model.rest}
    for value, total, _ in model.pairs:
        outputs[value] = smelt_runtime.HostArray((*lead, model.columns), model.element)
        outputs[total] = smelt_runtime.HostArray((1,), np.int64 if model.batched else model.element)
    for name, array in outputs.items():
        session.bind('output', name, array, location=smelt_runtime.HOST)
    return {name: array.values for name, array in (arrays | outputs).items()}


def wrong_counts(model, session, size):
    """Cases in which a total is not what the stored tensor holds."""
    rng = np.random.default_rng(size)
    arrays = bind_arrays(model, session, size, rng)
    wrong = []
    for what, rest in itertools.islice(cases(arrays['r'].shape, LARGE[model.element], rng), model.cases):
        arrays['r'][:] = rest
        session.run()
        for value, total, test in model.pairs:
            counted, stored = arrays[total][0], test(arrays[value]).sum()
            with np.errstate(over='ignore'):
                expected = arrays[total].dtype.type(stored)
            if counted != expected:
                wrong.append(f'{what}, {size}: {total} {counted} of {stored}')
    return wrong


def compile_plan(args, model, folder):
    """Whether its products count, and the plan or what counts instead."""
    builder = TypedBuilder(model.element, 0)
    model.build(builder)
    path = os.path.join(folder, model.name + '.onnx')
    onnx.save(builder.model(model.name), path)
    models.call(args.smelt, 'compile', path, '-o', path + '.plan', '--arch', args.arch)
    launches = models.smelt_json(args.smelt, 'inspect', path + '.plan')['programs'][0]['launches']
    counting = [launch['name'].split(' ')[0] for launch in launches if 'reduce' in launch['name']]
    isTaken = bool(counting) and set(counting) == {'gemm' + model.kernel}
    return isTaken, path + '.plan' if isTaken else f'the totals are not taken: {counting}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--smelt', required=True, help='the smelt binary')
    parser.add_argument('--runtime', required=True, help='libsmelt_rt')
    parser.add_argument('--models', help='comma-separated names; all by default')
    parser.add_argument('--arch', default='sm_90a')
    args = parser.parse_args()
    tally = models.Tally()
    runtime = smelt_runtime.Library(args.runtime)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        os.environ['SMELT_CACHE_DIR'] = os.path.join(folder, 'cache')  # these kernels are not for a GPU
        subjects = models.named(MODELS, args.models)
        for model, job in [(model, pool.submit(compile_plan, args, model, folder)) for model in subjects]:
            good, text = job.result()
            if good:
                session = smelt_runtime.Session(runtime, text)
                wrong = [line for size in model.sizes for line in wrong_counts(model, session, size)]
                session.close()
                good, text = not wrong, '; '.join(wrong) or f'counts what it stores at {len(model.sizes)} sizes'
            tally.add(good, model.name, text)
    return tally.finish()


if __name__ == '__main__':
    sys.exit(main())
