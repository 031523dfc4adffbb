#!/usr/bin/env python3
"""What a run from Python takes on the host beyond the C API's own: Session.run and plan.run beside smelt_context_run, in turns.

usage: tools/bench/session_overhead.py [--model FILE] [--runtime build/release/runtime/libsmelt_rt.so] [--calls N] [--json tools/bench/results/session_overhead.json]

A row a kind of tensors: NumPy's, PyTorch's on the host and, where there is a GPU, on the device; the latter also enqueued on PyTorch's stream.
`c_api_us` is the C API's call with shapes and memory in place, from ctypes, less what a call by ctypes takes that does nothing. `added_*_us`
are medians of the other calls less that: `session` and `plan` make their outputs, `into` fills the caller's; the goal is at most 15 us. `module`
is smelt.torch.Module, whose outputs are PyTorch's.

Needs Smelt's wheel (tools/build_wheel.sh). Without a GPU, LD_LIBRARY_PATH=build/release/tests/runtime/fake_libcuda measures what is not the
driver's; `device` says which it was.
"""

import argparse
import ctypes
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import common
import numpy as np
import smelt_runtime

import smelt

try:
    import torch
except ImportError:
    torch = None

LIMIT_US = 15


def has_gpu():
    """Whether there is one besides the fake driver's, of which PyTorch must not be asked."""
    return shutil.which("nvidia-smi") is not None


def architecture():
    """Of the GPU, as smelt.compile names it; sm_90a where there is none."""
    if not has_gpu():
        return "sm_90a"
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    number = subprocess.check_output(query, text=True).splitlines()[0].replace(".", "")
    return f"sm_{number}" + ("a" if number == "90" else "")


class Tensors:
    """Inputs of zeros and memory for outputs, of one kind: what `convert` makes of an array lies at `address` of it."""

    def __init__(self, session, convert, address, location):
        shapes = {info.name: [1 if isinstance(extent, str) else extent for extent in info.shape] for info in session.get_inputs()}
        arrays = {info.name: np.zeros(shapes[info.name], info.dtype) for info in session.get_inputs()}
        results = dict(zip([info.name for info in session.get_outputs()], session.run(None, arrays)))
        self.feeds = {name: convert(array) for name, array in arrays.items()}
        self.outputs = {name: convert(array) for name, array in results.items()}
        self._arrays, self._address, self._location = {**arrays, **results}, address, location
        self.is_on_device = location == smelt_runtime.DEVICE

    def bind(self, context):
        """To the C API's context, where they lie."""
        for name in self.feeds:
            context.shape(name, self._arrays[name].shape)
        for role, tensors in (("input", self.feeds), ("output", self.outputs)):
            for name, tensor in tensors.items():
                context.bind(role, name, Bound(self._arrays[name], self._address(tensor)), location=self._location)
        context.prepare()


class Bound:
    """An array's values elsewhere, as smelt_runtime binds memory."""

    def __init__(self, array, address):
        self.element, self.bytes, self.pointer = array.dtype, array.nbytes, ctypes.c_uint64(address)


def kinds(session):
    """(name, tensors) of what is installed."""
    yield "numpy", Tensors(session, np.copy, lambda array: array.ctypes.data, smelt_runtime.HOST)
    if torch is None:
        return
    copied = lambda array: torch.from_numpy(array.copy())
    yield "torch on the host", Tensors(session, copied, torch.Tensor.data_ptr, smelt_runtime.HOST)
    if has_gpu() and torch.cuda.is_available():
        yield "torch on the device", Tensors(session, lambda array: copied(array).cuda(), torch.Tensor.data_ptr, smelt_runtime.DEVICE)


def medians_us(calls, count, after):
    """Of each call, all in turns; `after` follows each of them, and is not counted."""
    samples = {name: [] for name in calls}
    for _ in range(count):
        for name, call in calls.items():
            started = time.perf_counter_ns()
            call()
            samples[name].append((time.perf_counter_ns() - started) / 1000)
            after()
    return {name: statistics.median(values[count // 10 :]) for name, values in samples.items()}


def row(name, times):
    own = times.pop("c_api") - times.pop("nothing")
    added = {f"added_{call}_us": round(taken - own, 2) for call, taken in times.items()}
    is_quick = all(added[f"added_{call}_us"] <= LIMIT_US for call in times if call != "module")
    return {"name": name, "c_api_us": round(own, 2), **added, "ok": is_quick}


def run_calls(library, context, session, plan, tensors):
    """Calls that return with the results."""
    feeds, outputs = tensors.feeds, tensors.outputs
    return {
        "nothing": partial(library.smelt_context_destroy, None, None, None),  # the first is ignored, the others are not looked at
        "c_api": partial(library.smelt_context_run, context, None, None),
        "session": lambda: session.run(None, feeds),
        "plan": lambda: plan.run(feeds, device=0),
        "into": lambda: session.run(None, feeds, outputs=outputs),
    }


def enqueue_calls(library, context, session, plan, tensors):
    """Calls on PyTorch's stream that wait for nothing; the last is PyTorch's operator."""
    import smelt.torch

    feeds, outputs, stream = tensors.feeds, tensors.outputs, torch.cuda.current_stream()
    module = smelt.torch.Module(plan)
    return {
        "nothing": partial(library.smelt_context_destroy, None, None, None),
        "c_api": partial(library.smelt_context_enqueue, context, ctypes.c_void_p(stream.cuda_stream), None),
        "session": lambda: session.run(None, feeds, stream=stream),
        "into": lambda: session.run(None, feeds, stream=stream, outputs=outputs),
        "module": lambda: module(**feeds),
    }


def rows(plan, path, library, count):
    session, own = smelt.Session(plan), smelt_runtime.Session(library, path)
    for name, tensors in kinds(session):
        tensors.bind(own)
        calls = run_calls(library.smelt, own.context, session, plan, tensors)
        yield row(name, medians_us(calls, count, torch.cuda.synchronize if tensors.is_on_device else lambda: None))
        if tensors.is_on_device:
            calls = enqueue_calls(library.smelt, own.context, session, plan, tensors)
            yield row(f"{name}, enqueued", medians_us(calls, count, torch.cuda.synchronize))
    own.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=common.REPOSITORY / "tools/demo/digits_vit.onnx", type=Path)
    parser.add_argument("--runtime", default=common.REPOSITORY / "build/release/runtime/libsmelt_rt.so", type=Path)
    parser.add_argument("--calls", type=int, default=5000, help="of each kind (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    plan = smelt.compile(arguments.model, arch=architecture())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model.plan"))
        plan.save(path)
        measured = []
        for found in rows(plan, path, smelt_runtime.Library(str(arguments.runtime)), arguments.calls):
            measured.append(found)
            print(found, flush=True)
    driver = common.models.gpu() if has_gpu() else {}
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch and str(torch.__version__)}
    machine = {"device": smelt.Session(plan).device_name, **driver, **common.cpu(), **versions, "model": arguments.model.name}
    print(machine)
    common.write(arguments.json, "smelt.session_overhead/1", machine, measured)
    return 0 if all(found["ok"] for found in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
