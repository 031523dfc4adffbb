"""An encoder of bert_base's structure, small in its widths: twelve layers in primitive ops, as exporters write them."""

import numpy as np
from onnx import TensorProto, helper

import support

HALF = TensorProto.FLOAT16
LAYERS, WIDTH, HEADS = 12, 128, 2


class Builder:
    def __init__(self):
        self.nodes, self.weights, self.scope = [], [], ""
        self.draw = np.random.default_rng(0)

    def weight(self, *shape, scale=0.1):
        return self.constant((scale * self.draw.normal(size=shape)).astype(np.float16))

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(support.constant(name, value))
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"{self.scope}/{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name + "_out"], name=name, **attributes))
        return name + "_out"

    def half(self, value):
        return self.constant(np.float16(value))

    def norm(self, x):
        mean = self.op("ReduceMean", x, axes=[-1])
        centred = self.op("Sub", x, mean)
        variance = self.op("ReduceMean", self.op("Pow", centred, self.half(2)), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.half(1e-5)))
        scaled = self.op("Mul", self.op("Div", centred, deviation), self.weight(WIDTH))
        return self.op("Add", scaled, self.weight(WIDTH))

    def linear(self, x, inputs, outputs):
        return self.op("Add", self.weight(outputs), self.op("MatMul", x, self.weight(inputs, outputs)))

    def heads(self, x, order):
        shape = self.constant(np.int64([0, 0, HEADS, WIDTH // HEADS]))
        return self.op("Transpose", self.op("Reshape", x, shape), perm=order)

    def attention(self, x):
        q, k, v = (self.heads(self.linear(x, WIDTH, WIDTH), order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.op("Div", self.op("MatMul", q, k), self.half((WIDTH // HEADS) ** 0.5))
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        joined = self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant(np.int64([0, 0, WIDTH])))
        return self.linear(joined, WIDTH, WIDTH)

    def gelu(self, x):
        bent = self.op("Add", self.op("Erf", self.op("Div", x, self.half(2**0.5))), self.half(1))
        return self.op("Mul", self.op("Mul", x, bent), self.half(0.5))

    def layer(self, x):
        x = self.norm(self.op("Add", self.attention(x), x))
        wide = self.gelu(self.linear(x, WIDTH, 4 * WIDTH))
        return self.norm(self.op("Add", self.linear(wide, 4 * WIDTH, WIDTH), x))


def encoder():
    b = Builder()
    b.scope = "/embeddings"
    x = b.norm(b.op("Gather", b.weight(1000, WIDTH), "ids"))
    for layer in range(LAYERS):
        b.scope = f"/encoder/layer.{layer}"
        x = b.layer(x)
    b.nodes[-1].output[0] = "y"
    shape = ["batch", "seq"]
    outputs = [support.tensor_info("y", [*shape, WIDTH], HALF)]
    return support.model(b.nodes, [support.tensor_info("ids", shape, TensorProto.INT64)], outputs, b.weights)
