#!/usr/bin/env bash
# Installs what building and testing Smelt needs and this machine lacks: Debian packages, a Python
# environment under build/venv for the tests and, where there is no CUDA 13 toolkit, NVRTC and CUDA's headers in it.
# Prints one line per thing done; does nothing, quickly, when everything is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
  # building
  git ca-certificates cmake ninja-build ccache clang-22 lld-22 libclang-rt-22-dev
  clang-format-22 clang-tidy-22
  # the compiler
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  zlib1g-dev libzstd-dev
  protobuf-compiler libprotobuf-dev libeigen3-dev libcli11-dev
  # .npz files (zlib's licence)
  libminizip-dev
  # the page of smelt report: highlight.js (BSD-3)
  node-highlight.js
  # the plan and the runtime
  flatbuffers-compiler libflatbuffers-dev libxxhash-dev
  # tests, and the plots of what was measured (chromium)
  libgtest-dev libgmock-dev libbenchmark-dev libboost-context-dev python3 python3-venv groff-base zsh fish chromium chromium-driver
  # Python's package
  python3-dev
)
python_packages=('numpy>=2,<3' 'onnx>=1.20,<2' 'onnxruntime>=1.23,<2' 'selenium>=4.30,<5' 'nanobind>=2.4,<3'
  'scikit-build-core>=0.11,<1')
bundles=tools/smelt/html/bundles.txt # of JavaScript, in wheels
cuda_packages=('nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*'
  'nvidia-nvtx==13.0.*')
venv=build/venv

say() { echo "setup.sh: $*"; }
fail() {
  say "$@" >&2
  exit 1
}

# missing_packages: the names in `packages` that dpkg does not have installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
  comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) <(sort -u <<<"$installed")
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# require_candidates PACKAGE...: every one can be installed from the configured mirrors.
require_candidates() {
  local known unknown
  known=$(LC_ALL=C apt-cache policy "$@" | awk '/^[^ ]/ { name = $1 } /Candidate: [^(]/ { print name }')
  mapfile -t unknown < <(comm -23 <(printf '%s:\n' "$@" | sort) <(sort <<<"$known"))
  [ ${#unknown[@]} = 0 ] || fail "no configured mirror has: ${unknown[*]%:}
  LLVM and MLIR 22 are in Debian 12's security suite. Add it and run this script again:
    echo 'deb http://deb.debian.org/debian-security bookworm-security main' > /etc/apt/sources.list.d/security.list
  On another distribution, apt.llvm.org carries packages of the same names."
}

install_packages() {
  command -v dpkg-query >/dev/null || fail "this is no Debian; install the equivalents of: ${packages[*]}"
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} != 0 ] || return 0
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    fail "neither root nor sudo; as root, run: apt-get install --no-install-recommends ${missing[*]}"
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  mkdir -p build
  as_root apt-get update -qq || fail "apt-get update failed; is the network's mirror reachable?"
  require_candidates "${missing[@]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >build/setup.log 2>&1 || {
    tail -n 20 build/setup.log >&2
    fail "apt-get install failed; the whole log is build/setup.log"
  }
}

# has_cuda_toolkit: whether a CUDA 13 toolkit lies where the build and the compiler look for one.
has_cuda_toolkit() {
  grep -qs '^#define CUDA_VERSION 13' /usr/local/cuda/include/cuda.h && [ -e /usr/local/cuda/lib64/libnvrtc.so.13 ]
}

# The environment is complete when its stamp names exactly the wanted packages.
install_python_packages() {
  local wanted=("${python_packages[@]}")
  has_cuda_toolkit || wanted+=("${cuda_packages[@]}")
  local stamp=$venv/smelt-packages
  local wanted_text="${wanted[*]} $(grep -v '^#' "$bundles")"
  [ "$(cat "$stamp" 2>/dev/null)" != "$wanted_text" ] || return 0
  say "installing Python packages in $venv: ${wanted[*]}"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${wanted[@]}" ||
    fail "pip could not install them; is the package index reachable?"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$bundles" ||
    fail "pip could not install what $bundles names; is the package index reachable?"
  echo "$wanted_text" >"$stamp"
}

install_packages
install_python_packages
