#!/usr/bin/env python3
"""Models at the edges of the kernel templates: they compile for every architecture without spills, attention is found
where a template can take it, the fused module and the CPU give what ONNX Runtime does.

Their kernels run on a GPU in gpu_sanitizer_test.py.
"""
import os
import subprocess
import sys

import edges
import models
import subject_checks


def check_compile(args, edge, path):
    plan = path.replace('.onnx', '.plan')
    done = subprocess.run([args.smelt, 'compile', path, '-o', plan, '--arch', 'sm_90a,sm_80'],
                          capture_output=True, text=True)
    good = done.returncode == 0 and 'spills' not in done.stderr
    if done.returncode == 0:
        os.remove(plan)
    return good, 'compiles for sm_90a and sm_80' if good else done.stderr[-1000:]


def check_counts(args, edge, path):
    found = subject_checks.smelt_json(args, 'explain', path)['counts']['attention']
    return found == edge.attention, f'attention {found} of {edge.attention}'


def check_fused(args, edge, path):
    """`smelt compare` judges the fused module, which `smelt run` on the CPU does not execute."""
    sizes = [f'--shape={name}=' + 'x'.join(map(str, value.shape))
             for name, value in edge.make_inputs(edge.shapes[-1], 0).items()]
    subject_checks.smelt_json(args, 'compare', path, '--device', 'cpu', '--tolerance', str(edge.tolerance), *sizes)
    return True, 'the fused module agrees'


def main():
    args = subject_checks.arguments(__doc__)
    return subject_checks.run(args, models.named(edges.EDGES, args.models), [check_compile, check_counts, check_fused])


if __name__ == '__main__':
    sys.exit(main())
