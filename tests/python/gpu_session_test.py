"""smelt.Session on a GPU that the fake driver stands in for: device memory is used where it lies, on the caller's stream."""

import concurrent.futures
import ctypes
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import smelt
from exchanging_tensor import NEWER, READ_ONLY, UNKNOWN, ExchangingTensor, capsule
from support import diamond_plan

FAKE = ctypes.CDLL("libcuda.so.1")
FAKE.smelt_fake_count.restype = ctypes.c_size_t
FAKE.smelt_fake_last_stream.restype = FAKE.smelt_fake_stream.restype = ctypes.c_void_p
COPIES = (b"cuMemcpyHtoDAsync", b"cuMemcpyDtoHAsync", b"cuMemcpyDtoDAsync")
CPU, CUDA = 1, 2  # DLPack's devices


class ManagedTensor(ctypes.Structure):
    """The head of DLPack's DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int)]


def moved(capsule, device_type, device_id=0):
    """The capsule, which says from now on that its tensor lies there: the fake's device memory is the host's."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = ManagedTensor.from_address(pointer_of(capsule, b"dltensor"))
    tensor.device_type, tensor.device_id = device_type, device_id
    return capsule


class CudaTensor:
    """As a tensor of another library's."""

    def __init__(self, array, device=0):
        self.array, self.device, self.streams = array, device, []

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return moved(self.array.__dlpack__(), CUDA, self.device)

    def __dlpack_device__(self):
        return CUDA, self.device


class OnHost:
    """The values of a device tensor."""

    def __init__(self, tensor, stream):
        self.tensor, self.stream = tensor, stream

    def __dlpack__(self, **kwargs):
        return moved(self.tensor.__dlpack__(stream=self.stream), CPU)

    def __dlpack_device__(self):
        return CPU, 0


def aligned(shape, seed):
    """Random values at an address that device memory could have."""
    count = int(np.prod(shape))
    room = np.empty(count + 64, np.float32)
    start = -room.ctypes.data // 4 % 64
    array = room[start : start + count].reshape(shape)
    array[...] = np.random.default_rng(seed).standard_normal(shape)
    return array


def python_calls(call, within=""):
    """The names of the functions in Python that run during the call, of files whose names begin so; the tests' are not counted."""
    names, tests = [], str(Path(__file__).parent)

    def listen(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(within) and not file.startswith(tests):
            names.append(frame.f_code.co_name)

    sys.setprofile(listen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def copies():
    return sum(FAKE.smelt_fake_count(name) for name in COPIES)


def waits():
    return sum(FAKE.smelt_fake_count(name) for name in (b"cuEventSynchronize", b"cuStreamSynchronize"))


class GpuSession(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = diamond_plan(folder)
        self.session = smelt.Session(self.path)
        self.x, self.y = aligned((3, 77), 1), aligned((3, 77), 2)
        (self.expected,) = self.session.run(["out"], {"x": self.x, "y": self.y})

    def test_numpy_is_host_memory(self):
        self.assertIsInstance(self.expected, np.ndarray)
        ratio = self.expected / (self.x + self.y)
        np.testing.assert_allclose(ratio, np.full_like(ratio, ratio[0, 0]), rtol=1e-5)
        self.assertNotEqual(ratio[0, 0], 0)
        self.assertEqual(self.session.device_name, "Fake GPU")
        self.assertEqual([info.shape[0] for info in self.session.get_inputs()], [self.session.get_outputs()[0].shape[0]] * 2)
        before = copies()
        self.session.run(None, {"x": self.x, "y": self.y})
        self.assertEqual(copies() - before, 3)

    def test_device_tensors_are_not_copied(self):
        before = copies()
        (out,) = self.session.run(None, {"x": CudaTensor(self.x), "y": CudaTensor(self.y)})
        self.assertIsInstance(out, smelt.DeviceTensor)
        self.assertEqual((out.shape, out.__dlpack_device__()), ([3, 77], (CUDA, 0)))
        values = np.from_dlpack(OnHost(out, None))
        self.assertEqual(values.ctypes.data, out.address)
        target = aligned((3, 77), 3)
        given = CudaTensor(target)
        (returned,) = self.session.run(None, {"x": CudaTensor(self.x), "y": CudaTensor(self.y)}, outputs={"out": given})
        self.assertIs(returned, given)
        self.assertEqual(copies(), before)
        np.testing.assert_array_equal(values, self.expected)
        np.testing.assert_array_equal(target, self.expected)

    def test_device_memory_lives_as_long_as_its_consumers(self):
        session = smelt.Session(self.path)
        (out,) = session.run(None, {"x": CudaTensor(self.x), "y": CudaTensor(self.y)})
        values = np.from_dlpack(OnHost(out, None))
        del out, session
        np.testing.assert_array_equal(values, self.expected)
        released = FAKE.smelt_fake_count(b"cuMemFree")
        del values
        self.assertEqual(FAKE.smelt_fake_count(b"cuMemFree"), released + 1)

    def test_a_weight_gets_other_values(self):
        self.session.update_weight("gain", np.array([5], np.float32))
        (five,) = self.session.run(["out"], {"x": self.x, "y": self.y})
        self.session.update_weight("gain", np.array([10], np.float32), stream=FAKE.smelt_fake_stream())
        (ten,) = self.session.run(["out"], {"x": self.x, "y": self.y})
        np.testing.assert_allclose(ten, 2 * five, rtol=1e-6)
        self.assertFalse(np.allclose(five, self.expected))
        for name, values, why in [
            ("none", [5], "no weight 'none'"),
            ("gain", [5, 6], "takes 4 bytes, not 8"),
            ("epsilon", [5], "cannot be updated: kernels hold it as a literal"),
        ]:
            with self.assertRaisesRegex(smelt.UsageError, why):
                self.session.update_weight(name, np.array(values, np.float32))
        with self.assertRaisesRegex(smelt.UsageError, "lies on cuda:1"):
            self.session.update_weight("gain", CudaTensor(self.x, device=1))

    def test_the_callers_stream(self):
        class Stream:
            cuda_stream = FAKE.smelt_fake_stream()

        for stream in (Stream(), Stream.cuda_stream):
            x, y = CudaTensor(self.x), CudaTensor(self.y)
            before = waits()
            (out,) = self.session.run(None, {"x": x, "y": y}, stream=stream)
            self.assertEqual(FAKE.smelt_fake_last_stream(), Stream.cuda_stream)
            self.assertEqual(x.streams, [Stream.cuda_stream])
            values = np.from_dlpack(OnHost(out, Stream.cuda_stream))  # in order: nobody needs to wait
            self.assertEqual(waits(), before)
            np.from_dlpack(OnHost(out, 1))  # another stream, which would not wait by itself
            self.assertEqual(waits(), before + 1)
            np.testing.assert_array_equal(values, self.expected)
        x = CudaTensor(self.x)
        self.session.run(None, {"x": x, "y": self.y})
        self.assertEqual(x.streams, [1])  # DLPack's name for the default stream
        with self.assertRaisesRegex(TypeError, "stream is of type str"):
            self.session.run(None, {"x": self.x, "y": self.y}, stream="mine")
        with self.assertRaises(OverflowError):
            self.session.run(None, {"x": self.x, "y": self.y}, stream=-1)

    def test_outputs_are_inputs_again(self):
        stream, x, y = FAKE.smelt_fake_stream(), CudaTensor(self.x), CudaTensor(self.y)
        expected = self.session.run(None, {"x": self.expected, "y": self.y})[0]
        (out,) = self.session.run(None, {"x": x, "y": y}, stream=stream)
        before = waits()
        (again,) = self.session.run(None, {"x": out, "y": y}, stream=stream)  # in order: nobody needs to wait
        self.assertEqual(waits(), before)
        np.testing.assert_array_equal(np.from_dlpack(OnHost(again, stream)), expected)
        other = smelt.Session(self.path)
        other.run(None, {"x": x, "y": y}, stream=0)  # what a first run does is done
        before = waits()
        (again,) = other.run(None, {"x": out, "y": y}, stream=0)
        self.assertEqual(waits(), before + 1)
        np.testing.assert_array_equal(np.from_dlpack(OnHost(again, None)), expected)

    def test_threads_share_a_session(self):
        def run(number):
            x = aligned((1 + number % 5, 7), number)
            return self.session.run(None, {"x": x, "y": x})[0], x

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for out, x in pool.map(run, range(100)):
                np.testing.assert_allclose(out, 2 * x * (self.expected / (self.x + self.y))[0, 0], rtol=1e-5)

    def test_runs_on_two_streams_follow_each_other(self):
        stream, x, y = FAKE.smelt_fake_stream(), CudaTensor(self.x), CudaTensor(self.y)
        self.session.run(None, {"x": x, "y": y}, stream=stream)
        before = waits()
        self.session.run(None, {"x": x, "y": y}, stream=stream)
        self.assertEqual(waits(), before)
        (out,) = self.session.run(None, {"x": x, "y": y}, stream=0)
        self.assertEqual(waits(), before + 1)
        np.testing.assert_array_equal(np.from_dlpack(OnHost(out, None)), self.expected)

    def test_errors(self):
        with self.assertRaisesRegex(smelt.UsageError, "input 'x' lies on cuda:1, and the session runs on cuda:0"):
            self.session.run(None, {"x": CudaTensor(self.x, 1), "y": self.y})
        with self.assertRaisesRegex(smelt.UsageError, "'y'"):
            self.session.run(None, {"x": self.x, "y": self.y[:2]})
        with self.assertRaisesRegex(smelt.UsageError, "at most 512"):
            self.session.run(None, {"x": aligned((513, 513), 1), "y": aligned((513, 513), 2)})
        with self.assertRaisesRegex(smelt.PlatformError, "7"):
            smelt.Session(self.path, device=7)
        np.testing.assert_array_equal(self.session.run(None, {"x": self.x, "y": self.y})[0], self.expected)

    def test_profile(self):
        rows = self.session.profile({"x": self.x, "y": self.y}, repetitions=3)
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertEqual(set(row), {"number", "name", "time_us", "bytes", "flops", "onnx_nodes"})
            self.assertGreaterEqual(row["time_us"], 0)
        self.assertEqual([row["number"] for row in rows], [str(number) for number in range(4)])
        self.assertTrue(any("add" in row["name"] for row in rows), rows)

    def test_a_run_is_one_call(self):
        """Nothing is looked up or made in Python."""
        arrays, target = {"x": self.x, "y": self.y}, aligned((3, 77), 3)
        tensors = {name: ExchangingTensor(array) for name, array in arrays.items()}
        package = str(Path(smelt.__file__).parent)  # the tensors' own functions stand in for C
        for feeds, outputs, within in ((arrays, {"out": target}, ""), (tensors, {"out": ExchangingTensor(target)}, package)):
            for arguments in ({}, {"outputs": outputs}, {"stream": 0}):
                calls = python_calls(lambda: self.session.run(["out"], feeds, **arguments), within)
                self.assertEqual(calls, ["run"])


    def test_a_run_asks_the_driver_for_what_it_needs(self):
        """One launch, a copy for each array, one wait: no allocation, no stream or event, no graph made or changed."""
        counted = [b"cuGraphLaunch", *COPIES, b"cuEventSynchronize", b"cuStreamSynchronize"]
        made = [b"cuMemAlloc", b"cuMemFree", b"cuMemHostAlloc", b"cuStreamCreate", b"cuEventCreate", b"cuGraphCreate", b"cuLaunchKernelEx"]
        made += [b"cuGraphInstantiateWithFlags", b"cuGraphExecKernelNodeSetParams", b"cuGraphExecNodeSetParams", b"cuModuleLoadDataEx"]
        for name in (b"cuMemAlloc", b"cuGraphInstantiateWithFlags", b"cuModuleLoadDataEx"):  # what a session begins with
            self.assertGreater(FAKE.smelt_fake_count(name), 0, name)
        count = lambda: [FAKE.smelt_fake_count(name) for name in (*counted, *made)]
        arrays, target = {"x": self.x, "y": self.y}, aligned((3, 77), 3)
        for arguments in ({}, {"outputs": {"out": target}}):
            self.session.run(["out"], arrays, **arguments)
            before = count()
            for _ in range(10):
                self.session.run(["out"], arrays, **arguments)
            launches, into, out, within, *rest = (after - earlier for earlier, after in zip(before, count()))
            self.assertEqual((launches, into, out, within), (10, 20, 10, 0))
            self.assertEqual(sum(rest[:2]), 10)
            self.assertEqual(dict(zip(made, rest[2:])), dict.fromkeys(made, 0))


class OutputMemory(unittest.TestCase):
    """Memory of outputs that nobody has any more serves the next run on their stream; the driver gets other memory back."""

    def setUp(self):
        self.path = diamond_plan(self.enterContext(tempfile.TemporaryDirectory()))
        self.session = smelt.Session(self.path)
        self.count = lambda: [FAKE.smelt_fake_count(name) for name in (b"cuMemAlloc", b"cuMemFree")]

    def run_rows(self, rows=3, stream=None):
        tensor = CudaTensor(aligned((rows, 77), rows))
        return self.session.run(None, {"x": tensor, "y": tensor}, stream=stream)[0]

    def since(self, call, repeated=(None,)):
        """(allocations, releases) during the call, or a call with each of these."""
        before = self.count()
        for value in repeated:
            call() if value is None else call(value)
        return tuple(after - earlier for earlier, after in zip(before, self.count()))

    def test_runs_allocate_nothing(self):
        for stream in (None, 0, 1, FAKE.smelt_fake_stream()):
            self.run_rows(stream=stream)
            self.assertEqual(self.since(lambda: self.run_rows(stream=stream), [None] * 10), (0, 0))

    def test_what_somebody_has_is_not_taken(self):
        held = [self.run_rows(stream=0) for _ in range(4)]
        self.assertEqual(len({np.from_dlpack(OnHost(out, 1)).ctypes.data for out in held}), 4)
        self.run_rows(stream=0)
        self.assertEqual(self.since(lambda: self.run_rows(stream=0)), (0, 0))
        self.assertEqual(self.since(held.clear), (0, 3))  # two are kept for each output

    def test_consumers_on_the_stream_keep_it(self):
        values = np.from_dlpack(OnHost(self.run_rows(stream=0), 1))
        self.assertNotEqual(np.from_dlpack(OnHost(self.run_rows(stream=0), 1)).ctypes.data, values.ctypes.data)
        del values
        self.assertEqual(self.since(lambda: self.run_rows(stream=0)), (0, 0))

    def test_consumers_elsewhere(self):
        """What they may still work with when they let go of it waits for the driver."""
        stream = FAKE.smelt_fake_stream()
        other = smelt.Session(self.path)
        for consume in (lambda out: np.from_dlpack(OnHost(out, stream)), lambda out: np.from_dlpack(OnHost(out, None)),
                        lambda out: np.from_dlpack(OnHost(out, -1)), lambda out: out.address,
                        lambda out: other.run(None, {"x": out, "y": out}, stream=stream) and other.run(None, {"x": out, "y": out})):
            out = self.run_rows(stream=0)
            consume(out)
            del out
            self.assertEqual(self.since(lambda: self.run_rows(stream=0))[0], 1)

    def test_other_streams(self):
        self.run_rows(stream=0)
        for stream in (FAKE.smelt_fake_stream(), 2, 2):  # 2: each thread's own
            self.assertEqual(self.since(lambda: self.run_rows(stream=stream))[0], 1)
        before = waits()
        self.run_rows(stream=2)
        self.assertEqual(waits(), before + 1)

    def test_rows_that_grow(self):
        self.run_rows(512)  # the workspace is large enough from here on
        taken, _ = self.since(self.run_rows, range(100, 150))
        self.assertLess(taken, 8)
        self.assertEqual(self.since(lambda: self.run_rows(3))[0], 1)  # what is far too large is kept for others

    def test_a_full_device(self):
        self.run_rows(512)
        self.run_rows(3)
        FAKE.smelt_fake_fail(b"cuMemAlloc", 0, 2)
        self.assertEqual(self.since(lambda: self.run_rows(200)), (2, 2))
        held = self.run_rows(200)
        FAKE.smelt_fake_fail(b"cuMemAlloc", 0, 2)
        with self.assertRaisesRegex(smelt.ResourceError, "out of device memory"):
            self.run_rows(200)
        del held
        self.run_rows(200)

    def test_a_session_that_is_gone(self):
        out = self.run_rows(stream=0)
        self.run_rows(stream=0)
        _, released = self.since(lambda: vars(self).pop("session"))
        self.assertGreater(released, 1)  # with its own memory what it kept of outputs
        self.assertEqual(self.since(lambda: np.from_dlpack(OnHost(out, 1)).sum()), (0, 0))
        holder = [out]
        del out
        self.assertEqual(self.since(holder.clear), (0, 1))


class Exchange(unittest.TestCase):
    """Tensors whose type names a table of C functions."""

    def setUp(self):
        self.session = smelt.Session(diamond_plan(self.enterContext(tempfile.TemporaryDirectory())))
        arrays = {"x": aligned((3, 77), 1), "y": aligned((3, 77), 2)}
        (self.expected,) = self.session.run(None, arrays)
        self.feeds = {name: ExchangingTensor(array) for name, array in arrays.items()}
        self.x = self.feeds["x"]
        self.addCleanup(self.assertEqual, ExchangingTensor.library.alive, {})
        self.addCleanup(lambda: vars(self).pop("session"))  # which keeps what the last run uses

    def library(self, **state):
        return mock.patch.multiple(ExchangingTensor.library, **state)

    def check_asked(self, streams, **arguments):
        """`x` is asked by __dlpack__ for these streams, and refuses."""
        with self.assertRaisesRegex(BufferError, "asked by __dlpack__"):
            self.session.run(None, self.feeds, **arguments)
        self.assertEqual(self.x.asked, streams)

    def test_nobody_asks_dlpack(self):
        target = aligned((3, 77), 3)
        before, given = copies(), ExchangingTensor(target)
        (out,) = self.session.run(None, self.feeds)
        np.testing.assert_array_equal(np.from_dlpack(OnHost(out, None)), self.expected)
        (returned,) = self.session.run(None, self.feeds, outputs={"out": given})
        self.assertIs(returned, given)
        np.testing.assert_array_equal(target, self.expected)
        self.assertEqual((copies(), self.x.asked, given.asked), (before, [], []))
        self.assertEqual(ExchangingTensor.library.alive, {})

    def test_enqueued_runs_keep_their_tensors(self):
        stream = FAKE.smelt_fake_stream()
        with self.library(stream=stream):
            self.session.run(None, self.feeds, stream=stream)
            self.assertEqual(len(ExchangingTensor.library.alive), 2)
        self.session.run(None, {"x": self.x.array, "y": self.x.array})
        self.assertEqual(ExchangingTensor.library.alive, {})

    def test_a_library_that_works_on_another_stream_orders_them(self):
        stream = FAKE.smelt_fake_stream()
        self.check_asked([stream], stream=stream)
        self.x.asked.clear()
        with self.library(stream=stream):
            self.check_asked([1])  # DLPack's name for the default stream
            self.x.asked.clear()
            self.session.run(None, self.feeds, stream=stream)
        with self.library(stream=1):  # its other name
            self.session.run(None, self.feeds, stream=0)
        self.assertEqual(self.x.asked, [])

    def test_what_the_functions_do_not_say_dlpack_says(self):
        self.x.requires_grad = True  # PyTorch's functions give such a tensor, its method refuses
        self.check_asked([1])
        self.x.requires_grad = False
        self.x.asked.clear()
        with self.library(fails=True):
            self.check_asked([1])
        read_only = ExchangingTensor(self.x.array, READ_ONLY)
        self.session.run(None, {**self.feeds, "x": read_only})
        with self.assertRaisesRegex(BufferError, "asked by __dlpack__"):
            self.session.run(None, self.feeds, outputs={"out": read_only})

    def test_versions(self):
        with mock.patch.object(ExchangingTensor, "__dlpack_c_exchange_api__", capsule(NEWER)):
            self.session.run(None, self.feeds)
        for other in (capsule(UNKNOWN), 7, None):
            self.x.asked.clear()
            with mock.patch.object(ExchangingTensor, "__dlpack_c_exchange_api__", other):
                self.check_asked([1])

    def test_strides(self):
        self.feeds["x"] = ExchangingTensor(aligned((6, 77), 1)[::2])
        with self.assertRaisesRegex(smelt.UsageError, "input 'x': the tensor is not contiguous"):
            self.session.run(None, self.feeds)


if __name__ == "__main__":
    unittest.main()
