"""Models that tests write: a builder of ONNX graphs, and what every such model tells of itself. Needs no other data."""
import argparse
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

import models

OPSET = 17


class Builder:
    """Collects the nodes and weights of one model; each method returns the name of what it computes."""

    def __init__(self, element, seed):
        self.element, self.rng = element, np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def input(self, name, element, shape):
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(element)), shape))
        return name

    def output(self, name, value, shape):
        self.nodes.append(helper.make_node('Identity', [value], [name], name=f'/{name}/Identity'))
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.element))
        self.outputs.append(helper.make_tensor_value_info(name, element, shape))

    def weight(self, values):
        name = f'weight_{len(self.weights)}'
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def ints(self, *values):
        return self.weight(np.array(values, np.int64))

    def scalar(self, value):
        return self.weight(np.array(value, self.element))

    def normal(self, *shape, scale, mean=0.0):
        return self.weight((mean + scale * self.rng.standard_normal(shape)).astype(self.element))

    def op(self, kind, *inputs, outputs=1, **attributes):
        name = f'/{kind}_{len(self.nodes)}'
        results = [f'{name}_out_{i}' for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, results, name=name, **attributes))
        return results[0] if outputs == 1 else results

    def linear(self, value, inputs, outputs):
        product = self.op('MatMul', value, self.normal(inputs, outputs, scale=inputs**-0.5))
        return self.op('Add', product, self.normal(outputs, scale=0.1))

    def layer_norm(self, value, width):
        scale, shift = self.normal(width, scale=0.1, mean=1.0), self.normal(width, scale=0.1)
        return self.op('LayerNormalization', value, scale, shift, axis=-1, epsilon=1e-5)

    def length(self, ids):
        """The number of columns of `ids`, as a list of one."""
        return self.op('Shape', ids, start=1, end=2)

    def model(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=8)
        onnx.checker.check_model(model)
        return model


class GeneratedModel:
    """A model with fresh random weights in fp16 or fp32. Derived classes have a `title`, the `element`, the `shapes` to
    run it at, `inputs(rng, element, *shape)`, and `fill(builder)`, which adds the nodes.
    """

    @property
    def name(self):
        return f'{self.title}_{"fp16" if self.element == np.float16 else "fp32"}'

    @property
    def tolerance(self):
        """Of the CPU against ONNX Runtime, by relative norm."""
        return 5e-3 if self.element == np.float16 else 1e-4

    @property
    def gpu_tolerance(self):
        """Of a GPU against the interpreter."""
        return 5e-3 if self.element == np.float16 else 2e-5

    def make_inputs(self, shape, seed):
        return self.inputs(np.random.default_rng([seed, *shape]), self.element, *shape)

    def write(self, folder, seed):
        builder = Builder(self.element, seed)
        self.fill(builder)
        path = os.path.join(folder, self.name + '.onnx')
        onnx.save(builder.model(self.name), path)
        return path


def write_models(description, subjects):
    """The command line of a file of models: writes them to a folder."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('folder')
    parser.add_argument('--models', help='comma-separated names; all by default')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    for subject in models.named(subjects, args.models):
        print(subject.write(args.folder, args.seed))
