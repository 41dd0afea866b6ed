#!/usr/bin/env bash
# Trains lstm.g and gpt.g on a text, measures them on its last tenth as they go, and lets them write. Fails
# where the loss there is not below 1.9 nats a character at the end. Minutes to hours: not one of the tests.
#   tests/bench/learn.sh BUILD_DIR TEXT [STEPS …]       default: 250 500 1000 1500 2000 3000 4000
# Losses follow from the text and the steps alone: neither load nor the number of threads changes them.
set -euo pipefail
gc=$(cd "$1" && pwd)/bin/gc
text=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
shift 2
[ $# -gt 0 ] || set -- 250 500 1000 1500 2000 3000 4000
examples=$(cd "$(dirname "$0")/../../docs/examples" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# windows of 64 characters: those to train on begin anywhere before the last tenth, the others at multiples of 64
n=$(wc -c <"$text")
train="~1[0:$((n * 9 / 10 / 100 * 100 - 100))]"
held="~64[$(((n * 9 / 10 + 63) / 64)):$(((n - 1) / 64))]"
failed=0
for model in lstm gpt; do
  input=context
  [ $model = lstm ] && input=chars
  "$gc" "$examples/$model.g" -O2 -o $model
  rm -f run.ckpt
  resume=
  spent=0
  for steps in "$@"; do
    start=$(date +%s)
    ./$model train --$input "$text$train" --next "$text+1$train" --steps "$steps" --seed 1 $resume \
      --checkpoint run.ckpt --save $model.safetensors --quiet >log.txt 2>&1 || { cat log.txt; exit 1; }
    spent=$((spent + $(date +%s) - start))
    resume='--resume run.ckpt'
    loss=$(./$model validate --load $model.safetensors --$input "$text$held" --next "$text+1$held" --quiet |
      awk '$1 == "loss" {print $3}')
    echo "$model: $steps steps, $spent s, loss $loss on the last tenth"
  done
  awk "BEGIN {exit !($loss < 1.9)}" || { echo "$model: the loss is not below 1.9"; failed=1; }
  ./$model write --load $model.safetensors --steps 500 --text char --quiet
  echo
done
exit $failed
