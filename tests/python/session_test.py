"""smelt.Session on the CPU: ONNX Runtime's signature, wrong inputs, threads."""

import collections
import concurrent.futures
import os
import signal
import tempfile
import threading
import time
import types
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

import smelt
from support import DIGITS, diamond_plan, digits, product_model, scale_model, without_memory


def session_of(model):
    """Of a model that is not compiled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(model, path)
        return smelt.Session(path, device="cpu")


class CpuSession(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = smelt.Session(DIGITS, device="cpu")
        cls.images, _ = digits()

    def test_agrees_with_onnxruntime(self):
        theirs = onnxruntime.InferenceSession(DIGITS, providers=["CPUExecutionProvider"])
        names = [info.name for info in theirs.get_outputs()]
        self.assertEqual([info.name for info in self.session.get_outputs()], names)
        ours, other = self.session.get_inputs()[0], theirs.get_inputs()[0]
        self.assertEqual((ours.name, ours.shape, ours.type), (other.name, other.shape, other.type))
        for requested in (names, None):
            (expected,) = theirs.run(requested, {"images": self.images})
            (actual,) = self.session.run(requested, {"images": self.images})
            np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-3)

    def test_fills_the_callers_memory(self):
        logits = np.full((5, 10), np.nan, np.float32)
        (returned,) = self.session.run(["logits"], {"images": self.images[:5]}, outputs={"logits": logits})
        self.assertIs(returned, logits)
        np.testing.assert_array_equal(logits, self.session.run(None, {"images": self.images[:5]})[0])
        with self.assertRaisesRegex(smelt.UsageError, "another type or shape"):
            self.session.run(None, {"images": self.images[:4]}, outputs={"logits": logits})
        with self.assertRaisesRegex(smelt.UsageError, "contiguous and writable"):
            self.session.run(None, {"images": self.images[:5]}, outputs={"logits": logits[:, ::-1]})

    def test_takes_strided_arrays_and_dlpack(self):
        class Tensor:  # as another library's
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        (expected,) = self.session.run(None, {"images": self.images[:8:2].copy()})
        np.testing.assert_array_equal(self.session.run(None, {"images": self.images[:8:2]})[0], expected)
        np.testing.assert_array_equal(self.session.run(None, {"images": Tensor(self.images[:8:2].copy())})[0], expected)
        with self.assertRaisesRegex(smelt.UsageError, "input 'images': the tensor is not contiguous"):
            self.session.run(None, {"images": Tensor(self.images[:8:2])})

    def test_any_mapping_will_do(self):
        (expected,) = self.session.run(None, {"images": self.images[:2]})
        feeds = types.MappingProxyType({"images": self.images[:2]})
        np.testing.assert_array_equal(self.session.run(None, feeds)[0], expected)
        np.testing.assert_array_equal(self.session.run(("logits",), collections.OrderedDict(feeds), outputs={})[0], expected)

    def test_types_that_numpy_lacks(self):
        session = session_of(scale_model(TensorProto.BFLOAT16))
        x = np.asarray([[1, 2, 3, 4], [5, 6, 7, 8]], ml_dtypes.bfloat16)
        (y,) = session.run(None, {"x": x})
        self.assertEqual(y.dtype, ml_dtypes.bfloat16)
        np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32) * np.arange(1, 5))

    def test_a_weight_gets_other_values(self):
        session, x = session_of(product_model()), np.ones((3, 64), np.float32)
        session.run(None, {"x": x})
        weights = np.random.default_rng(7).standard_normal((64, 64), dtype=np.float32)
        session.update_weight("w", weights)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ weights, rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(smelt.UsageError, "no weight 'v'"):
            session.update_weight("v", weights)

    def test_wrong_inputs(self):
        images = self.images[:2]
        for feeds, message in (
            ({}, "no value was given for input 'images'"),
            ({"images": images, "more": images}, "no input 'more'; it has 'images'"),
            ({"images": images.astype(np.float64)}, "input 'images' has elements of type f32, not f64"),
            ({"images": images[:, :, :7]}, "7"),
        ):
            with self.subTest(message), self.assertRaisesRegex(smelt.UsageError, message):
                self.session.run(None, feeds)
        with self.assertRaisesRegex(smelt.UsageError, "no output 'probabilities'; it has 'logits'"):
            self.session.run(["probabilities"], {"images": images})
        for value in ("a digit", [[1.0]], None):
            with self.assertRaisesRegex(TypeError, "input 'images' is of type .*__dlpack__"):
                self.session.run(None, {"images": value})
        with self.assertRaisesRegex(TypeError, "elements of type"):
            self.session.run(None, {"images": np.asarray(["a", "b"])})
        with self.assertRaisesRegex(TypeError, "elements of type >f4"):
            self.session.run(None, {"images": images.astype(">f4")})
        with self.assertRaisesRegex(TypeError, "outputs are of type list: give a dictionary"):
            self.session.run(None, {"images": images}, outputs=[images])
        with self.assertRaisesRegex(TypeError, "give a dictionary"):
            self.session.run(None, [images])
        with self.assertRaisesRegex(TypeError, "device is 'gpu'"):
            smelt.Session(DIGITS, device="gpu")
        with self.assertRaisesRegex(smelt.UsageError, "CPU"):
            self.session.profile({"images": images})
        with self.assertRaisesRegex(smelt.UsageError, "on the CPU, where there are no streams"):
            self.session.run(None, {"images": images}, stream=7)

    def test_tensors_that_are_gone(self):
        images = self.images[:2].copy()

        class Tensor:  # of another library, that gives the same capsule whenever it is asked
            def __init__(self, capsule):
                self.capsule = capsule

            def __dlpack__(self, **kwargs):
                return self.capsule

            def __dlpack_device__(self):
                return 1, 0

        taken = Tensor(images.__dlpack__())
        np.from_dlpack(taken)
        for value in (taken, Tensor(None), Tensor(7)):
            with self.assertRaisesRegex(TypeError, "input 'images' is of type Tensor, whose __dlpack__ gave no tensor, or one"):
                self.session.run(None, {"images": value})
        with self.assertRaisesRegex(smelt.UsageError, r"input 'images': the tensor of shape \[\d+, 1, 8, 8\] has no memory \(data is NULL\): it was freed"):
            self.session.run(None, {"images": Tensor(without_memory(images.__dlpack__()))})
        self.session.run(None, {"images": images})

    def test_a_plan_alone_does_not_run_on_the_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(smelt.UsageError, "GPU code alone"):
                smelt.Session(diamond_plan(folder), device="cpu")

    def test_python_goes_on_meanwhile(self):
        images = np.concatenate([self.images] * 8)
        done = threading.Event()
        ticks = 0

        def run():
            self.session.run(None, {"images": images})
            done.set()

        thread = threading.Thread(target=run)
        thread.start()
        while not done.is_set():
            time.sleep(0.001)
            ticks += 1
        thread.join()
        self.assertGreater(ticks, 10)

    def test_an_interrupt_stops_between_ops(self):
        """Ctrl-C, while no line of Python runs. What it saves is counted in seconds of the processor."""
        count, rows = 40, np.zeros((2048, 512), np.float32)
        nodes = [onnx.helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"]) for i in range(count)]
        x, y = (onnx.helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, ["n", 512]) for i in (0, count))
        weight = onnx.numpy_helper.from_array(np.ones((512, 512), np.float32), "w")
        graph = onnx.helper.make_graph(nodes, "long", [x], [y], [weight])
        session = session_of(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8))

        def seconds(call):
            begin = time.process_time()
            call()
            return time.process_time() - begin

        run = lambda: session.run(None, {"x0": rows})
        run()
        whole = seconds(run)

        def interrupt():
            begin = time.process_time()
            while time.process_time() - begin < whole / 10:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        def interrupted():
            thread = threading.Thread(target=interrupt)
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                run()
            thread.join()

        self.assertLess(seconds(interrupted), 0.6 * whole)
        np.testing.assert_array_equal(run()[0].shape, (2048, 512))

    def test_threads_share_a_session(self):
        parts = np.array_split(self.images, 9)
        expected = [self.session.run(None, {"images": part})[0] for part in parts]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for wanted, got in zip(expected, pool.map(lambda part: self.session.run(None, {"images": part}), parts)):
                np.testing.assert_array_equal(got[0], wanted)


if __name__ == "__main__":
    unittest.main()
