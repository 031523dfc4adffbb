#!/usr/bin/env bash
# Configures and builds a preset: tools/build.sh PRESET [TARGET...]. Quiet unless something fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?usage: tools/build.sh PRESET [TARGET...]}
shift
mkdir -p build
log=build/$preset.log
cmake --preset "$preset" >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
# Paths as the compiler cache sees them start at the repository: what two presets compile alike is compiled once.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# Without these it passes by every file that is compiled with a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros
targets=()
[ $# = 0 ] || targets=(--target "$@")
cmake --build "build/$preset" "${targets[@]}" >>"$log" 2>&1 || {
  grep -v '^\[[0-9]*/[0-9]*\] ' "$log" | tail -n 200 >&2
  exit 1
}
