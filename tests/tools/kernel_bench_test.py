#!/usr/bin/env python3
"""The benchmarks of single kernels as far as they need no GPU: their rows, models, options and tables.

usage: kernel_bench_test.py [--smelt BINARY]

With a binary, samples of every set of rows are compiled.
"""

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

REPOSITORY = Path(__file__).resolve().parents[2]
BENCH = REPOSITORY / "tools" / "bench"
sys.path.insert(0, str(BENCH))

import attention  # noqa: E402
import conv  # noqa: E402
import gemm  # noqa: E402
import kernel_bench  # noqa: E402
import kernel_rows  # noqa: E402
import kernel_tables  # noqa: E402
import ladder  # noqa: E402
import onnx  # noqa: E402
import rowwise  # noqa: E402

# How many rows each set of a script has, and those that are compiled here.
COUNTS = {
    (gemm, "fp16"): (63, "m1_n768_k768,m512_n2304"),
    (gemm, "bf16"): (63, "m64_n768_k3072"),
    (gemm, "odd"): (95, "m77_n384_k384,m3152_n11008_k4096"),
    (gemm, "epilogue"): (63, "m16_n768_k768,m2048_n768_k768"),
    (gemm, "fp8"): (21, "m2048_n768_k768"),
    (gemm, "int8"): (21, "m2048_n768_k768"),
    (attention, "prefill"): (24, "hd64_full_s512,hd128_causal_s16384"),
    (attention, "bias"): (12, "hd64_bias_s512,hd128_bias_s4096"),
    (attention, "decode"): (16, "b1_c1024,b64_c16384"),
    (rowwise, "all"): (60, "r4096_w768,r65536_w16384"),
    (conv, "all"): (48, "b1_7x7,b64_3x3s2_128,b64_1x1s1_64to256"),
}
SMELT = None


def run(script, *arguments):
    return subprocess.run([sys.executable, BENCH / f"{script}.py", *arguments], capture_output=True, text=True)


class Rows(unittest.TestCase):
    def test_every_set_has_its_rows(self):
        for (script, kind), (count, _) in COUNTS.items():
            with self.subTest(script=script.__name__, kind=kind):
                rows = script.rows(kind)
                self.assertEqual(count, len({row.name for row in rows}))
                self.assertEqual(count, len(rows))
        self.assertEqual({script.__name__: list(script.SETS) for script, _ in COUNTS},
                         {script.__name__: [kind for other, kind in COUNTS if other is script] for script, _ in COUNTS})

    def test_models_have_the_operands_that_rows_name(self):
        for script, kind in COUNTS:
            for row in script.rows(kind)[::5]:
                with self.subTest(script=script.__name__, row=row.name):
                    graph = onnx.shape_inference.infer_shapes(row.build(Path()), strict_mode=True, data_prop=True).graph
                    for tensors, values in ((row.inputs, graph.input), (row.outputs, graph.output)):
                        self.assertEqual([(name, tensor.info(name)) for name, tensor in tensors.items()],
                                         [(value.name, value) for value in values])

    def test_bytes_and_operations_are_counted_once(self):
        row = gemm.make_row("epilogue", 8, 3072, 768)
        self.assertEqual(2 * 8 * 3072 * 768, row.flops)
        self.assertEqual(2 * (8 * 768 + 768 * 3072 + 2 * 8 * 3072), row.bytes)
        self.assertEqual(2 * 2048 * 4096 + 4096 * 4096, gemm.make_row("int8", 2048, 4096, 4096).bytes)
        full, causal = (attention.prefill_row(64, masked, 1024) for masked in (False, True))
        self.assertEqual(4 * 16 * 32 * 1024**2 * 64, full.flops)
        self.assertEqual(full.flops, 2 * causal.flops)
        self.assertEqual(4 * 16384 * 2048 * 2, full.bytes)
        layer = conv.Layer(56, 128, 128, 3, 2)
        self.assertEqual(2 * 28**2 * 128 * 128 * 9, conv.make_row(1, layer).flops)

    def test_values_are_the_same_in_every_run(self):
        for element in ("float16", "bfloat16", "float8_e4m3fn", "int8"):
            values = kernel_rows.draw((1000,), element).astype("float64")
            self.assertTrue((values == kernel_rows.draw((1000,), element).astype("float64")).all())
            self.assertGreater(values.std(), 0.9)
        self.assertAlmostEqual(0.05, kernel_rows.draw((100000,), "float16", 0.05).astype("float64").std(), 3)


class Options(unittest.TestCase):
    def test_an_unknown_set_or_row_is_refused(self):
        refused = run("gemm", "--set", "fp17")
        self.assertEqual((2, True), (refused.returncode, "fp16" in refused.stderr), refused.stderr)
        refused = run("rowwise", "--rows", "layer_norm,w5", "--compile-only")
        self.assertEqual(1, refused.returncode)
        self.assertIn("no row has 'w5' in its name; there are: layer_norm_r4096_w768", refused.stderr)

    def test_a_row_that_does_not_compile_says_so_and_the_rest_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            failing = Path(folder) / "smelt"
            failing.write_text('#!/bin/sh\ncase "$*" in *r4096_w768*) echo no such luck >&2; exit 3;; esac\n'
                            'echo \'{"programs": [{"launches": [{"name": "k", "once": false}]}]}\'\n')
            failing.chmod(0o755)
            done = run("rowwise", "--smelt", failing, "--rows", "softmax", "--compile-only", "--jobs", "2")
        self.assertEqual(1, done.returncode)
        self.assertIn("compiled 14 of 15 rows", done.stdout)
        self.assertRegex(done.stdout, r"FAILED softmax_r4096_w768: (?s:.*)no such luck")


class Compiles(unittest.TestCase):
    def test_rows_compile(self):
        if SMELT is None:
            self.skipTest("no --smelt is given")
        for (script, kind), (_, sample) in COUNTS.items():
            with self.subTest(script=script.__name__, kind=kind):
                done = run(script.__name__, "--set", kind, "--smelt", SMELT, "--compile-only", "--jobs", "2", "--rows", sample)
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)


class FakeTurns:
    """tools/bench/turns.py on no GPU: the row named in `broken` fails, that in `wrong` gives other results."""

    def __init__(self, broken, wrong):
        self.broken, self.wrong, self.closed, outer = broken, wrong, [], self

        class SmeltPlan:
            def __init__(self, runtime, plan, row, sets):
                self.name, self.call = row.name, None
                if row.name == broken:
                    raise RuntimeError("the device is lost")

            def close(self):
                outer.closed.append(self.name)

        self.SmeltPlan, self.Captured = SmeltPlan, lambda call, sets: mock.Mock(first_result=lambda: self.name)

    def operand_sets(self, row):
        self.name = row.name
        return [{}, {}]

    def fastest(self, calls, sets):
        return "best", mock.Mock(), {"best": 2.0}, {"worst": "does not run"}

    def relative_error(self, own, other):
        return float("inf") if own == self.wrong else 1e-3

    def samples_in_turns(self, sides, seconds):
        return [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]

    def spread(self, samples):
        return {"q1": min(samples), "median": sorted(samples)[1], "q3": max(samples)}

    one_line = staticmethod(str)


class Measures(unittest.TestCase):
    def measure(self, rows, limit, **which):
        """(rows of the written results, FakeTurns, exit code, what was printed)"""
        turns, torch, printed = FakeTurns(**which), mock.MagicMock(), io.StringIO()
        torch.cuda.get_device_name.return_value = "NVIDIA H200"
        modules = {"turns": turns, "torch": torch, "smelt_runtime": mock.MagicMock()}
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, modules), redirect_stdout(printed):
            path = Path(folder) / "found.json"
            arguments = argparse.Namespace(library=__file__, smelt="", seconds=0, limit=limit, json=path)
            plans = {row.name: {"plan": Path(folder) / row.name, "kernels": ["k"]} for row in rows}
            for row in rows:
                plans[row.name]["plan"].touch()
            done = kernel_bench.measure_rows(rows, plans, arguments, lambda row, sets: {}, "smelt.gemm/1", {}, time.monotonic())
            code = kernel_bench.report(done, len(rows))
            return json.loads(path.read_text())["rows"] if done else [], turns, code, printed.getvalue()

    def test_one_failed_row_does_not_stop_the_rest(self):
        chosen = gemm.rows("fp16")[:3]
        broken, wrong, good = (row.name for row in chosen)
        rows, turns, code, printed = self.measure(chosen, 100, broken=broken, wrong=wrong)
        self.assertEqual([broken, wrong, good], [row["name"] for row in rows])
        self.assertEqual("the device is lost", rows[0]["error"])
        self.assertIn("results differ by inf, more than 0.005", rows[1]["error"])
        self.assertNotIn("error", rows[2])
        self.assertEqual((2.0, "best", {"worst": "does not run"}), (rows[2]["ratio"], rows[2]["peer"], rows[2]["peers_failed"]))
        self.assertAlmostEqual(rows[2]["bytes"] / 4.8e12 / 2e-6, rows[2]["roofline_share"], 3)
        self.assertEqual(([wrong, good], 1), (turns.closed, code))
        self.assertIn("geometric mean 2.000x, least 2.000x of 1 rows", printed)

    def test_no_row_is_begun_after_the_limit(self):
        rows, _, code, printed = self.measure(gemm.rows("fp16")[:2], -1, broken="", wrong="")
        self.assertEqual(([], 1), (rows, code))
        self.assertIn("2 rows were not begun within --limit", printed)


def measured(row, **more):
    times = {"q1": 9.0, "median": 10.0, "q3": 11.0}
    return {"name": row.name, **row.facts, "smelt_us": times, "peer_us": times, "ratio": 0.5, "tflops": 123.4,
            "gb_per_s": 2500.0, "roofline_share": 0.4, "kernels": ["k"], **more}


class Tables(unittest.TestCase):
    def page(self, **files):
        """docs/benchmarks.md where results are these."""
        state = {"commit": "0123456789abcdef", "date": "2026-11-24", "gpu": "NVIDIA H200", "driver": "580", "torch": "2.11"}
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results"
            results.mkdir()
            for script in kernel_tables.MAKERS:
                shutil.copy(BENCH / f"{script}.py", folder)
            for name, content in files.items():
                (results / f"{name}.json").write_text(json.dumps({**state, **content}))
            return kernel_tables.page(Path(folder))

    def test_no_results_no_table(self):
        page = self.page()
        self.assertNotIn("|", page.replace("fp16|bf16|odd|epilogue|fp8|int8", "").replace("prefill|bias|decode", ""))
        self.assertIn("## Matrix products", page)

    def test_products(self):
        rows = gemm.rows("fp16")
        done = [measured(rows[0]), {**measured(rows[5]), "ratio": 2.0}, {"name": rows[6].name, **rows[6].facts, "error": "lost"}]
        page = self.page(gemm={"schema": "smelt.gemm/1", "set": "fp16", "rows": done})
        self.assertIn("| N x K | M = 1 | M = 512 | M = 2048 |", page)
        self.assertIn("| 768 x 768 | 0.50 (2500 GB/s) | 2.00 (123) | failed |", page)
        self.assertIn("geometric mean 1.00, least 0.50, 2 of 3 rows; one NVIDIA H200", page)

    def test_attention(self):
        rows, decoded = attention.rows("prefill"), attention.rows("decode")
        page = self.page(
            attention={"schema": "smelt.attention/1", "set": "prefill", "rows": [measured(rows[0]), measured(rows[6])]},
            attention_decode={"schema": "smelt.attention/1", "set": "decode", "copy_gb_per_s": 5000.0, "rows": [measured(decoded[0])]})
        self.assertIn("| heads of 64, full | 0.50 (123) |", page)
        self.assertIn("| heads of 64, causal | 0.50 (123) |", page)
        self.assertIn("| 1 | 50 % (0.50) |", page)

    def test_rows_and_convolutions(self):
        page = self.page(rowwise={"schema": "smelt.rowwise/1", "set": "all", "rows": [measured(rowwise.rows("all")[0])]},
                         conv={"schema": "smelt.conv/1", "set": "all", "rows": [measured(conv.rows("all")[0])]})
        self.assertIn("| layer_norm, 768 wide | 0.50 (2500) |", page)
        self.assertIn("| 7x7s2_3to64_224 | 0.50 (10.0 us) |", page)

    def test_the_ladder(self):
        """Every step has its file and says what it is for; figures stand above the files."""
        folder = REPOSITORY / "tools" / "ladder"
        self.assertEqual(sorted(path.name for path in folder.glob("*.cu")), sorted(ladder.files(folder)))
        rows = [{"family": "gemm", "step": "naive", "us": 100.0, "tflops": 1.0, "peak_share": 0.01, "failure": ""},
                {"family": "gemm", "step": "tiled", "us": 25.0, "tflops": 4.0, "peak_share": 0.04, "failure": "lost"}]
        state = {"commit": "0123456789abcdef", "date": "2026-11-24", "gpu": "NVIDIA H200", "driver": "580", "size": 512}
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "ladder.json"
            self.assertNotIn("|", ladder.page(folder, path))
            path.write_text(json.dumps({"schema": "smelt.ladder/1", **state, "rows": rows}))
            page = ladder.page(folder, path)
        self.assertIn("| naive | 100 | 1.0 | 1.0 % |  |\n| tiled (failed: lost) | 25 | 4.0 | 4.0 % | 4.0 |", page)
        self.assertIn("512 x 512 x 512; one NVIDIA H200", page)
        self.assertEqual(10, page.count("\n### "))


if __name__ == "__main__":
    if "--smelt" in sys.argv:
        at = sys.argv.index("--smelt")
        SMELT = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    unittest.main()
