#!/usr/bin/env python3
"""Latency of Smelt and of PyTorch on one GPU, in one run: the ratio that the README reports.

usage: tools/bench/peers.py [--models a,b] [--modes eager,max-autotune] [--seconds S] [--json tools/bench/results/peers.json]

Each row is a public architecture at its published sizes (of large ones four layers) with random fp16 weights, at one batch and sequence. PyTorch
runs it as `transformers` builds it, in each of its modes: plain eager, captured in a CUDA graph, torch.compile's
reduce-overhead and its max-autotune; the best of them is the peer. Smelt compiles the ONNX export of the same
architecture twice: for any shape, as people embed it, and for that shape. All are timed as the median of device-side times after a warm-up, inputs in place,
no transfers. Large products heat a card to its power limit, which lowers its clocks within a second: every measurement starts after the same rest and
lasts as long as the others. Needs a GPU, torch and transformers.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, NamedTuple

import common
import torch


REST = 1.0  # seconds before each measurement
MODES = ("eager", "eager+graph", "reduce-overhead", "max-autotune")


class Peer(NamedTuple):
    """One row: the export, the shape flags for Smelt, the PyTorch model and its inputs."""

    export: str
    shapes: tuple[str, ...]
    build: Callable


def token_inputs(vocabulary, batch, length, masked=True):
    inputs = {"input_ids": torch.randint(0, vocabulary, (batch, length))}
    if masked:
        inputs["attention_mask"] = torch.ones(batch, length, dtype=torch.long)
    return inputs


def bert(width, layers, batch, length):
    import transformers

    config = transformers.BertConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=4 * width,
    )
    model = transformers.BertModel(config, add_pooling_layer=False)
    return model, token_inputs(config.vocab_size, batch, length)


def distilbert(batch, length):
    import transformers

    config = transformers.DistilBertConfig()
    return transformers.DistilBertModel(config), token_inputs(config.vocab_size, batch, length)


def gpt2(batch, length):
    import transformers

    config = transformers.GPT2Config(use_cache=False)
    model = transformers.GPT2LMHeadModel(config)
    return model, token_inputs(config.vocab_size, batch, length, masked=False)


def decoder(family, batch, length, **sizes):
    """A causal model of transformers, by the name of its family: the first layers of a large one."""
    import transformers

    config = getattr(transformers, f"{family}Config")(use_cache=False, num_hidden_layers=4, **sizes)
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    return model, token_inputs(config.vocab_size, batch, length, masked=False)


def llama(batch, length):
    sizes = {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8}
    return decoder("Llama", batch, length, vocab_size=128256, max_position_embeddings=8192, head_dim=64, **sizes)


def qwen2(batch, length):
    sizes = {"hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14, "num_key_value_heads": 2}
    return decoder("Qwen2", batch, length, vocab_size=32000, **sizes)


def t5_encoder(batch, length):
    import transformers

    config = transformers.T5Config()
    return transformers.T5EncoderModel(config), token_inputs(config.vocab_size, batch, length, masked=False)


def clip_vision(batch):
    import transformers

    model = transformers.CLIPVisionModel(transformers.CLIPVisionConfig(num_hidden_layers=4))
    return model, {"pixel_values": torch.randn(batch, 3, 224, 224)}


def vit(batch):
    import transformers

    model = transformers.ViTModel(transformers.ViTConfig(), add_pooling_layer=False)
    return model, {"pixel_values": torch.randn(batch, 3, 224, 224)}


class Encoder(torch.nn.Module):
    """Whisper's encoder at the sizes of the export."""

    def __init__(self):
        super().__init__()
        import transformers

        sizes = {f"{part}_{name}": value for part in ("encoder", "decoder")
                 for name, value in (("layers", 6), ("attention_heads", 8), ("ffn_dim", 2048))}
        self.encoder = transformers.WhisperModel(transformers.WhisperConfig(d_model=512, **sizes)).encoder

    def forward(self, input_features, return_dict):
        return self.encoder(input_features, return_dict=return_dict)


def whisper(batch):
    return Encoder(), {"input_features": torch.randn(batch, 80, 3000)}


class Vision(torch.nn.Module):
    """A torchvision model that returns its logits as transformers' models return theirs."""

    def __init__(self, name):
        super().__init__()
        import torchvision

        self.model = getattr(torchvision.models, name)(weights=None)

    def forward(self, x, return_dict):
        return {"logits": self.model(x)}


def vision(name, batch):
    """With channels last, which PyTorch's own convolutions are fastest with."""
    layout = {"memory_format": torch.channels_last}
    return Vision(name).to(**layout), {"x": torch.randn(batch, 3, 224, 224).to(**layout)}


def image(batch):
    return (f"x={batch}x3x224x224",)


def tokens(batch, length, masked=True):
    names = ("input_ids", "attention_mask") if masked else ("input_ids",)
    return tuple(f"{name}={batch}x{length}" for name in names)


PEERS = {
    "minilm_b1s128": Peer("minilm.dy20_fp16", tokens(1, 128), lambda: bert(384, 6, 1, 128)),
    "minilm_b32s128": Peer("minilm.dy20_fp16", tokens(32, 128), lambda: bert(384, 6, 32, 128)),
    "bert_base_b1s128": Peer("bert_base.dy20_fp16", tokens(1, 128), lambda: bert(768, 12, 1, 128)),
    "bert_base_b8s512": Peer("bert_base.dy20_fp16", tokens(8, 512), lambda: bert(768, 12, 8, 512)),
    "distilbert_b8s128": Peer("distilbert.dy20_fp16", tokens(8, 128), lambda: distilbert(8, 128)),
    "gpt2_b1s128": Peer("gpt2.dy20_fp16", tokens(1, 128, False), lambda: gpt2(1, 128)),
    "gpt2_b8s1024": Peer("gpt2.dy20_fp16", tokens(8, 1024, False), lambda: gpt2(8, 1024)),
    "vit_b16_b1": Peer("vit_b16.dy20_fp16", ("pixel_values=1x3x224x224",), lambda: vit(1)),
    "vit_b16_b64": Peer("vit_b16.dy20_fp16", ("pixel_values=64x3x224x224",), lambda: vit(64)),
    "resnet50_b1": Peer("resnet50.dy20_fp16", image(1), lambda: vision("resnet50", 1)),
    "resnet50_b64": Peer("resnet50.dy20_fp16", image(64), lambda: vision("resnet50", 64)),
    "efficientnet_b16": Peer("efficientnet.ts_fp16", image(16), lambda: vision("efficientnet_b0", 16)),
    "swin_t_b16": Peer("swin_t.dy20_fp16", image(16), lambda: vision("swin_t", 16)),
    "whisper_enc_b1": Peer("whisper_enc.dy20_fp16", ("input_features=1x80x3000",), lambda: whisper(1)),
    "llama1b_b1s512": Peer("llama1b.dy20_fp16", tokens(1, 512, False), lambda: llama(1, 512)),
    "llama1b_b1s4096": Peer("llama1b.dy20_fp16", tokens(1, 4096, False), lambda: llama(1, 4096)),
    "qwen2_b4s512": Peer("qwen2.dy20_fp16", tokens(4, 512, False), lambda: qwen2(4, 512)),
    "t5_small_b8s512": Peer("t5_small.ts_fp16", tokens(8, 512, False), lambda: t5_encoder(8, 512)),
    "clip_vision_b32": Peer("clip_vision.dy20_fp16", ("pixel_values=32x3x224x224",), lambda: clip_vision(32)),
    "convnext_t_b16": Peer("convnext_t.dy20_fp16", image(16), lambda: vision("convnext_tiny", 16)),
}


def first_tensor(output):
    return next(value for value in output.values() if isinstance(value, torch.Tensor))


def graph_replay(call):
    """`call` captured in a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def torch_callable(model, inputs, mode):
    """What runs the model in a mode of PyTorch, of MODES."""
    call = lambda forward: lambda: first_tensor(forward(**inputs, return_dict=True))
    if mode == "eager":
        return call(model)
    if mode == "eager+graph":
        return graph_replay(call(model))
    return call(torch.compile(model, mode=mode))


def median_ms(call, seconds):
    """Median device time of one call, from batches of calls between two events."""
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    time.sleep(REST)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(count):
        begin.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / count

    count = max(1, round(20 / max(timed(3), 1e-3)))
    samples, stop = [], time.monotonic() + seconds
    while time.monotonic() < stop or len(samples) < 5:
        samples.append(timed(count))
    return statistics.median(samples)


def time_torch(peer, modes, seconds):
    torch.manual_seed(0)
    model, inputs = peer.build()
    model = model.cuda().half().eval()
    inputs = {
        name: value.cuda().half() if value.is_floating_point() else value.cuda()
        for name, value in inputs.items()
    }
    times = {}
    for mode in modes:
        torch._dynamo.reset()
        with torch.no_grad():
            times[mode] = round(median_ms(torch_callable(model, inputs, mode), seconds), 5)
    return times


def architecture():
    """The GPU's own, as `smelt compile --arch` names it."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    capability = subprocess.check_output(query, text=True).split()[0].replace(".", "")
    return f"sm_{capability}" + ("a" if capability == "90" else "")


def time_smelt(peer, arguments, for_any_shape):
    """`smelt bench` of a plan for any shape, or for this one."""
    model = f"{arguments.model_dir}/{peer.export}.onnx"
    flags = [part for shape in peer.shapes for part in ("--shape", shape)]
    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/model.plan"
        options = ["--arch", architecture(), "--random-weights", 0, *([] if for_any_shape else flags)]
        common.smelt_json(arguments.smelt, "compile", model, "-o", plan, *options)
        time.sleep(REST)
        return common.smelt_json(arguments.smelt, "bench", plan, "--duration", arguments.seconds, *flags)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    parser.add_argument("--seconds", type=float, default=1.5, help="measured of each mode and plan")
    parser.add_argument("--modes", default=",".join(MODES), help="of PyTorch, comma-separated (default: %(default)s)")
    arguments = parser.parse_args()
    names = arguments.models.split(",") if arguments.models else list(PEERS)
    rows, machine = [], {**common.models.gpu(), "torch": torch.__version__}
    for name in names:
        times = time_torch(PEERS[name], arguments.modes.split(","), arguments.seconds)
        torch.cuda.empty_cache()
        dynamic = time_smelt(PEERS[name], arguments, for_any_shape=True)["latency_ms"]
        bench = time_smelt(PEERS[name], arguments, for_any_shape=False)
        best = min(times.values())
        smelt = bench["latency_ms"]["median"]
        rows.append(
            {
                "name": name,
                "smelt_ms": smelt,
                "smelt_p99_ms": bench["latency_ms"]["p99"],
                "smelt_dynamic_ms": dynamic["median"],
                "smelt_dynamic_p99_ms": dynamic["p99"],
                "kernels": len(bench["kernels"]),
                "roofline_share": bench["roofline_share"],
                "torch_ms": times,
                "torch_best_ms": best,
                "ratio": round(best / smelt, 3),
            }
        )
        print(
            f"{name}: Smelt {smelt:.4f} ms, for any shape {dynamic['median']:.4f} ms, "
            f"PyTorch {best:.4f} ms, {best / smelt:.2f}x",
            flush=True,
        )
        common.write(arguments.json, "smelt.peers/1", machine, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
