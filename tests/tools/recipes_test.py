"""README's recipes ("to add ... edit ...") against the tree: for one thing of each kind, the files that know of it are those
that the recipe names."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# One thing of each kind, by what its files call it.
EXAMPLES = {
    "an ONNX op": r"\bSwish\b|importSwish",
    "an elementwise IR op": r'\bCosOp\b|"cos"|SMELT_UNARY\(cos\b|smelt\.cos\b',
    "another IR op": r"\bCumsumOp\b|\bcumsum\b",
    "a fusion or another pass": r"FuseRowwise\b|fuse_rowwise\b",
    "a kernel template": r"emitRowwise|rowwise/rowwise|rowwise\.mlir",
    "a layout of weights": r"WeightLayout::kMajor|\bkMajor,",
    "an architecture": r"sm_87",
}
SOURCES = (".cpp", ".h", ".td", ".cuh", ".txt", ".inc")
# An ONNX op is another kind of thing than the IR op that it becomes.
NO_PART = {"an elementwise IR op": "frontend/", "another IR op": "frontend/"}


def recipes():
    """(kind, the path patterns of its row) for each row of README's table."""
    table = ROOT.joinpath("README.md").read_text().split("| to add |")[1].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        kind, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        yield kind, re.findall(r"`([^`]+/[^`]*)`", " ".join(cells))


def matches(path, pattern):
    regex = re.sub(r"<\w+>", "[^/]+", re.escape(pattern))
    return re.fullmatch(regex + (".*" if pattern.endswith("/") else ""), path) is not None


def mentions(regex):
    listing = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listing.split("\0")):
        path = ROOT / name
        is_named = re.search(regex, name)
        if name.endswith(SOURCES + (".mlir",)) and path.is_file():
            if is_named or re.search(regex, path.read_text(errors="replace")):
                yield name


class Recipes(unittest.TestCase):
    def test_every_recipe_names_what_is_touched(self):
        rows = dict(recipes())
        for kind, regex in EXAMPLES.items():
            with self.subTest(kind):
                self.assertIn(kind, rows)
                found = list(mentions(regex))
                found = [path for path in found if not path.startswith(NO_PART.get(kind, "-"))]
                for pattern in rows[kind]:
                    self.assertTrue(any(matches(path, pattern) for path in found), f"{pattern} of {found}")
                for path in found:
                    is_named = any(matches(path, pattern) for pattern in rows[kind])
                    self.assertTrue(is_named or path.startswith("tests/"), f"{path} is in no place of {rows[kind]}")

    def test_a_recipe_that_omits_a_file_fails(self):
        self.assertTrue(matches("codegen/targets/sm_87.h", "codegen/targets/<name>.h"))
        self.assertFalse(matches("codegen/target.cpp", "codegen/targets/<name>.h"))
        self.assertTrue(matches("ir/interpret/unary.cpp", "ir/interpret/"))
        self.assertFalse(matches("ir/ops.td", "ir/interpret/"))


if __name__ == "__main__":
    unittest.main()
