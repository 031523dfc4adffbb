#!/usr/bin/env bash
# The demo: builds Smelt, compiles a small vision transformer, reads handwritten digits with it and shows what was
# fused into what. Runs on the GPU where there is one, else on the CPU. Fails where the accuracy is under 97 %.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh
mkdir -p build
echo "demo.sh: building (15 minutes at most the first time)"
tools/build.sh release smelt

smelt=build/release/bin/smelt
model=tools/demo/digits_vit.onnx
images=tools/demo/digits_test_images.npy
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$smelt" run "$model" --input "images=@$images" --output "logits=@$folder/logits.npy" --json >"$folder/run.json"
"$smelt" explain "$model" --json >"$folder/explain.json"
build/venv/bin/python tools/demo/show.py "$folder"
"$smelt" compile "$model" -o "$folder/digits_vit.plan" --arch sm_90a,sm_80
if ! grep -q '"device": "cpu' "$folder/run.json"; then
  "$smelt" bench "$model" --input "images=@$images"
fi
