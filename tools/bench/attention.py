#!/usr/bin/env python3
"""Attention in fp16 against PyTorch's scaled_dot_product_attention, on one GPU, in one run.

usage: tools/bench/attention.py [--set prefill|bias|decode] [--rows hd64,s512] [--limit S] [--json tools/bench/results/attention.json]

prefill: heads of 64 and 128 elements, full and causal, 16,384 tokens in sequences of 512 to 16,384, a width of 2,048, against the
cuDNN and the flash backend; a causal row counts half of the operations. bias: the same with a random bias [queries, keys] for all
sequences and heads, against FlexAttention (compiled) and the backends that take one. decode: one query for each of 64 heads in
groups of 8 on keys and values of 1k to 64k tokens, heads of 128, against flash and cuDNN with enable_gqa; what counts is the
share of the bandwidth of a copy that is measured in the same run. Q, K and V are [batch, heads, tokens, elements]. Both sides take
turns on cold operands (tools/bench/turns.py).
"""

import itertools
import statistics
import sys

import kernel_bench
import kernel_rows
from kernel_rows import Row, Tensor
from onnx import helper

SETS = ("prefill", "bias", "decode")
TOKENS, WIDTH = 16384, 2048
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
DECODE_HEADS, DECODE_GROUP, DECODE_SIZE = 64, 8, 128
BATCHES, CONTEXTS = (1, 4, 16, 64), (1024, 4096, 16384, 65536)
COPIED = 1 << 31  # bytes that the measured copy reads


def make_row(name, inputs, flops, facts, causal=False):
    shape = inputs["q"].shape
    outputs = {"y": Tensor(shape)}

    def build(folder):
        node = helper.make_node("Attention", list(inputs), ["y"], is_causal=int(causal))
        return kernel_rows.model_of(inputs, outputs, [node])

    return Row(name=name, inputs=inputs, outputs=outputs, build=build, flops=flops, facts={**facts, "causal": causal})


def prefill_row(head, causal, length, biased=False):
    batch, heads = TOKENS // length, WIDTH // head
    operand = Tensor((batch, heads, length, head))
    inputs = {name: operand for name in "qkv"}
    if biased:
        inputs["bias"] = Tensor((length, length))
    flops = 4 * batch * heads * length * length * head / (2 if causal else 1)
    facts = {"head": head, "length": length, "batch": batch, "heads": heads}
    kind = "bias" if biased else "causal" if causal else "full"
    return make_row(f"hd{head}_{kind}_s{length}", inputs, flops, facts, causal)


def decode_row(batch, context):
    groups = DECODE_HEADS // DECODE_GROUP
    cached = Tensor((batch, groups, context, DECODE_SIZE))
    inputs = {"q": Tensor((batch, DECODE_HEADS, 1, DECODE_SIZE)), "k": cached, "v": cached}
    flops = 4 * batch * DECODE_HEADS * context * DECODE_SIZE
    facts = {"head": DECODE_SIZE, "length": context, "batch": batch, "heads": DECODE_HEADS, "groups": groups}
    return make_row(f"b{batch}_c{context}", inputs, flops, facts)


def rows(kind):
    if kind == "decode":
        return [decode_row(batch, context) for batch, context in itertools.product(BATCHES, CONTEXTS)]
    masks = (False,) if kind == "bias" else (False, True)
    return [prefill_row(head, causal, length, kind == "bias")
            for head, causal, length in itertools.product((64, 128), masks, LENGTHS)]


class Peers:
    """PyTorch's backends for a row."""

    def __init__(self, kind):
        import torch
        from torch.nn.attention import SDPBackend
        from torch.nn.attention.flex_attention import flex_attention

        backends = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
                    "efficient": SDPBackend.EFFICIENT_ATTENTION}
        taken = {"prefill": ("cuDNN", "flash"), "bias": ("cuDNN", "efficient"), "decode": ("cuDNN", "flash")}[kind]
        self.kind, self.backends = kind, {name: backends[name] for name in taken}

        def biased(q, k, v, bias):
            return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + bias[i, j])

        self.flex, self.reset = torch.compile(biased, dynamic=False), torch._dynamo.reset

    def __call__(self, row, sets):
        calls = {name: self._backend(backend, row, sets) for name, backend in self.backends.items()}
        if self.kind == "bias":
            self.reset()  # after eight shapes it would compile no more
            calls["FlexAttention"] = lambda index: self.flex(**sets[index])
        return calls

    def _backend(self, backend, row, sets):
        import torch
        from torch.nn.attention import sdpa_kernel

        def call(index):
            operands = dict(sets[index])
            bias = operands.pop("bias", None)
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    *operands.values(), attn_mask=bias, is_causal=row.facts["causal"], enable_gqa="groups" in row.facts)

        return call


def copy_gb_per_s():
    """Bytes read and written by a copy on the device."""
    import torch

    source, target = (torch.empty(COPIED, dtype=torch.uint8, device="cuda") for _ in range(2))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def timed():
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    return round(2 * COPIED / statistics.median(timed() for _ in range(20)) * 1e-6, 1)


def main():
    arguments = kernel_bench.parse(__doc__.splitlines()[0], SETS)
    machine = (lambda: {"copy_gb_per_s": copy_gb_per_s()}) if arguments.set == "decode" else dict
    return kernel_bench.run("attention", rows(arguments.set), arguments, lambda: Peers(arguments.set), describe=machine)


if __name__ == "__main__":
    sys.exit(main())
