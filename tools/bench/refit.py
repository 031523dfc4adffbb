#!/usr/bin/env python3
"""All weights of a model updated in an engine (smelt compile --refit), against copies of the same bytes, on one GPU, in one run.

usage: tools/bench/refit.py [--models bert_base.dy20_fp16] [--runtime build/release/runtime/libsmelt_rt.so]
                            [--json tools/bench/results/refit.json]

A row a place that the values come from: the host's pinned memory, and the device. `copy_ms` is the driver's copies of every weight that can be
updated, one after the other, until the device is done; `update_ms` is smelt_engine_update_weight of each. Copies and updates take turns, and both are medians.
`run_before_ms` and `run_after_ms` are one run of the model at 1 x 128 tokens, before and after every weight was replaced. The new values are
drawn at random: `changed` is how far they move the first output. Needs a GPU and torch.
"""

import argparse
import ctypes
import statistics
import sys
import tempfile
import time
from pathlib import Path

import common
import numpy as np
import smelt_runtime
import torch
from peers import architecture

REPETITIONS, RUNS = 21, 200
LIMIT, NOISE = 1.2, 1.05  # of an update's time in copies; of a later run's in a run before
SHAPES = ("input_ids=1x128", "attention_mask=1x128")
COPIES = {"host": "cuMemcpyHtoDAsync_v2", "device": "cuMemcpyDtoDAsync_v2"}
LOCATIONS = {"host": smelt_runtime.HOST, "device": smelt_runtime.DEVICE}


class Weight:
    """New values of an initializer, at either place."""

    def __init__(self, entry):
        self.name, self.element = entry["name"], np.dtype(entry["type"])
        values = torch.randn(entry["shape"]).mul(0.02).to(getattr(torch, entry["type"]))
        self.bytes = values.numel() * values.element_size()
        self.tensors = {"host": values.pin_memory(), "device": values.cuda()}

    def binding(self, place):
        element = smelt_runtime.ELEMENTS[self.element]
        return smelt_runtime.Binding(ctypes.sizeof(smelt_runtime.Binding), element, LOCATIONS[place],
                                     self.tensors[place].data_ptr(), self.bytes, 0)


def engine(arguments, name, folder):
    """(the session of a plan that is compiled to be updated, bound and prepared, and what weights it can be given)."""
    plan = f"{folder}/{name}.plan"
    flags = [part for shape in SHAPES for part in ("--shape", shape)]
    options = ["--refit", "--arch", architecture(), "--random-weights", 0, *flags]
    common.smelt_json(arguments.smelt, "compile", f"{arguments.model_dir}/{name}.onnx", "-o", plan, *options)
    described = common.smelt_json(arguments.smelt, "inspect", plan)
    runtime = smelt_runtime.Runtime(str(arguments.runtime))
    session, arrays = smelt_runtime.Session(runtime, plan), {}
    for role in ("input", "output"):
        for tensor in described[f"{role}s"]:
            arrays[tensor["name"]] = smelt_runtime.DeviceArray(runtime, tensor["shape"], tensor["type"])
            if role == "input":
                session.shape(tensor["name"], tensor["shape"])
                arrays[tensor["name"]].write(np.ones(tensor["shape"]))
            session.bind(role, tensor["name"], arrays[tensor["name"]])
    session.prepare()
    weights = [Weight(entry) for entry in described["initializers"] if entry["refusal"] is None]
    return session, weights, arrays[described["outputs"][0]["name"]]


def median_ms(calls, count):
    """Of each call until the device is done, all in turns."""
    samples = {name: [] for name in calls}
    for _ in range(count):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            torch.cuda.synchronize()
            samples[name].append(1000 * (time.perf_counter() - started))
    return {name: statistics.median(values) for name, values in samples.items()}


def run_ms(session):
    """The device's time of one run of many in a row."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    stream, samples = torch.cuda.current_stream(), []
    for _ in range(REPETITIONS):
        begin.record()
        for _ in range(RUNS):
            session.enqueue(stream.cuda_stream)
        end.record()
        torch.cuda.synchronize()
        samples.append(begin.elapsed_time(end) / RUNS)
    return statistics.median(samples)


def update_all(session, weights, place):
    for weight in weights:
        session.runtime.call("smelt_engine_update_weight", session.engine, weight.name.encode(), ctypes.byref(weight.binding(place)),
                             ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))


def copy_all(session, weights, place, target):
    for weight in weights:
        session.runtime.driver(COPIES[place], ctypes.c_uint64(target.data_ptr()), ctypes.c_void_p(weight.tensors[place].data_ptr()),
                               ctypes.c_size_t(weight.bytes), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))


def distance(value, reference):
    return float(np.linalg.norm(value.astype(np.float64) - reference) / np.linalg.norm(reference.astype(np.float64)))


def rows(arguments, name):
    with tempfile.TemporaryDirectory() as folder:
        session, weights, output = engine(arguments, name, folder)
    target = torch.empty(max(weight.bytes for weight in weights), dtype=torch.uint8, device="cuda")
    before, old = run_ms(session), output.read(output.shape)
    for place in COPIES:
        calls = {"copy": lambda: copy_all(session, weights, place, target), "update": lambda: update_all(session, weights, place)}
        times = median_ms(calls, REPETITIONS)
        after, ratio = run_ms(session), times["update"] / times["copy"]
        changed = distance(output.read(output.shape), old)
        yield {
            "name": f"{name} from the {place}",
            "weights": len(weights),
            "mib": round(sum(weight.bytes for weight in weights) / 2**20, 1),
            "copy_ms": round(times["copy"], 4),
            "update_ms": round(times["update"], 4),
            "ratio": round(ratio, 3),
            "run_before_ms": round(before, 4),
            "run_after_ms": round(after, 4),
            "changed": round(changed, 3),
            "ok": ratio <= LIMIT and after <= NOISE * before and changed > 0.1,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    parser.add_argument("--runtime", default=common.REPOSITORY / "build/release/runtime/libsmelt_rt.so", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.cuda.init()
    measured = []
    for name in (arguments.models or "bert_base.dy20_fp16").split(","):
        for row in rows(arguments, name):
            measured.append(row)
            print(row, flush=True)
    common.write(arguments.json, "smelt.refit/1", common.models.gpu(), measured)
    return 0 if measured and all(row["ok"] for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
