#!/usr/bin/env bash
# Measures whole training steps, on one thread or as many as THREADS says: gc in f32 and at --precision=bf16, PyTorch in f32
# and under bf16 autocast, if ${PYTHON:-python3} has it, and in f32 the gc of an older build, OLD=BUILD_DIR, with the
# examples of its own tree. Each line is the least of some rounds that take turns; a ratio is gc's f32 over the time.
#   tests/bench/steps.sh BUILD_DIR [ROUNDS [STEP…]]        steps: gpt2 gpt resnet20 lstm lenet chars mnist; default: all
# Each line is printed as soon as it is known. Load from elsewhere shows as ratios that differ from run to run.
set -euo pipefail
build=$(cd "$1" && pwd)
rounds=${2:-3}
shift $(($# < 2 ? $# : 2))
steps=${*:-gpt2 gpt resnet20 lstm lenet chars mnist}
old=${OLD:+$(cd "$OLD" && pwd)}
threads=${THREADS:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores, $(date +%F), $threads thread(s), -march=${MARCH:-native}"
head -c 2000000 /dev/urandom >bytes.bin
python3 - <<'PY'
import struct
data = open("bytes.bin", "rb").read()
def npy(path, shape):
    n = 1
    for d in shape:
        n *= d
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    body = data[:n] if len(shape) > 1 and shape[1] > 16 else bytes(b % (128 if len(shape) > 1 else 10) for b in data[:n])
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
npy("image.npy", (640, 784))
npy("picture.npy", (640, 3072))
npy("label.npy", (640,))
npy("context.npy", (640, 16))
open("text.bin", "wb").write(bytes(b % 128 for b in data[:65536]))
open("few.bin", "wb").write(struct.pack("<32768i", *(b % 128 for b in data[:32768])))
PY
torch=no
"$python" -c 'import torch' 2>/dev/null && torch=yes
[ $torch = no ] && echo "PyTorch is left out: $python has none"

# NAME: its program, what it trains on, options of gc, steps of a round
of_step() {
  source=$1 options=()
  case $1 in
  gpt2) run="--tokens few.bin --next few.bin+1" many=3 ;;
  gpt) source=gpt2 run="--tokens few.bin --next few.bin+1" many=15 options=(-D L=4 -D H=4 -D C=128 -D V=128 -D N=128 -D T=128 -D B=16) ;;
  resnet20) run="--image picture.npy --label label.npy" many=5 ;;
  lstm) run="--chars text.bin --next text.bin+1" many=15 options=(-D D=256) ;;
  lenet) run="--image image.npy --label label.npy" many=300 options=(-D N=64) ;;
  chars) run="--context context.npy --next label.npy" many=300 ;;
  mnist) run="--image image.npy --label label.npy" many=2000 ;;
  *) echo "no step is called $1" >&2 && exit 2 ;;
  esac
}
compile() { # GC ROOT PROGRAM OPTIONS…; what an older gc does not compile is left out
  cp "$2/docs/examples/$source.g" "$3.g" &&
    "$1" "$3.g" -O2 -march="${MARCH:-native}" -o "$3" "${@:4}" "${options[@]}" >"$3.txt" 2>&1
}
least() { # FACE: microseconds
  case $1 in
  torch | autocast) # its best face: memory is kept
    local file=torch_step face=()
    case $step in lenet | resnet20) file=torch_nets ;; esac
    [ "$1" = autocast ] && face=(autocast)
    MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_TOP_PAD_=268435456 \
      OMP_NUM_THREADS=$threads "$python" "$root/tests/bench/$file.py" "$step" 2 "${face[@]}" 2>/dev/null | awk '{print $2}' ;;
  *) # shellcheck disable=SC2086
    "./${step}_$1" train $run --bench $many --threads "$threads" 2>&1 | sed -n 's/.*least \([0-9.]*\).*/\1/p' ;;
  esac
}
for step in $steps; do
  of_step "$step"
  faces="f32 bf16"
  compile "$build/bin/gc" "$root" "${step}_f32"
  compile "$build/bin/gc" "$root" "${step}_bf16" --precision=bf16
  if [ -n "$old" ]; then
    if compile "$old/bin/gc" "$old/.." "${step}_old"; then faces="f32 old bf16"; else echo "$step: the older gc does not compile it"; fi
  fi
  [ $torch = yes ] && faces="$faces torch autocast"
  for ((i = 0; i < rounds; i++)); do
    for face in $faces; do echo "$face $(least "$face")"; done
  done | awk -v name="$step" '
    !($1 in least) { order[++n] = $1 }
    !($1 in least) || $2 + 0 < least[$1] + 0 { least[$1] = $2 }
    END {
      line = name ":"
      for (i = 1; i <= n; i++) {
        line = line sprintf("  %s %.2f ms", order[i], least[order[i]] / 1e3)
        if (i > 1) line = line sprintf(" (%.2f)", least["f32"] / least[order[i]])
      }
      if ("autocast" in least) line = line sprintf("; autocast over bf16 %.2f, over f32 %.2f", least["autocast"] / least["bf16"], least["autocast"] / least["f32"])
      print line
    }'
done
