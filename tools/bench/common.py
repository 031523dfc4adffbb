"""What the benchmark scripts share: running `smelt`, describing the machine, keeping results."""

import json
import os
import platform
import subprocess
import sys
from datetime import date
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
    command = [smelt, *map(str, arguments), "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def git(*arguments):
    done = subprocess.run(
        ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True
    )
    return done.stdout.strip()


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def cpu():
    """The machine as a result on the CPU states it; `load` is what else ran there in the last minute."""
    return {"cpu": cpu_name(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}


def gpu_name():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.check_output(query, text=True).splitlines()[0].split(", ")
    return {"gpu": name, "driver": driver}


def write(path, schema, machine, rows):
    """Keeps `rows` with what is needed to read them later; prints where."""
    if not path:
        return
    state = {"commit": git("rev-parse", "HEAD"), "date": date.today().isoformat()}
    content = {"schema": schema, **state, **machine, "rows": rows}
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"wrote {path}")
