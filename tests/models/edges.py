#!/usr/bin/env python3
"""Small models at the edges of what the kernel templates take: one column, rows that lie in several axes, a result
that is returned twice, heads that no template holds, rows with a mean far from zero. Needs no other data.

usage: tests/models/edges.py FOLDER [--models a,b] [--seed N]     writes FOLDER/NAME.onnx
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np

from generated_model import GeneratedModel, write_models
from one_layer import scores

WIDTH = 64


def product(b, value, rows, columns):
    return b.op('MatMul', value, b.normal(rows, columns, scale=rows**-0.5))


def one_column(b):
    """A score for each row: the product has a single column, which no vector holds."""
    x = b.input('x', b.element, ['batch', 77, WIDTH])
    b.output('score', b.op('Sigmoid', b.linear(x, WIDTH, 1)), ['batch', 77, 1])


def uniform_weights(b):
    """A matrix whose elements are all the same, once a weight and once computed; both are tensors to the main loop."""
    x = b.input('x', b.element, ['batch', 77, WIDTH])
    same = b.op('MatMul', x, b.weight(np.full((WIDTH, 40), 0.125, b.element)))
    mean = b.op('MatMul', x, b.op('Expand', b.scalar(1 / WIDTH), b.ints(WIDTH, 8)))
    b.output('same', same, ['batch', 77, 40])
    b.output('mean', mean, ['batch', 77, 8])


def sliced_rows(b):
    """Drops a leading token before a product, so that rows of neighbouring batches lie further apart than others."""
    x = b.input('x', b.element, ['batch', 197, WIDTH])
    rest = b.op('Slice', x, b.ints(1), b.ints(197), b.ints(1))
    b.output('y', b.linear(rest, WIDTH, 96), ['batch', 196, 96])


def heads_first(b):
    """Rows of the product are two axes in another order than that of memory."""
    x = b.input('x', b.element, ['batch', 12, 'length', WIDTH])
    b.output('y', product(b, b.op('Transpose', x, perm=[0, 2, 1, 3]), WIDTH, 128), ['batch', 'length', 12, 128])


def attend(b, query, key, value, head, shape):
    weights = b.op('Softmax', scores(b, query, key, head, None), axis=-1)
    b.output('y', b.op('MatMul', weights, value), shape)


def swapped_keys(b):
    """Keys and values of an image that is walked by columns."""
    query = b.input('query', b.element, ['batch', 2, 'length', 32])
    images = [b.input(name, b.element, ['batch', 5, 8, 2, 32]) for name in ('key', 'value')]
    key, value = (b.op('Reshape', b.op('Transpose', image, perm=[0, 3, 2, 1, 4]), b.ints(0, 2, 40, 32))
                  for image in images)
    attend(b, query, key, value, 32, ['batch', 2, 'length', 32])


def windows(b):
    """Packed projections are cut into windows of 7x7 behind the product."""
    x = b.input('x', b.element, ['batch', 14, 14, WIDTH])
    packed = product(b, x, WIDTH, 3 * WIDTH)
    cut = b.op('Transpose', b.op('Reshape', packed, b.ints(-1, 2, 7, 2, 7, 3, 2, 32)), perm=[5, 0, 1, 3, 6, 2, 4, 7])
    heads = b.op('Reshape', cut, b.ints(3, -1, 2, 49, 32))
    parts = [b.op('Squeeze', part, b.ints(0)) for part in b.op('Split', heads, outputs=3, axis=0)]
    attend(b, *parts, 32, ['windows', 2, 49, 32])


def stacked_projections(b):
    """Query, key and value as the slices of one leading axis."""
    x = b.input('x', b.element, ['batch', 'length', WIDTH])
    packed = b.op('Reshape', product(b, x, WIDTH, 3 * WIDTH), b.ints(0, 0, 3, 2, 32))
    stacked = b.op('Transpose', packed, perm=[2, 0, 3, 1, 4])
    attend(b, *(b.op('Gather', stacked, b.weight(np.int64(i)), axis=0) for i in range(3)), 32,
           ['batch', 2, 'length', 32])


def any_head(heads, head):
    def build(b):
        x = b.input('x', b.element, ['batch', 'length', heads * head])
        split = [b.op('Transpose', b.op('Reshape', product(b, x, heads * head, heads * head),
                                        b.ints(0, 0, heads, head)), perm=[0, 2, 1, 3]) for _ in range(3)]
        attend(b, *split, head, ['batch', heads, 'length', head])
    return build


def rotate(b, heads, cosine, sine, half):
    """Each half of a head turned by the other: x cos + [-x[half:], x[:half]] sin."""
    lower = b.op('Slice', heads, b.ints(0), b.ints(half), b.ints(3))
    upper = b.op('Slice', heads, b.ints(half), b.ints(2 * half), b.ints(3))
    swapped = b.op('Concat', b.op('Neg', upper), lower, axis=3)
    return b.op('Add', b.op('Mul', heads, cosine), b.op('Mul', swapped, sine))


def turned_heads(queries, keys, head, normed):
    """A decoder's attention: queries and fewer keys are turned by their positions, values are not; behind a norm, whose
    statistics another product's kernel has, or not."""
    def build(b):
        half = head // 2
        x = b.input('x', b.element, ['batch', 'length', WIDTH])
        rows = b.layer_norm(b.op('Add', x, product(b, x, WIDTH, WIDTH)), WIDTH) if normed else x
        length = b.op('Gather', b.op('Shape', x), b.weight(np.int64(1)), axis=0)
        steps = b.op('Cast', b.op('Range', b.weight(np.int64(0)), length, b.weight(np.int64(1))), to=1)
        frequencies = b.weight((10000.0 ** (-np.arange(half) / half)).astype(np.float32)[None, :])
        angles = b.op('MatMul', b.op('Unsqueeze', steps, b.ints(1)), frequencies)
        pairs = b.op('Concat', angles, angles, axis=1)
        cosine, sine = (b.op('Cast', b.op(kind, pairs), to=1 if b.element == np.float32 else 10)
                        for kind in ('Cos', 'Sin'))
        query, key, value = (
            b.op('Transpose', b.op('Reshape', b.linear(rows, WIDTH, count * head), b.ints(0, 0, count, head)),
                 perm=[0, 2, 1, 3]) for count in (queries, keys, keys))
        query, key = rotate(b, query, cosine, sine, half), rotate(b, key, cosine, sine, half)
        group = queries // keys
        key, value = (b.op('Reshape', b.op('Expand', b.op('Unsqueeze', part, b.ints(2)),
                                           b.ints(1, 1, group, 1, 1)), b.ints(0, queries, -1, head))
                      for part in (key, value))
        attend(b, query, key, value, head, ['batch', queries, 'length', head])
    return build


def shared_results(b):
    """Results that are one tensor, under other names and shapes; an input and a weight that are results."""
    x = b.input('x', b.element, ['batch', 77, WIDTH])
    y = product(b, x, WIDTH, 48)
    table = b.normal(5, 7, scale=1)
    b.output('y', y, ['batch', 77, 48])
    b.output('again', y, ['batch', 77, 48])
    b.output('flat', b.op('Reshape', y, b.ints(-1, 48)), ['rows', 48])
    b.output('input', x, ['batch', 77, WIDTH])
    b.output('table', table, [5, 7])


def strided_convolution(b):
    """Sizes that the stride does not divide."""
    x = b.input('x', b.element, ['batch', 3, 'height', 'width'])
    filters, bias = b.normal(5, 3, 3, 3, scale=27**-0.5), b.normal(5, scale=0.1)
    y = b.op('Conv', x, filters, bias, kernel_shape=[3, 3], strides=[2, 2])
    b.output('y', y, ['batch', 5, 'h', 'w'])


def norm_between(width, mean):
    """A norm between two products, of `width` columns around `mean`, the second product's columns biased."""
    def build(b):
        x = b.input('x', b.element, ['batch', 33, WIDTH])
        rows = b.op('Add', product(b, x, WIDTH, width), b.scalar(mean))
        normed = b.layer_norm(rows, width)
        weights = b.weight((0.02 + b.rng.standard_normal((width, 48)) * width**-0.5).astype(b.element))
        b.output('y', b.op('MatMul', normed, weights), ['batch', 33, 48])
    return build


def column_vectors(b):
    """Products of which what follows reads one to four vectors of columns, kept apart by maxima, and a residual."""
    y = b.input('x', b.element, ['batch', 512, 256])
    for count in range(1, 5):
        residual, y = y, product(b, y, 256, 256)
        for number in range(count):
            y = b.op('Mul' if number % 2 else 'Add', b.op('Relu', y), b.normal(256, scale=1))
        y = b.op('Add', y, residual)
    b.output('y', y, ['batch', 512, 256])


def counted_infinities(b):
    """What a product and a residual come to is clipped by the number of its infinities, twice: PyTorch's T5 in half precision."""
    y = b.input('x', b.element, ['batch', 77, WIDTH])
    for residual in ('first', 'second'):
        y = b.op('Add', product(b, y, WIDTH, WIDTH), b.input(residual, b.element, ['batch', 77, WIDTH]))
        holds = b.op('IsInf', b.op('Cast', y, to=1))
        count = b.op('ReduceSum', b.op('Cast', holds, to=7), keepdims=0)
        bound = b.op('Where', b.op('Greater', count, b.weight(np.int64(0))), b.scalar(64504), b.scalar(65504))
        y = b.op('Tanh', b.op('Clip', y, b.op('Neg', bound), bound))
        b.output(f'{residual}_count', b.op('Cast', count, to=1 if b.element == np.float32 else 10), [])
    b.output('y', y, ['batch', 77, WIDTH])


def byte_maximum(b):
    """Rows of bytes: a lane holds less than a register."""
    x = b.input('x', np.uint8, ['batch', 513])
    largest = b.op('Cast', b.op('ReduceMax', x, axes=[1], keepdims=1), to=1 if b.element == np.float32 else 10)
    b.output('largest', largest, ['batch', 1])


def tokens(*axes):
    """One input, named `x`, of `axes`, as for inputs_of."""
    return inputs_of({'x': axes})


def inputs_of(ports):
    """Inputs of these axes by name: a number is a size, 'batch' and 'length' are the sizes of the shape."""
    def make(rng, element, *sizes):
        named = dict(zip(('batch', 'length'), sizes))
        return {name: rng.standard_normal([named.get(axis, axis) for axis in axes]).astype(element)
                for name, axes in ports.items()}
    return make


def bytes_of(rng, element, batch):
    return {'x': rng.integers(1, 256, (batch, 513), dtype=np.uint8)}


def some_infinite(rng, element, batch):
    inputs = tokens('batch', 77, WIDTH)(rng, element, batch)
    inputs['first'], inputs['second'] = (rng.standard_normal(inputs['x'].shape).astype(element) for _ in range(2))
    inputs['first'][0, 0, 0], inputs['first'][-1, -1, -1], inputs['second'][-1, 38, 5] = np.inf, -np.inf, np.inf
    return inputs


IMAGE = ('batch', 5, 8, 2, 32)
# An attention takes larger tiles, by tensor maps where they describe it, from 132 blocks of 64 rows on; else again from 264.
BATCHES = ((1,), (5,))
LENGTHS = ((1, 1), (3, 77), (2, 513))
ONE_HEAD = ((1, 1), (3, 77), (1, 513), (67, 77), (89, 150))
TWO_HEADS = (*LENGTHS, (34, 77), (45, 150))
THREE_HEADS = (*LENGTHS, (23, 77), (30, 150))
TURNED = ((1, 1), (3, 77), (2, 513), (34, 77), (33, 150))


@dataclass(frozen=True)
class Edge(GeneratedModel):
    """A model, the shapes that reach all of its kernels, and how many attentions `smelt explain` must find."""
    title: str
    build: Callable
    inputs: Callable
    shapes: tuple
    element: type
    attention: int = 0

    def fill(self, builder):
        self.build(builder)


EDGES = [edge for element in (np.float16, np.float32) for edge in (
    Edge('one_column', one_column, tokens('batch', 77, WIDTH), BATCHES, element),
    Edge('uniform_weights', uniform_weights, tokens('batch', 77, WIDTH), (*BATCHES, (14,)), element),
    Edge('sliced_rows', sliced_rows, tokens('batch', 197, WIDTH), (*BATCHES, (6,)), element),
    Edge('heads_first', heads_first, tokens('batch', 12, 'length', WIDTH), LENGTHS, element),
    Edge('swapped_keys', swapped_keys, inputs_of({'query': ('batch', 2, 'length', 32), 'key': IMAGE, 'value': IMAGE}),
         TWO_HEADS, element, 1),
    Edge('windows', windows, tokens('batch', 14, 14, WIDTH), (*BATCHES, (17,), (33,)), element, 1),
    Edge('stacked_projections', stacked_projections, tokens('batch', 'length', WIDTH), TWO_HEADS, element, 1),
    Edge('head_of_5', any_head(3, 5), tokens('batch', 'length', 15), THREE_HEADS, element, 1),
    Edge('single_head', any_head(1, 80), tokens('batch', 'length', 80), ONE_HEAD, element, 1),
    Edge('head_of_320', any_head(2, 320), tokens('batch', 'length', 640),
         ((1, 1), (1, 34), (3, 77), (1, 130), (1, 257), (1, 1025)), element),
    Edge('turned_heads', turned_heads(4, 2, 32, True), tokens('batch', 'length', WIDTH), TURNED, element, 1),
    Edge('turned_wide_heads', turned_heads(3, 1, 80, False), tokens('batch', 'length', WIDTH), TURNED, element, 1),
    Edge('shared_results', shared_results, tokens('batch', 77, WIDTH), (*BATCHES, (14,)), element),
    Edge('strided_convolution', strided_convolution, tokens('batch', 3, 'length', 37), ((1, 9), (3, 78)), element),
    Edge('wide_norm', norm_between(8192, 0), tokens('batch', 33, WIDTH), (*BATCHES, (8,), (32,)), element),
    Edge('far_norm', norm_between(768, 10), tokens('batch', 33, WIDTH), (*BATCHES, (8,), (32,)), element),
    Edge('column_vectors', column_vectors, tokens('batch', 512, 256), ((1,), (16,)), element),
    Edge('counted_infinities', counted_infinities, some_infinite, (*BATCHES, (14,)), element),
    Edge('byte_maximum', byte_maximum, bytes_of, BATCHES, element),
)]


if __name__ == '__main__':
    write_models(__doc__.splitlines()[0], EDGES)
