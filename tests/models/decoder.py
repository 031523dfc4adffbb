"""Decoders with their keys and values as inputs and outputs, and the same without: one of two layers that is written
here, and exported ones where they are there.
"""
import os

import numpy as np
import onnx

from generated_model import Builder

LAYERS, HEADS, GROUPS, HEAD, VOCABULARY, POSITIONS = 2, 4, 2, 16, 97, 128
WIDTH = HEADS * HEAD
CACHES = [f'{layer}.{part}' for layer in range(LAYERS) for part in ('key', 'value')]
PAST, PRESENT = 'past_key_values.', 'present.'
IN_PLACE = f'{PAST}*={PRESENT}*'


class Decoder:
    """With `turned`, rotary embeddings turn queries and keys, as Llama's exports spell them."""

    def __init__(self, element, cached, seed, turned=False):
        self.build, self.cached, self.element, self.turned = Builder(element, seed), cached, element, turned

    def length(self, value, axis):
        return self.build.op('Shape', value, start=axis, end=axis + 1)

    def positions(self, start, count):
        """start, start + 1, ... as an int64 tensor of one axis."""
        build = self.build
        scalar = [build.op('Squeeze', value, build.ints(0)) for value in (start, build.op('Add', start, count))]
        return build.op('Range', *scalar, build.weight(np.int64(1)))

    def heads(self, value, count):
        build = self.build
        split = build.op('Reshape', value, build.ints(0, 0, count, HEAD))
        return build.op('Transpose', split, perm=[0, 2, 1, 3])

    def tables(self, own):
        """Cosines and sines of the angles at positions `own`, [seq, HEAD]: both halves of a head have the same."""
        angles = np.outer(np.arange(POSITIONS), 100.0 ** (-np.arange(0, HEAD, 2) / HEAD))
        both = np.concatenate([angles, angles], axis=1)
        return [self.build.op('Gather', self.build.weight(table.astype(self.element)), own)
                for table in (np.cos(both), np.sin(both))]

    def turn(self, heads, tables):
        if not self.turned:
            return heads
        build = self.build
        lower, upper = build.op('Split', heads, outputs=2, axis=3)
        across = build.op('Concat', build.op('Neg', upper), lower, axis=3)
        return build.op('Add', build.op('Mul', heads, tables[0]), build.op('Mul', across, tables[1]))

    def with_past(self, name, new):
        """The cache with the new rows behind it, which is an output too."""
        if not self.cached:
            return new
        build, shape = self.build, ['batch', GROUPS, 'past', HEAD]
        present = build.op('Concat', build.input(f'past_key_values.{name}', self.element, shape), new, axis=2)
        build.output(f'present.{name}', present, ['batch', GROUPS, 'past + seq', HEAD])
        return present

    def for_all_heads(self, value, batch, total):
        """Each group's keys for the heads that share it."""
        build = self.build
        shape = [batch, build.ints(GROUPS), build.ints(HEADS // GROUPS), total, build.ints(HEAD)]
        wide = build.op('Expand', build.op('Unsqueeze', value, build.ints(2)), build.op('Concat', *shape, axis=0))
        return build.op('Reshape', wide, build.op('Concat', batch, build.ints(HEADS), total, build.ints(HEAD), axis=0))

    def attention(self, layer, x, mask, batch, tables):
        build = self.build
        query = self.turn(self.heads(build.linear(x, WIDTH, WIDTH), HEADS), tables)
        key = self.turn(self.heads(build.linear(x, WIDTH, GROUPS * HEAD), GROUPS), tables)
        value = self.heads(build.linear(x, WIDTH, GROUPS * HEAD), GROUPS)
        key, value = self.with_past(f'{layer}.key', key), self.with_past(f'{layer}.value', value)
        total = self.length(key, 2)
        key, value = (self.for_all_heads(part, batch, total) for part in (key, value))
        scores = build.op('MatMul', query, build.op('Transpose', key, perm=[0, 1, 3, 2]))
        scores = build.op('Add', build.op('Mul', scores, build.scalar(HEAD**-0.5)), mask)
        mixed = build.op('MatMul', build.op('Softmax', scores, axis=-1), value)
        joined = build.op('Reshape', build.op('Transpose', mixed, perm=[0, 2, 1, 3]), build.ints(0, 0, WIDTH))
        return build.linear(joined, WIDTH, WIDTH)

    def model(self):
        build = self.build
        ids = build.input('input_ids', np.int64, ['batch', 'seq'])
        batch, seq = self.length(ids, 0), self.length(ids, 1)
        if self.cached:
            past = self.length('past_key_values.0.key', 2)
        else:
            past = build.ints(0)
        own = self.positions(past, seq)
        x = build.op('Gather', build.normal(VOCABULARY, WIDTH, scale=1.0), ids)
        x = build.op('Add', x, build.op('Gather', build.normal(POSITIONS, WIDTH, scale=1.0), own))
        seen = build.op('LessOrEqual', self.positions(build.ints(0), build.op('Add', past, seq)),
                        build.op('Unsqueeze', own, build.ints(1)))
        mask = build.op('Where', seen, build.scalar(0), build.scalar(-np.inf))
        tables = self.tables(own) if self.turned else None
        for layer in range(LAYERS):
            x = build.op('Add', x, self.attention(layer, build.layer_norm(x, WIDTH), mask, batch, tables))
            hidden = build.op('Relu', build.linear(build.layer_norm(x, WIDTH), WIDTH, 2 * WIDTH))
            x = build.op('Add', x, build.linear(hidden, 2 * WIDTH, WIDTH))
        logits = build.op('MatMul', build.layer_norm(x, WIDTH), build.normal(WIDTH, VOCABULARY, scale=WIDTH**-0.5))
        build.output('logits', logits, ['batch', 'seq', VOCABULARY])
        return build.model('decoder')


class Subject:
    """A decoder with a cache, `cached`, and one without, `whole`: paths of models."""

    def __init__(self, title, cached, whole, tolerance):
        self.title, self.cached, self.whole, self.tolerance = title, cached, whole, tolerance
        graph = onnx.load(cached, load_external_data=False).graph
        self.inputs = {value.name: value.type.tensor_type for value in graph.input}
        self.caches = [name[len(PAST):] for name in self.inputs if name.startswith(PAST)]
        self.element = onnx.helper.tensor_dtype_to_np_dtype(self.inputs[PAST + self.caches[0]].elem_type)
        dims = self.inputs[PAST + self.caches[0]].shape.dim
        self.heads, self.head = dims[1].dim_value, dims[3].dim_value
        logits = [value for value in graph.output if not value.name.startswith(PRESENT)][0]
        self.logits, self.vocabulary = logits.name, logits.type.tensor_type.shape.dim[2].dim_value
        self.masked = 'attention_mask' in self.inputs


def generated(folder, element, tolerance):
    name = np.dtype(element).name
    paths = []
    for cached in (True, False):
        paths.append(os.path.join(folder, f'decoder_{name}_{"cached" if cached else "whole"}.onnx'))
        onnx.save(Decoder(element, cached, seed=3).model(), paths[-1])
    return Subject(f'decoder_{name}', *paths, tolerance)


def weights_in_order(model):
    """The initializers whose values are drawn by their names, in the order in which nodes read them: matrices, then vectors."""
    drawn = {i.name: i for i in model.graph.initializer
             if i.data_location == onnx.TensorProto.EXTERNAL or (len(i.dims) == 1 and i.dims[0] >= 64)}
    read = dict.fromkeys(name for node in model.graph.node for name in node.input if name in drawn)
    return sorted((drawn[name] for name in read), key=lambda weight: len(weight.dims) == 1)


def llama(folder, model_dir, export):
    cached, whole = (os.path.join(model_dir, name) for name in (f'llama1b_past.{export}.onnx', 'llama1b.dy20_fp16.onnx'))
    if not (os.path.exists(cached) and os.path.exists(whole)):
        print(f'SKIPPED llama1b_past.{export}: needs {cached} and {whole}', flush=True)
        return None
    renamed = onnx.load(whole, load_external_data=False)
    weights = weights_in_order(renamed)
    others = weights_in_order(onnx.load(cached, load_external_data=False))
    others += others[-1:] * (len(weights) - len(others))  # an exporter may keep equal vectors once
    names = {}
    for own, other in zip(weights, others):
        if list(own.dims) != list(other.dims):
            raise RuntimeError(f'{own.name} {list(own.dims)} is not {other.name} {list(other.dims)}')
        names[own.name] = other.name
    # The other export's names may be those of values here: such values get names of their own.
    computed = {name for node in renamed.graph.node for name in node.output}
    names.update({name: f'own {name}' for name in computed & set(names.values())})
    for weight in renamed.graph.initializer:
        weight.name = names.get(weight.name, weight.name)
    kept = list({weight.name: weight for weight in renamed.graph.initializer}.values())
    del renamed.graph.initializer[:]
    renamed.graph.initializer.extend(kept)
    for node in renamed.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    path = os.path.join(folder, f'llama1b_for_{export}.onnx')
    onnx.save(renamed, path)
    return Subject(f'llama1b_past.{export}', cached, path, 1e-2)


def empty_caches(subject, batch):
    return {PAST + name: np.zeros((batch, subject.heads, 0, subject.head), subject.element) for name in subject.caches}


def subjects(folder, model_dir):
    yield generated(folder, np.float32, 2e-5)
    yield generated(folder, np.float16, 5e-3)
    yield from filter(None, (llama(folder, model_dir, export) for export in ('ts_fp16', 'dy20_fp16')))
