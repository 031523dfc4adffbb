#!/usr/bin/env python3
"""Every kind of op with a size of 0 in each of its dimensions, fixed and symbolic, against ONNX's reference: empty
tensors flow, sums over nothing are 0, means NaN, products of no columns 0, a concatenation with nothing is the rest.
The same graphs become kernels' text. Needs no GPU.
"""
import argparse
import itertools
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import models

F32, I64, OPSET = np.float32, np.int64, 18


class Case:
    """One node: `shapes` of its inputs by letters that stand for sizes, 'ab cb'; constants come behind them."""

    def __init__(self, op, shapes, constants=(), element=F32, indices=(), **attributes):
        self.op, self.shapes, self.constants = op, shapes.split(' '), [np.asarray(value) for value in constants]
        self.element, self.indices, self.attributes = element, indices, attributes

    def inputs(self, sizes, rng):
        for number, letters in enumerate(self.shapes):
            shape = [sizes[letter] for letter in letters if letter != '.']
            if number in self.indices:
                yield np.zeros(shape, I64)
            elif self.element == np.bool_:
                yield rng.integers(0, 2, shape).astype(np.bool_)
            else:
                yield (rng.standard_normal(shape) * 3 + 1).astype(self.element)

    def model(self, arrays, symbolic):
        names = [f'x{i}' for i in range(len(arrays))]
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                               list(letters.replace('.', '')) if symbolic else array.shape)
                 for name, array, letters in zip(names, arrays, self.shapes)]
        constants = [numpy_helper.from_array(value, f'c{i}') for i, value in enumerate(self.constants)]
        node = helper.make_node(self.op, names + [c.name for c in constants], ['y'], name='/node', **self.attributes)
        # No type for the result: the reference says it.
        graph = helper.make_graph([node], 'empty', infos, [onnx.ValueInfoProto(name='y')], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=8)
        expected = ReferenceEvaluator(model).run(None, dict(zip(names, arrays)))[0]
        shape = [None] * expected.ndim if symbolic else expected.shape
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info(
            'y', helper.np_dtype_to_tensor_dtype(np.asarray(expected).dtype), shape))
        return model, names, np.asarray(expected)


def reductions():
    for op in ('ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceProd'):
        for axes in ([0], [1], [0, 1], [2]):
            constant = [np.array(axes, I64)]
            if op == 'ReduceSum':
                yield Case(op, 'abc', constant, keepdims=1)
                yield Case(op, 'abc', constant, keepdims=0, element=np.int32)
            else:
                yield Case(op, 'abc', axes=axes) if OPSET < 18 else Case(op, 'abc', constant)


def cases():
    for op in ('Relu', 'Exp', 'Erf', 'Neg', 'Sigmoid', 'Sqrt', 'Tanh', 'Floor', 'IsNaN'):
        yield Case(op, 'ab')
    for op in ('Add', 'Mul', 'Sub', 'Less', 'Equal', 'Max'):
        yield Case(op, 'ab ab')
        yield Case(op, 'ab b')
    yield Case('Where', 'ab ab ab', element=np.bool_)
    yield Case('MatMul', 'ab bc')
    yield Case('MatMul', 'dab dbc')
    yield Case('MatMul', 'dab dbc', element=np.float16)
    yield Case('Gemm', 'ab bc c')
    yield Case('Softmax', 'ab', axis=-1)
    yield Case('Softmax', 'abc', axis=1)
    yield Case('LayerNormalization', 'abc c c', axis=-1)
    yield Case('CumSum', 'ab', [np.int64(1)])
    yield Case('Transpose', 'abc', perm=[2, 0, 1])
    yield Case('Concat', 'ab cb', axis=0)
    yield Case('Concat', 'ab ac ab', axis=1)
    yield Case('Unsqueeze', 'ab', [np.array([1], I64)])
    yield Case('Cast', 'ab', to=onnx.TensorProto.INT32)
    yield Case('Gather', 'ab c', indices=(1,), axis=1)
    yield Case('GatherElements', 'ab ab', indices=(1,), axis=1)
    yield Case('Trilu', 'ab')
    yield Case('Shape', 'ab')
    yield from reductions()


def readable(case, sizes):
    """An index needs an element to read."""
    return case.op not in ('Gather', 'GatherElements') or sizes['b'] > 0 or sizes.get('c', 0) == 0 or sizes['a'] == 0


def same(actual, expected):
    return actual.shape == expected.shape and np.allclose(actual, expected, rtol=2e-3, atol=1e-5, equal_nan=True)


def check(smelt, folder, case, sizes, symbolic):
    arrays = list(case.inputs(sizes, np.random.default_rng(5)))
    with np.errstate(all='ignore'):
        model, names, expected = case.model(arrays, symbolic)
    path = os.path.join(folder, 'empty.onnx')
    onnx.save(model, path)
    try:
        actual = models.run(smelt, path, dict(zip(names, arrays)), 'cpu')['y']
        if not same(actual, expected):
            raise RuntimeError(f'gives {actual.shape} {actual.ravel()[:4]}, not {expected.shape} {expected.ravel()[:4]}')
    except RuntimeError as error:
        # The command counts the NaN of a mean over nothing as a failure.
        if not (expected.size and np.isnan(expected).all() and f"'y' holds {expected.size} NaN" in str(error)):
            raise
    models.call(smelt, 'compile', path, '--emit', 'cuda', '-o', os.path.join(folder, 'empty.cu'))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True)
    args = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            letters = sorted(set(''.join(case.shapes)) - {'.'})
            for zeros in itertools.chain(([letter] for letter in letters), [letters]):
                sizes = {letter: 0 if letter in zeros else 2 + index for index, letter in enumerate(letters)}
                for symbolic in (True, False):
                    if not readable(case, sizes):
                        continue
                    try:
                        check(args.smelt, folder, case, sizes, symbolic)
                        passed += 1
                    except (RuntimeError, ValueError) as error:
                        failed += 1
                        print(f'FAIL {case.op} {" ".join(case.shapes)} {case.attributes} at {sizes} '
                              f'{"symbolic" if symbolic else "fixed"}: {error}', flush=True)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or passed < 400 else 0


sys.exit(main())
