#!/usr/bin/env bash
# Builds with AddressSanitizer and UndefinedBehaviorSanitizer and runs every test that needs no GPU,
# the fuzz target's minute included. Needs what tools/setup.sh installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/build.sh asan
ctest --test-dir build/asan --output-on-failure --no-tests=error --parallel 2 --label-exclude 'gpu|slow'
