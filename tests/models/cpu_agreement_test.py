#!/usr/bin/env python3
"""`smelt run --device cpu` against ONNX Runtime: every model at three shapes, with padded attention masks."""
import argparse
import sys

import models


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    try:
        import onnxruntime
    except ImportError:
        print('SKIPPED all: the onnxruntime package is not installed')
        return 77
    tally = models.Tally()
    for model, path in models.selected(args):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
        names = [output.name for output in session.get_outputs()]
        for seed, shape in enumerate(models.SHAPES[model.inputs]):
            inputs = models.make_inputs(model, shape, seed)
            expected = dict(zip(names, session.run(None, inputs)))
            actual = models.run(args.smelt, path, inputs, 'cpu')
            for name, reference in expected.items():
                norm, worst = models.relative_error(actual[name.replace('/', '_')], reference)
                tally.add(norm <= model.tolerance, model.name,
                          f'{str(shape):11} {name:24} relative {norm:.2e} (limit {model.tolerance:.0e}), '
                          f'worst element {worst:.2e}')
    return tally.finish()


sys.exit(main())
