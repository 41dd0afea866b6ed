#!/usr/bin/env bash
# Measures half precision beside gc's own f32, on one thread or as many as THREADS says: products x @ w with weights, of
# two activations, transposed, and of one row. Each line is the least of some rounds that take turns within one run. steps.sh has training steps.
#   tests/bench/halves.sh BUILD_DIR [ROUNDS]
# MARCH=x86-64-v3 compiles for another processor. Load from elsewhere shows as ratios that differ from run to run.
set -euo pipefail
build=$(cd "$1" && pwd)
rounds=${2:-6}
threads=${THREADS:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores, $(date +%F), $threads thread(s), -march=${MARCH:-native}"
compile() { "$build/bin/gc" "$1.g" -O2 -march="${MARCH:-native}" -o "$1" "${@:2}"; }
npy() { # NAME ROWS COLUMNS: f32 numbers that each half precision has
  python3 - "$@" <<'PY'
import array, random, struct, sys
name, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
body = array.array("f", [(v % 255 - 127) / 128 for v in random.Random(1).randbytes(rows * columns)]).tobytes()
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
head += " " * (63 - (len(head) + 10) % 64) + "\n"
open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
PY
}
# NAME PROGRAM…: the least time of each program, and what it is of the first one's
race() {
  local name=$1
  shift
  for ((i = 0; i < rounds; i++)); do
    for p; do echo "$p $(bash -c "$(cat "$p.run")" 2>&1 | grep -o 'least [0-9.]*')"; done
  done | awk -v name="$name" '
    !($1 in least) { order[++n] = $1 }
    !($1 in least) || $3 < least[$1] { least[$1] = $3 }
    END { line = name; for (i = 1; i <= n; i++) { p = order[i]; dtype = p; sub(/.*_/, "", dtype)
      line = line sprintf("  %s %.1f us", dtype, least[p]); if (i > 1) line = line sprintf(" (%.2f)", least[order[1]] / least[p]) }
      print line }'
}
product() { # KIND M N K: weight, plain, ta or tb
  local kind=$1 m=$2 n=$3 k=$4 xs ws x=x w=w all=()
  xs="$m, $k" ws="$k, $n"
  [ "$kind" = ta ] && xs="$k, $m" x="x'"
  [ "$kind" = tb ] && ws="$n, $k" w="w'"
  # shellcheck disable=SC2086
  npy x.npy ${xs/,/}
  # shellcheck disable=SC2086
  npy w.npy ${ws/,/}
  local times=$((3000000000 / (m * n * k) + 5))
  [ $times -gt 2000 ] && times=2000
  for t in f32 bf16 f16; do
    if [ "$kind" = weight ]; then
      printf 'entry f(x : %s[%s]) {\n  param w : %s[%s] = uniform(-1, 1)\n  return y = x @ w\n}\n' $t "$xs" $t "$ws" >p_$t.g
      echo "./p_$t f --x x.npy --bench $times --threads $threads" >p_$t.run
    else
      printf 'entry f(x : %s[%s], w : %s[%s]) { return y = %s @ %s }\n' $t "$xs" $t "$ws" $x $w >p_$t.g
      echo "./p_$t f --x x.npy --w w.npy --bench $times --threads $threads" >p_$t.run
    fi
    compile p_$t
    all+=(p_$t)
  done
  race "$kind ${m}x${n}x$k" "${all[@]}"
}
for s in "weight 256 256 256" "weight 512 512 512" "weight 1024 1024 1024" "plain 512 512 512" "ta 512 512 512" "tb 512 512 512" \
  "plain 333 517 701" "ta 300 700 1500" "weight 1 3072 768" "weight 1 2500 1000" "weight 1 8192 4096"; do
  # shellcheck disable=SC2086
  product $s
done
