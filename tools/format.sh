#!/usr/bin/env bash
# Checks that every C, C++ and CUDA file follows .clang-format; -f rewrites those that do not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
"") mode=(--dry-run -Werror) ;;
-f) mode=(-i) ;;
*)
  echo "usage: tools/format.sh [-f]   (-f: rewrite the files)" >&2
  exit 2
  ;;
esac

git ls-files -z --cached --others --exclude-standard -- '*.h' '*.c' '*.cpp' '*.cu' '*.cuh' |
  xargs -0 --no-run-if-empty --max-procs=2 --max-args=40 clang-format-22 "${mode[@]}" || {
  echo "format.sh: run tools/format.sh -f" >&2
  exit 1
}
