#!/usr/bin/env python3
"""Checks that the instruction set levels of simd_kernels.cpp share no code.

usage: simd_symbols_test.py NM LEVEL=OBJECT...

The linker keeps one copy of a weak function that several objects define. Were it the AVX-512 copy of a function that the
baseline calls too, a machine without AVX-512 would stop at an illegal instruction. So every weak definition must
carry its level's name.
"""

import subprocess
import sys

# References to the exception personality: data, the same in every object.
SHARED_DATA = ("DW.ref.", "typeinfo ", "vtable ")


def weak_definitions(nm: str, path: str) -> list[str]:
    command = [nm, "--defined-only", "--demangle", "--format=posix", path]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    fields = (line.rsplit(maxsplit=3) for line in listing.splitlines())
    return [name for name, kind, *_ in (f for f in fields if len(f) >= 2) if kind in "WVu"]


def main() -> int:
    nm, *objects = sys.argv[1:]
    shared = []
    for level, path in (argument.split("=", 1) for argument in objects):
        for name in weak_definitions(nm, path):
            if f"Eigen_{level}::" not in name and f"::{level}::" not in name and not name.startswith(SHARED_DATA):
                shared.append(f"{path}: {name}")
    print("\n".join(shared) or f"{len(objects)} levels share nothing")
    return 1 if shared or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
