#!/usr/bin/env bash
# Everything that needs a GPU: the tests with the label gpu, agreement of every model with the interpreter,
# compute-sanitizer on the demo model, and the comparison with PyTorch. Results go to the given folder.
set -euo pipefail
out=$(realpath "${1:?usage: tools/gpu_check.sh RESULT_FOLDER [MODEL_FOLDER]}")
model_dir=${2:+$(realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

smelt=$PWD/build/release/bin/smelt
demo=tools/demo/digits_vit.onnx
folder=${model_dir:+--model-dir $model_dir}
[ -x "$smelt" ] || {
  echo "gpu_check.sh: build first: tools/setup.sh && tools/build.sh release" >&2
  exit 1
}

"$smelt" run "$demo" --device cuda
"$smelt" compare "$demo" --device cuda --shape images=77x1x8x8
ctest --test-dir build/release --output-on-failure --no-tests=error -L gpu
python3 tests/models/gpu_agreement_test.py --smelt "$smelt" $folder --json "$out/gpu_agreement.json"
for tool in memcheck racecheck; do
  compute-sanitizer --tool "$tool" --error-exitcode 1 "$smelt" run "$demo" --device cuda
done
python3 tools/bench/peers.py --smelt "$smelt" $folder --json "$out/h200_peers.json"
