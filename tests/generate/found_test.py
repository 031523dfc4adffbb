"""Small graphs that once went wrong, each an example of a class: they compile, compute what they should, or are refused.

What of them runs on a GPU is compared there by the generator, whose rules draw every one of these shapes.
"""

import numpy as np
from onnx import TensorProto, helper

import support
from support import INVALID_MODEL, OK, CliTest, constant, tensor_info

HALF, LONG, INT = TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32
ARCHITECTURES = "sm_90a,sm_80"


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def weights(shape, seed=0, element_type=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(element_type)


def graph(nodes, inputs, initializers=(), opset=20, outputs=("y",), output_type=TensorProto.FLOAT):
    """`inputs`: (name, shape) or (name, shape, type)."""
    made = [helper.make_tensor_value_info(name, output_type, None) for name in outputs]
    return support.model(nodes, [tensor_info(*each) for each in inputs], made, initializers, opset)


class Compiles(CliTest):
    def compiles(self, *arguments, **keywords):
        path = self.save(graph(*arguments, **keywords))
        self.expect(OK, "check", path)
        self.expect(OK, "compile", path, "-o", "out.plan", "--arch", ARCHITECTURES)

    def test_transposed_operands(self):
        nodes = [node("Gemm", "a b", "p", transA=1, transB=1), node("Tanh", "p")]
        self.compiles(nodes, [("a", ["k", "m"]), ("b", [9, "k"])], opset=18)
        nodes = [node("Gemm", "a b c", "p", transA=1, beta=0.5), node("Tanh", "p", "t"), node("MatMul", "t v")]
        self.compiles(nodes, [("a", [7, 5]), ("b", [7, 2]), ("c", [2]), ("v", [2])], opset=14)

    def test_a_product_of_an_expanded_scalar(self):
        keep = constant("keep", weights([3, 8, 3, 3]) > 0)
        nodes = [node("Where", "keep x x", "a"), node("MatMul", "a w")]
        self.compiles(nodes, [("x", [])], [keep, constant("w", weights([3, 6]))])

    def test_reductions_of_what_is_indexed_by_column(self):
        for producer, inputs, extra in (
            (node("Add", "x b", "g"), [("x", [8, 16]), ("b", [16])], []),
            (node("Trilu", "x", "g"), [("x", [8, 16])], []),
            (node("Transpose", "x", "g"), [("x", [8, 16])], []),
            (node("Gather", "x i", "g"), [("x", [50, 16]), ("i", [3, 7], LONG)], []),
            (node("GatherElements", "x i", "g", axis=1), [("x", [3, 5, 2]), ("i", [3, 1, 2], LONG)], []),
            (node("Concat", "x x", "g", axis=-1), [("x", [2, 3, 8])], []),
            (node("Where", "k x b", "g"), [("k", [8, 16], TensorProto.BOOL), ("x", [8, 16]), ("b", [16])], []),
        ):
            for consumer in ("ReduceSum", "ReduceMean", "Softmax"):
                with self.subTest(producer=producer.op_type, consumer=consumer):
                    keep = {} if consumer == "Softmax" else {"keepdims": 0}
                    self.compiles([producer, node(consumer, "g", **keep)], inputs, extra, opset=18)

    def test_norms_of_concatenations(self):
        joined = [node("Concat", "a b", "z", axis=-1), node("LayerNormalization", "z s", axis=-1)]
        scale = constant("s", np.ones(16, np.float32))
        self.compiles(joined, [("a", [2, 3, 8]), ("b", [2, 3, 8])], [scale])
        scale = constant("s", np.ones(768, np.float16))
        inputs = [("a", ["n", 384], HALF), ("b", ["n", 384], HALF)]
        self.compiles(joined, inputs, [scale], output_type=HALF)

    def test_patch_merging(self):
        numbers = {"zero": [0], "one": [1], "two": [2], "end": [2**63 - 1]}
        initializers = [constant(name, np.array(value, np.int64)) for name, value in numbers.items()]
        nodes, parts = [], []
        for row in ("zero", "one"):
            for column in ("zero", "one"):
                nodes.append(node("Slice", f"x {row} end one two", f"r_{row}_{column}"))
                parts.append(f"q_{row}_{column}")
                nodes.append(node("Slice", f"r_{row}_{column} {column} end two two", parts[-1]))
        nodes.append(node("Concat", " ".join(parts), "z", axis=-1))
        nodes.append(node("LayerNormalization", "z s t", axis=-1))
        affine = [constant("s", np.ones(384, np.float16)), constant("t", np.zeros(384, np.float16))]
        self.compiles(nodes, [("x", [1, 56, 56, 96], HALF)], initializers + affine, output_type=HALF)

    def test_small_integers_with_constants(self):
        for element_type in (np.int8, np.uint8, np.int16):
            onnx_type = helper.np_dtype_to_tensor_dtype(np.dtype(element_type))
            low, high = constant("low", element_type(1)), constant("high", element_type(5))
            for op, names in (("Clip", "x low high"), ("Mod", "x high"), ("Div", "x high"), ("Min", "x low"), ("Max", "x low")):
                with self.subTest(op=op, type=element_type.__name__):
                    self.compiles([node(op, names)], [("x", [4], onnx_type)], [low, high], output_type=onnx_type)

    def test_attention_of_large_heads_in_half_precision(self):
        for size, attributes in ((300, {}), ("head", {"scale": 0.125})):
            with self.subTest(size=size):
                inputs = [(name, [1, 2, 8, size], HALF) for name in "qkv"]
                self.compiles([node("Attention", "q k v", **attributes)], inputs, opset=23, output_type=HALF)

    def test_attention_of_scattered_rows(self):
        shapes = {"mixed": [2, -1, 3, 4], "plain": [2, 1, 3, 4]}
        initializers = [constant(name, np.array(shape, np.int64)) for name, shape in shapes.items()]
        nodes = []
        for name, shape in (("q", "mixed"), ("k", "mixed"), ("v", "plain")):
            initializers.append(constant(f"w{name}", weights([12, 12], ord(name))))
            nodes.append(node("MatMul", f"x w{name}", f"p{name}"))
            nodes.append(node("Reshape", f"p{name} {shape}", f"r{name}"))
            nodes.append(node("Transpose", f"r{name}", name, perm=[0, 2, 1, 3]))
        initializers.append(constant("two", np.float32(2)))
        nodes += [node("Transpose", "k", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q kt", "scores"), node("Div", "scores two", "scaled")]
        nodes += [node("Softmax", "scaled", "weights", axis=-1), node("MatMul", "weights v")]
        self.compiles(nodes, [("x", ["n", 1, 12])], initializers, opset=21)

    def test_a_norm_over_a_symbol(self):
        scale = constant("w", np.ones(4, np.float32))
        self.compiles([node("LayerNormalization", "x w", axis=-1)], [("x", ["b", "h"])], [scale], opset=17)

    def test_a_range_of_a_size_as_float(self):
        numbers = [constant("i", np.int64(1)), constant("zero", np.float32(0)), constant("one", np.float32(1))]
        nodes = [node("Shape", "x", "s"), node("Gather", "s i", "n", axis=0), node("Cast", "n", "f", to=1), node("Range", "zero f one")]
        self.compiles(nodes, [("x", [2, 20])], numbers, opset=17)

    def test_float64_functions_are_float64(self):
        path = self.save(graph([node("Softplus", "x")], [("x", [9], TensorProto.DOUBLE)], output_type=TensorProto.DOUBLE))
        text = self.expect(OK, "compile", path, "--emit", "cuda").stdout
        self.assertNotIn("float ", text.split("double", 1)[1])


class Refused(CliTest):
    def refused(self, *arguments, **keywords):
        path = self.save(graph(*arguments, **keywords))
        for command in (("check", path), ("compile", path, "-o", "out.plan")):
            self.expect(INVALID_MODEL, *command)

    def test_functions_of_floats_take_no_integers(self):
        self.refused([node("Softmax", "x")], [("x", [4], INT)], output_type=INT)
        self.refused([node("LayerNormalization", "x s")], [("x", [3, 4], INT), ("s", [4], INT)], output_type=INT)

    def test_a_range_of_more_elements_than_there_are(self):
        bounds = {"a": -(2**63), "b": 2**63 - 1, "d": 1}
        initializers = [constant(name, np.int64(value)) for name, value in bounds.items()]
        self.refused([node("Range", "a b d")], [], initializers, opset=17, output_type=LONG)


class Computes(CliTest):
    def test_distant_constants_are_compared(self):
        extremes = [constant("a", np.int64(2**63 - 1)), constant("b", np.int64(-2))]
        nodes = [node("Greater", "a b", "g"), node("Where", "g x z")]
        path = self.save(graph(nodes, [("x", [2]), ("z", [2])], extremes, opset=17))
        x, z = self.array("x", np.float32([1, 2])), self.array("z", np.float32([3, 4]))
        self.expect(OK, "run", path, "--device", "cpu", "--input", f"x=@{x}", "--input", f"z=@{z}", "--output", "y=@y.npy")
        self.assertEqual(np.load(self.folder / "y.npy").tolist(), [1, 2])

    def test_the_place_of_a_maximum_is_none_of_the_padding(self):
        pool = node("MaxPool", "x", "m y", kernel_shape=[2, 1], pads=[1, 0, 0, 0])
        path = self.save(graph([pool], [("x", [1, 1, 2, 2], TensorProto.INT8)], opset=17, output_type=LONG))
        x = self.array("x", np.full((1, 1, 2, 2), -128, np.int8))
        self.expect(OK, "run", path, "--device", "cpu", "--input", f"x=@{x}", "--output", "y=@y.npy")
        self.assertEqual(np.load(self.folder / "y.npy").ravel().tolist(), [0, 1, 0, 1])

    def test_a_name_with_a_zero_byte_cuts_no_file(self):
        path = self.save(graph([node("Relu", "x", "a\0b")], [("x", [2])], outputs=("a\0b",), opset=17))
        done = self.smelt("run", path, "--device", "cpu", "--output-dir", "out")
        written = sorted(file.name for file in (self.folder / "out").glob("*"))
        self.assertNotIn("a", [name.removesuffix(".npy") for name in written])
        self.assertTrue(done.returncode in (OK, INVALID_MODEL), done.stderr)


if __name__ == "__main__":
    support.main()
