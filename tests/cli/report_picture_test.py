"""The picture of the report in README.md: of the page as it is now."""

import shutil
import tempfile
import unittest
from pathlib import Path

import report_picture


class Picture(unittest.TestCase):
    def test_the_readme_shows_the_page_as_it_is(self):
        command = "build/venv/bin/python tests/cli/report_picture.py"
        self.assertEqual(report_picture.recorded(report_picture.PICTURE.read_bytes()), report_picture.digest(),
                         f"tools/smelt/html has changed since docs/report.png was taken: {command}")

    def test_a_page_that_changed_is_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "html")
            shutil.copytree(report_picture.PAGE, page)
            self.assertEqual(report_picture.digest(page), report_picture.digest())
            Path(page, "style.css").write_text(Path(page, "style.css").read_text().replace("14px", "15px", 1))
            self.assertNotEqual(report_picture.digest(page), report_picture.digest())

    def test_a_picture_says_what_it_is_of(self):
        png = report_picture.SIGNATURE + b"\0\0\0\0IHDR" + b"\0" * 4 + b"\0\0\0\0IEND" + b"\0" * 4
        self.assertIsNone(report_picture.recorded(png))
        told = report_picture.with_digest(png, "abc")
        self.assertEqual(report_picture.recorded(told), "abc")
        self.assertEqual([kind for kind, _ in report_picture.chunks(told)], [b"IHDR", b"tEXt", b"IEND"])


if __name__ == "__main__":
    unittest.main()
