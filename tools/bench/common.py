"""What the benchmark scripts share: their options, running `smelt`, describing the machine, keeping results."""

import os
import platform
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "tools" / "bench" / "results"
sys.path.insert(0, str(REPOSITORY / "tests" / "models"))

import models  # noqa: E402  (tests/models: which models there are, and where)


def add_arguments(parser):
    parser.add_argument("--smelt", default=str(REPOSITORY / "build/release/bin/smelt"))
    parser.add_argument("--model-dir", default=models.default_model_dir())
    parser.add_argument("--cache", default=str(REPOSITORY / "build/models"))
    parser.add_argument("--models", help="comma-separated names; all by default")
    parser.add_argument("--json", type=Path, help="file for the results")


def smelt_json(smelt, *arguments, environment=None):
    """The JSON object that a command prints; stops with the command's own message where it fails."""
    try:
        return models.smelt_json(smelt, *arguments, environment=environment)
    except RuntimeError as error:
        sys.exit(str(error))


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def cpu():
    """The machine as a result on the CPU states it; `load` is what else ran there in the last minute."""
    return {"cpu": cpu_name(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}


def write(path, schema, machine, rows):
    """Keeps `rows` in a file, where one is named, and prints where."""
    models.write_figures(path, schema, machine, rows)
    if path:
        print(f"wrote {path}")
