#!/usr/bin/env python3
"""Plots of results: every row is drawn, a row that failed is not, and equal results give equal files."""

import copy
import json
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools" / "bench"))

import plots  # noqa: E402

sys.path.insert(0, str(REPOSITORY / "tools"))
from headless_browser import open_browser  # noqa: E402

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


def told(svg, tag):
    """{what a mark stands for: the mark}"""
    marks = [(mark.find(f"{SVG}title"), mark) for mark in xml.fromstring(svg).iter(f"{SVG}{tag}")]
    return {title.text: mark for title, mark in marks if title is not None}


def draw_latency(results):
    return plots.draw([plots.latency(results)])[0]


class Latency(unittest.TestCase):
    def test_every_row_and_time_is_named(self):
        text = words(draw_latency(PEERS))
        for word in ("small  2.00x", "large  1.10x", "0.25 ms", "0.3 ms", "0.5 ms", "4 ms", "4.4 ms"):
            self.assertIn(word, text)
        self.assertTrue(any("commit 0123456789" in word for word in text))

    def test_bars_are_as_long_as_the_times(self):
        slow = copy.deepcopy(PEERS)
        slow["rows"][0]["smelt_ms"] = 0.4
        for results, ms in ((PEERS, 0.25), (slow, 0.4)):
            width = {text: float(bar.get("width")) for text, bar in told(draw_latency(results), "rect").items()}
            peer = width["small  2.00x: PyTorch's best mode, 0.5 ms"]
            self.assertAlmostEqual(width[f"small  2.00x: Smelt, a plan for the shape, {ms} ms"] / peer, ms / 0.5, places=3)
            self.assertFalse(any("large" in text and "any shape" in text for text in width))  # it was not measured


class Roofline(unittest.TestCase):
    def draw(self, results):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "gemm.json").write_text(json.dumps(results))
            return plots.draw([plots.roofline(Path(folder))])[0]

    def test_rows_that_failed_are_not_drawn(self):
        right, fewer = self.draw({**KERNELS, "rows": KERNELS["rows"][:3]}), self.draw({**KERNELS, "rows": KERNELS["rows"][:2]})
        self.assertEqual(self.draw(KERNELS), right)
        self.assertEqual(len(told(right, "path")) - len(told(fewer, "path")), 2)

    def test_points_stand_at_their_share(self):
        points = told(self.draw(KERNELS), "path")
        share = 100 * 2e6 / 4.8e12 * 1e6  # of a kernel of no products that takes one microsecond
        height = {}
        for text, point in points.items():
            height[text] = float(re.match(r"M[\d.]+,([\d.]+)", point.get("d"))[1])
        own, peer = height[f"b, Smelt: 1 us, {share:.0f} %"], height[f"b, its best peer: 2 us, {share / 2:.0f} %"]
        top, bottom = (self.line_at(KERNELS, percent) for percent in (100, 0))
        for at, expected in ((own, share), (peer, share / 2)):
            self.assertAlmostEqual(100 * (bottom - at) / (bottom - top), expected, delta=0.1)

    def line_at(self, results, percent):
        """Where the axis says so much, less what its text lies below its line."""
        text = next(t for t in xml.fromstring(self.draw(results)).iter(f"{SVG}text") if t.text == str(percent) and t.get("text-anchor") == "end")
        return float(text.get("y")) - 4

    def test_each_file_has_the_roof_of_its_own_gpu(self):
        other = {**KERNELS, "gpu": "NVIDIA H100 80GB HBM3"}
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "gemm.json").write_text(json.dumps(KERNELS))
            Path(folder, "conv.json").write_text(json.dumps(other))
            both = plots.draw([plots.roofline(Path(folder))])[0]
        shares = [round(100 * 2 / bandwidth) for bandwidth in (4.8, 3.35)]  # of what moves 2 MB in a microsecond
        for share in shares:
            self.assertTrue(any(text.startswith("b, Smelt") and text.endswith(f", {share} %") for text in told(both, "path")))
        self.assertTrue(any("H200" in word and "H100" in word for word in words(both)))
        self.assertTrue(any("4.8 TB/s" in word and "3.4 TB/s" in word for word in words(both)))

    def test_the_roof_is_that_of_the_gpu(self):
        other = {**KERNELS, "gpu": "NVIDIA H100 80GB HBM3"}
        self.assertTrue(any("3.4 TB/s" in word for word in words(self.draw(other))))
        self.assertTrue(any("4.8 TB/s" in word for word in words(self.draw(KERNELS))))


class Files(unittest.TestCase):
    """The README's own plots, as a browser shows them."""

    @classmethod
    def setUpClass(cls):
        cls.browser = open_browser()
        cls.addClassCleanup(cls.browser.quit)

    def check(self, name):
        path = REPOSITORY / "docs" / "plots" / name
        self.assertNotIn("http", path.read_text().replace("http://www.w3.org/2000/svg", ""))
        grounds = set()
        for scheme in ("light", "dark"):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.browser.get(path.as_uri())
            grounds.add(self.browser.execute_script("return getComputedStyle(document.querySelector('.ground')).fill"))
        self.assertEqual(len(grounds), 2)
        boxes = self.browser.execute_script("""
          return [...document.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()])
            .map(([text, box]) => [text, box.left, box.top, box.right, box.bottom]);""")
        width, height = self.browser.execute_script("const box = document.documentElement.viewBox.baseVal; return [box.width, box.height]")
        names = {text for text, *_ in boxes}
        self.assertGreater(len(names), 10)
        for i, (text, left, top, right, bottom) in enumerate(boxes):
            self.assertTrue(left >= 0 and right <= width and bottom <= height, text)
            for other, x, y, end, low in boxes[:i]:
                # A line's box is higher than its letters: those of neighbouring lines touch.
                self.assertFalse(left < end and x < right and top + 3 < low and y + 3 < bottom, (text, other))

    def test_no_text_of_the_bars_covers_another(self):
        self.check("latency.svg")

    def test_no_text_of_the_roofline_covers_another(self):
        self.check("roofline.svg")


if __name__ == "__main__":
    unittest.main()
