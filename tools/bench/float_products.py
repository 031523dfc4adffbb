#!/usr/bin/env python3
"""How exact float32 products are on tensor cores, split into tf32 terms, beside those of FFMA: over all checks of both.

usage: tools/bench/float_products.py KERNELS.json [--json tools/bench/results/float_products.json]

KERNELS.json is what `kernel_check --json` wrote on a GPU (tools/gpu_check.sh --steps kernels).
"""

import argparse
import json
import statistics
from pathlib import Path

import common

NAMES = {"gemm_split_float": "split into two tf32 terms, on tensor cores", "gemm_simt_float": "FFMA"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = json.loads(arguments.kernels.read_text())["results"]
    rows = []
    for prefix, name in NAMES.items():
        checks = [check for check in results if check["kernel"].startswith(prefix)]
        errors = sorted(float(check["error"]) for check in checks)
        rows.append(
            {
                "name": name,
                "checks": len(errors),
                "median": statistics.median(errors),
                "p90": errors[int(len(errors) * 0.9)],
                "largest": errors[-1],
                "worst_element": max(float(check["worst"]) for check in checks),
            }
        )
        print(rows[-1])
    common.write(arguments.json, "smelt.float_products/1", common.models.gpu(), rows)


if __name__ == "__main__":
    main()
