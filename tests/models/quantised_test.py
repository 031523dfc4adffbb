#!/usr/bin/env python3
"""Models that ONNX Runtime's static quantiser wrote, on the CPU: that their products are of bytes, all but those that it left
alone; what these compute against ONNX Runtime's own float32 of the same nodes; and that their kernels spill no registers. The
digits' model is always there; the larger ones are made of optional developer data.
"""
import argparse
import logging
import os
import sys
import tempfile

import numpy as np

import models
import quantised

DEMO = os.path.join(models.REPOSITORY, 'tools', 'demo')
DIGITS = os.path.join(DEMO, 'digits_vit.onnx')
CALIBRATED = 64  # images

# Where ONNX Runtime and Smelt add up floats in different orders, a number that lies between two bytes is rounded to the
# other one: by one step, in few elements while few layers precede. Whatever follows is computed from these. Of the
# QuantizeLinears from the first product on, and by how many steps a byte may differ:
EARLY = {0: 1, 3: 4, 6: 4}
MOST_EARLY = 1e-3  # share of the elements
# Of the outputs, by relative norm, beyond what ONNX Runtime's optimisations move them by themselves. Random weights, unlike
# trained ones, make other bytes of a third of the elements from six such bytes of two layers.
MARGINS = {'digits': 6e-3, 'resnet50.qdq': 2e-2, 'minilm.qdq': 4e-2, 'minilm.qdq_all': 4e-2}
MOST_OTHER_DIGITS = 0.01


def digit_variants():
    """Options of the quantiser by name."""
    from onnxruntime.quantization import QuantType
    unsigned = {'activation_type': QuantType.QUInt8, 'weight_type': QuantType.QInt8}
    return {
        'digits': {},
        'digits per channel': {'per_channel': True},
        'digits matmul': {'op_types_to_quantize': ['MatMul']},
        'digits symmetric': {'per_channel': True, 'extra_options': {'ActivationSymmetric': True}},
        'digits unsigned': unsigned,
        'digits unsigned weights': {**unsigned, 'weight_type': QuantType.QUInt8, 'per_channel': True},
    }


def run_smelt(args, path, inputs, names):
    """Outputs of the fused form, which kernels compute: `smelt run` would interpret the model as it was imported."""
    with tempfile.TemporaryDirectory() as folder:
        fused = os.path.join(folder, 'fused.mlir')
        models.call(args.smelt, 'compile', path, '--emit', 'mlir', '-o', fused)
        outputs = models.run(args.smelt, fused, inputs, 'cpu')
    return {name: outputs[name.replace('/', '_')] for name in names}


def products_of(model):
    """How many products there are of two operands that were bytes, and how many others."""
    made = {name: node.op_type for node in model.graph.node for name in node.output}
    products = [node for node in model.graph.node if node.op_type in ('MatMul', 'Gemm', 'Conv')]
    of_bytes = sum(all(made.get(name) == 'DequantizeLinear' for name in node.input[:2]) for node in products)
    return of_bytes, len(products) - of_bytes


def check_products(args, tally, name, path):
    """Products of bytes are those with sums of int32. No attention and no fused projections hide any."""
    import onnx
    text = models.call(args.smelt, 'compile', path, '--emit', 'mlir').stdout
    matmuls = [line for line in text.splitlines() if ' = smelt.matmul ' in line]
    of_bytes = sum('i32> loc' in line for line in matmuls)
    found, expected = (of_bytes, len(matmuls) - of_bytes), products_of(onnx.load(path))
    good = found == expected and expected[0] and 'smelt.attention' not in text
    tally.add(good, name, f'{found[0]} products of bytes of {expected[0]}, {found[1]} of floats of {expected[1]}')


def truncated(model, output, element_type):
    """What of the model computes `output`."""
    import onnx
    wanted, nodes = {output}, []
    for node in reversed(model.graph.node):
        if wanted.intersection(node.output):
            nodes.insert(0, node)
            wanted.update(node.input)
    graph = onnx.helper.make_graph(
        nodes, 'truncated', [value for value in model.graph.input if value.name in wanted],
        [onnx.helper.make_tensor_value_info(output, element_type, None)],
        [tensor for tensor in model.graph.initializer if tensor.name in wanted])
    return onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def early_roundings(model):
    """Of EARLY's QuantizeLinears the outputs, their types, and the limit."""
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    behind, found = set(), []
    for node in model.graph.node:
        if node.op_type in ('MatMul', 'Gemm', 'Conv') or behind.intersection(node.input):
            behind.update(node.output)
            if node.op_type == 'QuantizeLinear':
                found.append((node.output[0], types[node.input[2]]))
    return [(*found[at], limit) for at, limit in EARLY.items()]


def check_early(args, tally, name, path, inputs, folder):
    """Bytes behind the first products are those of ONNX Runtime, but for few that are others near them."""
    import onnx
    model, short = onnx.load(path), os.path.join(folder, 'short.onnx')
    for output, element_type, limit in early_roundings(model):
        part = truncated(model, output, element_type)
        onnx.save(part, short)
        given = {value.name: inputs[value.name] for value in part.graph.input}
        expected = quantised.run_onnxruntime(short, given)[output].astype(np.int32)
        difference = np.abs(run_smelt(args, short, given, [output])[output] - expected)
        share = np.count_nonzero(difference) / difference.size
        tally.add(difference.max() <= limit and share <= MOST_EARLY, name,
                  f'{output}: {share:.1e} of the bytes differ (limit {MOST_EARLY:.0e}), by {difference.max()} at most (limit {limit})')


def check_outputs(args, tally, name, path, inputs):
    """The distance from ONNX Runtime's plain float32 is little more than that of its optimisations; returns both outputs."""
    plain, optimised = quantised.run_onnxruntime(path, inputs), quantised.run_onnxruntime(path, inputs, optimised=True)
    actual = run_smelt(args, path, inputs, plain)
    margin = MARGINS[name.split()[0]]
    for output, expected in plain.items():
        limit = models.relative_error(optimised[output], expected)[0] + margin
        error = models.relative_error(actual[output], expected)[0]
        tally.add(error <= limit, name, f'{output}: relative {error:.1e} (limit {limit:.1e})')
    return actual, plain


def check_digits(args, tally, name, folder, options):
    images, labels = (np.load(os.path.join(DEMO, f'digits_test_{kind}.npy')) for kind in ('images', 'labels'))
    path = os.path.join(folder, 'digits.onnx')
    samples = [{'images': batch} for batch in np.split(images[:CALIBRATED], 4)]
    quantised.quantise(DIGITS, path, samples, **options)
    check_products(args, tally, name, path)
    check_early(args, tally, name, path, {'images': images[:77]}, folder)
    actual, plain = (next(iter(each.values())).argmax(1)
                     for each in check_outputs(args, tally, name, path, {'images': images}))
    other = np.mean(actual != plain)
    tally.add(other <= MOST_OTHER_DIGITS, name, f'{other:.2%} other digits (limit {MOST_OTHER_DIGITS:.0%}), '
              f'{np.mean(actual == labels):.2%} right')
    # For any shape, which takes ten times as many kernels, the first variant alone.
    one_shape = ['--shape', 'images=' + 'x'.join(map(str, images[:77].shape))] if options else []
    check_compiles(args, tally, name, path, folder, *one_shape)


def check_export(args, tally, name, folder):
    path = quantised.find(name, args.model_dir, args.cache)
    inputs = quantised.make_inputs(quantised.export_of(name), quantised.MODELS[name][1], 9)
    check_products(args, tally, name, path)
    check_early(args, tally, name, path, inputs, folder)
    check_outputs(args, tally, name, path, inputs)
    check_compiles(args, tally, name, path, folder)


def check_compiles(args, tally, name, path, folder, *flags):
    plan = os.path.join(folder, 'model.plan')
    models.compile_unspilled(args.smelt, path, plan, 'sm_90a', *flags)
    tally.add(True, name, 'compiles for sm_90a without spills')
    if name == 'resnet50.qdq':
        models.call(args.smelt, 'compile', path, '-o', plan, '--arch', 'sm_80')
        tally.add(True, name, 'compiles for sm_80')


def attempt(tally, name, check):
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(folder)
        except models.Missing as reason:
            print(f'SKIPPED {name}: {reason}', flush=True)
        except RuntimeError as error:
            tally.add(False, name, str(error))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    try:
        variants = digit_variants()
    except ImportError:
        print('SKIPPED all: the onnxruntime package is not installed')
        return 77
    logging.disable(logging.WARNING)  # of the quantiser: that models could be optimised first
    os.makedirs(args.cache, exist_ok=True)
    exports = [name for name in MARGINS if name in quantised.MODELS]
    wanted = args.models.split(',') if args.models else [*variants, *exports]
    tally = models.Tally()
    for name in wanted:
        if name in variants:
            attempt(tally, name, lambda folder: check_digits(args, tally, name, folder, variants[name]))
        else:
            attempt(tally, name, lambda folder: check_export(args, tally, name, folder))
    return tally.finish()


sys.exit(main())
