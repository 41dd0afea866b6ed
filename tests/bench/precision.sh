#!/usr/bin/env bash
# Trains gpt.g and lstm.g on a text, and lenet.g on digits, in f32 and at --precision=bf16, from the same weights and on the
# same batches. Fails where the mean loss of all steps differs by more than 1 %; lenet.g's, which differs by as much from seed
# to seed, is the mean of four. Minutes: not one of the tests.
#   tests/bench/precision.sh BUILD_DIR TEXT IMAGES LABELS [STEPS]       default: 500
# The losses follow from the files and the steps alone: neither load nor the number of threads changes them.
set -euo pipefail
gc=$(cd "$1" && pwd)/bin/gc
text=$(realpath "$2")
images=$(realpath "$3")
labels=$(realpath "$4")
steps=${5:-500}
examples=$(cd "$(dirname "$0")/../../docs/examples" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
race() { # NAME SEEDS ARGUMENTS OF train
  local name=$1 seeds=$2
  shift 2
  for p in f32 bf16; do
    "$gc" "$examples/$name.g" -O2 --precision=$p -o "$name"
    for ((seed = 1; seed <= seeds; seed++)); do
      "./$name" train "$@" --steps "$steps" --seed $seed --log $p.$seed.csv --quiet >log.txt 2>&1 || { cat log.txt; exit 1; }
    done
    rm -f "$name"
  done
  awk -F, -v name="$name" -v steps="$steps" -v seeds="$seeds" '
    FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") column = i; next }
    { p = FILENAME ~ /^f32/; sum[p] += $column; many[p]++ }
    END {
      all = steps * seeds
      difference = sum[0] / sum[1] - 1
      printf "%s: %d steps, mean loss f32 %.5f, bf16 %.5f, %+.2f %%\n", name, all, sum[1] / all, sum[0] / all, 100 * difference
      exit !(many[1] == all && many[0] == all && difference < 0.01 && difference > -0.01)
    }' f32.*.csv bf16.*.csv || { echo "$name: the losses differ by more than 1 %, or steps are missing"; failed=1; }
  rm -f ./*.csv
}
race gpt 1 --context "$text" --next "$text+1"
race lstm 1 --chars "$text" --next "$text+1"
race lenet 4 --image "$images" --label "$labels"
exit $failed
