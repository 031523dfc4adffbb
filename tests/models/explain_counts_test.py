#!/usr/bin/env python3
"""`smelt explain --json` on every model: attention in every layer, every norm in a kernel, few kernels a layer; and all of
that again for one fixed shape, whose axes of size 1 the passes treat in their own way.
"""
import argparse
import sys

import models

KERNELS_PER_LAYER = 5
KERNELS_OUTSIDE_LAYERS = 6  # positions, embedding or patches, mask, first product of layer one, final norm, head


def counts_of(args, path, inputs=None):
    """The counts of the model at `path`, for shapes of any size or for those of `inputs`."""
    shapes = [f'--shape={name}=' + 'x'.join(map(str, value.shape)) for name, value in (inputs or {}).items()]
    return models.smelt_json(args.smelt, 'explain', path, *shapes)['counts']


def check(args, model, path):
    """(whether the counts are right, a line about them)"""
    counts = counts_of(args, path)
    fixed = counts_of(args, path, models.make_inputs(model, models.SHAPES[model.inputs][0], 0))
    limit = KERNELS_PER_LAYER * model.layers + KERNELS_OUTSIDE_LAYERS
    good = (counts['attention'] == model.attention and counts['norm'] == model.norms
            and counts['kernels'] <= limit and counts['shape_kernels'] == 0
            and all(fixed[name] == counts[name] for name in ('attention', 'norm', 'kernels', 'shape_kernels')))
    return good, f'attention {counts["attention"]} of {model.attention}, norms {counts["norm"]} of {model.norms}, ' \
        f'kernels {counts["kernels"]} (limit {limit}), for one shape {fixed["kernels"]}, ' \
        f'shape arithmetic on the GPU {counts["shape_kernels"]}'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    tally = models.Tally()
    for model, path in models.selected(args):
        try:
            good, text = check(args, model, path)
        except RuntimeError as error:
            good, text = False, str(error)
        tally.add(good, model.name, text)
    return tally.finish()


sys.exit(main())
