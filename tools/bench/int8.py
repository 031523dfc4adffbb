#!/usr/bin/env python3
"""Q/DQ models, made by ONNX Runtime's static quantiser, against the half-precision exports that they are made of, in one run.

usage: tools/bench/int8.py [--models resnet50.qdq] [--json tools/bench/results/int8.json]

Times are medians of `smelt bench`, of a plan for any batch and of one for the shape. What the Q/DQ model computes on the GPU is
compared with ONNX Runtime on the CPU, beside how far ONNX Runtime with its optimisations is from itself without them: a value
that one of them rounds to the next byte moves all that follows. Needs a GPU and onnxruntime.
"""

import argparse
import sys
import tempfile

import common
from common import models

sys.path.insert(0, str(common.REPOSITORY / "tests" / "models"))
import quantised  # noqa: E402

SHAPES = {"image": {"x": "32x3x224x224"}, "tokens": {"input_ids": "32x128", "attention_mask": "32x128"}}
# With the batch left open: rows of scores are as long as a sequence, and vectors of bytes want to know of what it is a multiple.
ANY_BATCH = {"image": {}, "tokens": {"input_ids": "?x128", "attention_mask": "?x128"}}
MODELS = ("resnet50.qdq_symmetric", "resnet50.qdq", "bert_base.qdq_symmetric", "bert_base.qdq", "bert_base.qdq_all")
COMPARED = {"image": (2,), "tokens": (2, 77)}


def shape_flags(shapes):
    return [part for name, size in shapes.items() for part in ("--shape", f"{name}={size}")]


def times(smelt, path, inputs):
    """Median ms by plans for any batch and for the shape, and the benchmark of the first."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/model.plan"
        for compiled_for in (ANY_BATCH[inputs], SHAPES[inputs]):
            common.smelt_json(smelt, "compile", path, "-o", plan, *shape_flags(compiled_for))
            found.append(common.smelt_json(smelt, "bench", plan, *shape_flags(SHAPES[inputs])))
    return *(bench["latency_ms"]["median"] for bench in found), found[0]


def errors(smelt, path, inputs):
    """(of the GPU, of ONNX Runtime without optimisations), against ONNX Runtime, by relative norm of the first output."""
    plain, expected = (next(iter(quantised.run_onnxruntime(path, inputs, optimised).values())) for optimised in (False, True))
    actual = next(iter(models.run(smelt, path, inputs, "cuda").values()))
    return models.relative_error(actual, expected)[0], models.relative_error(plain, expected)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    arguments = parser.parse_args()
    rows, halves = [], {}
    for name in arguments.models.split(",") if arguments.models else MODELS:
        known = quantised.export_of(name)
        path = quantised.find(name, arguments.model_dir, arguments.cache)
        if known.name not in halves:
            half = models.find(known, arguments.model_dir, arguments.cache)
            halves[known.name] = times(arguments.smelt, half, known.inputs)
        half_ms, half_fixed, _ = halves[known.name]
        ms, fixed, bench = times(arguments.smelt, path, known.inputs)
        inputs = quantised.make_inputs(known, COMPARED[known.inputs], 7)
        error, onnxruntime_error = errors(arguments.smelt, path, inputs)
        row = {
            "name": name,
            "shape": next(iter(SHAPES[known.inputs].values())),
            "ms": ms,
            "half_ms": half_ms,
            "ratio": round(half_ms / ms, 3),
            "fixed_ms": fixed,
            "half_fixed_ms": half_fixed,
            "kernels": len(bench["kernels"]),
            "error": error,
            "onnxruntime_error": onnxruntime_error,
        }
        rows.append(row)
        print(f"{name}: {ms:.4f} ms, half {half_ms:.4f} ms, {row['ratio']:.2f}x, for the shape {fixed:.4f} and {half_fixed:.4f} "
              f"ms; error {error:.1e} (ONNX Runtime's {onnxruntime_error:.1e})", flush=True)
        common.write(arguments.json, "smelt.int8/1", models.gpu(), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
