#!/usr/bin/env python3
"""One layer of each family: counts, agreement with ONNX Runtime on the CPU, and shapes that reach every kernel."""
import sys

import models
import one_layer
import reach
import subject_checks


def check_counts(args, layer, path):
    counts = models.smelt_json(args.smelt, 'explain', path)['counts']
    good = counts['attention'] == 1 and counts['norm'] == layer.norms and counts['gelu'] == 1
    return good, f'attention {counts["attention"]} of 1, norms {counts["norm"]} of {layer.norms}, GELU {counts["gelu"]} of 1'


def main():
    args = subject_checks.arguments(__doc__)
    return subject_checks.run(args, models.named(one_layer.LAYERS, args.models), [check_counts, reach.check_reach])


if __name__ == '__main__':
    sys.exit(main())
