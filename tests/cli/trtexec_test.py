"""smelt trtexec: the lines that people type most, unchanged but for the name; what has no counterpart says why.

The device is the fake driver: times are of a processor, and kernels compute nothing.
"""

import json
import os
import unittest

import numpy as np
from onnx import helper

import support
from support import ENVIRONMENT, OK, USAGE, CliTest

FAKE_DRIVER = os.environ["FAKE_DRIVER"]  # the folder of a libcuda.so.1; set by CMake

# As TensorRT's documentation of trtexec has them. {m}, {s}, {e}: a model with an open batch, one with fixed sizes, a plan of the first.
COMMON = [
    "--onnx={s}",
    "--onnx={s} --saveEngine=new.plan",
    "--onnx={s} --saveEngine=new.plan --fp16",
    "--onnx={s} --bf16 --noTF32",
    "--onnx={s} --best",
    "--onnx={s} --int8 --fp16",
    "--onnx={m} --shapes=x:2x4",
    "--onnx={m} --minShapes=x:1x4 --optShapes=x:8x4 --maxShapes=x:16x4 --saveEngine=new.plan",
    "--onnx={m} --minShapes=x:1x4 --optShapes=x:8x4 --maxShapes=x:16x4 --shapes=x:5x4",
    "--loadEngine={e}",
    "--loadEngine={e} --shapes=x:3x4",
    "--loadEngine={e} --iterations=20 --avgRuns=10 --duration=0 --warmUp=0",
    "--loadEngine={e} --dumpProfile --separateProfileRun",
    "--loadEngine={e} --exportTimes=times.json",
    "--loadEngine={e} --exportProfile=profile.json --profilingVerbosity=detailed",
    "--loadEngine={e} --dumpLayerInfo --exportLayerInfo=layers.json",
    "--loadEngine={e} --useCudaGraph --noDataTransfers --useSpinWait",
    "--loadEngine={e} --streams=2",
    "--loadEngine={e} --infStreams=2 --percentile=90,95,99.9",
    "--loadEngine={e} --loadInputs=x:x.bin --shapes=x:2x4 --dumpOutput --exportOutput=out.json",
    "--loadEngine={e} --device=0 --verbose",
    "--onnx={s} --memPoolSize=workspace:4096 --timingCacheFile=cache --builderOptimizationLevel=5",
    "--onnx={s} --skipInference --saveEngine=new.plan",
    "--onnx={s} --buildOnly --saveEngine=new.plan",
    "--onnx={s} --buildOnly --refit --saveEngine=new.plan",
]

NO_COUNTERPART = {
    "--plugins=libx.so": "loads no code",
    "--useDLACore=0": "are for GPUs",
    "--inputIOFormats=fp16:chw": "row-major",
    "--calib=cache": "QuantizeLinear",
    "--safe": "has no counterpart",
}


class Trtexec(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER
        self.open = self.save(support.scale_model())
        fixed = support.scale_model()
        for value in (*fixed.graph.input, *fixed.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = 3
        self.fixed = self.save(fixed, "fixed.onnx")
        self.plan = self.folder / "model.plan"
        self.expect(OK, "compile", self.open, "-o", self.plan)
        np.arange(8, dtype=np.float32).tofile(self.folder / "x.bin")

    def run_line(self, line, code=OK, says=()):
        words = line.format(m=self.open, s=self.fixed, e=self.plan).split()
        quick = [] if "--duration" in line else ["--duration=0.05"]
        return self.expect(code, "trtexec", *words, *quick, says=says)

    def read(self, name):
        return json.loads((self.folder / name).read_text())

    def test_common_lines(self):
        self.assertGreaterEqual(len(COMMON), 20)
        for line in COMMON:
            with self.subTest(line):
                done = self.run_line(line)
                self.assertIn("&&&& PASSED", done.stdout)
                measures = "--skipInference" not in line and "--buildOnly" not in line
                self.assertEqual("=== Performance summary ===" in done.stdout, measures)

    def test_figures_have_its_words(self):
        out = self.run_line("--loadEngine={e} --percentile=90,99 --iterations=20 --avgRuns=10").stdout
        for words in (
            r"\[I\] Average on 10 runs - GPU latency: [0-9.e-]+ ms",
            r"\[I\] Throughput: [0-9.e+]+ qps",
            r"\[I\] Latency: min = [0-9.e-]+ ms, max = [0-9.e-]+ ms, mean = [0-9.e-]+ ms, median = [0-9.e-]+ ms, "
            r"percentile\(90%\) = [0-9.e-]+ ms, percentile\(99%\) = [0-9.e-]+ ms",
            r"\[I\] Enqueue Time: min = ",
            r"\[I\] H2D Latency: min = 0 ms",
            r"\[I\] GPU Compute Time: min = ",
            r"\[I\] Total Host Walltime: [0-9.e-]+ s",
        ):
            self.assertRegex(out, words)

    def test_precisions(self):
        """Told by the kernel's text, which is that of smelt compile."""
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        infos = [support.tensor_info(name, [4, 64]) for name in "xy"]
        product = self.save(support.model(nodes, infos[:1], infos[1:], [support.constant("w", np.ones((64, 64), np.float32))]), "product.onnx")
        texts = {}
        for precision in ("fp32", "tf32", "fp16", "bf16"):
            self.expect(OK, "compile", product, "--precision", precision, "-o", "plain.plan")
            texts[precision] = self.expect(OK, "inspect", "plain.plan", "--source", "gemm").stdout
        self.assertEqual(len(set(texts.values())), 4)
        for flag, precision in (("--fp16", "fp16"), ("--bf16", "bf16"), ("--best", "fp16"), ("--noTF32", "fp32"), ("", "tf32")):
            self.run_line(f"--onnx={product} --skipInference --saveEngine=new.plan {flag}")
            self.assertEqual(self.expect(OK, "inspect", "new.plan", "--source", "gemm").stdout, texts[precision], flag)

    def test_seconds_milliseconds_and_streams(self):
        """Counted on a clock that goes on only when it is looked at."""
        self.use_fake_clock(10)
        file = self.folder / "launches"
        self.environment["SMELT_FAKE_LAUNCHES"] = str(file)

        def measured(line):
            self.run_line("--loadEngine={e} --exportTimes=times.json " + line)
            return len(self.read("times.json")), float(self.clock_end.read_text()), len(file.read_text().splitlines())

        runs, end, streams = measured("--warmUp=10 --duration=3")
        self.assertGreater(measured("--warmUp=10 --duration=9")[0], 2 * runs)
        self.assertTrue(20 <= measured("--warmUp=20000 --duration=3")[1] - end <= 60)
        self.assertEqual(measured("--warmUp=10 --duration=3 --streams=3 --iterations=60")[2] - streams, 2)

    def test_files(self):
        self.run_line("--loadEngine={e} --iterations=20 --exportTimes=t.json --exportProfile=p.json --exportLayerInfo=l.json")
        times, profile, layers = map(self.read, ("t.json", "p.json", "l.json"))
        self.assertGreaterEqual(len(times), 20)
        self.assertGreater(times[0]["computeMs"], 0)
        self.assertEqual(profile[0], {"count": 1})
        self.assertAlmostEqual(sum(layer["percentage"] for layer in profile[1:]), 100, places=3)
        self.assertIn("/scale/Mul", layers["Layers"][0]["Metadata"])

    def test_outputs(self):
        done = self.run_line("--loadEngine={e} --loadInputs=x:x.bin --shapes=x:2x4 --dumpOutput --exportOutput=out.json")
        output = self.read("out.json")[0]
        self.assertEqual((output["name"], output["dimensions"], len(output["values"])), ("y", "2x4", 8))
        self.assertIn("[I] y: (2x4)", done.stdout)

    def test_a_range_of_shapes_is_the_plans(self):
        self.run_line("--onnx={m} --minShapes=x:2x4 --optShapes=x:8x4 --maxShapes=x:16x4 --saveEngine=new.plan")
        self.expect(OK, "bench", "new.plan", "--dim", "batch=16", "--duration", "0.01")
        self.expect(USAGE, "bench", "new.plan", "--dim", "batch=17", "--duration", "0.01")

    def test_what_changes_nothing_is_named(self):
        self.run_line("--loadEngine={e} --useSpinWait --sparsity=disable", says=("--useSpinWait changes nothing", "--sparsity"))

    def test_what_has_no_counterpart_says_why(self):
        for flag, why in NO_COUNTERPART.items():
            with self.subTest(flag):
                self.run_line("--onnx={s} " + flag, USAGE, says=(flag.split("=")[0], why))

    def test_wrong_lines(self):
        self.run_line("--fp16", USAGE, says="--onnx=FILE")
        self.run_line("--onnx={s} --loadEngine={e}", USAGE, says="--onnx=FILE")
        self.run_line("--loadEngine={e} --saveEngine=x.plan", USAGE, says="--saveEngine")
        self.run_line("--onnx={m} --shapes=x=2x4", USAGE, says="NAME:1x3x224x224")
        self.run_line("--loadEngine={e} --loadInputs=x:x.bin --shapes=x:3x4", USAGE, says=("32 bytes", "48"))
        for duration in ("x", "-1", "nan", "inf"):
            self.run_line(f"--loadEngine={{e}} --duration={duration}", USAGE, says="--duration")
        self.run_line("--loadEngine={e} --percentile=101", USAGE, says="'101' is no percentile")
        self.run_line("--loadEngine={e} --dumpProfil", USAGE, says="did you mean '--dumpProfile'?")

    def test_without_a_gpu_it_builds_and_refuses_to_measure(self):
        del self.environment["LD_LIBRARY_PATH"]
        self.run_line("--onnx={s} --saveEngine=new.plan --skipInference", says="compiling for sm_90a")
        self.run_line("--onnx={s}", ENVIRONMENT)


if __name__ == "__main__":
    support.main()
