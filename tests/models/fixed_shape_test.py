#!/usr/bin/env python3
"""A plan for one shape has no more kernels than the plan for any shape, where sizes are 1 above all: such axes vanish from
the IR, and what a pass looks for with them must be found without. One layer of each family, decoders with and without
turned heads, convolutions with squeeze and excitation; exports, where they are there. Kernels are counted in the fused IR.
"""
import argparse
import itertools
import os
import re
import sys
import tempfile

import numpy as np
import onnx

import decoder
import models
import one_layer
from generated_model import Builder

# Kernels more where all sizes that vanish are 1. Of `turned`, queries and keys have other axes there, so that they are no siblings, and
# behind a norm the sums of both trees are too far apart for one kernel (a layer of two; Llama's, without biases, are near enough).
MORE_AT_ONE = {'turned.onnx': 2, 'turned_whole.onnx': 2, 'swin_t.ts_fp16.onnx': 5, 'swin_t.dy20_fp16.onnx': 5}
# And of few tokens: their positions are a table of constants, by which the mask is gathered in a kernel of its own.
MORE_OF_FEW = {f'{name}.onnx': 1
               for name in ('minilm.dy20_fp16', 'bert_base.dy20_fp16', 'bert_base.dy23_fp16', 'distilbert.dy20_fp16')}


def squeeze_excite():
    """Two images' blocks as EfficientNet has them: a depthwise convolution, squeeze and excitation, a projection."""
    build, channels, hidden = Builder(np.float16, 5), 64, 8
    x = build.input('x', np.float16, ['batch', channels, 14, 14])
    for _ in range(2):
        filters = build.normal(channels, 1, 3, 3, scale=1 / 3)
        y = build.op('Conv', x, filters, build.normal(channels, scale=0.1), group=channels, pads=[1] * 4)
        y = build.op('Mul', y, build.op('Sigmoid', y))
        gate = build.op('GlobalAveragePool', y)
        gate = build.op('Relu', build.op('Conv', gate, build.normal(hidden, channels, 1, 1, scale=channels**-0.5)))
        gate = build.op('Sigmoid', build.op('Conv', gate, build.normal(channels, hidden, 1, 1, scale=hidden**-0.5)))
        y = build.op('Conv', build.op('Mul', gate, y), build.normal(channels, channels, 1, 1, scale=channels**-0.5))
        x = build.op('Add', x, y)
    build.output('y', x, ['batch', channels, 14, 14])
    return build.model('squeeze_excite')


def generated(folder):
    """Paths of models."""
    for layer in one_layer.LAYERS:
        yield layer.write(folder, seed=4)
    for name, model in (('decoder', decoder.Decoder(np.float16, cached=True, seed=3).model()),
                        ('turned', decoder.Decoder(np.float16, cached=True, seed=3, turned=True).model()),
                        ('turned_whole', decoder.Decoder(np.float16, cached=False, seed=3, turned=True).model()),
                        ('squeeze_excite', squeeze_excite())):
        path = os.path.join(folder, f'{name}.onnx')
        onnx.save(model, path)
        yield path


def open_dims(path):
    """{input: shape} with the names of open sizes, and those names; derived ones ("past + seq") are none."""
    graph = onnx.load(path, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    shapes = {value.name: [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]
              for value in graph.input if value.name not in weights}
    return shapes, sorted({dim for shape in shapes.values() for dim in shape if isinstance(dim, str)})


def fusions(smelt, path, *arguments):
    """None where the model refuses the sizes."""
    done = models.attempt(smelt, 'compile', path, '--random-weights', 1, '--emit', 'mlir', *arguments)
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return len(re.findall(r'^ *(?:%\S+ = )?smelt\.fusion ', done.stdout, re.MULTILINE))


def shape_arguments(shapes, sizes):
    for name, shape in shapes.items():
        if shape:
            yield from ('--shape', f'{name}=' + 'x'.join(str(sizes.get(dim, dim)) for dim in shape))


def sizes_of(dims):
    """Every choice of 1 and another size; `total` is that of all tokens. The other sizes are small: of many
    images some fusions do not pay."""
    free = [dim for dim in dims if dim != 'total']
    for chosen in itertools.product(*[(1, 3 + 2 * i) for i in range(len(free))]):
        sizes = dict(zip(free, chosen))
        if 'total' in dims:
            sizes['total'] = sizes['past'] + sizes['seq']
        yield sizes


def check(smelt, path):
    shapes, dims = open_dims(path)
    title, any_shape, taken = os.path.basename(path), fusions(smelt, path), 0
    known, most = {True: MORE_AT_ONE.get(title, 0), False: MORE_OF_FEW.get(title, 0)}, {True: 0, False: 0}
    for sizes in sizes_of(dims):
        if (fixed := fusions(smelt, path, *shape_arguments(shapes, sizes))) is None:
            continue
        is_one = all(size == 1 for dim, size in sizes.items() if dim != 'past')
        taken += 1
        most[is_one] = max(most[is_one], fixed - any_shape)
        if fixed - any_shape > known[is_one]:
            print(f'     {title} at {sizes}: {fixed} kernels, for any shape {any_shape}', flush=True)
    good = taken > 0 and most == known  # where fewer are lost than is listed, the list is to be shortened
    print(f'{"ok  " if good else "FAIL"} {title}: {any_shape} kernels for any shape; more where sizes are 1 {most[True]} ({known[True]} '
          f'known), else {most[False]} ({known[False]}); {taken} choices of sizes', flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True)
    parser.add_argument('--model-dir', default=models.default_model_dir())
    args = parser.parse_args()
    exports = [os.path.join(args.model_dir, f'{model.name}.onnx') for model in models.MODELS + models.FURTHER]
    with tempfile.TemporaryDirectory() as folder:
        paths = [*generated(folder), *filter(os.path.exists, exports)]
        results = [check(args.smelt, path) for path in paths]
    for path in itertools.filterfalse(os.path.exists, exports):
        print(f'SKIPPED {os.path.basename(path)}: not there')
    return 0 if all(results) else 1


sys.exit(main())
