"""smelt compile, inspect and explain; plans that are damaged; machines that lack what is needed."""

import support
from support import ENVIRONMENT, INTERNAL, INVALID_MODEL, OK, PLAN, RESOURCES, USAGE, CliTest
from run_test import limit_file_size

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake


class Compile(CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.save(support.scale_model())
        self.plan = self.folder / "out.plan"

    def compile(self, *flags):
        self.expect(OK, "compile", self.model, "-o", self.plan, *flags)
        return self.plan.read_bytes()

    def test_a_plan_for_two_architectures(self):
        flags = ("compile", self.model, "-o", self.plan, "--arch", "sm_90a,sm_80")
        report = self.expect_json("smelt.compile/1", *flags)
        self.assertEqual(report["architectures"], ["sm_90a", "sm_80"])
        self.assertEqual(report["plan_bytes"], self.plan.stat().st_size)
        self.assertGreaterEqual(report["launches"], 1)
        inspected = self.expect_json("smelt.inspect/1", "inspect", self.plan)
        self.assertEqual([p["arch"] for p in inspected["programs"]], ["sm_90a", "sm_80"])
        self.assertEqual(
            inspected["inputs"], [{"name": "x", "type": "float32", "shape": ["batch", 4]}]
        )
        nodes = {n for launch in inspected["programs"][0]["launches"] for n in launch["onnx_nodes"]}
        self.assertEqual(nodes, {"/scale/Mul", "/shift/Add"})

    def test_a_plan_with_ptx_for_later_gpus(self):
        self.compile("--arch", "sm_80,compute_80")
        inspected = self.expect_json("smelt.inspect/1", "inspect", self.plan)
        machine, ptx = inspected["programs"]
        self.assertEqual([machine["arch"], ptx["arch"]], ["sm_80", "compute_80"])
        self.assertEqual(len(machine["launches"]), len(ptx["launches"]))
        self.assertIn(b".target sm_80", self.plan.read_bytes())

    @unittest.skipUnless(Path(FAKE_DRIVER, "libcuda.so.1").exists(), "sanitizers' build has no driver to open by name")
    def test_ptx_runs_where_no_machine_code_does(self):
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER  # of 9.0
        run = ("run", self.plan, "--device", "cuda", "--shape", "x=3x4")
        self.compile("--arch", "sm_80")
        self.expect(ENVIRONMENT, *run, says=("code for sm_80", "compile the model with --arch sm_90"))
        self.compile("--arch", "sm_80,compute_80")
        self.expect(OK, *run)

    def test_a_weight_is_turned_round_and_stored_once(self):
        """Rows of 50 floats are no multiple of 16 bytes, columns of 64 are."""
        nodes = [helper.make_node("MatMul", [x, "w"], [x + "w"]) for x in "ab"]
        weight = support.constant("w", np.random.default_rng(1).standard_normal((64, 50), np.float32))
        inputs = [support.tensor_info(x, ["rows", 64]) for x in "ab"]
        outputs = [support.tensor_info(x + "w", ["rows", 50]) for x in "ab"]
        self.model = self.save(support.model(nodes, inputs, outputs, [weight]))
        self.compile()
        inspected = self.expect_json("smelt.inspect/1", "inspect", self.plan)
        self.assertEqual(inspected["weight_bytes"], 64 * 50 * 4)
        text = self.expect(OK, "compile", self.model, "--emit", "cuda").stdout
        self.assertIn("kBVector = 4", text)
        self.assertIn("kBTransposed = true", text)
        self.assertIn("return in0 + k + n * 64;", text)

    def test_an_architecture_given_twice_counts_once(self):
        once = self.compile("--arch", "sm_80")
        self.assertEqual(self.compile("--arch", "sm_80,sm_80"), once)

    def test_unknown_architectures_are_refused_before_any_is_compiled(self):
        self.environment["SMELT_NVRTC_PATH"] = str(self.folder / "nowhere")
        compile = ("compile", self.model, "-o", self.plan, "--arch", "sm_80,foo")
        self.expect(USAGE, *compile, says="unknown architecture 'foo'")

    def test_the_same_inputs_give_the_same_bytes(self):
        cold = self.compile()
        self.assertEqual(self.compile(), cold)
        self.environment["SMELT_CACHE_DIR"] = str(self.folder / "another")
        self.assertEqual(self.compile(), cold)

    def test_the_default_name(self):
        self.expect(OK, "compile", self.model)
        self.assertTrue((self.folder / "model.plan").exists())

    def test_shape_limits_become_guards(self):
        self.compile("--min-shape", "x=2x4", "--max-shape", "x=8x4")
        text = self.expect(OK, "inspect", self.plan).stdout
        self.assertIn("2 <= batch", text)
        self.assertIn("batch <= 8", text)
        self.expect(USAGE, "compile", self.model, "--max-shape", "z=1", says="'z'")
        self.expect(USAGE, "compile", self.model, "--max-shape", "x=1", says="largest shape of 'x'")

    def test_tensors_that_a_kernel_cannot_address(self):
        """An input is read by 32-bit offsets, however few of its rows the result takes."""
        model = self.save(support.first_row_model("n", 4096), "rows.onnx")
        self.expect(OK, "compile", model, "-o", self.plan)
        self.assertIn("4096*n <= 2147221504", self.expect(OK, "inspect", self.plan).stdout)
        model = self.save(support.first_row_model(60000, 60000), "huge.onnx")
        self.expect(INVALID_MODEL, "compile", model, "-o", self.plan, says="3600000000 elements")
        report = self.expect_json("smelt.check/1", "check", model, code=INVALID_MODEL)
        self.assertIn("3600000000 elements", report["problems"][0]["message"])

    def test_keys_and_values_are_addressed_in_64_bits(self):
        """As long as nothing else reads them."""
        def model(batch, length, nodes=(), outputs=()):
            shape = (batch, 8, length, 128)
            inputs = [support.tensor_info(name, s, onnx.TensorProto.FLOAT16)
                      for name, s in (("q", (batch, 64, 1, 128)), ("k", shape), ("v", shape))]
            result = support.tensor_info("y", (batch, 64, 1, 128), onnx.TensorProto.FLOAT16)
            nodes = [helper.make_node("Attention", ["q", "k", "v"], ["y"]), *nodes]
            return support.model(nodes, inputs, [result, *outputs], opset=23)

        cache = self.save(model(64, 65536), "cache.onnx")
        self.expect(OK, "compile", cache, "-o", self.plan)
        self.assertIn("int64_t(b) * 67108864", self.expect(OK, "compile", cache, "--emit", "cuda").stdout)
        self.expect(OK, "compile", self.save(model("n", "t"), "open.onnx"), "-o", self.plan)
        self.assertNotIn("n*t <=", self.expect(OK, "inspect", self.plan).stdout)
        row = [helper.make_node("ReduceMax", ["v"], ["m"], keepdims=0)]
        reduced = model(64, 65536, row, [support.tensor_info("m", (), onnx.TensorProto.FLOAT16)])
        self.expect(INVALID_MODEL, "compile", self.save(reduced, "reduced.onnx"), "-o", self.plan,
                    says="4294967296 elements")

    def test_limits_that_no_shape_keeps_are_refused(self):
        def refuse(says, *limits):
            flags = [word for flag, shape in limits for word in (flag + "-shape", "x=" + shape)]
            self.expect(USAGE, "compile", self.model, "-o", self.plan, *flags, says=says)

        refuse("dimension 0 cannot be 9: the largest shape of 'x' limits it to 8", ("--min", "9x4"), ("--max", "8x4"))
        refuse("dimension 1 cannot be 3: the model fixes it as 4", ("--max", "8x3"))
        refuse("dimension 1 cannot be 5: the model fixes it as 4", ("--min", "1x5"))
        refuse("'x', float32 [batch, 4], has more elements than a kernel", ("--min", "536805377x4"))
        refuse("has more elements", ("--min", "9223372036854775807x4"))
        self.compile("--min-shape", "x=8x1", "--max-shape", "x=8x9")
        self.compile("--min-shape", "x=536805376x4")

    def test_a_fixed_shape(self):
        self.compile("--shape", "x=3x4")
        report = self.expect_json("smelt.inspect/1", "inspect", self.plan)
        self.assertEqual(report["inputs"][0]["shape"], [3, 4])

    def test_emitting_text_and_dumps(self):
        self.assertIn(
            "smelt.fusion", self.expect(OK, "compile", self.model, "--emit", "mlir").stdout
        )
        self.assertIn("__global__", self.expect(OK, "compile", self.model, "--emit", "cuda").stdout)
        self.compile("--dump-dir", self.folder / "dump")
        self.assertTrue(list((self.folder / "dump/sm_90a").glob("*.cu")))

    def test_text_and_json_do_not_share_stdout(self):
        emit = ("compile", self.model, "--emit", "mlir")
        error = self.expect_json("smelt.error/1", *emit, code=USAGE)
        self.assertIn("-o", error["message"])
        report = self.expect_json("smelt.compile/1", *emit, "-o", self.folder / "fused.mlir")
        self.assertIn("smelt.fusion", Path(report["text"]).read_text())

    def test_folders_are_as_open_as_the_umask(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.compile("--dump-dir", self.folder / "dump/deeper")
        for folder in ("dump", "dump/deeper", "dump/deeper/sm_90a"):
            self.assertEqual((self.folder / folder).stat().st_mode & 0o777, 0o755)

    def test_row_bounds_are_in_the_plan(self):
        lookup = self.save(support.lookup_model(), "lookup.onnx")
        self.expect(OK, "compile", lookup, "-o", self.plan)
        report = self.expect_json("smelt.inspect/1", "inspect", self.plan)
        self.assertEqual(report["inputs"][0]["row_bound"], 5)

    def test_a_plan_is_no_model(self):
        self.compile()
        for command in ("check", "compile", "explain", "compare"):
            self.expect(USAGE, command, self.plan, says=("out.plan", "is a plan", ".onnx"))

    def test_flags_that_a_plan_cannot_take(self):
        self.compile()
        self.expect(USAGE, "run", self.plan, "--precision", "tf32", says=("--precision", "plan"))
        self.expect(USAGE, "bench", self.plan, "--random-weights", 1, says="--random-weights")

    def test_what_is_refused(self):
        self.expect(USAGE, "compile", self.model, "--arch", "sm_12", says="sm_12")
        self.expect(USAGE, "compile", self.model, "--emit", "ptx")
        missing = ("compile", self.model, "-o", self.folder / "no/such/out.plan")
        self.expect(RESOURCES, *missing, says="no/such/out.plan")
        self.compile()
        before = self.plan.read_bytes()
        flags = ("compile", self.model, "-o", self.plan)
        self.expect(RESOURCES, *flags, preexec=limit_file_size, says="out.plan")
        self.assertEqual(self.plan.read_bytes(), before)
        self.assertEqual(list(self.folder.glob("*.tmp")), [])

    def test_the_model_is_not_replaced(self):
        weight = onnx.TensorProto(data_type=onnx.TensorProto.FLOAT, name="w", dims=[64])
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="weights.bin")
        node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
        info = [support.tensor_info(name, [64]) for name in "xy"]
        model = self.save(support.model([node], info[:1], info[1:], [weight]))
        weights = self.write("weights.bin", bytes(256))
        before = model.read_bytes()
        for own in (model, weights):
            for output in (own, self.folder / "link", self.folder / "hard"):
                if output.name == "link":
                    output.symlink_to(own)
                if output.name == "hard":
                    os.link(own, output)
                for emit in ("plan", "mlir"):
                    flags = ("compile", model, "-o", output, "--emit", emit)
                    self.expect(USAGE, *flags, says=(output.name, own.name, "another output"))
                if output != own:
                    output.unlink()
        self.assertEqual((model.read_bytes(), weights.read_bytes()), (before, bytes(256)))

    def test_a_device_stays_a_device(self):
        report = self.expect_json("smelt.compile/1", "compile", self.model, "-o", "/dev/null")
        self.assertEqual(report["plan"], "/dev/null")
        self.assertTrue(Path("/dev/null").is_char_device())
        self.expect(RESOURCES, "compile", self.model, "-o", "/dev/full", says="/dev/full")

    def test_a_plan_does_not_go_down_a_pipe(self):
        pipe = self.folder / "pipe"  # not /dev/stdout, which some machines lack
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.expect(USAGE, "compile", self.model, "-o", pipe, says=("pipe", "can be sought"))
        self.assertEqual(os.read(reader, 1), b"")
        self.assertTrue(pipe.is_fifo())

    def start_long_compile(self):
        """A compile of many kernels, at work on them: its passes are over when it dumps CUDA."""
        nodes = [
            onnx.helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"], name=f"/product{i}")
            for i in range(24)
        ]
        weights = [
            support.constant(f"w{i}", np.ones((64, 8 * i + 8), np.float32)) for i in range(24)
        ]
        outputs = [support.tensor_info(f"y{i}", ["n", 8 * i + 8]) for i in range(24)]
        inputs = [support.tensor_info("x", ["n", 64])]
        model = self.save(support.model(nodes, inputs, outputs, weights), "long.onnx")
        dump = self.folder / "dump"
        command = [support.SMELT, "compile", model, "-o", self.plan, "--dump-dir", dump]
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (dump / "sm_90a").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        return process

    def test_a_crash_after_the_passes_is_reported(self):
        process = self.start_long_compile()
        process.send_signal(signal.SIGSEGV)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERNAL, text)
        self.assertIn("this is a defect of Smelt", text)
        self.assertIn("long.onnx", text)
        self.assertEqual(list(self.folder.glob("out.plan*")), [])

    def test_no_nvrtc(self):
        self.environment["SMELT_NVRTC_PATH"] = str(self.folder / "nowhere")
        self.expect(ENVIRONMENT, "compile", self.model, "-o", self.plan, says=("NVRTC", "nowhere"))
        self.assertFalse(self.plan.exists())

    def test_explain(self):
        report = self.expect_json("smelt.explain/1", "explain", self.model)
        self.assertEqual(report["counts"]["kernels"], 1)
        self.assertEqual(report["counts"]["shape_kernels"], 0)
        self.assertEqual([node["name"] for node in report["nodes"]], ["/scale/Mul", "/shift/Add"])
        self.assertTrue(all(node["kernels"] == [0] for node in report["nodes"]))
        self.assertIn("/shift/Add", self.expect(OK, "explain", self.model).stdout)


class ComparedPlan(CliTest):
    """compare --plan: the plan must be one of the model's."""

    def test_a_plan_of_another_model_is_refused(self):
        plan = self.folder / "lookup.plan"
        self.expect(OK, "compile", self.save(support.lookup_model(), "lookup.onnx"), "-o", plan)
        path = self.save(support.scale_model())
        says = ("compiled from another model", "'ids' (int64 [n])", "'x' (float32 [batch, 4])")
        self.expect(USAGE, "compare", path, "--plan", plan, says=says)

    def test_a_plan_runs_on_no_cpu(self):
        path = self.save(support.scale_model())
        flags = ("--plan", "model.plan", "--device", "cpu")
        self.expect(USAGE, "compare", path, *flags, says=("--plan", "--device cpu"))


class BadPlan(CliTest):
    """Damaged, truncated and foreign plans: exit code 7, whichever command reads them."""

    def setUp(self):
        super().setUp()
        self.plan = self.folder / "model.plan"
        self.expect(OK, "compile", self.save(support.scale_model()), "-o", self.plan)
        self.bytes = self.plan.read_bytes()

    def refuse(self, content, *says):
        self.plan.write_bytes(content)
        for command in ("inspect", "run", "bench"):
            self.expect(PLAN, command, self.plan, says=("model.plan", *says))

    def test_damage(self):
        for position in range(0, len(self.bytes), max(1, len(self.bytes) // 40)):
            damaged = bytearray(self.bytes)
            damaged[position] ^= 0x10
            self.plan.write_bytes(bytes(damaged))
            self.expect(PLAN, "inspect", self.plan, says="model.plan")

    def test_truncation(self):
        for length in (0, 1, 63, 64, 300, len(self.bytes) // 2, len(self.bytes) - 1):
            self.refuse(self.bytes[:length])

    def test_no_plan_at_all(self):
        self.refuse(b"just text" * 100)

    @unittest.skipUnless(os.environ.get("MAKE_PLAN"), "the sanitizers' build makes no plans for tests")
    def test_a_plan_of_another_version(self):
        subprocess.run([os.environ["MAKE_PLAN"], self.plan, "newer"], check=True)
        says = ("model.plan", "the plan has format ", "this Smelt reads format ", "written by a newer Smelt")
        for command in ("inspect", "run", "bench", "report"):
            more = ("-o", self.folder / "page.html") if command == "report" else ()
            self.expect(PLAN, command, self.plan, *more, says=says)
        self.assertFalse((self.folder / "page.html").exists())
        subprocess.run([os.environ["MAKE_PLAN"], self.plan], check=True)
        self.expect(OK, "inspect", self.plan)

    def test_missing_plan(self):
        self.expect(USAGE, "inspect", self.folder / "gone.plan", says="gone.plan")


@unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a driver")
class NoDriver(CliTest):
    def test_cuda_needs_a_driver(self):
        path = self.save(support.scale_model())
        self.expect(ENVIRONMENT, "run", path, "--device", "cuda", says="driver")
        plan = self.folder / "model.plan"
        self.expect(OK, "compile", path, "-o", plan)
        self.expect(ENVIRONMENT, "run", plan, says="driver")
        self.expect(ENVIRONMENT, "bench", plan, says="driver")
        self.expect(USAGE, "run", plan, "--device", "cpu", says=".onnx")

    def test_auto_says_that_it_runs_on_the_cpu(self):
        self.expect(OK, "run", self.save(support.scale_model()), says=("CPU", "driver"))


if __name__ == "__main__":
    support.main()
