#!/usr/bin/env bash
# Everything that must hold before a change lands, in the order in which it is cheapest to fail.
# Needs no GPU. Sets the machine up, builds the runtime alone, everything, and everything again with AddressSanitizer and
# UndefinedBehaviorSanitizer, runs the tests of each; the sanitizers' include a minute of fuzzing. Last come the sweeps, which
# put many kernels to NVRTC, one after the other: on a machine that has taken long until then, those that are left are named
# and not begun. At most 90 minutes on 2 cores, even where these are half as fast as others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
started=$SECONDS

# stage TITLE COMMAND...: a titled, timed step; the first one that fails ends the run.
stage() {
  local title=$1 from=$SECONDS
  shift
  echo "==> $title"
  "$@" || {
    echo "test.sh: FAILED: $title (after $((SECONDS - from)) s)" >&2
    exit 1
  }
  echo "    $title: $((SECONDS - from)) s"
}

# suite PRESET [CTEST OPTION...]: runs the preset's tests; a tree without tests is a failure.
suite() {
  ctest --test-dir "build/$1" --output-on-failure --no-tests=error --parallel 2 "${@:2}" || {
    recall_failures "build/$1/Testing/Temporary"
    return 1
  }
}

# sweeps PRESET: its tests with the label sweep, each with all cores, while there is time to begin one.
sweeps() {
  local names name last_begin=3900 # seconds after the start; the longest takes 1,200 on a slow machine
  mapfile -t names < <(ctest --test-dir "build/$1" --show-only --label-regex '^sweep$' | sed -n 's/^ *Test *#[0-9]*: //p')
  [ ${#names[@]} != 0 ] || return 1
  for name in "${names[@]}"; do
    if [ $((SECONDS - started)) -gt $last_begin ]; then
      echo "    NOT RUN for lack of time: $name (ctest --test-dir build/$1 -R '^$name\$')"
    else
      suite "$1" --tests-regex "^${name//./\\.}\$" || return 1
    fi
  done
}

# recall_failures FOLDER: the end of what each failed test printed, once more: of a log, its end is what is kept.
recall_failures() {
  awk -v most=60 '
    FNR == NR { failed[substr($0, index($0, ":") + 1)] = 1; next }
    /^[0-9]+\/[0-9]+ Test(ing)?: / { name = substr($0, index($0, ": ") + 2); lines = 0 }
    { line[lines++] = $0 }
    /" time elapsed: / && name in failed {
      print "--- " name
      for (i = lines > most ? lines - most : 0; i < lines; ++i) print line[i]
    }' "$1/LastTestsFailed.log" "$1/LastTest.log" >&2 || true
}

stage "setup" tools/setup.sh
stage "format" tools/format.sh
stage "layers" tools/check_layers
stage "README's tables" build/venv/bin/python tools/bench/make_tables.py --check
stage "runtime alone: build" tools/build.sh runtime-only
stage "runtime alone: tests" suite runtime-only --label-exclude gpu
stage "release: build" tools/build.sh release
stage "release: tests" suite release --label-exclude 'gpu|sweep'
stage "sanitizers: build" tools/build.sh asan
stage "sanitizers: tests" suite asan --label-exclude gpu
stage "sweeps" sweeps release

echo "test.sh: all stages passed in $((SECONDS - started)) s"
