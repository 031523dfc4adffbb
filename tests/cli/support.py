"""What the tests of the command line share: small models, running `smelt`, and judging how it ended."""

import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SMELT = os.environ["SMELT"]  # the binary; set by CMake

# Exit codes of the command line.
OK, RUN_FAILED, USAGE, INVALID_MODEL, ACCURACY, RESOURCES, ENVIRONMENT, PLAN, INTERNAL = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    70,
)


def tensor_info(name, shape, element_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element_type, shape)


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(list(nodes), "test", list(inputs), list(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def scale_model():
    """y = x * [1, 2, 3, 4] + 1, with a dynamic batch."""
    nodes = [
        helper.make_node("Mul", ["x", "scale"], ["scaled"], name="/scale/Mul"),
        helper.make_node("Add", ["scaled", "one"], ["y"], name="/shift/Add"),
    ]
    scale = constant("scale", np.arange(1, 5, dtype=np.float32))
    one = constant("one", np.float32(1))
    shape = ["batch", 4]
    return model(nodes, [tensor_info("x", shape)], [tensor_info("y", shape)], [scale, one])


def lookup_model():
    """rows of a table of 5, by int64 ids."""
    node = helper.make_node("Gather", ["table", "ids"], ["rows"], name="/lookup/Gather")
    table = constant("table", np.arange(15, dtype=np.float32).reshape(5, 3))
    inputs = [tensor_info("ids", ["n"], TensorProto.INT64)]
    return model([node], inputs, [tensor_info("rows", ["n", 3])], [table])


def first_row_model(rows, columns):
    """The first row of x."""
    node = helper.make_node("Gather", ["x", "zero"], ["y"], name="/first/Gather")
    inputs = [tensor_info("x", [rows, columns])]
    return model([node], inputs, [tensor_info("y", [columns])], [constant("zero", np.int64(0))])


def many_kernels():
    """Products of many widths with a softmax between them: NVRTC is busy for seconds."""
    widths = [32 + 8 * i for i in range(6)]
    draw = np.random.default_rng(0)
    nodes, weights = [], []
    for i, (rows, columns) in enumerate(zip(widths, widths[1:])):
        weights.append(constant(f"w{i}", draw.normal(size=(rows, columns)).astype(np.float32)))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"p{i}"]))
        nodes.append(helper.make_node("Softmax", [f"p{i}"], [f"x{i + 1}"]))
    infos = [tensor_info(f"x{i}", ["n", widths[i]]) for i in (0, len(widths) - 1)]
    return model(nodes, infos[:1], infos[1:], weights)


def slowness():
    """How many times longer than a core that adds four million numbers in 0.2 s this one takes, and never less than one: some
    machines have half the speed of others."""
    start, total = time.process_time(), 0
    for i in range(4_000_000):
        total += i
    return max(1.0, (time.process_time() - start) / 0.2)


class CliTest(unittest.TestCase):
    """A test with a folder of its own, as `self.folder`, and a cache that no other test shares."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.environment = {**os.environ, "SMELT_CACHE_DIR": str(self.folder / "cache")}

    @classmethod
    def make_once(cls):
        """Another test, as `cls.made`, whose folder lasts as long as the class: for what its tests only read."""
        made = cls.made = CliTest("setUp")
        made.setUp()
        cls.addClassCleanup(made.doCleanups)
        return made

    def save(self, proto, name="model.onnx"):
        path = self.folder / name
        path.write_bytes(proto.SerializeToString())
        return path

    def write(self, name, content: bytes):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def array(self, name, value):
        path = self.folder / f"{name}.npy"
        np.save(path, value)
        return path

    def use_fake_clock(self, milliseconds):
        """Time goes on so much when the binary looks at its clock (fake_clock.c), and else stands still."""
        clock = os.environ["FAKE_CLOCK"]  # a library; set by CMake
        if not clock:
            self.skipTest("the sanitizers' build preloads nothing")
        self.clock_end = self.folder / "clock"
        self.environment |= {"LD_PRELOAD": clock, "FAKE_CLOCK_MS": str(milliseconds), "FAKE_CLOCK_END": str(self.clock_end)}

    def smelt(self, *arguments, preexec=None):
        return subprocess.run(
            [SMELT, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            timeout=120,
            preexec_fn=preexec,
        )

    def expect(self, code, *arguments, says=(), preexec=None):
        """Runs `smelt`; it must exit with `code`, and stderr must hold every text of `says`."""
        done = self.smelt(*arguments, preexec=preexec)
        shown = f"smelt {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"
        self.assertEqual(done.returncode, code, shown)
        for text in (says,) if isinstance(says, str) else says:
            self.assertIn(text, done.stderr, shown)
        return done

    def expect_json(self, schema, *arguments, code=OK):
        done = self.expect(code, *arguments, "--json")
        report = json.loads(done.stdout)
        self.assertEqual(report["schema"], schema)
        return report


def main():
    unittest.main()
