"""Times Smelt's plans and their peers the same way, in turns, on one GPU. Needs PyTorch.

Each side runs a row on several sets of operands, which together are larger than twice the L2 cache: a set is cold when its turn
comes. All of a side's calls, one for each set, are captured into one CUDA graph, so that nothing is launched by the processor
between them; a sample is the time of some replays between two events, over the calls in them. Samples of the two sides take
turns, so that both run at the clock that the other's heat leaves. Smelt's side is one engine for each set, with weights of its
own.
"""

import contextlib
import ctypes
import math
import statistics
import time

import common  # noqa: F401  (the path to tests/models)
import smelt_runtime
import torch
from kernel_rows import dtype_of

SAMPLE_MS = 8  # that a sample takes at least
SCOUT_SAMPLES = 3
LEAST_SAMPLES = 10
MOST_SETS = 128


class DeviceTensor:
    """A tensor of PyTorch as smelt_runtime binds memory."""

    def __init__(self, tensor, element):
        self.element, self.pointer = dtype_of(element), ctypes.c_uint64(tensor.data_ptr())
        self.bytes = tensor.numel() * tensor.element_size()


def random_tensor(tensor):
    dtype = getattr(torch, tensor.element)
    if dtype == torch.int8:
        return torch.randint(-127, 128, tensor.shape, dtype=dtype, device="cuda")
    return torch.randn(tensor.shape, dtype=torch.float16, device="cuda").to(dtype)


def empty_tensor(tensor):
    """Filled with what no kernel leaves: NaN, or the least integer."""
    dtype = getattr(torch, tensor.element)
    made = torch.empty(tensor.shape, dtype=dtype, device="cuda")
    made.view(torch.uint8).fill_(0x80 if dtype == torch.int8 else 0xFF)
    return made


def set_count(row):
    """Of operands, so that they exceed twice the cache."""
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return min(MOST_SETS, max(2, math.ceil(2 * cache / row.bytes)))


def operand_sets(row):
    """For each set: the inputs by their names."""
    torch.manual_seed(0)
    return [{name: random_tensor(tensor) for name, tensor in row.inputs.items()} for _ in range(set_count(row))]


class SmeltPlan:
    """A plan on each set of operands."""

    def __init__(self, runtime, plan, row, sets):
        self.sessions, self.outputs = [], []
        for operands in sets:
            session = smelt_runtime.Session(runtime, str(plan))
            self.sessions.append(session)
            results = {name: empty_tensor(tensor) for name, tensor in row.outputs.items()}
            self.outputs.append(results)
            for name, tensor in row.inputs.items():
                session.bind("input", name, DeviceTensor(operands[name], tensor.element))
            for name, tensor in row.outputs.items():
                session.bind("output", name, DeviceTensor(results[name], tensor.element))
            session.prepare()

    def call(self, index):
        self.sessions[index].enqueue(torch.cuda.current_stream().cuda_stream)
        return tuple(self.outputs[index].values())

    def close(self):
        torch.cuda.synchronize()
        for session in self.sessions:
            session.close()


class Captured:
    """One CUDA graph of `call(index)` for each set."""

    def __init__(self, call, sets):
        self.call, self.sets = call, sets  # the graph uses memory that only the call holds
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):  # what a first call sets up must not be captured
                call(0)
            torch.cuda.synchronize()
            self.graph, self.results = self._capture()
        self.graph.replay()
        torch.cuda.synchronize()
        self.replays = max(1, math.ceil(SAMPLE_MS / self._milliseconds(1)))

    def _capture(self):
        """On the current stream. Without torch.cuda.graph(), which collects garbage each time."""
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            results = [self.call(index) for index in range(self.sets)]
        except Exception:
            with contextlib.suppress(RuntimeError):  # the capture may be broken already
                graph.capture_end()
            raise
        graph.capture_end()
        return graph, results

    def _milliseconds(self, replays):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(replays):
            self.graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def sample(self):
        """Microseconds of a call."""
        return 1e3 * self._milliseconds(self.replays) / (self.replays * self.sets)

    def first_result(self):
        """What the first call gave, a tuple of tensors."""
        result = self.results[0]
        return result if isinstance(result, tuple) else (result,)


def fastest(calls, sets):
    """(label, Captured, {label: microseconds}, {label: why it does not run}) of the calls by their labels."""
    best, times, failures = None, {}, {}
    for label, call in calls.items():
        try:
            captured = Captured(call, sets)
            times[label] = statistics.median(captured.sample() for _ in range(SCOUT_SAMPLES))
        except Exception as error:  # a peer that does not take the row is no failure of the row
            failures[label] = one_line(error)
            torch.cuda.synchronize()
            continue
        if best is None or times[label] < times[best[0]]:
            best = (label, captured)
        del captured
    if best is None:
        raise RuntimeError(f"no peer runs: {failures}")
    return (*best, times, failures)


def one_line(error):
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def samples_in_turns(sides, seconds):
    """Microseconds of a call, sample by sample, for each of the sides."""
    samples, stop = [[] for _ in sides], time.monotonic() + seconds
    while time.monotonic() < stop or len(samples[0]) < LEAST_SAMPLES:
        for side, own in zip(sides, samples):
            own.append(side.sample())
    return samples


def spread(samples):
    """{"q1", "median", "q3"}"""
    return dict(zip(("q1", "median", "q3"), (round(value, 5) for value in statistics.quantiles(samples, n=4))))


def relative_error(actual, expected):
    """The largest ||actual - expected|| / ||expected|| over pairs of tensors; infinite where one holds a NaN."""
    errors = []
    for own, other in zip(actual, expected, strict=True):
        own, other = own.double(), other.double().reshape(own.shape)
        error = ((own - other).norm() / other.norm()).item()
        errors.append(error if math.isfinite(error) else math.inf)
    return max(errors)
