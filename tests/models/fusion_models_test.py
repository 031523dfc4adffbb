#!/usr/bin/env python3
"""ONNX Runtime's models of its own fusions: each imports, or is refused, as fusion_models.tsv says; those that import agree.

A model agrees if `smelt compare` finds the fused module equal to the imported one, and if ONNX Runtime, where it runs the
model, computes the same. The table also counts what `smelt explain` finds in each: a pattern that is no longer recovered, and
one that is where it must not be, change it. Both ways: a model that does better than its row fails too; --write makes the
table anew, for a person to read the difference. The purpose of a file is written by hand: a pattern that it must hold,
"one kernel" where all of it must become one, "apart" where a result that others read forbids just that, "no attention"
where scores are replaced by -10000, which is not below every score, "-" where the fusion is none of ours (an optimiser's
own bookkeeping).
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import models
import subject_checks

TABLE = Path(__file__).with_suffix('').with_name('fusion_models.tsv')
COLUMNS = ['file', 'purpose', 'result', 'attention', 'norm', 'gelu', 'softmax', 'kernels', 'onnxruntime']
PATTERNS = ['attention', 'norm', 'gelu', 'softmax']
WANTED = 416  # of the 444 models, import and agree
# Sizes that a symbolic dimension may have: the first that fits all the others, and the weights, is taken.
SIZES = (2, 4, 3, 8, 1)
# Products of bytes whose scales are multiplied when compiling: a number beside half a step, of 100,352 up to 35, rounds to the
# byte beside. Before and after the passes they agree within this, others within what `smelt compare` asks. Those of qdq16 do
# that too, in floats, but for some orders of sums, which the machine's vectors decide.
MOVED = {f'qdq_with_multi_consumer_dq_nodes.fixed{form}.onnx' for form in ('', '.qdq_contrib', '.qdq16', '.qdq16_contrib')}
MOVED_LIMIT = 5e-3
QUANTISED_LIMIT = 1e-2  # where a sum in another order may round to the next step
LIMIT = {'float16': 2e-2, 'bfloat16': 2e-2}  # of the relative error against ONNX Runtime; 1e-3 for other types
# Compared with ONNX Runtime, such a model says nothing, for a reason that lies in the model.
UNCOMPARABLE = {
    'fusion/layer_norm_with_cast_4.onnx': 'its outputs are float16 numbers near the least of them',
    'fusion/simplified_layer_norm_with_casts.onnx': 'its outputs are float16 numbers near the least of them',
}
# Inputs that the model's structure depends on.
VALUES = {'fusion/constant_folding_for_ops_having_missing_optional_inputs.onnx': {'shape': [1, 2, 2, 2]}}
# Computed by Smelt alone.
WITHOUT_REFERENCE = {'dropout.onnx': 'what the mask of a Dropout is outside of training was not defined before opset 12'}
KNOWN_SIZE = re.compile(r"input '(?P<input>[^']+)' is .* not \[.*\]: dimension (?P<axis>\d+) must be (?P<size>\d+)")
# Imported and fused, but not computed: 2 * 10^12 additions.
TOO_LARGE = {'fusion/matmul_integer_to_float_large_tensor.onnx'}
REASONS = [  # the class of a refusal, by its first message
    (r'op (\S+) .*is not supported', 'op {}'),
    (r'(Dropout): training mode', 'training of {}'),
    (r'depends on the data', 'sizes depend on data'),
    (r'a reshape keeps the number of elements|is declared|declares the negative', 'contradicts itself'),
    (r'declares no shape', 'declares no shape'),
    (r'only the attributes value', 'a constant of strings'),
]


def reason_of(complaint):
    for pattern, reason in REASONS:
        if found := re.search(pattern, complaint):
            return 'refused: ' + reason.format(*found.groups())
    return 'refused: invalid'


def size_of(dim, size):
    """`size` for every dimension that is not a number, twice that for what counts past and new tokens."""
    if dim.HasField('dim_value') and dim.dim_value >= 0:
        return dim.dim_value
    return 2 * size if dim.dim_param in ('total_seq_len', 'past_seq_len+seq_len') else size


def flags_of(shapes):
    return [f'--shape={name}={"x".join(map(str, shape))}' for name, shape in shapes.items() if shape]


def compare(args, name, path, onnx_inputs, given):
    """(the finished process, the shapes of the inputs at which it succeeded or the last ones)."""
    command = ['explain', path] if name in TOO_LARGE else ['compare', path, '--device', 'cpu', *given]
    for size in (1,) if 'qdq_fusion' in name else SIZES:  # those are large already
        shapes = {port.name: [size_of(dim, size) for dim in port.type.tensor_type.shape.dim]
                  for port in onnx_inputs
                  if port.type.tensor_type.HasField('shape') and port.name not in VALUES.get(name, {})}
        done = call(args.smelt, *command, *flags_of(shapes))
        while known := KNOWN_SIZE.search(done.stderr):  # a size that follows from the weights
            shapes[known['input']][int(known['axis'])] = int(known['size'])
            done = call(args.smelt, *command, *flags_of(shapes))
        if done.returncode == 4 and name in MOVED:
            done = call(args.smelt, *command, '--tolerance', MOVED_LIMIT, *flags_of(shapes))
        if done.returncode == 0:
            break
    return done, shapes


def draws(onnx_model):
    """The model draws numbers at random: ONNX Runtime draws others."""
    from onnx import numpy_helper
    inference = {tensor.name for tensor in onnx_model.graph.initializer if not numpy_helper.to_array(tensor).any()}
    return any(node.op_type.startswith('Random') or
               (node.op_type == 'Dropout' and len(node.input) > 2 and node.input[2] not in inference | {''})
               for node in onnx_model.graph.node)


def write_value(path, key, value):
    np.save(path.with_name(f'{key}.npy'), np.array(value))
    return path.with_name(f'{key}.npy')


def draw(onnx_inputs, shapes, rng, values):
    """Inputs for ONNX Runtime and for Smelt; None where a type is none of NumPy's."""
    import onnx
    inputs = {key: np.array(value) for key, value in values.items()}
    for port in onnx_inputs:
        if port.name in inputs:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        shape = shapes.get(port.name, ())
        if kind.kind == 'f':
            inputs[port.name] = rng.standard_normal(shape).astype(kind)
        elif kind.kind in 'biu':
            inputs[port.name] = rng.integers(0, 2, shape).astype(kind)
        else:
            return None
    return inputs


def reference(path, inputs):
    """ONNX Runtime's outputs by name, None where it does not run the model."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # some assume masks of 0 and 1
    try:
        session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
        wanted = {port.name for port in session.get_inputs()}
        values = session.run(None, {name: value for name, value in inputs.items() if name in wanted})
        return dict(zip([port.name for port in session.get_outputs()], values))
    except Exception:  # its exceptions have no common base
        return None


def difference(actual, expected, is_quantised):
    """'agrees', or what differs."""
    for name, wanted in expected.items():
        given = actual[name.replace('/', '_')]
        limit = max(LIMIT.get(str(wanted.dtype), 1e-3), QUANTISED_LIMIT * is_quantised)
        if given.shape != wanted.shape:
            return f'{name} has shape {given.shape}, ONNX Runtime says {wanted.shape}'
        both = [np.nan_to_num(value.astype(np.float64), nan=7e77, posinf=8e88, neginf=-8e88) for value in (given, wanted)]
        if both[0].size and np.linalg.norm((both[0] - both[1]).ravel()) > limit * np.linalg.norm(both[1].ravel()):
            return f'{name} differs from ONNX Runtime, by {models.relative_error(given, wanted)[0]:.1e}'
    return 'agrees'


def call(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, errors='replace', timeout=300)


def against_onnxruntime(args, name, path, onnx_inputs, shapes, flags):
    if not args.has_onnxruntime:
        return 'not installed'
    inputs = draw(onnx_inputs, shapes, np.random.default_rng(7), VALUES.get(name, {}))
    expected = None if inputs is None else reference(str(path), inputs)
    if expected is None:
        return 'cannot run it'
    actual = models.run(args.smelt, path, inputs, 'cpu', *flags)
    return difference(actual, expected, 'qdq' in path.name)


def row_of(args, root, name):
    """(the row of a model, what is wrong with it)."""
    import onnx
    path = root / name
    row = dict.fromkeys(COLUMNS, '-') | {'file': name, 'purpose': read_table().get(name, {}).get('purpose', '-')}
    values = [f'{key}=@{write_value(path, key, value)}' for key, value in VALUES.get(name, {}).items()]
    fixed, given = ([part for value in values for part in (flag, value)] for flag in ('--value', '--input'))
    onnx_model = onnx.load(str(path), load_external_data=False)
    constants = {tensor.name for tensor in onnx_model.graph.initializer}
    onnx_inputs = [port for port in onnx_model.graph.input if port.name not in constants]
    done = call(args.smelt, 'check', path, *fixed)
    if done.returncode == 3:
        return row | {'result': reason_of(done.stdout + done.stderr)}, ''
    done, shapes = compare(args, name, path, onnx_inputs, given)
    row['result'] = 'import'
    if done.returncode and not (done.returncode == 4 and name in UNCOMPARABLE):
        return row, f'exit {done.returncode}: {done.stderr.strip()[-300:]}'
    flags = flags_of(shapes)
    counts = models.smelt_json(args.smelt, 'explain', path, *flags, *fixed)['counts']
    row |= {kind: str(counts[kind]) for kind in (*PATTERNS, 'kernels')}
    if draws(onnx_model) or any(name in each for each in (UNCOMPARABLE, WITHOUT_REFERENCE, TOO_LARGE)):
        return row, ''
    row['onnxruntime'] = against_onnxruntime(args, name, path, onnx_inputs, shapes, flags)
    good = row['onnxruntime'] in ('agrees', 'cannot run it', 'not installed')
    return row, '' if good else row['onnxruntime']


def read_table():
    lines = TABLE.read_text().splitlines() if TABLE.exists() else []
    return {line.split('\t')[0]: dict(zip(COLUMNS, line.split('\t'))) for line in lines[1:]}


def keeps_purpose(row):
    """What the file is for has happened."""
    if row['purpose'] in PATTERNS:
        return row[row['purpose']] not in ('-', '0')
    if row['purpose'] in ('one kernel', 'apart'):
        return row['kernels'] != '-' and (int(row['kernels']) == 1) == (row['purpose'] == 'one kernel')
    if row['purpose'] == 'no attention':
        return row['attention'] == '0'
    return row['purpose'] == '-'


def complaint_of(row, expected):
    """What differs from the table; versions of ONNX Runtime differ in what they run."""
    if expected is None:
        return 'is not in the table'
    if not keeps_purpose(row):
        return f'its purpose, {row["purpose"]}, is not met: {row}'
    return '; '.join(f'{column}: {row[column]}, the table says {expected[column]}' for column in COLUMNS[:-1]
                     if row[column] != expected[column])


def judge(args, rows):
    table, tally = read_table(), models.Tally()
    for row, wrong in rows:
        complaint = wrong or complaint_of(row, table.pop(row['file'], None))
        if complaint:
            tally.add(False, row['file'], complaint)
        else:
            tally.passed += 1
    for name in table if not args.models else []:
        tally.add(False, name, 'is in the table, but there is no such model')
    agreeing = sum(row['result'] == 'import' and not wrong for row, wrong in rows)
    print(f'{agreeing} of {len(rows)} import and agree, '
          f'{sum(row["onnxruntime"] == "agrees" for row, _ in rows)} of them with ONNX Runtime too')
    if not args.models:
        tally.add(agreeing >= WANTED, 'all', f'{agreeing} import and agree, at least {WANTED} must')
    return tally.finish()


def write(rows):
    lines = ['\t'.join(COLUMNS)] + ['\t'.join(row[column] for column in COLUMNS) for row, _ in rows]
    TABLE.write_text('\n'.join(lines) + '\n')
    for row, wrong in rows:
        if wrong:
            print(row['file'], wrong)
    print(collections.Counter(row['result'] for row, _ in rows))


def run(args, root):
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob('*.onnx'))
    if args.models:
        names = [name for name in names if any(part in name for part in args.models.split(','))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, warnings.catch_warnings():
        warnings.simplefilter('ignore')
        rows = list(pool.map(lambda name: row_of(args, root, name), names))
    if args.write:
        write(rows)
        return 0
    return judge(args, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--smelt', required=True, help='the smelt binary')
    parser.add_argument('--onnx-dir', default=os.path.join(os.path.dirname(models.REPOSITORY), 'shared', 'onnx'),
                        help='folder of ort_transform_onnx_only.tar.xz (optional developer data)')
    parser.add_argument('--models', help='comma-separated parts of names; all by default')
    parser.add_argument('--write', action='store_true', help='write the table instead of judging by it')
    args = parser.parse_args()
    packed = Path(args.onnx_dir) / 'ort_transform_onnx_only.tar.xz'
    if not packed.exists():
        print(f'SKIPPED all: {packed} is not there (optional developer data)')
        return 77
    try:
        import onnx  # noqa: F401
    except ImportError:
        print('SKIPPED all: the onnx package is not installed')
        return 77
    args.has_onnxruntime = subject_checks.have_onnxruntime()
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(packed, folder)
        return run(args, Path(folder) / 'ort_transform_models')


if __name__ == '__main__':
    sys.exit(main())
