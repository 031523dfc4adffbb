"""What tools/demo.sh prints: a few held-out digits as `smelt run` saw them, the accuracy, what was fused.

usage: show.py FOLDER     FOLDER holds logits.npy, run.json and explain.json of the model
Exits with 4 where the accuracy is under 97 %.
"""

import json
import sys
from pathlib import Path

import numpy as np

SHADES = " .:-=+*#%@"
SHOWN = 8
REQUIRED = 0.97
DATA = Path(__file__).resolve().parent


def draw(images, captions):
    """The 8x8 images side by side, two characters a pixel, each over its caption."""
    levels = (images[:, 0] * (len(SHADES) - 1)).round().astype(int).clip(0, len(SHADES) - 1)
    for row in range(8):
        print("   ".join("".join(SHADES[level] * 2 for level in image[row]) for image in levels))
    print("   ".join(caption.center(16) for caption in captions))


def show_digits(images, labels, predicted):
    """The wrong ones first, so that the demo does not only show its best side."""
    order = np.argsort(predicted == labels, kind="stable")[:SHOWN]
    captions = [f"says {predicted[i]}, is {labels[i]}" for i in order]
    for start in range(0, SHOWN, 4):
        draw(images[order[start : start + 4]], captions[start : start + 4])
        print()


def show_fusions(explanation):
    nodes = {}
    for node in explanation["nodes"]:
        for kernel in node["kernels"]:
            nodes.setdefault(kernel, []).append(node["name"])
    counts = explanation["counts"]
    print(f"{counts['nodes']} ONNX nodes became {counts['kernels']} kernels:")
    for index, kernel in enumerate(explanation["kernels"]):
        print(f"  {index:2} {kernel['kind']:9} {', '.join(kernel['ops']):60} from {len(nodes.get(index, []))} nodes")


def main():
    folder = Path(sys.argv[1])
    images = np.load(DATA / "digits_test_images.npy")
    labels = np.load(DATA / "digits_test_labels.npy")
    predicted = np.load(folder / "logits.npy").argmax(axis=1)
    show_digits(images, labels, predicted)
    show_fusions(json.loads((folder / "explain.json").read_text()))
    device = json.loads((folder / "run.json").read_text())["device"]
    accuracy = float((predicted == labels).mean())
    print(f"\nran on: {device}")
    print(f"accuracy on {len(labels)} held-out digits: {100 * accuracy:.2f} %")
    return 0 if accuracy >= REQUIRED else 4


if __name__ == "__main__":
    sys.exit(main())
