#!/usr/bin/env bash
# Everything that needs a GPU: the demo, the tests of kernels and runtime, ONNX's node cases, agreement of every model and
# of 10,000 graphs drawn at random with the interpreter, trained models of packages, caches that grow in place,
# compute-sanitizer on one layer of each family, on models at the edges, on the templates and on 200 graphs, one plan for any
# shape against plans for each, Q/DQ models against half precision, the comparison with PyTorch, single kernels against
# their peers, the ladder of kernels, kernels patched by hand, all weights updated, torch.compile's backend and what Python
# adds to a run. A step that fails does not stop the rest; a table of the steps comes last. Besides the built binaries this
# needs Python with numpy and onnx, for the sanitizer the CUDA toolkit, for packages and Q/DQ models onnxruntime, for the
# comparisons torch and transformers, for the backend Smelt's wheel.
usage="usage: tools/gpu_check.sh [OPTIONS] RESULT_FOLDER
  --smelt PATH       the binary (default: build/release/bin/smelt); its tests are looked for in its build tree
  --steps A,B        of: demo kernels runtime nodes agreement packages cache generate sanitizer dynamic int8 peers
                     single ladder patch refit backend (default: all)
  --models A,B       whole models whose agreement is checked (default: all; tests/models/models.py)
  --layers A,B       models under the sanitizer besides the demo (default: all; tests/models/one_layer.py and edges.py)
  --peers A,B        rows of the comparison with PyTorch (default: all; tools/bench/peers.py)
  --model-dir DIR    the structure-only exports (default: ../shared/models)
  --cache DIR        where models with weights are kept (default: build/models)
  --arch ARCH        compile for it (default: sm_90a)
  --python PATH      (default: build/venv/bin/python where there is one, else python3)"
set -uo pipefail

fail() {
  echo "gpu_check.sh: $1" >&2
  exit 2
}

root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
smelt=$root/build/release/bin/smelt
steps=demo,kernels,runtime,nodes,agreement,packages,cache,generate,sanitizer,dynamic,int8,peers,single,ladder,patch,refit,backend
model_dir=$(dirname "$root")/shared/models
cache=$root/build/models
python=$root/build/venv/bin/python
[ -x "$python" ] || python=python3
arch=sm_90a models='' layers='' peers='' out=''
while [ $# -gt 0 ]; do
  case $1 in
  --help | -h) echo "$usage" && exit 0 ;;
  --smelt | --model-dir | --cache)
    [ $# -gt 1 ] || fail "$1 needs a value"
    name=${1#--}
    declare "${name//-/_}=$(realpath -m "$2")"
    shift
    ;;
  --steps | --models | --layers | --peers | --arch | --python)
    [ $# -gt 1 ] || fail "$1 needs a value"
    declare "${1#--}=$2"
    shift
    ;;
  -*) fail "unknown option $1
$usage" ;;
  *)
    [ -z "$out" ] || fail "more than one result folder"
    out=$(realpath -m "$1")
    ;;
  esac
  shift
done
[ -n "$out" ] || fail "no result folder
$usage"
[ -x "$smelt" ] || fail "$smelt is not there; build it (tools/setup.sh && tools/build.sh release) or name it with --smelt"
mkdir -p "$out" || exit 2
cd "$root" || exit 2
tests=$(dirname "$smelt")/../tests
export PYTHONDONTWRITEBYTECODE=1

# The steps. A status of 77 means: not here.

step_demo() {
  "$smelt" run tools/demo/digits_vit.onnx --device cuda &&
    "$smelt" compare tools/demo/digits_vit.onnx --device cuda --shape images=77x1x8x8
}

# built NAME ARGUMENTS...: runs a test program of the build tree.
built() {
  local program=$tests/$1
  [ -x "$program" ] || {
    echo "SKIPPED: $program is not there"
    return 77
  }
  "$program" "${@:2}"
}

step_kernels() { built kernels/kernel_check --no-timings --source "$root" --json "$out/kernels.json"; }

step_runtime() { built runtime/runtime_gpu_smoke_test; }

step_nodes() {
  "$python" tests/models/gpu_node_test.py --smelt "$smelt" --arch "$arch" --json "$out/gpu_nodes.json"
}

step_agreement() {
  "$python" tests/models/gpu_agreement_test.py --smelt "$smelt" --arch "$arch" --model-dir "$model_dir" \
    --cache "$cache" ${models:+--models "$models"} --json "$out/gpu_agreement.json"
}

# Downloads the packages where they are not in the cache.
step_packages() {
  "$python" tests/models/packages_test.py --smelt "$smelt" --device cuda --cache "$cache" --json "$out/gpu_packages.json"
}

step_cache() {
  "$python" tests/models/gpu_cache_test.py --smelt "$smelt" --arch "$arch" --model-dir "$model_dir"
}

# The binary beside smelt; 1,000 of the graphs have one plan for any shape, run at three.
step_generate() {
  "$(dirname "$smelt")/smelt_generate" --count 10000 --dynamic 1000 --device cuda --arch "$arch" --time-limit 720 \
    --json "$out/generate.json" --save-failures "$out/generated_failures"
}

step_sanitizer() {
  local sanitizer failed=0
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) || {
    echo "SKIPPED: compute-sanitizer is neither in PATH nor in /usr/local/cuda/bin"
    return 77
  }
  "$python" tests/models/gpu_sanitizer_test.py --smelt "$smelt" --arch "$arch" --sanitizer "$sanitizer" \
    --cache "$cache" ${layers:+--models "$layers"} --json "$out/gpu_sanitizer.json" || failed=1
  "$python" tests/kernels/gpu_kernel_sanitizer.py --kernel-check "$tests/kernels/kernel_check" --arch "$arch" \
    --generate "$(dirname "$smelt")/smelt_generate" --sanitizer "$sanitizer" --json "$out/kernel_sanitizer.json" || failed=1
  return $failed
}

step_dynamic() {
  "$python" tools/bench/dynamic_vs_fixed.py --smelt "$smelt" --arch "$arch" --model-dir "$model_dir" \
    --cache "$cache" ${models:+--models "$models"} --json "$out/dynamic_vs_fixed.json"
}

# Made by ONNX Runtime's quantiser of exports whose weights are drawn.
step_int8() {
  "$python" tools/bench/int8.py --smelt "$smelt" --model-dir "$model_dir" --cache "$cache" --json "$out/int8.json"
}

# has MODULES...: whether Python has them; says what is skipped where it has not.
has() {
  local modules=$*
  "$python" -c "import ${modules// /, }" 2>/dev/null || {
    echo "SKIPPED: Python has not all of $modules"
    return 77
  }
}

step_peers() {
  has torch transformers || return
  "$python" tools/bench/peers.py --smelt "$smelt" --model-dir "$model_dir" ${peers:+--models "$peers"} \
    --json "$out/peers.json"
}

# Products, attention, rows and convolutions, each by itself: a file for each table of docs/benchmarks.md.
step_single() {
  local name bench set failed=0
  has torch || return
  for name in gemm gemm_bf16 gemm_odd gemm_epilogue gemm_fp8 gemm_int8 attention attention_bias attention_decode rowwise conv; do
    bench=${name%%_*} set=${name#*_}
    [ "$set" != "$name" ] || set='' # its first
    "$python" "tools/bench/$bench.py" ${set:+--set "$set"} --smelt "$smelt" --json "$out/$name.json" || failed=1
  done
  return $failed
}

step_ladder() {
  "$python" tools/bench/ladder.py --ladder "$(dirname "$smelt")/ladder" --json "$out/ladder.json"
}

step_patch() {
  "$python" tests/models/gpu_patch_test.py --smelt "$smelt" --arch "$arch" --model-dir "$model_dir" --cache "$cache" \
    --json "$out/gpu_patch.json"
}

step_refit() {
  has torch || return
  "$python" tools/bench/refit.py --smelt "$smelt" --model-dir "$model_dir" \
    --runtime "$(dirname "$smelt")/../runtime/libsmelt_rt.so" --json "$out/refit.json"
}

step_backend() {
  has torch transformers onnxscript ml_dtypes smelt || return
  "$python" tools/bench/session_overhead.py --runtime "$(dirname "$smelt")/../runtime/libsmelt_rt.so" \
    --json "$out/session_overhead.json"
  local failed=$?
  "$python" tools/bench/torch_backend.py --json "$out/torch_backend.json" && return $failed
}

table=''
failed=0
for step in ${steps//,/ }; do
  declare -F "step_$step" >/dev/null || fail "there is no step '$step'"
done
for step in ${steps//,/ }; do
  echo "==> $step"
  from=$SECONDS
  "step_$step" 2>&1 | tee "$out/$step.log"
  status=${PIPESTATUS[0]}
  case $status in
  0) result=passed ;;
  77) result=SKIPPED ;;
  *) result="FAILED ($status)" failed=1 ;;
  esac
  summary=$(grep -E '[0-9]+ passed|^SKIPPED|PASSED|x$|accuracy' "$out/$step.log" | tail -n 1)
  table+=$(printf '%-10s %-12s %5d s  %s' "$step" "$result" $((SECONDS - from)) "$summary")$'\n'
done
printf '\n%s' "$table"
exit $failed
