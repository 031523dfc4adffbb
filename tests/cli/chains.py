"""Chains of one kind of node, as long as one likes: `KINDS[name](length, rows)` is a model whose sizes are constant or, with rows="n", dynamic."""

import numpy as np
from onnx import TensorProto, helper

import support

COLUMNS = 16


def draw(*shape):
    return np.random.default_rng().normal(size=shape).astype(np.float32)


def chain(length, rows, step, inputs=(), constants=(), shape=(COLUMNS,)):
    """`step(i, x)` gives the ops after `x`, each as (op, other inputs, attributes)."""
    nodes, last, number = [], "x", 0
    while len(nodes) < length:
        for op, others, attributes in step(number, last):
            result = f"t{len(nodes)}"
            nodes.append(helper.make_node(op, [last, *others], [result], name=f"n{len(nodes)}", **attributes))
            last = result
        number += 1
    infos = [support.tensor_info(name, [rows, *shape]) for name in ("x", last)]
    declared = [infos[0], *(support.tensor_info(name, [rows, *own], kind) for name, own, kind in inputs)]
    values = [support.constant(name, value) for name, value in constants]
    return support.model(nodes, declared, infos[1:], values, opset=20)


def like_x(name):
    return (name, (COLUMNS,), TensorProto.FLOAT)


def products(length, rows):
    weights = [(f"w{i}", draw(COLUMNS, COLUMNS)) for i in range(8)]
    step = lambda i, x: [("MatMul", [f"w{i % 8}"], {}), ("Gelu", [], {})]
    return chain(length, rows, step, constants=weights)


def softmax(length, rows):
    step = lambda i, x: [("Softmax", [], {"axis": -1}), ("Add", ["y"], {})]
    return chain(length, rows, step, [like_x("y")])


def residual_softmax(length, rows):
    step = lambda i, x: [("Softmax", [], {"axis": -1}), ("Add", [x], {})]
    return chain(length, rows, step)


def norms(length, rows):
    scales = [("scale", draw(COLUMNS)), ("bias", draw(COLUMNS))]
    step = lambda i, x: [("Add", ["y"], {}), ("LayerNormalization", ["scale", "bias"], {})]
    return chain(length, rows, step, [like_x("y")], scales)


def functions(length, rows):
    ops = ("Tanh", "Sigmoid", "Sin", "Erf", "Exp")
    return chain(length, rows, lambda i, x: [(ops[i % 5], [], {})])


def with_constants(length, rows):
    values = [(f"c{i}", draw()) for i in range(12)] + [(f"v{i}", draw(COLUMNS)) for i in range(4)]
    names, ops = [name for name, _ in values], ("Add", "Mul", "Sub", "Max")
    step = lambda i, x: [(ops[i % 4], [names[i % len(names)]], {})]
    return chain(length, rows, step, constants=values)


def with_inputs(length, rows):
    """Every node reads an input of its own."""
    ops = ("Add", "Mul", "Sub", "Max")
    step = lambda i, x: [(ops[i % 4], [f"y{i}"], {})]
    return chain(length, rows, step, [like_x(f"y{i}") for i in range(length)])


def views(length, rows):
    """Views that never cancel: each round shuffles the elements further."""
    step = lambda i, x: [("Transpose", [], {"perm": [0, 2, 1]}), ("Reshape", ["shape"], {})]
    target = [("shape", np.array([0, 8, COLUMNS], dtype=np.int64))]
    return chain(length, rows, step, constants=target, shape=(8, COLUMNS))


def gathers(length, rows):
    step = lambda i, x: [("Gather", ["rows"], {"axis": 0}), ("Tanh", [], {})]
    return chain(length, rows, step, [("rows", (), TensorProto.INT64)])


def concats(length, rows):
    ends = [("from", [4]), ("to", [4 + COLUMNS]), ("axis", [1])]
    step = lambda i, x: [("Concat", ["y"], {"axis": 1}), ("Slice", ["from", "to", "axis"], {})]
    constants = [(name, np.array(value, dtype=np.int64)) for name, value in ends]
    return chain(length, rows, step, [like_x("y")], constants)


def growing_concat(length, rows):
    nodes = [helper.make_node("Concat", [f"t{i}" if i else "x", "x"], [f"t{i + 1}"], axis=1) for i in range(length)]
    infos = [support.tensor_info("x", [rows, 1]), support.tensor_info(f"t{length}", [rows, length + 1])]
    return support.model(nodes, infos[:1], infos[1:])


def reductions(length, rows):
    step = lambda i, x: [("ReduceSum", ["axis"], {"keepdims": 1}), ("Sub", [x], {})]
    return chain(length, rows, step, constants=[("axis", np.array([1], dtype=np.int64))])


KINDS = {
    kind.__name__: kind
    for kind in (
        products,
        softmax,
        residual_softmax,
        norms,
        functions,
        with_constants,
        with_inputs,
        views,
        gathers,
        concats,
        growing_concat,
        reductions,
    )
}
