#!/usr/bin/env bash
# Measures products of a param that --weights quantizes beside those of floats: f32, bf16, and of the f32 program the
# forms q8, q4, w8, w4, w8a8 and w4a8, or those of FORMS. Each line is the least of some rounds that take turns within one run, on one
# thread or as many as THREADS says; the figure in brackets is the speed over f32. Activations are quantized in each run,
# which counts.
#   tests/bench/quantized.sh BUILD_DIR [ROUNDS [MxKxN…]]
# MARCH=x86-64-v3 compiles for another processor. Load from elsewhere shows as ratios that differ from run to run.
set -euo pipefail
build=$(cd "$1" && pwd)
forms=${FORMS:-f32 bf16 q8 q4 w8 w4 w8a8 w4a8}
rounds=${2:-4}
threads=${THREADS:-1}
shapes=("${@:3}")
[ ${#shapes[@]} -gt 0 ] || shapes=(1x768x3072 8x768x3072 33x701x517 128x768x3072 512x1024x1024)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores, $(date +%F), $threads thread(s), -march=${MARCH:-native}"
for shape in "${shapes[@]}"; do
  IFS=x read -r m k n <<<"$shape"
  python3 - "$m" "$k" <<'PY'
import array, random, struct, sys
m, k = int(sys.argv[1]), int(sys.argv[2])
body = array.array("f", [(v % 255 - 127) / 128 for v in random.Random(1).randbytes(m * k)]).tobytes()
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({m}, {k}), }}"
head += " " * (63 - (len(head) + 10) % 64) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
PY
  for form in $forms; do
    t=f32 how=()
    case $form in
    f32) ;;
    bf16) t=bf16 ;;
    *) how=("--weights=$form") ;;
    esac
    printf 'entry f(x : %s[%d, %d]) {\n  param w : %s[%d, %d] = uniform(-1, 1)\n  return y = x @ w\n}\n' $t "$m" "$k" $t "$k" "$n" >$form.g
    "$build/bin/gc" $form.g -O2 -march="${MARCH:-native}" -o $form "${how[@]}"
  done
  times=$((1000000000 / (m * n * k) + 3))
  [ $times -le 500 ] || times=500
  for ((i = 0; i < rounds; i++)); do
    for form in $forms; do
      echo "$form $(./$form f --x x.npy --bench $times --threads "$threads" 2>&1 | grep -o 'least [0-9.]*')"
    done
  done | awk -v shape="$shape" '
    !($1 in least) { order[++n] = $1 }
    !($1 in least) || $3 < least[$1] { least[$1] = $3 }
    END { line = shape; for (i = 1; i <= n; i++) line = line sprintf("  %s %.1f us (%.2f)", order[i], least[order[i]], least["f32"] / least[order[i]]); print line }'
done
