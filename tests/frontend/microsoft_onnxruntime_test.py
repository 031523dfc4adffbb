#!/usr/bin/env python3
"""Ops of the domain com.microsoft, and regions of images, through `smelt run` on the CPU, against ONNX Runtime on random inputs.

usage: microsoft_onnxruntime_test.py SMELT [OP...]

What ONNX Runtime's CPU does not run, or computes by another rule than its documentation, is compared with NumPy.
"""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng()
RELATIVE = 1e-5  # ||out - reference|| / ||reference|| of floats
STEPS = 1        # of bytes: where a sum in another order rounds to the next one


class Case:
    """A node; inputs that are lists are (array, 'constant'), None is omitted."""

    def __init__(self, op, inputs, outputs=1, reference=None, constants=(), relative=RELATIVE, domain='com.microsoft', **attributes):
        self.op, self.inputs, self.outputs, self.reference = op, inputs, outputs, reference
        self.constants, self.relative, self.domain, self.attributes = constants, relative, domain, attributes

    def __str__(self):
        shapes = [None if value is None else f'{value.dtype}{list(value.shape)}' for value in self.inputs]
        return f'{self.op} {shapes} {self.attributes}'

    def model(self):
        names = ['' if value is None else f'x{i}' for i, value in enumerate(self.inputs)]
        node = helper.make_node(self.op, names, [f'y{i}' for i in range(self.outputs)], domain=self.domain, **self.attributes)
        ports, stored = [], []
        for i, (name, value) in enumerate(zip(names, self.inputs)):
            if value is None:
                continue
            if i in self.constants:
                stored.append(numpy_helper.from_array(value, name))
            else:
                ports.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        graph = helper.make_graph([node], 'contrib', ports, [helper.make_empty_tensor_value_info(f'y{i}') for i in range(self.outputs)],
                                  stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 20), helper.make_opsetid('com.microsoft', 1)],
                                 ir_version=10)

    def feeds(self):
        return {f'x{i}': value for i, value in enumerate(self.inputs) if value is not None and i not in self.constants}

    def expected(self):
        if self.reference is not None:
            return self.reference if isinstance(self.reference, list) else [self.reference]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(self.model().SerializeToString(), options, providers=['CPUExecutionProvider'])
        return session.run(None, self.feeds())


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def codes(kind, *shape):
    info = np.iinfo(kind)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(kind)


def single(value, kind=np.float32):
    return np.array(value, kind)


def scale():
    return single(RANDOM.uniform(0.01, 0.05))


def qlinear():
    for kind in (np.uint8, np.int8):
        x, zero, to = codes(kind, 2, 3, 8, 7), codes(kind), codes(kind)
        unary = [x, scale(), zero, scale(), to]
        small = [x, scale(), zero, single(1 / 256), single(np.iinfo(kind).min, kind)]
        for axis in (1, -1):
            yield Case('QLinearSoftmax', small, axis=axis, opset=13, constants=(1, 2, 3, 4))
        yield Case('QLinearSoftmax', small, axis=1, opset=11, constants=(1, 2, 3, 4))
        yield Case('QLinearReduceMean', unary, reference=mean_of(*unary, (2, 3), True), axes=[2, 3], keepdims=1)
        yield Case('QLinearReduceMean', unary, reference=mean_of(*unary, (1,), False), axes=[-3], keepdims=0)
        for attributes in ({'kernel_shape': [3, 2]}, {'kernel_shape': [2, 2], 'strides': [2, 3], 'pads': [1, 0, 1, 1]},
                           {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1], 'count_include_pad': 1}):
            yield Case('QLinearAveragePool', unary, constants=(1, 2, 3, 4), **attributes)
        yield Case('QLinearAveragePool', unary, constants=(1, 2, 3, 4), channels_last=1, kernel_shape=[2, 2], strides=[2, 1])
        chosen = np.asarray(RANDOM.integers(0, 2, (3, 1, 7)), bool)
        yield Case('QLinearWhere', [chosen, x, scale(), zero, codes(kind, 8, 7), scale(), codes(kind), scale(), to],
                   constants=(2, 3, 5, 6, 7, 8))


def mean_of(x, x_scale, x_zero, y_scale, y_zero, axes, keeps):
    """ONNX Runtime's CPU has no QLinearReduceMean for every type."""
    mean = ((x.astype(np.float32) - np.float32(x_zero)) * x_scale).mean(axes, keepdims=keeps, dtype=np.float32)
    info = np.iinfo(x.dtype)
    return np.clip(np.round(mean / y_scale) + np.float32(y_zero), info.min, info.max).astype(x.dtype)


def products():
    # Weights of seven bits: on a CPU without VNNI ONNX Runtime adds pairs of products in 16 bits, which saturate.
    a, b = codes(np.uint8, 5, 12), codes(np.int8, 12, 7) >> 1
    constant = (1, 2, 4, 5)
    full = [a, scale(), codes(np.uint8), b, scale(), single(0, np.int8)]
    per_column = full[:4] + [RANDOM.uniform(0.01, 0.05, 7).astype(np.float32), np.zeros(7, np.int8)]
    shift = np.asarray(RANDOM.integers(-500, 500, (1, 7)), np.int32)
    to = [single(0.5), codes(np.uint8)]
    yield Case('QGemm', full, constants=constant)
    yield Case('QGemm', full, constants=constant, alpha=0.5)
    yield Case('QGemm', full + [shift] + to, constants=constant + (6, 7, 8))
    yield Case('QGemm', per_column + [shift], constants=constant + (6,))
    yield Case('QGemm', per_column + [None] + to, constants=constant + (7, 8))
    yield Case('QGemm', [a.T.copy()] + full[1:3] + [b.T.copy()] + per_column[4:], constants=constant, transA=1, transB=1)
    for kind in (0, 1):
        for rows, depth, block in ((6, 32, 16), (5, 24, 16), (3, 7, 32)):
            packed = codes(np.uint8, (rows * depth + 1) // 2)
            scales = np.abs(floats((rows * depth + block - 1) // block))
            yield Case('MatMulBnb4', [floats(2, 3, depth), packed, scales], constants=(1, 2), N=rows, K=depth, block_size=block,
                       quant_type=kind)


def convolutions():
    x, w, b = floats(2, 4, 9, 8), floats(6, 2, 3, 3), floats(6)
    shape = dict(group=2, kernel_shape=[3, 3], pads=[1, 0, 1, 1], strides=[2, 1])
    for name, parameters in [('Relu', None), ('Tanh', None), ('Sigmoid', None), ('LeakyRelu', [0.25]), ('Clip', [-0.5, 1.5]),
                             ('HardSigmoid', [0.25, 0.5])]:
        more = {} if parameters is None else {'activation_params': parameters}
        yield Case('FusedConv', [x, w, b], activation=name, **shape, **more)
    yield Case('FusedConv', [x, w, b, floats(2, 6, 5, 7)], activation='Relu', **shape)
    for name, more in [('Relu', {}), ('Tanh', {}), ('LeakyRelu', {'activation_alpha': 0.25}), ('Elu', {'activation_alpha': 1.5}),
                       ('HardSigmoid', {'activation_alpha': 0.25, 'activation_beta': 0.5}), ('Softplus', {})]:
        yield Case('FusedGemm', [floats(5, 3), floats(5, 4), floats(4)], transA=1, alpha=0.5, beta=2.0, activation=name, **more)
    last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    plain = conv_of(x, w, b, shape)
    yield Case('NhwcConv', [last, w, b], reference=np.moveaxis(plain, 1, -1), **shape)
    addend = floats(2, 5, 7, 6)
    yield Case('NhwcFusedConv', [last, w, b, addend], reference=np.maximum(np.moveaxis(plain, 1, -1) + addend, 0),
               activation='Relu', **shape)
    for kind in (np.uint8, np.int8):
        yield Case('NhwcMaxPool', [codes(kind, 2, 9, 8, 5)], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])


def conv_of(x, w, b, attributes):
    node = helper.make_node('Conv', ['x', 'w', 'b'], ['y'], **attributes)
    ports = [helper.make_tensor_value_info(name, 1, value.shape) for name, value in [('x', x), ('w', w), ('b', b)]]
    graph = helper.make_graph([node], 'conv', ports, [helper.make_empty_tensor_value_info('y')])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {'x': x, 'w': w, 'b': b})[0]


def standard():
    x = floats(2, 3, 5, 4)
    for k in (None, single(-1, np.int64), single(2, np.int64)):
        for upper in (0, 1):
            yield Case('Trilu', [x] if k is None else [x, k], constants=(1,), upper=upper)
    yield Case('GatherND', [x, np.array([[0, 2], [1, -1]], np.int32)])
    yield Case('GatherND', [x, np.array([[[1]], [[0]]], np.int64)])
    for axis in (0, 2, -1):
        yield Case('ExpandDims', [x, single(axis, np.int32)], reference=np.expand_dims(x, axis), constants=(1,))
    pads = np.array([0, 1, 0, 2, 0, 0, 3, 1], np.int64)
    yield Case('Pad', [x, pads, single(1.5)], constants=(1, 2))
    yield Case('Pad', [x, pads[None]], constants=(1,), mode='edge')
    yield Case('Range', [single(3), single(9)], constants=(0, 1))
    yield Case('Range', [single(7, np.int64), single(-2, np.int64), single(-3, np.int64)], constants=(0, 1, 2))
    yield Case('GridSample', [x, RANDOM.uniform(-1.2, 1.2, (2, 6, 7, 2)).astype(np.float32)], mode='bilinear')


def experts():
    tokens, hidden, inner, count = 6, 8, 10, 4
    router, second, second_bias = floats(tokens, count), floats(count, hidden, inner), floats(count, hidden)
    for x in (floats(tokens, hidden), floats(2, 3, hidden)):
        for k, normalised in ((1, 0), (2, 0), (3, 1)):
            common = dict(k=k, normalize_routing_weights=normalised)
            first, bias = floats(count, inner, hidden), floats(count, inner)
            for name in ('relu', 'gelu', 'silu', 'identity'):
                inputs = [x, router, first, bias, second, second_bias]
                reference = None if k == 2 else moe(inputs, name, **common)
                yield Case('MoE', inputs, reference=reference, activation_type=name, **common)
            for fusion in (1, 2):
                inputs = [x, router, floats(count, 2 * inner, hidden), None, second]
                more = dict(swiglu_fusion=fusion, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=1.5)
                yield Case('MoE', inputs, reference=moe(inputs, 'swiglu', **common, **more), activation_type='swiglu', **common, **more)
            inputs = [x, router, first, bias, second, None, floats(count, inner, hidden)]
            yield Case('MoE', inputs, reference=moe(inputs, 'silu', **common), activation_type='silu', **common)
    fused = dict(activation_type='swiglu', swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=7.0, k=2)
    yield Case('MoE', [x, router, floats(count, 2 * inner, hidden), floats(count, 2 * inner), second, second_bias], **fused)


def moe(inputs, activation, k, normalize_routing_weights, swiglu_fusion=0, activation_alpha=1.0, activation_beta=0.0,
        swiglu_limit=np.inf):
    """Token by token, with the experts that it chose."""
    x, router, first, first_bias, second, second_bias, third, _ = inputs + [None] * (8 - len(inputs))
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    functions = {'relu': lambda v: np.maximum(v, 0), 'gelu': lambda v: v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v ** 3))) / 2,
                 'silu': lambda v: v * sigmoid(v), 'identity': lambda v: v}
    results = []
    for token, logits in zip(x.reshape(-1, x.shape[-1]).astype(np.float64), router.astype(np.float64)):
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        best = np.argsort(-shares, kind='stable')[:k]
        if normalize_routing_weights:
            shares = shares / shares[best].sum()
        total = 0
        for e in best:
            h = first[e] @ token + (0 if first_bias is None else first_bias[e])
            if activation == 'swiglu':
                g, l = (h[0::2], h[1::2]) if swiglu_fusion == 1 else np.split(h, 2)
                g, l = np.minimum(g, swiglu_limit), np.clip(l, -swiglu_limit, swiglu_limit)
                h = g * sigmoid(activation_alpha * g) * (l + activation_beta)
            else:
                h = functions[activation](h) * (1 if third is None else third[e] @ token)
            total = total + shares[e] * (second[e] @ h + (0 if second_bias is None else second_bias[e]))
        results.append(total)
    return np.array(results, np.float32).reshape(x.shape)


def decoders():
    """One new token after a cache, against the attention that its documentation describes."""
    batch, heads, size, past = 2, 3, 4, 5
    hidden = heads * size
    q, k, v, bias = floats(batch, 1, hidden), floats(batch, 1, hidden), floats(batch, 1, hidden), floats(3 * hidden)
    keys, values = floats(batch, heads, past, size), floats(batch, heads, past, size)
    mask = np.asarray(RANDOM.integers(0, 2, (batch, past + 1)), np.int32)
    mask[:, -1] = 1
    added = floats(1, heads, 1, past + 1)
    expected = decode(q + bias[:hidden], k + bias[hidden:2 * hidden], v + bias[2 * hidden:], keys, values, mask, added, heads)
    yield Case('DecoderMaskedMultiHeadAttention', [q, k, v, mask, added, keys, values, None, None, None, bias], outputs=3,
               reference=expected, num_heads=heads)
    expected = decode(q, k, v, keys, values, np.ones_like(mask), 0, heads)
    yield Case('DecoderMaskedMultiHeadAttention', [np.concatenate([q, k, v], 2), None, None, None, None, keys, values], outputs=3,
               reference=expected, num_heads=heads)
    cross = decode(q, None, None, keys, values, np.ones((batch, past), np.int32), 0, heads)
    yield Case('DecoderMaskedMultiHeadAttention', [q, keys, values], reference=cross[0], num_heads=heads)


def decode(q, k, v, keys, values, mask, added, heads):
    split = lambda value: value.reshape(value.shape[0], 1, heads, -1).swapaxes(1, 2)
    if k is not None:
        keys, values = np.concatenate([keys, split(k)], 2), np.concatenate([values, split(v)], 2)
    scores = split(q) @ keys.swapaxes(2, 3) / np.sqrt(keys.shape[-1]) + added + np.where(mask[:, None, None] > 0, 0, -10000)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    result = shares / shares.sum(-1, keepdims=True) @ values
    return [result.swapaxes(1, 2).reshape(q.shape).astype(np.float32), keys, values]


def regions():
    """Some reach beyond the image."""
    x = floats(3, 2, 11, 13)
    corners = np.sort(RANDOM.uniform(-6, 30, (7, 2, 2)), axis=1).reshape(7, 4).astype(np.float32)
    number = RANDOM.integers(0, 3, 7)
    for mode in ('avg', 'max'):
        for moves in ('half_pixel', 'output_half_pixel'):
            yield Case('RoiAlign', [x, corners, number], domain='', mode=mode, coordinate_transformation_mode=moves, spatial_scale=0.5,
                       output_height=3, output_width=4, sampling_ratio=2)
    for shape in ([1, 1], [3, 4], [5, 2]):
        yield Case('MaxRoiPool', [x, np.concatenate([number[:, None], corners], 1).astype(np.float32)], domain='', pooled_shape=shape,
                   spatial_scale=0.5)


def all_cases():
    for group in (qlinear, products, convolutions, standard, experts, decoders, regions):
        yield from group()


def difference(case, got, expected):
    """What is wrong, or None."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f'{got.dtype}{list(got.shape)} instead of {expected.dtype}{list(expected.shape)}'
    if np.issubdtype(got.dtype, np.floating):
        error = np.linalg.norm(got.astype(np.float64) - expected) / max(np.linalg.norm(expected), 1e-30)
        return None if error <= case.relative else f'a relative error of {error:.1e}'
    most = int(np.abs(got.astype(np.int64) - expected.astype(np.int64)).max(initial=0))
    return None if most <= (STEPS if got.dtype.itemsize == 1 else 0) else f'up to {most} off'


def judge(smelt, folder, number, case):
    root = folder / str(number)
    root.mkdir()
    onnx.save(case.model(), root / 'model.onnx')
    command = [smelt, 'run', root / 'model.onnx', '--device', 'cpu', '--output-dir', root]
    for name, value in case.feeds().items():
        np.save(root / f'{name}.npy', value)
        command += ['--input', f'{name}=@{root}/{name}.npy']
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return f'{case}: exit {done.returncode}: {done.stderr.strip()[-300:]}'
    try:
        wanted = case.expected()
    except Exception as problem:  # of ONNX Runtime, which has a class for each
        return f'{case}: ONNX Runtime: {str(problem)[:300]}'
    for i, expected in enumerate(wanted):
        if wrong := difference(case, np.load(root / f'y{i}.npy'), np.asarray(expected)):
            return f'{case}: output {i} has {wrong}'
    return None


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip().splitlines()[2])
        return 2
    cases = [case for case in all_cases() if not sys.argv[2:] or case.op in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda pair: judge(sys.argv[1], Path(folder), *pair), enumerate(cases))
        problems = [problem for problem in found if problem]
    print('\n'.join(problems))
    print(f'{len(cases) - len(problems)} of {len(cases)} agree')
    return 1 if problems or not cases else 0


if __name__ == '__main__':
    sys.exit(main())
