#!/usr/bin/env bash
# Measures half precision beside gc's own f32 on one thread: products x @ w with weights, of two activations, transposed,
# and of one row, then training steps. Each line is the least of some rounds that take turns within one run.
#   tests/bench/halves.sh BUILD_DIR [ROUNDS]
# The steps also run beside PyTorch in f32 and under bf16 autocast, if ${PYTHON:-python3} has it.
# MARCH=x86-64-v3 compiles for another processor. Load from elsewhere shows as ratios that differ from run to run.
set -euo pipefail
build=$(cd "$1" && pwd)
rounds=${2:-6}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores, $(date +%F), -march=${MARCH:-native}"
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
      echo "./p_$t f --x x.npy --bench $times --threads 1" >p_$t.run
    else
      printf 'entry f(x : %s[%s], w : %s[%s]) { return y = %s @ %s }\n' $t "$xs" $t "$ws" $x $w >p_$t.g
      echo "./p_$t f --x x.npy --w w.npy --bench $times --threads 1" >p_$t.run
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
head -c 2000000 /dev/urandom >bytes.bin
python3 - <<'PY'
import struct
data = open("bytes.bin", "rb").read()
def npy(path, shape, body):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
npy("picture.npy", (640, 3072), data[: 640 * 3072])
npy("label.npy", (640,), bytes(b % 10 for b in data[:640]))
open("text.bin", "wb").write(bytes(b % 128 for b in data[:65536]))
open("few.bin", "wb").write(struct.pack("<32768i", *(b % 128 for b in data[:32768])))
PY
python=${PYTHON:-python3}
have_torch=no
"$python" -c 'import torch' 2>/dev/null && have_torch=yes
[ $have_torch = no ] && echo "PyTorch is left out: $python has none"
step() { # NAME SOURCE ARGUMENTS -- OPTIONS OF gc
  local name=$1 source=$2 run=$3 all=() file=torch_step
  shift 3
  for p in f32 bf16; do
    cp "$root/docs/examples/$source.g" "${name}_$p.g"
    compile "${name}_$p" --precision=$p "$@"
    echo "./${name}_$p train $run --threads 1" >"${name}_$p.run"
    all+=("${name}_$p")
  done
  [ "$name" = resnet20 ] && file=torch_nets
  for mode in "" autocast; do
    [ $have_torch = yes ] || continue
    p=${name}_torch$mode
    echo "OMP_NUM_THREADS=1 $python $root/tests/bench/$file.py $name 3 $mode | sed 's/.* /least /'" >"$p.run"
    all+=("$p")
  done
  race "$name" "${all[@]}"
}
step gpt gpt2 "--tokens few.bin --next few.bin+1 --bench 20" -D L=4 -D H=4 -D C=128 -D V=128 -D N=128 -D T=128 -D B=16
step lstm lstm "--chars text.bin --next text.bin+1 --bench 10" -D D=256
step resnet20 resnet20 "--image picture.npy --label label.npy --bench 3"
step gpt2 gpt2 "--tokens few.bin --next few.bin+1 --bench 3"
