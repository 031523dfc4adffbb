"""smelt.compile and smelt.Plan, from an installed wheel."""

import os
import signal
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import smelt
from support import DIGITS, diamond_plan, digits, has_driver, many_kernels, product_model, scale_model

MAX_SECONDS = 10


class Compile(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_digits_in_time(self):
        started = time.process_time()
        steps = []
        plan = smelt.compile(DIGITS, progress=lambda *step: steps.append(step))
        images, labels = digits()
        session = smelt.Session(plan, device="cpu")
        (logits,) = session.run(["logits"], {"images": images})
        # What two idle cores take: other tests run beside this one, so the clock on the wall says nothing.
        self.assertLess((time.process_time() - started) / min(2, os.cpu_count()), MAX_SECONDS)
        self.assertGreater((logits.argmax(axis=1) == labels).mean(), 0.97)
        self.assertEqual([step[0] for step in steps][:5], ["import", "simplify", "raise", "fuse", "lower"])
        kernels = [step[1:] for step in steps if step[0] == "kernels"]
        self.assertEqual(sorted(kernels), [(done + 1, len(kernels)) for done in range(len(kernels))])
        self.assertTrue(session.device_name.startswith("cpu"))

    def test_forms_of_a_model_give_one_plan(self):
        model = scale_model()
        path = self.folder / "model.onnx"
        onnx.save(model, path)
        plans = [smelt.compile(form) for form in (path, str(path), model, model.SerializeToString())]
        self.assertEqual(len({plan.bytes for plan in plans}), 1)
        plan = plans[2]
        self.assertEqual(plan.inputs, [smelt.TensorInfo("x", ["batch", 4], "float32")])
        self.assertEqual(plan.outputs[0].type, "tensor(float)")
        saved = self.folder / "model.plan"
        plan.save(saved)
        self.assertEqual(saved.read_bytes(), plan.bytes)
        self.assertEqual(smelt.Plan.load(saved).inputs, plan.inputs)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["model.onnx", "model.plan"])

    def test_shapes_limits_and_precision(self):
        model = scale_model()
        self.assertEqual(smelt.compile(model, shapes={"x": (3, None)}).inputs[0].shape, [3, 4])
        limited = smelt.compile(model, min_shapes={"x": (2, None)}, max_shapes={"x": (8, 4)})
        self.assertNotEqual(limited.bytes, smelt.compile(model).bytes)
        product = product_model()
        self.assertNotEqual(smelt.compile(product, precision="fp16").bytes, smelt.compile(product).bytes)
        with self.assertRaisesRegex(smelt.UsageError, "no precision 'int4'; there are fp32, tf32, fp16, bf16"):
            smelt.compile(model, precision="int4")
        with self.assertRaisesRegex(smelt.UsageError, "'z'"):
            smelt.compile(model, shapes={"z": (3, 4)})
        with self.assertRaisesRegex(smelt.UsageError, "unknown architecture 'sm_1'"):
            smelt.compile(model, arch="sm_1")

    def test_explain_tells_the_kernel_of_each_node(self):
        rows = smelt.compile(scale_model()).explain()
        self.assertEqual(len(rows), 1)
        self.assertEqual((rows[0]["name"], rows[0]["op"], rows[0]["kernels"]), ("/scale/Mul", "Mul", [0]))
        self.assertEqual(rows[0]["kinds"], ["pointwise"])
        with self.assertRaisesRegex(smelt.UsageError, "smelt.compile"):
            smelt.Plan.load(diamond_plan(self.folder)).explain()

    def test_kernels_are_kept_where_a_folder_is_given(self):
        smelt.compile(scale_model(), cache_dir=self.folder / "cache")
        self.assertTrue(any((self.folder / "cache").iterdir()))

    def test_a_callback_stops(self):
        with self.assertRaisesRegex(smelt.ResourceError, "stop"):
            smelt.compile(scale_model(), progress=lambda phase, done, total: phase != "fuse")

        def fail(phase, done, total):
            raise KeyError(phase)

        with self.assertRaisesRegex(KeyError, "import"):
            smelt.compile(scale_model(), progress=fail)

    def test_an_interrupt_stops_between_kernels(self):
        """Ctrl-C, while no line of Python runs."""
        cache, model, counts = self.folder / "cache", many_kernels(), []

        def count(phase, done, total):
            if phase == "kernels":
                counts.append(total)
                return False

        with self.assertRaises(smelt.ResourceError):
            smelt.compile(model, progress=count)

        def interrupt():
            while not cache.exists() or not any(cache.iterdir()):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        self.addCleanup(thread.join)
        with self.assertRaises(KeyboardInterrupt):
            smelt.compile(model, cache_dir=cache)
        self.assertLess(len(list(cache.iterdir())), counts[0])
        self.assertEqual([path for path in cache.iterdir() if "tmp" in path.name], [])

    def test_objects_that_are_no_models(self):
        for object in (7, ["model.onnx"], None, scale_model().graph):
            with self.assertRaisesRegex(TypeError, "takes a path, bytes or an onnx.ModelProto, not "):
                smelt.compile(object)
        with self.assertRaisesRegex(smelt.InvalidModelError, "model.onnx"):
            smelt.compile(b"no model")
        with self.assertRaisesRegex(smelt.UsageError, "missing.onnx"):
            smelt.compile(self.folder / "missing.onnx")
        bad = scale_model()
        bad.graph.node.append(helper.make_node("Nonsense", ["y"], ["z"], name="/bad"))
        bad.graph.output[0].name = "z"
        with self.assertRaisesRegex(smelt.InvalidModelError, "/bad") as caught:
            smelt.compile(bad)
        self.assertEqual(caught.exception.code, 3)
        self.assertIsInstance(caught.exception, smelt.Error)

    def test_damaged_plans_and_those_of_other_versions(self):
        path = diamond_plan(self.folder)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with self.assertRaises(smelt.BadPlanError):
            smelt.Plan.load(path)
        with self.assertRaisesRegex(smelt.BadPlanError, "written by a newer Smelt") as caught:
            smelt.Plan.load(diamond_plan(self.folder, "newer"))
        self.assertEqual(caught.exception.code, 7)

    def test_run_without_a_gpu_says_that_it_is_slow(self):
        if has_driver():
            return
        plan = smelt.compile(scale_model())
        x = np.random.default_rng(1).standard_normal((3, 4), dtype=np.float32)
        with self.assertWarnsRegex(smelt.SlowDeviceWarning, "CPU.*slow.*driver"):
            first = plan.run({"x": x})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            second = plan.run({"x": x})
        np.testing.assert_array_equal(first["y"], x * np.arange(1, 5, dtype=np.float32))
        np.testing.assert_array_equal(second["y"], first["y"])
        with self.assertRaisesRegex(smelt.PlatformError, "driver"):
            plan.run({"x": x}, device=0)


if __name__ == "__main__":
    unittest.main()
