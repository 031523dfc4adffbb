#!/usr/bin/env python3
"""Which of ONNX's node cases, spelled out as the functions that define their ops, are found to be those ops again.

usage: node_twins.py SMELT [NAME...]     (NAME: only the cases whose name contains it)

A case of attention, a norm, a softmax, GELU or rotary embedding comes a second time as `<case>_expanded`, or with the opset
of the function in its name. Both are compiled as far as `smelt explain` needs: the twin must have the same number of
attentions, norms, softmaxes and GELUs, and no more kernels where it has none of them. That both compute what they should is
what node_tests.py says. The test fails if fewer are recovered than EXPECTED.
"""

import collections
import concurrent.futures
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import node_tests

EXPECTED = 0.95  # of the twins
FAMILIES = re.compile(r"^test_(attention|layer_normalization|rms_normalization|group_normalization|mvn|softmax"
                      r"|logsoftmax|gelu|rotary_embedding)")
KINDS = ["attention", "norm", "softmax", "gelu"]


def counts_of(smelt, folder):
    """What `smelt explain` finds in a case; None where it is not supported."""
    command = [smelt, "explain", folder / "model.onnx", "--json", "--value", f"@{folder}/test_data_set_0"]
    done = node_tests.call(command)
    if done.returncode == 3 and node_tests.UNSUPPORTED.search(done.stderr):
        return None
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)["counts"]


def judge(smelt, root, direct, twin):
    """('recovered' or 'missed' or 'unsupported', what was found)."""
    found = []
    for name, *case in (direct, twin):
        try:
            node_tests.write(root / name, *case)
        except (AttributeError, TypeError, NotImplementedError, ValueError):
            return "unsupported", ""
        found.append(counts_of(smelt, root / name))
    if None in found:
        return "unsupported", ""
    wanted, got = found
    text = ", ".join(f"{kind} {got[kind]} of {wanted[kind]}" for kind in [*KINDS, "kernels"] if got[kind] != wanted[kind])
    same = all(got[kind] == wanted[kind] for kind in KINDS)
    if not any(wanted[kind] for kind in KINDS):
        same = same and got["kernels"] <= wanted["kernels"]
    return "recovered" if same else "missed", text


def pairs(names):
    """(direct, twin) of every case of the families that comes twice."""
    known = {case[0]: case for case in node_tests.cases([])}
    for name, case in known.items():
        if (found := re.match(r"(.*)_expanded(_ver\d+)?$", name)) and FAMILIES.match(name) and found[1] in known:
            if not names or any(part in name for part in names):
                yield known[found[1]], case


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip().splitlines()[2])
        return 2
    smelt, names = sys.argv[1], sys.argv[2:]
    counts, families = collections.Counter(), collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as root, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        submitted = [(twin[0], pool.submit(judge, smelt, Path(root) / str(index), direct, twin))
                     for index, (direct, twin) in enumerate(pairs(names))]
        for name, future in submitted:
            status, text = future.result()
            counts[status] += 1
            families[FAMILIES.match(name)[1]][status] += 1
            if status == "missed":
                print(f"missed: {name} {text}")
    for family, each in sorted(families.items()):
        print(f"{family}: " + ", ".join(f"{count} {status}" for status, count in sorted(each.items())))
    compared = counts["recovered"] + counts["missed"]
    share = counts["recovered"] / max(compared, 1)
    print(f"{counts['recovered']} of {compared} recovered ({share:.1%}), {counts['unsupported']} unsupported")
    if not names and share < EXPECTED:
        print(f"less than {EXPECTED:.1%}")
        return 1
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main())
