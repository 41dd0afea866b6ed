#!/bin/sh
# Runs the fuzzers, each for SECONDS; what they find stays in the current directory.
# A text that found something goes, once that is mended, to corpus/, which tests replay.
#   tests/fuzz/run.sh SECONDS BUILD/bin [SEED] [source|ir_text|shapes|onnx|config|loaders|image|tokens|records]
# Build with -DGC_SANITIZE=ON to see more.
set -eu
seconds=$1
bin=$(cd "$2" && pwd)
seed=${3:-$(date +%s)}
which=${4:-all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
code=0
wants() { [ "$which" = all ] || [ "$which" = "$1" ]; }
if wants source; then
  # without three programs of tens of thousands of ops, which take seconds each
  seeds=$(ls "$root"/docs/examples/*.g "$root"/lang/prelude/*.g "$root"/tests/lang/[!e]*.g "$root"/tests/lang/elab_[!m]*.g \
    "$root"/tests/lang/elab_matmul.g "$root"/tests/bad/*.g "$root"/tests/plan/*.g "$root"/tests/passes/*.g |
    grep -vE '/(order_loops|limit_gap|scan_grad_deep)\.g$')
  # several words
  # shellcheck disable=SC2086
  "$bin/fuzz_source" "$seconds" "$seed" $seeds || code=1
fi
if wants ir_text; then
  "$bin/fuzz_ir_text" "$seconds" "$seed" "$root"/tests/ir/*.ir "$root"/tests/passes/*.ir "$root"/tests/plan/[!k]*.ir || code=1
fi
if wants shapes; then
  "$bin/fuzz_shapes" "$seconds" "$seed" "$root"/tests/fuzz/corpus/shapes/*.g || code=1
fi
if wants onnx; then
  "$bin/fuzz_onnx" "$seconds" "$seed" "$root"/tests/fuzz/corpus/onnx/*.onnx || code=1
fi
if wants config; then
  "$bin/fuzz_config" "$seconds" "$seed" "$root"/tests/fuzz/corpus/config/*.json || code=1
fi
if wants loaders; then
  "$bin/fuzz_loaders" "$seconds" "$seed" || code=1
fi
if wants image; then
  "$bin/fuzz_image" "$seconds" "$seed" || code=1
fi
if wants tokens; then
  "$bin/fuzz_tokens" "$seconds" "$seed" "$root"/tests/unit/tokens/*.json || code=1
fi
if wants records; then
  "$bin/fuzz_records" "$seconds" "$seed" "$root"/tests/unit/tokens/smollm.json || code=1
fi
exit $code
