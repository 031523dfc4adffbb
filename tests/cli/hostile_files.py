"""Files made to harm whoever reads them. Each function of CLASSES draws the cases of one class.

usage: hostile_files.py FOLDER     writes them all, for other readers
"""

import os
import random
import sys
from pathlib import Path
from typing import Callable, NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

import support
from support import INVALID_MODEL, OK, RESOURCES

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
REFUSED, ANY = (INVALID_MODEL,), (OK, INVALID_MODEL, RESOURCES)


class Case(NamedTuple):
    name: str
    model: ModelProto | bytes
    codes: tuple = REFUSED  # that `smelt check` may end with
    says: str = ""  # what the answer names, where the model is refused
    prepare: Callable = lambda folder: None  # makes what lies beside the model


def small(nodes, initializers=(), shape=(4,), opset=17, functions=(), output_shape=None):
    """x -> y, by the nodes."""
    infos = [support.tensor_info("x", shape), support.tensor_info("y", output_shape)]
    made = support.model(nodes, infos[:1], infos[1:], initializers, opset)
    made.functions.extend(functions)
    return made


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"/hostile/{op}", **attributes)


def ints(name, values):
    return support.constant(name, np.array(values, np.int64))


def with_constant(tensor):
    """y = x + the tensor."""
    return small([node("Add", ["x", tensor.name], ["y"])], [tensor])


def raw(dims, data=bytes(16), kind=FLOAT, name="w"):
    return TensorProto(name=name, data_type=kind, dims=dims, raw_data=data)


# Bytes


def field_ends(data, depth=3):
    """Where fields of a protobuf message begin and end, those of its submessages too, as far as they look like some."""
    ends, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while at < len(data):
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                break
        return value

    while at < len(data):
        ends.append(at)
        key = varint()
        ends.append(at)
        if key & 7 == 0:
            varint()
        elif key & 7 == 2:
            size = varint()
            ends.append(at)
            if depth:
                ends += [at + inner for inner in field_ends(data[at : at + size], depth - 1)]
            at += size
        else:
            at += {1: 8, 5: 4}.get(key & 7, len(data))
    return [end for end in ends if end <= len(data)] + [min(at, len(data))]


def truncated(draw):
    whole = support.scale_model().SerializeToString()
    ends = {at + step for at in field_ends(whole) for step in (-1, 0, 1) if 0 <= at + step < len(whole)}
    for at in sorted(draw.sample(sorted(ends), min(24, len(ends)))):
        yield Case(f"cut at {at}", whole[:at], (OK, INVALID_MODEL))


def lengths_that_lie(draw):
    whole = support.scale_model().SerializeToString()
    for size in (2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1):
        encoded, rest = b"", size
        while rest > 127:
            encoded, rest = encoded + bytes([rest & 127 | 128]), rest >> 7
        encoded += bytes([rest])
        for field in (7, 20, 25):  # graph, training_info, functions
            key = bytes([(field << 3 | 2) & 127 | 128, (field << 3 | 2) >> 7]) if field > 15 else bytes([field << 3 | 2])
            yield Case(f"field {field} of {size} bytes", whole + key + encoded, says="model.onnx")
    yield Case("bytes at random", draw.randbytes(4096), says="model.onnx")
    yield Case("zeros", bytes(1 << 20), says="model.onnx")
    yield Case("groups without an end", b"\x0b" * 100000, says="model.onnx")


# Sizes


HUGE = (2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1)


def sizes_of_tensors(draw):
    for huge in HUGE:
        yield Case(f"initializer of {huge}", with_constant(raw([huge])), says="'w'")
        yield Case(f"initializer of 0 x {huge} x {huge}", with_constant(raw([0, huge, huge], b"")), ANY)
        yield Case(f"input of {huge}", small([node("Relu", ["x"], ["y"])], shape=(huge,)), ANY)
        yield Case(f"input of {huge} x {huge}", small([node("Relu", ["x"], ["y"])], shape=(huge, huge)), ANY)
        constant = node("Constant", [], ["w"], value=raw([huge, 2]))
        yield Case(f"Constant of {huge} x 2", small([constant, node("Add", ["x", "w"], ["y"])]))
    for low in (-1, -2, -(2**31), -(2**63)):
        yield Case(f"initializer of {low}", with_constant(raw([low])), says="'w'")
        yield Case(f"input of {low}", small([node("Relu", ["x"], ["y"])], shape=(low,)), ANY)
        yield Case(f"output of {low}", small([node("Relu", ["x"], ["y"])], output_shape=(low,)), ANY)
    yield Case("100,000 dimensions", with_constant(raw([1] * 100000, bytes(4))), says="'w'")
    yield Case("100,000 dimensions of an input", small([node("Relu", ["x"], ["y"])], shape=(1,) * 100000), says="'x'")


def bytes_that_do_not_fit(draw):
    for count in (0, 1, 15, 17, 1 << 16):
        yield Case(f"{count} bytes for 16", with_constant(raw([4], bytes(count))), says="'w'")
        yield Case(f"{count} bytes of bool for 4", small([node("Where", ["w", "x", "x"], ["y"])], [raw([4], bytes(count), BOOL)]))
    for count in (0, 3, 5):
        typed = TensorProto(name="w", data_type=FLOAT, dims=[4], float_data=[1.0] * count)
        yield Case(f"{count} floats for 4", with_constant(typed), says="'w'")
    other = TensorProto(name="w", data_type=FLOAT, dims=[4], int64_data=[1, 2, 3, 4])
    yield Case("the field of another type", with_constant(other), says="'w'")
    for kind in (0, 8, 27, 99, -1, 2**31 - 1):
        tensor = raw([4])
        tensor.ClearField("data_type")
        tensor.MergeFromString(b"\x10" + varint_of(kind))
        yield Case(f"element type {kind}", with_constant(tensor), says="'w'")
    strings = TensorProto(name="w", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"\xff\xfe"])
    yield Case("strings", with_constant(strings), says="'w'")
    yield Case("strings in bytes", with_constant(raw([2], b"ab", TensorProto.STRING)), says="'w'")


def varint_of(number):
    number &= 2**64 - 1
    encoded = b""
    while number > 127:
        encoded, number = encoded + bytes([number & 127 | 128]), number >> 7
    return encoded + bytes([number])


# Values that shapes are made of


def huge_results(draw):
    """A few bytes that ask for terabytes."""
    for size in (2**31, 2**40, 2**62, 2**63 - 1, -1, -(2**63)):
        shape, one = ints("s", [size]), support.constant("one", np.float32(1))
        both = ints("s", [size, size])
        fill = node("ConstantOfShape", ["s"], ["c"])
        yield Case(f"ConstantOfShape of {size}", small([fill, node("Add", ["x", "c"], ["y"])], [shape]), ANY)
        yield Case(f"ConstantOfShape of {size}, squared", small([fill, node("ReduceSum", ["c"], ["y"])], [both]), ANY)
        yield Case(f"Expand to {size}", small([node("Expand", ["one", "s"], ["y"])], [shape, one]), ANY)
        yield Case(f"Expand of x to {size}", small([node("Expand", ["x", "s"], ["y"])], [shape], shape=(1,)), ANY)
        yield Case(f"Tile {size} times", small([node("Tile", ["x", "s"], ["y"])], [shape]), ANY)
        yield Case(f"Reshape to {size}", small([node("Reshape", ["x", "s"], ["y"])], [shape]), ANY)
        yield Case(f"Pad by {size}", small([node("Pad", ["x", "s"], ["y"])], [ints("s", [size, size])]), ANY)
        depth = [ints("s", [size]), support.constant("v", np.float32([0, 1])), ints("i", [0, 1])]
        yield Case(f"OneHot of depth {size}", small([node("OneHot", ["i", "s", "v"], ["y"])], depth), ANY)
        ends = [support.constant("a", np.int64(0)), support.constant("b", np.int64(size)), support.constant("c", np.int64(1))]
        cast = node("Cast", ["r"], ["y"], to=FLOAT)
        yield Case(f"Range to {size}", small([node("Range", ["a", "b", "c"], ["r"]), cast], ends), ANY)
        ends[2] = support.constant("c", np.int64(0))
        yield Case(f"Range to {size} by 0", small([node("Range", ["a", "b", "c"], ["r"]), cast], ends), ANY)
        split = node("Split", ["x"], ["y", "z"], num_outputs=max(min(size, 2**63 - 1), -(2**63)))
        yield Case(f"Split into {size}", small([split], opset=18), ANY)
        top = node("TopK", ["x", "s"], ["y", "i"])
        yield Case(f"TopK of {size}", small([top], [shape]), ANY)
    for scale in (1e9, 1e30, -1.0, 0.0, float("nan"), float("inf")):
        scales = [support.constant("s", np.float32([1, 1, scale, scale]))]
        yield Case(f"Resize by {scale}", small([node("Resize", ["x", "", "s"], ["y"])], scales, (1, 1, 4, 4)), ANY)
    for value in (2**31 - 1, 2**62, -1, 0):
        attributes = {"kernel_shape": [value, value], "strides": [value or 1, 1], "pads": [0, value, 0, value], "dilations": [1, value]}
        for name, numbers in attributes.items():
            given = {"kernel_shape": [2, 2], name: numbers}
            yield Case(f"MaxPool {name} {value}", small([node("MaxPool", ["x"], ["y"], **given)], shape=(1, 1, 8, 8)), ANY)
    for axis in (4, -5, 2**31, 2**63 - 1, -(2**63)):
        for op, given in (("Softmax", {"axis": axis}), ("Concat", {"axis": axis}), ("Flatten", {"axis": axis}), ("ArgMax", {"axis": axis})):
            yield Case(f"{op} along {axis}", small([node(op, ["x"], ["y"], **given)], shape=(2, 3)), ANY)


def repeated(draw):
    """Small files that grow by repetition."""
    for op in ("Concat", "Add", "Mul"):
        for count in (30, 64, 2000):
            given = {"axis": 0} if op == "Concat" else {}
            nodes = [node(op, [f"x{i}" if i else "x"] * 2, [f"x{i + 1}" if i + 1 < count else "y"], **given) for i in range(count)]
            yield Case(f"{count} times {op} of itself", small(nodes), ANY)
            nodes[0].input[:] = ["w", "w"]
            yield Case(f"{count} times {op} of a constant", small(nodes, [raw([4])]), ANY)
    tiles = [node("Tile", [f"x{i}" if i else "w", "n"], [f"x{i + 1}" if i < 19 else "y"]) for i in range(20)]
    yield Case("Tiles of Tiles", small(tiles, [raw([4]), ints("n", [8])]), ANY)
    squares = [node("MatMul", [f"x{i}" if i else "x"] * 2, [f"x{i + 1}" if i < 199 else "y"]) for i in range(200)]
    yield Case("powers of a matrix", small(squares, shape=(8, 8)), ANY)
    gathers = [node("Gather", [f"x{i}" if i else "x", "i"], [f"x{i + 1}" if i < 11 else "y"], axis=0) for i in range(12)]
    yield Case("Gathers that add dimensions", small(gathers, [support.constant("i", np.zeros((2, 2, 2, 2), np.int64))]), ANY)


# Files beside the model


def good_weights(folder):
    (folder / "weights.bin").write_bytes(bytes(1024))


def external(location="weights.bin", offset="0", length="1024", prepare=good_weights, name=""):
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[256], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    return Case(name, small([node("Add", ["x", "w"], ["y"])], [tensor], (256,)), says="'w'", prepare=prepare)


def files_beside(draw):
    for location in ("../outside.bin", "a/../../outside.bin", "/etc/passwd", "/dev/zero", "/proc/self/mem", "", ".", "..", "no such file",
                     "weights.bin/", "weights.bin/x", "file:///etc/passwd", "~/outside.bin", "C:\\x", "a" * 5000, "../" * 1000 + "etc/passwd"):
        yield external(location, name=f"location {location[:40]!r}")
    for offset in ("4", "1025", str(2**31), str(2**63 - 1), str(2**63), str(2**64 - 512), str(2**64), "-1", "0x0", "one", "1e3", " 0", "9" * 100):
        yield external(offset=offset, name=f"offset {offset[:20]}")
    for length in ("0", "1023", "1025", str(2**63), str(2**64 - 1), str(2**64), "-1", "all"):
        yield external(length=length, name=f"length {length}")
    links = {
        "symbolic link": lambda folder: os.symlink("/etc/passwd", folder / "weights.bin"),
        "symbolic link to itself": lambda folder: os.symlink("weights.bin", folder / "weights.bin"),
        "folder": lambda folder: (folder / "weights.bin").mkdir(),
        "pipe": lambda folder: os.mkfifo(folder / "weights.bin"),
        "empty file": lambda folder: (folder / "weights.bin").write_bytes(b""),
    }
    for kind, prepare in links.items():
        yield external(prepare=prepare, name=f"weights are a {kind}")
    inner = lambda folder: os.symlink("..", folder / "inner")
    yield external("inner/outside.bin", prepare=inner, name="a folder that leads out")


# Structure


def nested_if(depth):
    """An If within an If, so deep."""
    graph = helper.make_graph([node("Relu", ["x"], ["z"])], "g", [], [support.tensor_info("z", None)])
    for _ in range(depth):
        outer = node("If", ["c"], ["z"], then_branch=graph, else_branch=helper.make_graph([node("Abs", ["x"], ["z"])], "g", [], [support.tensor_info("z", None)]))
        graph = helper.make_graph([outer], "g", [], [support.tensor_info("z", None)])
    return graph.node[0]


def nested_bytes(depth):
    """The same as bytes, as deep as no library would write it."""
    inner = GraphProto(name="g").SerializeToString()
    for _ in range(depth):
        for key in (b"\x32", b"\x2a", b"\x0a"):  # attribute's graph, node's attribute, graph's node
            inner = key + varint_of(len(inner)) + inner
    return b"\x08\x08\x3a" + varint_of(len(inner)) + inner


def deep(draw):
    condition = [support.constant("c", np.bool_(True))]
    for depth in (10, 30):
        last = nested_if(depth)
        last.output[0] = "y"
        yield Case(f"{depth} Ifs within each other", small([last], condition), ANY)
    for depth in (40, 1000, 5000):
        yield Case(f"{depth} graphs within each other", nested_bytes(depth), says="model.onnx")


def function(name, nodes, inputs=("x",), outputs=("y",)):
    return helper.make_function("local", name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])


def calls(name, inputs=("x",), outputs=("y",)):
    return helper.make_node(name, list(inputs), list(outputs), name=f"/hostile/{name}", domain="local")


def functions(draw):
    yield Case("a function that calls itself", small([calls("F")], functions=[function("F", [calls("F")])]), says="F")
    ring = [function(f"F{i}", [calls(f"F{(i + 1) % 5}")]) for i in range(5)]
    yield Case("five functions that call each other", small([calls("F0")], functions=ring), says="F0")
    doubling = [function(f"F{i}", [calls(f"F{i + 1}", "x", "t"), calls(f"F{i + 1}", "t", "y")]) for i in range(60)]
    doubling.append(function("F60", [node("Relu", ["x"], ["y"])]))
    yield Case("functions that double 60 times", small([calls("F0")], functions=doubling))
    line = [function(f"F{i}", [calls(f"F{i + 1}")]) for i in range(3000)] + [function("F3000", [node("Relu", ["x"], ["y"])])]
    yield Case("3,000 functions deep", small([calls("F0")], functions=line), ANY)
    branch = helper.make_graph([calls("F", "x", "z")], "g", [], [support.tensor_info("z", None)])
    through = function("F", [node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)])
    yield Case("a function that calls itself in a branch", small([calls("F")], functions=[through]))
    yield Case("two functions of one name", small([calls("F")], functions=[function("F", [node("Relu", ["x"], ["y"])])] * 2), ANY)


def loop(count, body, output="y", carried="x"):
    return node("Loop", [count, "", carried], [output], body=body)


def body_of(nodes):
    infos = [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("c", BOOL, []), support.tensor_info("v", None)]
    return helper.make_graph([node("Identity", ["c"], ["d"]), *nodes], "body", infos, [helper.make_tensor_value_info("d", BOOL, []), support.tensor_info("w", None)])


def unrolled(draw):
    for count in (1000, 10**6, 2**31, 2**63 - 1, -1):
        body = body_of([node("Relu", ["v"], ["w"])])
        yield Case(f"{count} iterations", small([loop("n", body)], [support.constant("n", np.int64(count))]), ANY)
    for depth, count in ((2, 1000), (3, 1000), (6, 100), (8, 10)):
        body = body_of([node("Relu", ["v"], ["w"])])
        for _ in range(depth - 1):
            body = body_of([loop("n", body, "w", "v")])
        yield Case(f"{depth} loops of {count}", small([loop("n", body)], [support.constant("n", np.int64(count))]), ANY)
    growing = body_of([node("Concat", ["v", "v"], ["w"], axis=0)])
    yield Case("a loop that doubles", small([loop("n", growing)], [support.constant("n", np.int64(62))]), ANY)


def cycles(draw):
    ring = [node("Relu", [f"a{(i + 99) % 100}"], [f"a{i}"]) for i in range(100)]
    yield Case("a ring of 100", small([*ring, node("Add", ["x", "a0"], ["y"])]), says="/hostile/Relu")
    yield Case("a node of itself", small([node("Add", ["x", "y"], ["y"])]), says="/hostile/Add")
    backwards = [node("Relu", [f"a{i}" if i else "x"], [f"a{i + 1}" if i < 999 else "y"]) for i in range(1000)][::-1]
    yield Case("1,000 nodes backwards", small(backwards), (OK,))


def names(draw):
    relu = node("Relu", ["x"], ["y"])
    twice = small([relu])
    twice.graph.input.append(twice.graph.input[0])
    yield Case("two inputs of one name", twice, says="'x'")
    twice = small([relu])
    twice.graph.output.append(twice.graph.output[0])
    yield Case("two outputs of one name", twice, ANY)
    yield Case("two initializers of one name", small([node("Add", ["x", "w"], ["y"])], [raw([4]), raw([4])]), says="'w'")
    yield Case("two values of one name", small([relu, relu]), says="'y'")
    long = "n" * 1_000_000
    yield Case("a name of 1 MB", small([helper.make_node("Relu", ["x"], [long], name=long), helper.make_node("Abs", [long], ["y"])]), (OK,))
    yield Case("an op of 1 MB", small([helper.make_node(long, ["x"], ["y"], name=long)]))
    odd = small([node("Relu", ["x"], ["y"])]).SerializeToString()
    for text in (b"\xff", b"\xc3\x28", b"\x00", b"\n", b"\x1b"):
        yield Case(f"an op named {text!r}", odd.replace(b"\x22\x04Relu", b"\x22\x04" + (text * 4)[:4]))
        yield Case(f"a value named {text!r}", odd.replace(b"\x12\x01y", b"\x12\x01" + text[:1]).replace(b"\x0a\x01y", b"\x0a\x01" + text[:1]), ANY)
    yield Case("names that would escape", small([helper.make_node("Relu", ["x"], ["y"], name="../../etc/passwd")]), (OK,))
    yield Case("a symbol that is an expression", small([relu], shape=("a*b+(", "-1", "9999999999999999999")), ANY)
    yield Case("a symbol of 1 MB", small([relu], shape=(long,)), ANY)


def incomplete(draw):
    yield Case("an empty graph", helper.make_model(GraphProto(name="g")), ANY)
    yield Case("no graph", ModelProto(ir_version=8), says="model.onnx")
    yield Case("no opset", ModelProto(ir_version=8, graph=small([node("Relu", ["x"], ["y"])]).graph), ANY)
    for version in (0, -1, 1, 6, 10**9, 2**63 - 1):
        made = small([node("Relu", ["x"], ["y"])])
        made.opset_import[0].version = version
        yield Case(f"opset {version}", made, ANY)
    yield Case("an output that nothing makes", small([node("Relu", ["x"], ["z"])]), says="'y'")
    yield Case("a node without outputs", small([node("Relu", ["x"], []), node("Abs", ["x"], ["y"])]), ANY)
    yield Case("a node without inputs", small([node("Relu", [], ["y"])]))
    yield Case("a node of 10,000 inputs", small([node("Sum", ["x"] * 10000, ["y"])]), ANY)
    yield Case("a node of 10,000 outputs", small([node("Relu", ["x"], ["y", *(f"z{i}" for i in range(10000))])]), ANY)
    yield Case("an input of no type", helper.make_model(GraphProto(name="g", node=[node("Relu", ["x"], ["y"])], input=[ValueInfoProto(name="x")], output=[ValueInfoProto(name="y")])), says="'x'")
    for kind in range(15):
        bad = node("Softmax", ["x"], ["y"])
        bad.attribute.add(name="axis", type=kind)
        yield Case(f"an axis of attribute type {kind}", small([bad]), ANY)
    hollow = node("Constant", [], ["w"])
    hollow.attribute.append(AttributeProto(name="value", type=AttributeProto.TENSOR))
    yield Case("a Constant of nothing", small([hollow, node("Add", ["x", "w"], ["y"])]))
    sparse = node("Constant", [], ["w"], sparse_value=helper.make_sparse_tensor(raw([1], bytes(4)), ints("i", [2**62]), [4]))
    yield Case("a sparse Constant with far indices", small([sparse, node("Add", ["x", "w"], ["y"])]))


def long_graphs(draw):
    chain = [NodeProto(op_type="Relu" if i % 2 else "Neg", input=[f"a{i}" if i else "x"], output=[f"a{i + 1}" if i < 99999 else "y"]) for i in range(100000)]
    yield Case("a chain of 100,000", small(chain), (OK,))
    wide = [NodeProto(op_type="Relu", input=["x"], output=[f"a{i}"]) for i in range(20000)]
    yield Case("20,000 beside each other", small([*wide, node("Sum", [f"a{i}" for i in range(20000)], ["y"])]), ANY)
    dead = [NodeProto(op_type="Relu", input=["x"], output=[f"a{i}"]) for i in range(100000)]
    yield Case("100,000 that nobody reads", small([*dead, node("Relu", ["x"], ["y"])]), (OK,))
    weights = [raw([1], bytes(4), name=f"w{i}") for i in range(100000)]
    yield Case("100,000 weights that nobody reads", small([node("Relu", ["x"], ["y"])], weights), (OK,))


CLASSES = (truncated, lengths_that_lie, sizes_of_tensors, bytes_that_do_not_fit, huge_results, repeated, files_beside, deep, functions,
           unrolled, cycles, names, incomplete, long_graphs)


def write(case, folder):
    """The case's files in a folder, which is empty. Returns the model's path."""
    case.prepare(folder)
    path = folder / "model.onnx"
    path.write_bytes(case.model if isinstance(case.model, bytes) else case.model.SerializeToString())
    return path


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip().splitlines()[-1])
        return 2
    for made in CLASSES:
        for i, case in enumerate(made(random.Random(0))):
            folder = Path(sys.argv[1]) / made.__name__ / f"{i:03}"
            folder.mkdir(parents=True)
            write(case, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
