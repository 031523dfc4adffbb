#!/usr/bin/env python3
"""ResNet-50's convolutions in fp16, one by one, against cuDNN's best that PyTorch reaches, on one GPU, in one run.

usage: tools/bench/conv.py [--set all] [--rows b64,3x3] [--limit S] [--json tools/bench/results/conv.json]

The distinct layers at batch 1 and 64, with the bias that a folded batch norm leaves, ReLU but for the projections of shortcuts,
and the residual where the network adds one. Images are [batch, height, width, channels] in memory on both sides. PyTorch runs
with cudnn.benchmark. The peer is the faster of two: cuDNN's fused engines as far as PyTorch reaches them
(cudnn_convolution_relu, cudnn_convolution_add_relu), and a convolution with the rest as kernels of PyTorch behind it; cuDNN's
front end may know faster engines. Both sides take turns on cold operands (tools/bench/turns.py).
"""

import itertools
import sys
from typing import NamedTuple

import kernel_bench
import kernel_rows
from kernel_rows import Row, Tensor
from onnx import helper

SETS = ("all",)
BATCHES = (1, 64)


class Layer(NamedTuple):
    """`size` is the height and width of its input."""

    size: int
    source: int
    target: int
    window: int = 1
    stride: int = 1
    relu: bool = True
    residual: bool = False

    @property
    def result_size(self):
        return (self.size + 2 * self.padding - self.window) // self.stride + 1

    @property
    def padding(self):
        return self.window // 2

    @property
    def name(self):
        kind = "_residual" if self.residual else "" if self.relu else "_shortcut"
        return f"{self.window}x{self.window}s{self.stride}_{self.source}to{self.target}_{self.size}{kind}"


def stage(size, source, middle, stride):
    """The distinct layers of one stage of bottlenecks, on images of `size` by `size` with `source` channels."""
    small, target = size // stride, 4 * middle
    first = [
        Layer(size, source, middle),
        Layer(size, middle, middle, 3, stride),
        Layer(small, middle, target, residual=True),
        Layer(size, source, target, 1, stride, relu=False),
    ]
    rest = [Layer(small, target, middle), Layer(small, middle, middle, 3)]
    return list(dict.fromkeys(first + rest))


LAYERS = [Layer(224, 3, 64, 7, 2), *stage(56, 64, 64, 1), *stage(56, 256, 128, 2), *stage(28, 512, 256, 2), *stage(14, 1024, 512, 2)]


def weight(layer):
    """[target, source, window, window]"""
    sums = layer.source * layer.window**2
    return kernel_rows.draw((layer.target, layer.source, layer.window, layer.window), "float16", sums**-0.5)


def bias(layer):
    return kernel_rows.draw((layer.target,), "float16", seed=2)


def nodes(layer):
    """With images as they lie in memory; the model's own convolution has channels second."""
    padding = [layer.padding] * 4
    made = [helper.make_node("Transpose", ["x"], ["image"], perm=[0, 3, 1, 2]),
            helper.make_node("Conv", ["image", "w", "b"], ["convolved"], pads=padding, strides=[layer.stride] * 2)]
    last = "convolved"
    if layer.residual:
        made += [helper.make_node("Transpose", ["r"], ["shortcut"], perm=[0, 3, 1, 2]),
                 helper.make_node("Add", [last, "shortcut"], ["sum"])]
        last = "sum"
    if layer.relu:
        made.append(helper.make_node("Relu", [last], ["activated"]))
        last = "activated"
    return [*made, helper.make_node("Transpose", [last], ["y"], perm=[0, 2, 3, 1])]


def make_row(batch, layer):
    result = Tensor((batch, layer.result_size, layer.result_size, layer.target))
    inputs = {"x": Tensor((batch, layer.size, layer.size, layer.source)), **({"r": result} if layer.residual else {})}
    outputs = {"y": result}

    def build(folder):
        constants = [kernel_rows.constant("w", weight(layer)), kernel_rows.constant("b", bias(layer))]
        return kernel_rows.model_of(inputs, outputs, nodes(layer), constants)

    products = layer.source * layer.window**2
    return Row(
        name=f"b{batch}_{layer.name}",
        inputs=inputs,
        outputs=outputs,
        build=build,
        flops=2 * batch * layer.result_size**2 * layer.target * products,
        weight_bytes=Tensor((layer.target, products + 1)).bytes,
        facts={"batch": batch, **layer._asdict()},
    )


def rows(kind):
    return [make_row(batch, layer) for batch, layer in itertools.product(BATCHES, LAYERS)]


def layer_of(row):
    return Layer(**{name: row.facts[name] for name in Layer._fields})


class Peers:
    """PyTorch's ways through cuDNN for a row, on weights of each set's own."""

    def __init__(self):
        import torch

        torch.backends.cudnn.benchmark = True
        self.torch = torch

    def __call__(self, row, sets):
        layer = layer_of(row)
        last = {"memory_format": self.torch.channels_last}
        kernel = self.torch.from_numpy(weight(layer)).cuda()
        vectors = [self.torch.from_numpy(bias(layer)).cuda() for _ in sets]
        kernels = [kernel.clone().to(**last) for _ in sets]
        images = [{name: tensor.permute(0, 3, 1, 2) for name, tensor in operands.items()} for operands in sets]
        calls = {"apart": lambda index: self._apart(layer, kernels[index], vectors[index], **images[index])}
        if layer.relu:
            calls["fused"] = lambda index: self._fused(layer, kernels[index], vectors[index], **images[index])
        return {label: in_rows(call) for label, call in calls.items()}

    def _apart(self, layer, kernel, vector, x, r=None):
        result = self.torch.nn.functional.conv2d(x, kernel, vector, layer.stride, layer.padding)
        if layer.residual:
            result.add_(r)
        return result.relu_() if layer.relu else result

    def _fused(self, layer, kernel, vector, x, r=None):
        place = {"stride": [layer.stride] * 2, "padding": [layer.padding] * 2, "dilation": [1, 1], "groups": 1}
        if layer.residual:
            return self.torch.cudnn_convolution_add_relu(x, kernel, r, 1, vector, **place)
        return self.torch.cudnn_convolution_relu(x, kernel, vector, **place)


def in_rows(call):
    """Its result as it lies in memory."""
    return lambda index: call(index).permute(0, 2, 3, 1)


def main():
    arguments = kernel_bench.parse(__doc__.splitlines()[0], SETS)
    return kernel_bench.run("conv", rows(arguments.set), arguments, Peers)


if __name__ == "__main__":
    sys.exit(main())
