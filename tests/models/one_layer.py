#!/usr/bin/env python3
"""One transformer layer of each family at real widths, as ONNX models with fresh random weights. Needs no other data.

usage: tests/models/one_layer.py FOLDER [--models a,b] [--seed N]     writes FOLDER/NAME.onnx

The layers stand between an embedding and a head like those of the whole models, so that every kind of kernel that
these need is in some layer. Weights, biases and norms are random and never zero. Each model comes with shapes that
together reach every kernel of its plan (tests/models/reach.py proves it), with odd lengths among them.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np
from onnx import helper

from generated_model import GeneratedModel, write_models

VOCABULARY = 1009  # odd, as GPT-2's is: so are the columns of its head
LONGEST = 512


def split_heads(b, value, heads, head_dim):
    return b.op('Transpose', b.op('Reshape', value, b.ints(0, 0, heads, head_dim)), perm=[0, 2, 1, 3])


def scores(b, query, key, head_dim, bias):
    product = b.op('MatMul', query, b.op('Transpose', key, perm=[0, 1, 3, 2]))
    scaled = b.op('Mul', product, b.scalar(head_dim**-0.5))
    return b.op('Add', scaled, bias) if bias else scaled


def attention(b, projections, width, heads, bias=None):
    """Multi-head attention of three [batch, length, width] projections, with its output projection."""
    query, key, value = (split_heads(b, projection, heads, width // heads) for projection in projections)
    weights = b.op('Softmax', scores(b, query, key, width // heads, bias), axis=-1)
    mixed = b.op('Transpose', b.op('MatMul', weights, value), perm=[0, 2, 1, 3])
    return b.linear(b.op('Reshape', mixed, b.ints(0, 0, width)), width, width)


def gelu(b, value):
    erf = b.op('Erf', b.op('Div', value, b.scalar(2**0.5)))
    return b.op('Mul', b.op('Mul', value, b.op('Add', erf, b.scalar(1))), b.scalar(0.5))


def gelu_tanh(b, value):
    cubed = b.op('Mul', b.op('Pow', value, b.scalar(3)), b.scalar(0.044715))
    inner = b.op('Mul', b.op('Add', value, cubed), b.scalar((2 / np.pi) ** 0.5))
    return b.op('Mul', b.op('Mul', value, b.scalar(0.5)), b.op('Add', b.op('Tanh', inner), b.scalar(1)))


def feed_forward(b, value, width, hidden, activation=gelu):
    return b.linear(activation(b, b.linear(value, width, hidden)), hidden, width)


def lowest(element):
    return float(np.finfo(element).min)


def bert(b, width, heads):
    """Post-norm, three projections, an additive mask over padding, GELU by erf."""
    ids = b.input('input_ids', np.int64, ['batch', 'length'])
    mask = b.input('attention_mask', np.int64, ['batch', 'length'])
    positions = b.op('Slice', b.normal(LONGEST, width, scale=1), b.ints(0), b.length(ids), b.ints(0))
    embedded = b.op('Add', b.op('Gather', b.normal(VOCABULARY, width, scale=1), ids), positions)
    hidden = b.layer_norm(embedded, width)
    kept = b.op('Cast', b.op('Unsqueeze', mask, b.ints(1, 2)), to=helper.np_dtype_to_tensor_dtype(np.dtype(b.element)))
    bias = b.op('Mul', b.op('Sub', b.scalar(1), kept), b.scalar(lowest(b.element)))
    projections = [b.linear(hidden, width, width) for _ in range(3)]
    hidden = b.layer_norm(b.op('Add', attention(b, projections, width, heads, bias), hidden), width)
    hidden = b.layer_norm(b.op('Add', feed_forward(b, hidden, width, 4 * width), hidden), width)
    b.output('hidden', hidden, ['batch', 'length', width])


def vit(b, width, heads):
    """Pre-norm, patches by a convolution, a class token, no mask."""
    patch, side = 16, 64
    pixels = b.input('pixel_values', b.element, ['batch', 3, side, side])
    filters = b.normal(width, 3, patch, patch, scale=(3 * patch * patch) ** -0.5)
    patches = b.op('Conv', pixels, filters, b.normal(width, scale=0.1), kernel_shape=[patch] * 2, strides=[patch] * 2)
    rows = b.op('Transpose', b.op('Reshape', patches, b.ints(0, width, -1)), perm=[0, 2, 1])
    shape = b.op('Concat', b.op('Shape', pixels, start=0, end=1), b.ints(1, width), axis=0)
    tokens = b.op('Concat', b.op('Expand', b.normal(1, 1, width, scale=1), shape), rows, axis=1)
    tokens = b.op('Add', tokens, b.normal(1, (side // patch) ** 2 + 1, width, scale=1))
    normed = b.layer_norm(tokens, width)
    projections = [b.linear(normed, width, width) for _ in range(3)]
    tokens = b.op('Add', attention(b, projections, width, heads), tokens)
    tokens = b.op('Add', feed_forward(b, b.layer_norm(tokens, width), width, 4 * width), tokens)
    b.output('hidden', b.layer_norm(tokens, width), ['batch', (side // patch) ** 2 + 1, width])


def gpt2(b, width, heads):
    """Pre-norm, one packed projection, causal, GELU by tanh, a language model's head over an odd vocabulary."""
    ids = b.input('input_ids', np.int64, ['batch', 'length'])
    positions = b.op('Range', b.weight(np.int64(0)), b.op('Squeeze', b.length(ids)), b.weight(np.int64(1)))
    row, column = b.op('Unsqueeze', positions, b.ints(1)), b.op('Unsqueeze', positions, b.ints(0))
    bias = b.op('Where', b.op('LessOrEqual', column, row), b.scalar(0), b.scalar(lowest(b.element)))
    table = b.normal(VOCABULARY, width, scale=1)
    hidden = b.op('Add', b.op('Gather', table, ids), b.op('Gather', b.normal(LONGEST, width, scale=1), positions))
    packed = b.linear(b.layer_norm(hidden, width), width, 3 * width)
    projections = b.op('Split', packed, outputs=3, axis=2)
    hidden = b.op('Add', attention(b, projections, width, heads, bias), hidden)
    hidden = b.op('Add', feed_forward(b, b.layer_norm(hidden, width), width, 4 * width, gelu_tanh), hidden)
    logits = b.op('MatMul', b.layer_norm(hidden, width), b.op('Transpose', table, perm=[1, 0]))
    b.output('logits', logits, ['batch', 'length', VOCABULARY])


def reaction(b, width, heads):
    """rxnmap's: post-norm, scores biased by a table of distances; its head is the mean of a second softmax."""
    atoms = b.input('atoms', np.int64, ['batch', 'length'])
    neighbors = b.input('neighbors', np.int64, ['batch', 'length'])
    distances = b.input('distances', np.int64, ['batch', 'length', 'length'])
    hidden = b.op('Add', b.op('Gather', b.normal(121, width, scale=1), atoms),
                  b.op('Gather', b.normal(17, width, scale=1), neighbors))
    bias = b.op('Transpose', b.op('Gather', b.normal(13, heads, scale=1), distances), perm=[0, 3, 1, 2])
    slices = [[b.ints(i * width), b.ints((i + 1) * width), b.ints(2)] for i in range(3)]
    packed = b.linear(hidden, width, 3 * width)
    projections = [b.op('Slice', packed, *part) for part in slices]
    hidden = b.layer_norm(b.op('Add', attention(b, projections, width, heads, bias), hidden), width)
    hidden = b.layer_norm(b.op('Add', feed_forward(b, hidden, width, 3 * width), hidden), width)
    packed = b.linear(hidden, width, 3 * width)
    query, key = (split_heads(b, b.op('Slice', packed, *part), heads, width // heads) for part in slices[:2])
    weights = b.op('Softmax', scores(b, query, key, width // heads, bias), axis=-1)
    summed = b.op('ReduceSum', weights, b.ints(1), keepdims=0)
    b.output('attention', b.op('Div', summed, b.scalar(heads)), ['batch', 'length', 'length'])


def bert_inputs(rng, element, batch, length):
    lengths = rng.integers(length // 2 + 1, length + 1, batch)
    return {'input_ids': rng.integers(0, VOCABULARY, (batch, length)),
            'attention_mask': (np.arange(length)[None] < lengths[:, None]).astype(np.int64)}


def vit_inputs(rng, element, batch):
    return {'pixel_values': rng.standard_normal((batch, 3, 64, 64)).astype(element)}


def gpt2_inputs(rng, element, batch, length):
    return {'input_ids': rng.integers(0, VOCABULARY, (batch, length))}


def reaction_inputs(rng, element, batch, length):
    return {'atoms': rng.integers(0, 121, (batch, length)), 'neighbors': rng.integers(0, 17, (batch, length)),
            'distances': rng.integers(0, 13, (batch, length, length))}


TOKEN_SHAPES = ((1, 17), (3, 37), (2, 77), (3, 197), (4, 389))


@dataclass(frozen=True)
class OneLayer(GeneratedModel):
    """A layer, the shapes that reach all of its kernels, and what `smelt explain` must count."""
    family: str
    build: Callable
    inputs: Callable
    width: int
    heads: int
    shapes: tuple
    norms: int
    element: type

    @property
    def title(self):
        return f'{self.family}_{self.width}'

    def fill(self, builder):
        self.build(builder, self.width, self.heads)


LAYERS = [layer for element in (np.float16, np.float32) for layer in (
    OneLayer('bert', bert, bert_inputs, 384, 12, TOKEN_SHAPES, 3, element),
    OneLayer('bert', bert, bert_inputs, 768, 12, TOKEN_SHAPES, 3, element),
    OneLayer('vit', vit, vit_inputs, 768, 12, ((1,), (5,), (11,), (35,), (69,)), 3, element),
    OneLayer('gpt2', gpt2, gpt2_inputs, 768, 12, TOKEN_SHAPES, 3, element),
    OneLayer('reaction', reaction, reaction_inputs, 1024, 16, (*TOKEN_SHAPES[:4], (1, 389), (1, 1031)), 2, element),
)]


if __name__ == '__main__':
    write_models(__doc__.splitlines()[0], LAYERS)
