"""Writes docs/report.png, the picture in README.md, of the page of the tests' encoder: build/venv/bin/python tests/cli/report_picture.py.

Needs a release build, and neither a GPU nor a network. The picture holds a digest of the page's sources, so that a test can tell
whether they have changed since (report_picture_test.py); pixels differ between machines.
"""

import hashlib
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PICTURE = REPOSITORY / "docs" / "report.png"
PAGE = REPOSITORY / "tools" / "smelt" / "html"
KEYWORD = b"Smelt page"
SIGNATURE = b"\x89PNG\r\n\x1a\n"

sys.path.insert(0, str(REPOSITORY / "tools"))
os.environ.setdefault("SMELT", str(REPOSITORY / "build/release/bin/smelt"))

import encoder  # noqa: E402
import support  # noqa: E402
from headless_browser import open_browser  # noqa: E402


def digest(folder=PAGE):
    """Of all that the page is made of, as text."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".html", ".css", ".js"):
            found.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return found.hexdigest()


def chunks(png):
    """(kind, data) of each."""
    at = len(SIGNATURE)
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        at += size + 12


def recorded(png):
    """The digest that the picture holds; None where it holds none."""
    texts = [data.partition(b"\0") for kind, data in chunks(png) if kind == b"tEXt"]
    return next((text.decode() for keyword, _, text in texts if keyword == KEYWORD), None)


def with_digest(png, text):
    """The picture with a text chunk behind its header."""
    data = b"tEXt" + KEYWORD + b"\0" + text.encode()
    end = len(SIGNATURE) + 12 + struct.unpack_from(">I", png, len(SIGNATURE))[0]
    return png[:end] + struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data)) + png[end:]


def take():
    browser = open_browser()
    with tempfile.TemporaryDirectory() as folder:
        model, page = Path(folder, "encoder.onnx"), Path(folder, "report.html")
        model.write_bytes(encoder.encoder().SerializeToString())
        subprocess.run([support.SMELT, "report", model, "--device", "cpu", "--shape", "ids=8x512", "-o", page], check=True)
        browser.set_window_size(1400, 1180)
        browser.get(page.as_uri())
        browser.execute_script("chooseStep(7); document.getElementById('graphs').scrollIntoView()")
        png = browser.get_screenshot_as_png()
    browser.quit()
    return png


def main():
    PICTURE.write_bytes(with_digest(take(), digest()))


if __name__ == "__main__":
    main()
