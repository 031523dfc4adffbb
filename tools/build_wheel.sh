#!/usr/bin/env bash
# Builds Python's wheel over the release build: tools/build_wheel.sh FOLDER [ENVIRONMENT]. Needs no network: what builds it
# lies in build/venv (tools/setup.sh), or in another virtual environment, whose Python decides the wheel's version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:?usage: tools/build_wheel.sh FOLDER [ENVIRONMENT]}
environment=${2:-build/venv}
work=build/wheel
log=build/wheel.log
rm -rf "$work"
mkdir -p "$work" "$folder"
{
  for component in runtime runtime_dev compiler; do
    cmake --install build/release --component "$component" --prefix "$PWD/$work/prefix"
  done
  CC=clang-22 CXX=clang++-22 CMAKE_PREFIX_PATH="$PWD/$work/prefix" \
    "$environment/bin/pip" wheel --no-deps --no-build-isolation --no-index --wheel-dir "$folder" \
    -C build-dir="$PWD/$work/{wheel_tag}" ./python
} >"$log" 2>&1 || {
  tail -n 100 "$log" >&2
  exit 1
}
ls "$folder"/smelt-*.whl
