#!/usr/bin/env python3
"""Ops as opsets 1 to 6 had them, and the first ops that ONNX dropped, through `smelt run` on the CPU, against NumPy; and the
models of opset 6 that the `onnx` package brings with their results.

usage: old_opsets_test.py SMELT
"""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DATA = Path(onnx.__file__).parent / 'backend/test/data'
RANDOM = np.random.default_rng()


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def case(op, opset, inputs, expected, outputs=1, **attributes):
    """A node and what it gives for `inputs`: an array, or a list of them."""
    return op, opset, inputs, expected if isinstance(expected, list) else [expected], outputs, attributes


def spread(op, function, opset, kind=floats):
    """The second operand at every place of the first that `broadcast` and `axis` can name."""
    a = kind(2, 3, 4, 5)
    for shape, axis, place in [((3, 4), 1, (3, 4, 1)), ((2,), 0, (2, 1, 1, 1)), ((4, 5), None, (4, 5)), ((5,), -1, (5,)),
                               ((), None, ()), ((1, 1), 0, (1, 1)), ((3,), 1, (3, 1, 1))]:
        b = kind(*shape)
        named = {} if axis is None else {'axis': axis}
        yield case(op, opset, [a, b], function(a, b.reshape(place)), broadcast=1, **named)
    same = kind(2, 3, 4, 5)
    yield case(op, opset, [a, same], function(a, same))


def positive(*shape):
    return np.abs(floats(*shape)) + np.float32(0.5)


def bools(*shape):
    return np.asarray(RANDOM.integers(0, 2, shape), bool)


def integers(*shape):
    return np.asarray(RANDOM.integers(-3, 4, shape), np.int32)


def spread_cases():
    for opset in (1, 6):
        for op, function in [('Add', np.add), ('Sub', np.subtract), ('Mul', np.multiply), ('Div', np.divide)]:
            yield from spread(op, function, opset, positive)
        yield from spread('Pow', np.power, opset, positive)
        for op, function in [('And', np.logical_and), ('Or', np.logical_or), ('Xor', np.logical_xor)]:
            yield from spread(op, function, opset, bools)
        yield from spread('Equal', np.equal, opset, integers)
        for op, function in [('Greater', np.greater), ('Less', np.less)]:
            yield from spread(op, function, opset)


def unary_cases():
    x, p = floats(2, 3, 4), positive(2, 3, 4)
    for op, function in [('Abs', np.abs), ('Ceil', np.ceil), ('Exp', np.exp), ('Floor', np.floor), ('Neg', np.negative),
                         ('Tanh', np.tanh), ('Relu', lambda v: np.maximum(v, 0)), ('Sigmoid', lambda v: 1 / (1 + np.exp(-v))),
                         ('Elu', lambda v: np.where(v < 0, np.expm1(v), v)), ('LeakyRelu', lambda v: np.where(v < 0, 0.01 * v, v)),
                         ('HardSigmoid', lambda v: np.clip(0.2 * v + 0.5, 0, 1))]:
        yield case(op, 1, [x], function(x).astype(np.float32), consumed_inputs=[0])
    for op, function in [('Log', np.log), ('Sqrt', np.sqrt), ('Reciprocal', np.reciprocal)]:
        yield case(op, 5, [p], function(p))
    for opset, alpha, gamma in [(1, 1.6732, 1.0507), (6, 1.67326319217681884765625, 1.05070102214813232421875)]:
        yield case('Selu', opset, [x], (gamma * np.where(x < 0, alpha * np.expm1(x), x)).astype(np.float32))
    yield case('Clip', 1, [x], np.clip(x, -0.5, 0.25), min=-0.5, max=0.25)
    yield case('Dropout', 1, [x], [x, np.ones_like(x)], outputs=2, is_test=1, ratio=0.25)
    for op, function in [('Max', np.maximum), ('Min', np.minimum), ('Sum', np.add)]:
        yield case(op, 1, [x, p], function(x, p))
    yield case('Mean', 1, [x, p, x], (x + p + x) / 3)


def view_cases():
    x = floats(2, 3, 4)
    yield case('Reshape', 1, [x], x.reshape(2, 12), shape=[0, -1])
    yield case('Cast', 1, [x], x.astype(np.int64), to='INT64')
    yield case('Cast', 3, [x], x.astype(np.float64), to='DOUBLE')
    yield case('Concat', 1, [x, floats(2, 1, 4)], None)
    yield case('Concat', 3, [x, x], np.concatenate([x, x], 2), axis=2)
    yield case('Pad', 1, [x], np.pad(x, [(0, 1), (2, 0), (1, 3)], constant_values=1.5), paddings=[0, 2, 1, 1, 0, 3], value=1.5)
    yield case('Pad', 1, [x], np.pad(x, [(0, 0), (2, 1), (0, 3)], mode='reflect'), paddings=[0, 2, 0, 0, 1, 3], mode='reflect')
    yield case('Split', 1, [floats(7, 2)], None, outputs=2, axis=0, split=[3, 4])
    yield case('Split', 1, [floats(6, 2), np.array([1, 5])], None, outputs=2, axis=0)
    yield case('Squeeze', 1, [floats(2, 1, 3)], None, axes=[1])
    yield case('Unsqueeze', 1, [x], x[:, None], axes=[1])
    yield case('Slice', 1, [x], x[:, 1:3, :-1], axes=[1, 2], starts=[1, 0], ends=[3, -1])
    yield case('Tile', 1, [x, np.array([3]), np.array([1])], np.tile(x, (1, 3, 1)))
    image = floats(2, 3, 4, 5)
    yield case('Upsample', 1, [image], image.repeat(2, 2).repeat(3, 3), height_scale=2.0, width_scale=3.0)
    ranked = np.argsort(-x, axis=1, kind='stable')
    yield case('TopK', 1, [x], [np.take_along_axis(x, ranked, 1)[:, :2], ranked[:, :2]], outputs=2, axis=1, k=2)


def norm_cases():
    image = floats(2, 3, 4, 5)
    flat = np.abs(image).reshape(2, 3, -1)
    slope, scale, bias, mean, variance = floats(3), floats(3), floats(3), floats(3), positive(3)
    of = lambda v: v.reshape(3, 1, 1)
    yield case('PRelu', 6, [image, slope], np.where(image < 0, image * of(slope), image))
    yield case('PRelu', 1, [image, slope[:1]], np.where(image < 0, image * slope[0], image))
    normalised = (image - of(mean)) / np.sqrt(of(variance) + 1e-5) * of(scale) + of(bias)
    for opset in (1, 6):
        yield case('BatchNormalization', opset, [image, scale, bias, mean, variance], normalised.astype(np.float32), is_test=1,
                   consumed_inputs=[0, 0, 0, 1, 1])
    own = (image - image.mean((2, 3), keepdims=True)) / np.sqrt(image.var((2, 3), keepdims=True) + 1e-5) * of(scale) + of(bias)
    yield case('InstanceNormalization', 1, [image, scale, bias], own.astype(np.float32))
    yield case('GlobalLpPool', 1, [image], ((flat ** 3).sum(2) ** (1 / 3)).reshape(2, 3, 1, 1).astype(np.float32), p=3.0)
    yield case('LpPool', 1, [image], np.sqrt((image ** 2).reshape(2, 3, 2, 2, 5).sum(3)), p=2.0, kernel_shape=[2, 1], strides=[2, 1])
    a, b, c = floats(4, 3), floats(4, 5), floats(5)
    yield case('Gemm', 6, [a, b, c], 0.5 * a.T @ b + 2 * c, transA=1, alpha=0.5, beta=2.0, broadcast=1)
    yield case('Gemm', 1, [a.T.copy(), b, floats(3, 5)], None)
    e = np.exp(image.reshape(2, -1) - image.reshape(2, -1).max(1, keepdims=True))
    yield case('Softmax', 1, [image], (e / e.sum(1, keepdims=True)).reshape(image.shape))


def recurrent_cases():
    x, w, r = floats(5, 2, 3), floats(1, 4, 3), floats(1, 4, 4)
    h, steps = np.zeros((2, 4), np.float32), []
    for step in x:
        h = np.tanh(step @ w[0].T + h @ r[0].T)
        steps.append(h)
    yield case('RNN', 1, [x, w, r], [np.stack(steps)[:, None], h[None]], outputs=2, hidden_size=4, output_sequence=1)


def dropped_cases():
    x = floats(2, 3, 6, 7)
    of = np.array([1, -2, 3], np.float32).reshape(3, 1, 1)
    for opset in (1, 8):
        yield case('Affine', opset, [x], x * np.float32(1.5) - np.float32(0.25), alpha=1.5, beta=-0.25)
        yield case('Scale', opset, [x], x * np.float32(1.5), scale=1.5)
        yield case('ScaledTanh', opset, [x], (1.5 * np.tanh(0.5 * x)).astype(np.float32), alpha=1.5, beta=0.5)
        yield case('ParametricSoftplus', opset, [x], (1.5 * np.log1p(np.exp(0.5 * x))).astype(np.float32), alpha=1.5, beta=0.5)
        yield case('ThresholdedRelu', opset, [x], np.where(x > 0.25, x, 0), alpha=0.25)
        yield case('ImageScaler', opset, [x], x * np.float32(0.5) + of, scale=0.5, bias=[1.0, -2.0, 3.0])
        yield case('Crop', opset, [x], x[:, :, 2:-1, 1:-3], border=[1, 2, 3, 1])
        yield case('Crop', opset, [x], x[:, :, 2:5, 1:3], border=[1, 2, 0, 0], scale=[3, 2])


def expected_of(op, inputs, attributes):
    """Of the cases whose result is a view of their own inputs."""
    if op == 'Concat':
        return [np.concatenate(inputs, 1)]
    if op == 'Split':
        sizes = attributes.get('split', inputs[-1])
        return np.split(inputs[0], np.cumsum(sizes)[:-1], 0)
    if op == 'Squeeze':
        return [inputs[0][:, 0]]
    return [inputs[0] @ inputs[1] + inputs[2]]  # Gemm


def all_cases():
    for group in (spread_cases, unary_cases, view_cases, norm_cases, recurrent_cases, dropped_cases):
        for op, opset, inputs, expected, outputs, attributes in group():
            known = expected if expected[0] is not None else expected_of(op, inputs, attributes)
            yield op, opset, inputs, known, outputs, attributes


def model_of(op, opset, inputs, outputs, attributes):
    """Indices, which later opsets have as attributes or not at all, are initializers."""
    names = [f'x{i}' for i in range(len(inputs))]
    constants = [numpy_helper.from_array(value, name) for name, value in zip(names, inputs) if value.dtype == np.int64]
    node = helper.make_node(op, names, [f'y{i}' for i in range(outputs)], **attributes)
    kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in zip(names, inputs)}
    ports = [helper.make_tensor_value_info(name, kinds[name], value.shape) for name, value in zip(names, inputs)]
    graph = helper.make_graph([node], 'old', ports, [helper.make_empty_tensor_value_info(f'y{i}') for i in range(outputs)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=3)


def judge(smelt, folder, number, op, opset, inputs, expected, outputs, attributes):
    """What is wrong, or None."""
    root = folder / str(number)
    data = root / 'test_data_set_0'
    data.mkdir(parents=True)
    model = model_of(op, opset, inputs, outputs, attributes)
    onnx.save(model, root / 'model.onnx')
    given = [(f'x{i}', value) for i, value in enumerate(inputs) if value.dtype != np.int64]
    for kind, values in [('input', given), ('output', [(f'y{i}', value) for i, value in enumerate(expected)])]:
        for i, (name, value) in enumerate(values):
            (data / f'{kind}_{i}.pb').write_bytes(numpy_helper.from_array(np.array(value, order='C'), name).SerializeToString())
    return run(smelt, root, f'{op}-{opset} {attributes}')


def run(smelt, root, name):
    sets = sorted(root.glob('test_data_set_*')) or [root]
    for data in sets:
        done = subprocess.run([smelt, 'run', root / 'model.onnx', '--device', 'cpu', '--input', f'@{data}', '--tolerance', '1e-5'],
                              capture_output=True, text=True, timeout=300)
        if done.returncode:
            return f'{name}: exit {done.returncode}: {(done.stderr + done.stdout).strip()[-400:]}'
    return None


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip().splitlines()[-1])
        return 2
    smelt = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [pool.submit(judge, smelt, Path(folder), number, *each) for number, each in enumerate(all_cases())]
        for kind in ('pytorch-operator', 'pytorch-converted'):
            waiting += [pool.submit(run, smelt, root, root.name) for root in sorted((DATA / kind).iterdir()) if root.is_dir()]
        problems = [problem for future in waiting if (problem := future.result())]
    print('\n'.join(problems))
    print(f'{len(waiting) - len(problems)} of {len(waiting)} agree')
    return 1 if problems or len(waiting) < 200 else 0


if __name__ == '__main__':
    sys.exit(main())
