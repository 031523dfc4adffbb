#!/usr/bin/env bash
# Runs clang-tidy with .clang-tidy over the given sources, or over the whole tree (many minutes: MLIR is heavy).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

database=build/release
[ -f "$database/compile_commands.json" ] || cmake --preset release >/dev/null
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files 'frontend/*.cpp' 'ir/*.cpp' 'passes/*.cpp' 'codegen/*.cpp' 'runtime/*.cpp' 'tools/*.cpp'); fi
exec run-clang-tidy-22 -quiet -use-color=0 -j "$(nproc)" -p "$database" "${files[@]}"
