#!/usr/bin/env python3
"""ONNX's own node cases on a GPU: every case that passes on the CPU, through a compiled plan, at the tolerance of ONNX's
own runner. Plans are compiled side by side, by as many processes as there are cores; this one process runs them all.

Needs a GPU. A case that `smelt run` refuses on the CPU counts as unsupported, as in tests/frontend/node_tests.py, whose
cases these are. Writes its figures as JSON where --json says.
"""
import argparse
import collections
import concurrent.futures
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import models
from smelt_runtime import ELEMENTS, DeviceArray, Runtime, Session

sys.path.insert(0, os.path.join(models.REPOSITORY, 'tests', 'frontend'))
import node_tests  # noqa: E402

RELATIVE, ABSOLUTE = 1e-3, 1e-7  # of each element: what onnx.backend.test takes
RELATIVE_BFLOAT16 = 2**-6  # and for bfloat16: two units in the last place
# Cases whose expected values are noisier than that, with what they are compared at instead (relative, absolute): NumPy
# rounds every step of an attention to half; its inverse DFT leaves 2e-7 where the exact result is zero.
NOISY = {'test_attention_4d_fp16': (2**-9, ABSOLUTE), 'test_attention_4d_causal_fp16': (2**-9, ABSOLUTE),
         'test_attention_4d_causal_fp16_expanded': (2**-9, ABSOLUTE),
         'test_attention_4d_gqa_with_past_and_present_fp16_expanded': (2**-9, ABSOLUTE),
         'test_dft_inverse': (RELATIVE, 1e-6), 'test_dft_inverse_opset19': (RELATIVE, 1e-6)}


def read_values(folder, kind, ports):
    """The arrays of a case's data set, by name."""
    return {port.name: numpy_helper.to_array(onnx.load_tensor(folder / 'test_data_set_0' / f'{kind}_{index}.pb'))
            for index, port in enumerate(ports)}


def prepare(smelt, arch, root, name, model, inputs, outputs):
    """Writes a case, runs it on the CPU and compiles it; (what became of it, why)."""
    folder = root / name
    status, detail = node_tests.attempt(smelt, False, root, name, model, inputs, outputs)
    if status != 'pass':
        return status, detail
    done = node_tests.call([smelt, 'compile', folder / 'model.onnx', '--value', f'@{folder}/test_data_set_0', '--arch',
                            arch, '-o', folder / 'model.plan'])
    return ('pass', '') if done.returncode == 0 else ('fail', f'compile, exit {done.returncode}: {done.stderr.strip()}')


def tolerance_of(case, dtype):
    """(relative, absolute) of the elements of a case's output."""
    return NOISY.get(case, (RELATIVE_BFLOAT16 if dtype.name == 'bfloat16' else RELATIVE, ABSOLUTE))


def difference(actual, expected, tolerance):
    """'' where every element is within the tolerance, else what is not."""
    try:
        np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), *tolerance)
    except AssertionError as error:
        return ' '.join(str(error).split())[:300]
    return ''


class Case:
    """One plan with its data on the device."""

    def __init__(self, runtime, folder, model):
        self.runtime, self.name, self.plan = runtime, folder.name, str(folder / 'model.plan')
        self.inputs = read_values(folder, 'input', model.graph.input)
        self.outputs = read_values(folder, 'output', model.graph.output)

    def has_only_known_types(self):
        return all(value.dtype in ELEMENTS for value in [*self.inputs.values(), *self.outputs.values()])

    def run(self):
        """What is wrong with the outputs; '' for nothing."""
        session, arrays = Session(self.runtime, self.plan), {}
        try:
            taken = session.input_names()
            for name, value in self.inputs.items():
                if name in taken:  # else the plan was compiled for its value
                    arrays[name] = DeviceArray(self.runtime, value.shape, value.dtype)
                    arrays[name].write(value)
                    session.shape(name, value.shape)
                    session.bind('input', name, arrays[name])
            for name, value in self.outputs.items():
                arrays[name] = DeviceArray(self.runtime, value.shape, value.dtype)
                session.bind('output', name, arrays[name])
            session.prepare()
            session.enqueue()
            self.runtime.wait()
            wrong = [(name, difference(arrays[name].read(value.shape), value, tolerance_of(self.name, value.dtype)))
                     for name, value in self.outputs.items()]
            return '; '.join(f'{name}: {text}' for name, text in wrong if text)
        finally:
            session.close()
            for array in arrays.values():
                array.free()


def judge(runtime, folder, model):
    try:
        case = Case(runtime, folder, model)
        if not case.has_only_known_types():
            return 'skipped', 'a type that NumPy lacks'
        wrong = case.run()
    except RuntimeError as error:
        wrong = str(error)
    return ('fail', wrong) if wrong else ('pass', '')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True)
    parser.add_argument('--library', help='libsmelt_rt.so (default: of the build tree of --smelt)')
    parser.add_argument('--arch', default='sm_90a')
    parser.add_argument('--json', help='file for the figures')
    parser.add_argument('names', nargs='*', help='only the cases whose name contains one of these')
    args = parser.parse_args()
    started = time.monotonic()
    library = args.library or os.path.join(os.path.dirname(os.path.abspath(args.smelt)), '..', 'runtime', 'libsmelt_rt.so')
    machine, counts, rows = models.gpu(), collections.Counter(), []
    runtime = Runtime(library)
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = {name: (model, pool.submit(prepare, args.smelt, args.arch, Path(root), name, model, *data))
                 for name, model, *data in node_tests.cases(args.names)}
        for name, (model, prepared) in cases.items():
            status, detail = prepared.result()
            if status == 'pass':
                status, detail = judge(runtime, Path(root) / name, model)
            counts[status] += 1
            if status in ('fail', 'skipped'):
                print(f'{status}: {name} {detail}', flush=True)
            if status != 'pass':
                detail = node_tests.reason_of(detail) if status == 'unsupported' else detail
                rows.append({'case': name, 'status': status, 'detail': detail})
    machine.update({'passed': counts['pass'], 'failed': counts['fail'], 'skipped': counts['skipped'],
                    'unsupported': counts['unsupported'], 'seconds': round(time.monotonic() - started)})
    models.write_figures(args.json, 'smelt.gpu_nodes/1', machine, rows)
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skipped']} skipped, {counts['unsupported']} "
          f"unsupported, {machine['seconds']} s")
    return 1 if counts['fail'] or not counts['pass'] else 0


if __name__ == '__main__':
    sys.exit(main())
