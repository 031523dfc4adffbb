"""Writes docs/report.png, the picture in README.md, of the page of the tests' encoder: SMELT=build/release/bin/smelt report_picture.py."""

import subprocess
import tempfile
from pathlib import Path

import encoder
import support
from report_test import open_browser
from selenium.webdriver.common.by import By

PICTURE = Path(__file__).parents[2] / "docs" / "report.png"


def main():
    browser = open_browser()
    with tempfile.TemporaryDirectory() as folder:
        model, page = Path(folder, "encoder.onnx"), Path(folder, "report.html")
        model.write_bytes(encoder.encoder().SerializeToString())
        subprocess.run([support.SMELT, "report", model, "--shape", "ids=8x512", "-o", page], check=True)
        browser.set_window_size(1400, 1180)
        browser.get(page.as_uri())
        browser.execute_script("chooseStep(7); document.getElementById('graphs').scrollIntoView()")
        browser.save_screenshot(str(PICTURE))
    browser.quit()


if __name__ == "__main__":
    main()
