#!/usr/bin/env python3
"""Plots of results: every row is drawn, a row that failed is not, and equal results give equal files."""

import copy
import json
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools" / "bench"))

import plots  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
MACHINE = {"gpu": "NVIDIA H200", "date": "2026-11-25", "commit": "0123456789abcdef"}
PEERS = {
    **MACHINE,
    "rows": [
        {"name": "small", "smelt_ms": 0.25, "smelt_dynamic_ms": 0.3, "torch_best_ms": 0.5, "ratio": 2.0},
        {"name": "large", "smelt_ms": 4.0, "torch_best_ms": 4.4, "ratio": 1.1},
    ],
}
KERNELS = {
    **MACHINE,
    "rows": [
        {"name": "a", "flops": 4e9, "bytes": 2e6, "smelt_us": {"median": 8.0}, "peer_us": {"median": 9.0}},
        {"name": "b", "flops": 0, "bytes": 2e6, "smelt_us": {"median": 1.0}, "peer_us": {"median": 2.0}},
        {"name": "c", "flops": 2e9, "bytes": 2e6, "smelt_us": {"median": 5.0}, "peer_us": {"median": 4.0}},
        {"name": "d", "flops": 1, "bytes": 1, "error": "wrong"},
    ],
}


def words(svg):
    return [element.text for element in xml.fromstring(svg).iter(f"{SVG}text")]


def marks(svg):
    """Points of the plot, those of the legend among them."""
    return len([use for use in xml.fromstring(svg).iter(f"{SVG}use") if "opacity: 0.8" in use.get("style", "")])


class Latency(unittest.TestCase):
    def test_every_row_and_time_is_named(self):
        text = words(plots.latency(PEERS))
        for word in ("small  2.00x", "large  1.10x", "0.25 ms", "0.3 ms", "0.5 ms", "4 ms", "4.4 ms"):
            self.assertIn(word, text)
        self.assertTrue(any("commit 0123456789" in word for word in text))

    def test_bars_are_as_long_as_the_times(self):
        slow = copy.deepcopy(PEERS)
        slow["rows"][0]["smelt_ms"] = 0.4
        self.assertNotEqual(plots.latency(PEERS), plots.latency(slow))


class Roofline(unittest.TestCase):
    def draw(self, results):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "gemm.json").write_text(json.dumps(results))
            return plots.roofline(Path(folder))

    def test_rows_that_failed_are_not_drawn(self):
        right, fewer = self.draw({**KERNELS, "rows": KERNELS["rows"][:3]}), self.draw({**KERNELS, "rows": KERNELS["rows"][:2]})
        self.assertEqual(self.draw(KERNELS), right)
        self.assertEqual(marks(right) - marks(fewer), 2)

    def test_the_roof_is_that_of_the_gpu(self):
        other = {**KERNELS, "gpu": "NVIDIA H100 80GB HBM3"}
        self.assertTrue(any("3.4 TB/s" in word for word in words(self.draw(other))))
        self.assertTrue(any("4.8 TB/s" in word for word in words(self.draw(KERNELS))))


if __name__ == "__main__":
    unittest.main()
