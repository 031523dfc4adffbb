"""Reads handwritten digits with a small vision transformer, cell by cell, as in a notebook.

usage: digits.py FOLDER     FOLDER holds digits_vit.onnx, digits_test_images.npy, digits_test_labels.npy (tools/demo/)
"""

# %% A model, and images to read with it.
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

import smelt

folder = Path(sys.argv[1])
images = np.load(folder / "digits_test_images.npy")
labels = np.load(folder / "digits_test_labels.npy")

# %% Compiling takes seconds and needs no GPU.
plan = smelt.compile(folder / "digits_vit.onnx", progress=lambda phase, done, total: print(f"{phase} {done}/{total}"))
print(plan, plan.inputs, plan.outputs)

# %% What became of the model's nodes: a list of dictionaries, which pandas.DataFrame takes as it is.
rows = plan.explain()
fused = [row for row in rows if row["kernels"]]
print(f"{len(rows)} ONNX nodes became {len({number for row in fused for number in row['kernels']})} kernels")
print(Counter(kind for row in fused for kind in row["kinds"]))

# %% On the GPU where there is one; otherwise on the CPU, and a warning says so.
started = time.perf_counter()
logits = plan.run({"images": images})["logits"]
print(f"{len(images)} digits in {1000 * (time.perf_counter() - started):.1f} ms")
print(f"accuracy: {100 * (logits.argmax(axis=1) == labels).mean():.2f} %")

# %% The same with ONNX Runtime's signature.
session = smelt.Session(plan, device="cpu")
(some,) = session.run(["logits"], {"images": images[:4]})
print(f"on {session.device_name}: {some.argmax(axis=1)}, and the labels are {labels[:4]}")
