#!/usr/bin/env python3
"""Models at the edges of the kernel templates: they compile without spills, attention is found
where a template can take it, the fused module and the CPU give what ONNX Runtime does, their shapes reach every kernel.

Their kernels run on a GPU in gpu_sanitizer_test.py.
"""
import os
import sys
import tempfile

import numpy as np

import edges
import models
import reach
import subject_checks


def check_compile(args, edge, path):
    """For sm_80 in half precision alone: its float32 kernels are the same templates without clusters."""
    architectures = 'sm_90a' if edge.element is np.float32 else 'sm_90a,sm_80'
    plan = path.replace('.onnx', '.plan')
    models.compile_unspilled(args.smelt, path, plan, architectures)
    os.remove(plan)
    return True, f'compiles for {architectures}'


def check_counts(args, edge, path):
    found = models.smelt_json(args.smelt, 'explain', path)['counts']['attention']
    return found == edge.attention, f'attention {found} of {edge.attention}'


def check_fused(args, edge, path):
    """`smelt compare` judges the fused module, which `smelt run` on the CPU does not execute."""
    for seed, shape in enumerate(edge.shapes):
        with tempfile.TemporaryDirectory() as folder:
            inputs = models.input_flags(edge.make_inputs(shape, seed), folder)
            models.call(args.smelt, 'compare', path, '--device', 'cpu', '--tolerance', edge.tolerance, *inputs)
    return True, f'the fused module agrees at {len(edge.shapes)} shapes'


def main():
    args = subject_checks.arguments(__doc__)
    checks = [check_compile, check_counts, check_fused, reach.check_reach]
    return subject_checks.run(args, models.named(edges.EDGES, args.models), checks)


if __name__ == '__main__':
    sys.exit(main())
