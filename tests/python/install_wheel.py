"""Builds the wheel and installs it in a clean virtual environment: it is small, needs no compiler, needs no library but
libc's, and shows its entry alone.

usage: install_wheel.py REPOSITORY FOLDER ENVIRONMENT     what the wheel depends on is taken from this Python's environment
"""

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

MAX_BYTES = 25_000_000
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_contents(wheel, folder):
    assert wheel.stat().st_size < MAX_BYTES, f"{wheel.name} has {wheel.stat().st_size} bytes"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(folder)
    assert {"smelt/py.typed", "smelt/_core.pyi", "smelt/__init__.py"} <= set(names), names
    (module,) = folder.glob("smelt/_core*.so")
    needed = {line.split("[")[1].rstrip("]") for line in output("readelf", "-d", module).splitlines() if "NEEDED" in line}
    assert needed <= LIBRARIES, f"the module needs {needed - LIBRARIES}"
    shown = output("nm", "-D", "--defined-only", "--format=just-symbols", module).split()
    assert shown == ["PyInit__core"], f"the module shows {shown}"


def main():
    source, folder, environment = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    for old in (folder, environment):
        shutil.rmtree(old, ignore_errors=True)
    subprocess.run([source / "tools/build_wheel.sh", folder], check=True)
    (wheel,) = folder.glob("smelt-*.whl")
    check_contents(wheel, folder / "contents")
    venv.create(environment, with_pip=True)
    packages = next(environment.glob("lib/python3*/site-packages"))
    packages.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = environment / "bin/python"
    nothing_to_build_with = {"PATH": str(environment / "bin")}
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel]
    subprocess.run(install, check=True, env=nothing_to_build_with)
    found = output(python, "-c", "import smelt, sys; print(smelt.__file__); assert 'torch' not in sys.modules")
    assert found.startswith(str(environment)), found
    print(f"{wheel.name}: {wheel.stat().st_size} bytes")


if __name__ == "__main__":
    main()
