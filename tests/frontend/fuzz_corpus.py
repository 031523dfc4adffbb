#!/usr/bin/env python3
"""Writes the seeds of fuzz_import: the models of ONNX's node tests (from the installed `onnx` package), one per
distinct graph, each with its shape-like inputs made constant and its leading dimension made symbolic.

usage: fuzz_corpus.py FOLDER
"""

import hashlib
import sys
from pathlib import Path

from node_tests import cases, make_constant

MAX_BYTES = 4096


def with_symbols(model):
    """Names the first dimension of each input: the cases' own shapes are all constant."""
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims:
            dims[0].dim_param = "n"
    return model


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip().splitlines()[-1])
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for _, model, inputs, _ in cases([]):
        make_constant(model, inputs)
        variants = [model.SerializeToString(), with_symbols(model).SerializeToString()]
        for data in variants:
            path = folder / hashlib.sha256(data).hexdigest()[:16]
            if len(data) <= MAX_BYTES and not path.exists():
                path.write_bytes(data)
                count += 1
    print(f"{count} seeds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
