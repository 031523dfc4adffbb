#!/usr/bin/env python3
"""What --precision costs and gains: a float32 export at each precision, beside the same model's 16-bit export, in one run.

usage: tools/bench/precision.py [--json tools/bench/results/precision.json]

Errors are those of `smelt compare` on the GPU, against the model as imported, in double precision; times are medians of
`smelt bench` of plans for any shape. One row more holds a measured bound: `compile --within 2e-3`. Needs a GPU.
"""

import argparse
import sys
import tempfile

import common

MODEL, EXPORT = "minilm.ts_fp32", "minilm.ts_fp16"
COMPARED = ("--shape", "input_ids=3x77")
TIMED = ("--shape", "input_ids=32x128", "--shape", "attention_mask=32x128")
LIMIT = 2e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    common.add_arguments(parser)
    arguments = parser.parse_args()
    choices = {name: ("--precision", name) for name in ("fp32", "tf32", "fp16", "bf16")}
    bounded = ("--precision", "fp16", "--within", LIMIT)
    rows = []

    def path(export):
        model = common.models.named(common.models.MODELS, export)[0]
        return common.models.find(model, arguments.model_dir, arguments.cache)

    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/model.plan"

        def measure(name, export, options):
            built = common.smelt_json(arguments.smelt, "compile", path(export), "-o", plan, *options)
            report = common.smelt_json(
                arguments.smelt, "compare", path(export), "--plan", plan, *COMPARED, "--tolerance", 1)
            bench = common.smelt_json(arguments.smelt, "bench", plan, *TIMED)
            row = {
                "name": name,
                "ms": bench["latency_ms"]["median"],
                "relative_norm": report["outputs"][0]["relative_norm"],
                "kernels": len(bench["kernels"]),
                **({"narrowing": built["narrowing"]} if "narrowing" in built else {}),
            }
            rows.append(row)
            print(f"{name}: {row['ms']:.4f} ms, error {row['relative_norm']:.1e}, {row['kernels']} kernels", flush=True)

        for name, options in choices.items():
            measure(f"{MODEL} --precision {name}", MODEL, options)
        measure(f"{MODEL} --precision fp16 --within {LIMIT:g}", MODEL, bounded)
        measure(EXPORT, EXPORT, ())
    common.write(arguments.json, "smelt.precision/1", common.models.gpu(), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
