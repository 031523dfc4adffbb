#!/usr/bin/env python3
"""`smelt explain --json` on every model: attention in every layer, every norm in a kernel, few kernels a layer."""
import argparse
import json
import subprocess
import sys

import models

KERNELS_PER_LAYER = 5
KERNELS_OUTSIDE_LAYERS = 6  # positions, embedding or patches, mask, first product of layer one, final norm, head


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    models.arguments(parser)
    args = parser.parse_args()
    passed = failed = 0
    for model, path in models.selected(args):
        done = subprocess.run([args.smelt, 'explain', path, '--json'], capture_output=True, text=True)
        if done.returncode:
            print(f'FAIL {model.name}: exit {done.returncode}\n{done.stderr}')
            failed += 1
            continue
        counts = json.loads(done.stdout)['counts']
        limit = KERNELS_PER_LAYER * model.layers + KERNELS_OUTSIDE_LAYERS
        good = (counts['attention'] == model.attention and counts['norm'] == model.norms
                and counts['kernels'] <= limit and counts['shape_kernels'] == 0)
        passed, failed = passed + good, failed + (not good)
        print(f'{"ok  " if good else "FAIL"} {model.name:22} attention {counts["attention"]} of {model.attention}, '
              f'norms {counts["norm"]} of {model.norms}, kernels {counts["kernels"]} (limit {limit}), '
              f'shape arithmetic on the GPU {counts["shape_kernels"]}', flush=True)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


sys.exit(main())
