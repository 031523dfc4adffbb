#!/usr/bin/env python3
"""Smelt inside PyTorch on one GPU: torch.compile(backend="smelt") beside eager and reduce-overhead.

usage: tools/bench/torch_backend.py [--parts bert,vit,gpt2,dynamic,stream,dlpack] [--seconds S] [--json tools/bench/results/torch_backend.json]

bert, vit, gpt2: the architectures at batch 1 (128 tokens, 224x224 pixels) as transformers builds them, random weights, fp16; the median
device time of calls one after the other in each mode, the wall time of a call with its results awaited, and how far the outputs are from
eager's and, as eager's own, from float32's (relative norm). dynamic: a second length, for which TorchDynamo opens the axis. stream: a run on a
stream of the caller's. dlpack: tensors go in and out by their addresses, and no copy is launched. A part that fails says
so in its row, and the next one goes on. Needs a GPU, torch, transformers, onnxscript and Smelt's wheel (tools/build_wheel.sh). What Python adds
to a run is session_overhead.py's.
"""

import argparse
import statistics
import sys
import time
import traceback
from pathlib import Path

import common
import peers
import torch

import smelt
import smelt.torch

MODELS = {
    "bert": lambda: peers.bert(768, 12, 1, 128),
    "vit": lambda: peers.vit(1),
    "gpt2": lambda: peers.gpt2(1, 128),
}
LIMIT = 5e-3  # of the error in fp16, by relative norm


def half(inputs):
    return {name: value.half() if value.is_floating_point() else value for name, value in inputs.items()}


def built(name):
    """(the model in float32, its inputs), on the GPU."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    return model.cuda().eval(), {key: value.cuda() for key, value in inputs.items()}


def output(model, inputs):
    return peers.first_tensor(model(**inputs, return_dict=True))


def distance(value, reference):
    value, reference = value.double(), reference.double()
    return float((value - reference).norm() / reference.norm())


def wall_ms(call, seconds):
    """Median wall time of one call, its results awaited."""
    samples, stop = [], time.monotonic() + seconds
    while time.monotonic() < stop or len(samples) < 20:
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        samples.append(1000 * (time.perf_counter() - started))
    return statistics.median(samples)


def measured(model, inputs, reference, eager, seconds):
    """A mode's figures."""
    started = time.monotonic()
    result = output(model, inputs).clone()
    torch.cuda.synchronize()
    first = time.monotonic() - started
    call = lambda: output(model, inputs)
    return {
        "ms": round(peers.median_ms(call, seconds), 5),
        "wall_ms": round(wall_ms(call, seconds), 5),
        "first_call_s": round(first, 2),
        "error_to_float32": distance(result, reference),
        "error_to_eager": distance(result, eager),
    }


def compiled_modes(model):
    return {
        "eager": lambda: model,
        "reduce-overhead": lambda: torch.compile(model, mode="reduce-overhead"),
        "smelt": lambda: torch.compile(model, backend="smelt", fullgraph=True),
    }


def model_row(name, seconds):
    model, inputs = built(name)
    reference = output(model, inputs)
    model, inputs = model.half(), half(inputs)
    eager = output(model, inputs)
    row, modes = {}, compiled_modes(model)
    for mode, make in modes.items():
        torch._dynamo.reset()
        try:
            row[mode] = measured(make(), inputs, reference, eager, seconds)
        except Exception as error:
            row[mode] = failure(error)
    if all("ms" in row[mode] for mode in modes):
        row["times_reduce_overhead"] = round(row["reduce-overhead"]["ms"] / row["smelt"]["ms"], 3)
        row["ok"] = row["smelt"]["error_to_eager"] <= LIMIT and row["times_reduce_overhead"] > 1
    return row


def dynamic_row(seconds):
    """Two lengths: the second compiles for any, and a third takes what is there."""
    torch._dynamo.reset()
    model, inputs = built("bert")
    model = model.half()
    compiled = torch.compile(model, backend="smelt", fullgraph=True)
    row = {"error_to_eager": {}, "first_call_s": {}}
    for length in (128, 64, 96):
        some = {name: value[:, :length].contiguous() for name, value in inputs.items()}
        started = time.monotonic()
        row["error_to_eager"][length] = distance(output(compiled, some), output(model, some))
        row["first_call_s"][length] = round(time.monotonic() - started, 2)
    row["ok"] = max(row["error_to_eager"].values()) <= LIMIT
    return row


class Chain(torch.nn.Module):
    """Small enough for the host to be what takes time."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)

    def forward(self, x):
        return self.linear(x).relu()


def small_plan():
    """(a plan of Chain, its module, an input): by PyTorch's exporter."""
    import tempfile

    torch.manual_seed(0)
    model, x = Chain().cuda().eval(), torch.randn(32, 64, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chain.onnx")
        program = torch.export.export(model, (x,))
        torch.onnx.export(program, dynamo=True, verbose=False).save(path)
        arch = peers.architecture()
        return smelt.compile(path.read_bytes(), arch=arch), model, x


def stream_row(seconds):
    """On a stream that is busy: results that were taken too early would be those of the old input."""
    plan, model, x = small_plan()
    layer, side = smelt.torch.Module(plan), torch.cuda.Stream()
    source, big = torch.randn_like(x), torch.randn(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        layer(x)
        side.synchronize()  # what a first call does is done
        for _ in range(20):
            big = big @ big * 1e-4
        x.copy_(source)
        result = layer(x)
        waited = side.query()  # false: the call did not wait
    side.synchronize()
    error = distance(result, model(source))
    return {"error": error, "call_waited": waited, "ok": error < 1e-5 and not waited}


def dlpack_row(seconds):
    plan, model, x = small_plan()
    session = smelt.Session(plan)
    name, out = session.get_inputs()[0].name, session.get_outputs()[0].name
    stream, given = torch.cuda.current_stream(), torch.empty_like(model(x))
    session.run(None, {name: x}, stream=stream)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        (made,) = session.run(None, {name: x}, stream=stream)
        taken = torch.from_dlpack(made)
        session.run(None, {name: x}, stream=stream, outputs={out: given})
        torch.cuda.synchronize()
    events = [event.key for event in profile.key_averages()]
    copies = [event for event in events if "memcpy" in event.lower()]
    row = {
        "output_pointer_equal": taken.data_ptr() == made.address,
        "copies": copies,
        "kernels_seen": len(events),
        "error": max(distance(taken, model(x)), distance(given, model(x))),
    }
    row["ok"] = row["output_pointer_equal"] and not copies and len(events) > 0 and row["error"] < 1e-5
    return row


PARTS = {
    **{name: lambda seconds, name=name: model_row(name, seconds) for name in MODELS},
    "dynamic": dynamic_row,
    "stream": stream_row,
    "dlpack": dlpack_row,
}


def failure(error):
    traceback.print_exception(error)
    return {"error": f"{type(error).__name__}: {str(error).strip()[:500]}", "ok": False}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="measured per mode")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    rows, machine = [], {**common.models.gpu(), "torch": torch.__version__}
    for name in arguments.parts.split(","):
        try:
            with torch.no_grad():
                row = PARTS[name](arguments.seconds)
        except Exception as error:
            row = failure(error)
        rows.append({"name": name, **row})
        print(rows[-1], flush=True)
        common.write(arguments.json, "smelt.torch_backend/1", machine, rows)
    return 0 if all(row.get("ok") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
