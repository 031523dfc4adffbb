#!/usr/bin/env python3
"""Every supported op with every element type at every input, against the schemas of the `onnx` package: what ONNX does not
define is an invalid model (exit 3) that says so, and nothing else is refused for its type.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import onnx
from onnx import TensorProto, defs, helper

NEWEST_OPSET = 28
TYPES = {'float16': TensorProto.FLOAT16, 'float': TensorProto.FLOAT, 'double': TensorProto.DOUBLE,
         'bfloat16': TensorProto.BFLOAT16, 'bool': TensorProto.BOOL, 'int8': TensorProto.INT8, 'uint8': TensorProto.UINT8,
         'int16': TensorProto.INT16, 'uint16': TensorProto.UINT16, 'int32': TensorProto.INT32, 'uint32': TensorProto.UINT32,
         'int64': TensorProto.INT64, 'uint64': TensorProto.UINT64,
         **{name: getattr(TensorProto, name.upper()) for name in ('float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz',
                                                                 'float4e2m1', 'float8e8m0', 'int4', 'uint4', 'int2', 'uint2')}}
UNKNOWN_TO_ONNX = {'SimplifiedLayerNormalization',  # ONNX Runtime writes it into ONNX's domain
                   'Affine', 'Crop', 'ImageScaler', 'ParametricSoftplus', 'Scale', 'ScaledTanh'}  # which ONNX forgot
REFUSED = 'is not defined for an input'


def supported_ops(folder):
    """The ops of the handlers' tables that are ONNX's own; those of other domains name theirs last."""
    text = ''.join(open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder)))
    named = set(re.findall(r'\{"([A-Za-z0-9]+)", \d+, (?:\d+|kEveryInput), [^,}]+\}', text))
    return sorted(op for op in named if op not in UNKNOWN_TO_ONNX)


def schema_of(op):
    """As of the newest opset that Smelt knows."""
    versions = [schema for schema in defs.get_all_schemas_with_history()
                if not schema.domain and schema.name == op and schema.since_version <= NEWEST_OPSET]
    return max(versions, key=lambda schema: schema.since_version)


def allowed_types(schema):
    """For each input, the names of TYPES that it may have, and the variable that it shares with others."""
    constraints = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    return [(each.type_str, [name for name in TYPES if f'tensor({name})' in constraints.get(each.type_str, [each.type_str])])
            for each in schema.inputs]


def cases(op):
    """(types of the inputs, whether ONNX defines the op for them): one type variable takes each type in turn."""
    schema = schema_of(op)
    inputs = allowed_types(schema)
    required = [index for index, each in enumerate(schema.inputs) if each.option != defs.OpSchema.FormalParameterOption.Optional]
    for variable in dict.fromkeys(name for name, _ in inputs):
        first = next(index for index, (name, _) in enumerate(inputs) if name == variable)
        count = max([first, *required]) + 1
        for name in TYPES:
            types = [name if inputs[i][0] == variable else inputs[i][1][0] for i in range(count)]
            yield schema, types, name in inputs[first][1]


def model_of(schema, types):
    inputs = [helper.make_tensor_value_info(f'x{i}', TYPES[name], [2, 2]) for i, name in enumerate(types)]
    attributes = {'Cast': {'to': TensorProto.FLOAT}, 'BitShift': {'direction': 'LEFT'}}.get(schema.name, {})
    if schema.name == 'BitCast':
        attributes = {'to': TYPES[types[0]]}
    node = helper.make_node(schema.name, [each.name for each in inputs], ['y'], **attributes)
    graph = helper.make_graph([node], 'test', inputs, [helper.make_empty_tensor_value_info('y')])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', max(schema.since_version, 13))], ir_version=13)


def judge(smelt, folder, number, case):
    """What is wrong, or None."""
    schema, types, isDefined = case
    path = os.path.join(folder, f'{number}.onnx')
    onnx.save(model_of(schema, types), path)
    done = subprocess.run([smelt, 'check', path], capture_output=True, text=True)
    says = REFUSED in done.stdout + done.stderr
    good = says != isDefined and (isDefined or done.returncode == 3)
    return None if good else f'{schema.name} of {types}: {"defined" if isDefined else "not defined"}, but exit ' \
        f'{done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('smelt')
    parser.add_argument('handlers', help='the folder of the handlers')
    args = parser.parse_args()
    all_cases = [case for op in supported_ops(args.handlers) for case in cases(op)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        wrong = [text for text in pool.map(lambda case: judge(args.smelt, folder, *case), enumerate(all_cases)) if text]
    print('\n'.join(wrong))
    refused = sum(not case[2] for case in all_cases)
    print(f'{len(all_cases)} cases, {refused} of them not defined by ONNX, {len(wrong)} wrong')
    return 1 if wrong or not refused else 0


sys.exit(main())
