#!/usr/bin/env python3
"""`smelt run --device cpu` against ONNX Runtime on the same cores, at batch 1 and sequence 128.

usage: tools/bench/cpu_vs_onnxruntime.py [--models a,b] [--json tools/bench/results/cpu_vs_onnxruntime.json]

Both run the same filled model on the same inputs with as many threads as there are cores; the figure is the
median of the runs of one session after a warm-up. Needs the onnxruntime package. Fails where Smelt takes more
than LIMIT times as long.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import common
import onnxruntime
from common import models

DEFAULT_MODELS = "minilm.ts_fp32,bert_base.dy20_fp16"
RUNS, SECONDS = 5, 3.0
LIMIT = 3.0


def time_onnxruntime(path, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs)
    samples, stop = [], time.monotonic() + SECONDS
    while time.monotonic() < stop or len(samples) < RUNS:
        started = time.monotonic()
        session.run(None, inputs)
        samples.append(time.monotonic() - started)
    return 1e3 * statistics.median(samples)


def time_smelt(smelt, path, inputs):
    with tempfile.TemporaryDirectory() as folder:
        flags = models.input_flags(inputs, folder)
        report = common.smelt_json(smelt, "bench", path, "--device", "cpu", *flags)
    return report["latency_ms"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    parser.set_defaults(models=DEFAULT_MODELS)
    arguments = parser.parse_args()
    machine = {**common.cpu(), "onnxruntime": onnxruntime.__version__}
    rows = []
    for model, path in models.selected(arguments):
        inputs = models.make_inputs(model, models.SHAPES[model.inputs][0], 0)
        reference = time_onnxruntime(path, inputs)
        smelt = time_smelt(arguments.smelt, path, inputs)
        rows.append(
            {
                "name": model.name,
                "smelt_ms": round(smelt, 2),
                "onnxruntime_ms": round(reference, 2),
                "ratio": round(smelt / reference, 2),
            }
        )
        print(
            f"{model.name:22} Smelt {smelt:8.1f} ms  ONNX Runtime {reference:8.1f} ms"
            f"  {smelt / reference:.2f} times (limit {LIMIT:g})",
            flush=True,
        )
    common.write(arguments.json, "smelt.cpu_vs_onnxruntime/1", machine, rows)
    return 0 if rows and all(row["ratio"] <= LIMIT for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
