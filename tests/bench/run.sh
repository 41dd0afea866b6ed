#!/usr/bin/env bash
# Measures gc beside its peers, in pairs within one run, on 1 and 2 threads.
#   tests/bench/run.sh BUILD_DIR [STEP.c …]
# Peers: OpenBLAS for products (libopenblas-dev), PyTorch for training steps where python3 has it
# (PYTHON names the interpreter), and every STEP.c given: a hand-written step of mnist.g's training as a C
# file that prints lines "one region, …: N us a step". What is missing is said, not skipped in silence.
# Run it on a quiet machine: load from elsewhere shows as a low least and a high median.
set -euo pipefail
build=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --build "$build" --target benchmarks >/dev/null
grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores, $(date +%F)"

echo "== products"
if [ -x "$build/bin/bench_gemm" ]; then
  for threads in 1 2; do
    for core in Haswell SkylakeX; do
      [ $core = SkylakeX ] && ! grep -q avx512f /proc/cpuinfo && continue
      echo "OPENBLAS_CORETYPE=$core"
      # gc's arena asks for huge pages: both sides get them here
      GLIBC_TUNABLES=glibc.malloc.hugetlb=1 OPENBLAS_CORETYPE=$core OPENBLAS_NUM_THREADS=$threads "$build/bin/bench_gemm" "$build/lib/gc" $threads
    done
  done
else
  echo "left out: bench_gemm was not built (libopenblas-dev is missing)"
fi

echo "== convolutions"
"$python" -c 'import torch' 2>/dev/null || echo "PyTorch is left out: $python has none"
for threads in 1 2; do
  for pair in 1 2; do
    if [ -x "$build/bin/bench_conv" ]; then
      "$build/bin/bench_conv" "$build/lib/gc" $threads
    else
      echo "left out: bench_conv was not built (OpenMP is missing)"
    fi
    "$python" -c 'import torch' 2>/dev/null && OMP_NUM_THREADS=$threads "$python" "$root/tests/bench/torch_conv.py"
  done
done

echo "== training steps, microseconds: median, least"
for model in mnist chars lenet resnet20; do
  batch=() # of mnist and chars as it stands in the program
  [ $model = lenet ] && batch=(-D N=64)
  "$build/bin/gc" "$root/docs/examples/$model.g" -O2 "${batch[@]}" -o "$work/$model"
done
"$build/bin/gc" "$root/docs/examples/lstm.g" -O2 -D D=256 -o "$work/lstm"
"$build/bin/gc" "$root/docs/examples/gpt2.g" -O2 -D L=4 -D H=4 -D C=128 -D V=128 -D N=128 -D T=128 -D B=16 -o "$work/gpt"
"$build/bin/gc" "$root/docs/examples/gpt2.g" -O2 -o "$work/gpt2"
head -c 2000000 /dev/urandom >"$work/bytes.bin"
"$python" - "$work" <<'PY'
import struct, sys
work = sys.argv[1]
data = open(f"{work}/bytes.bin", "rb").read()
def npy(path, shape, body):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
n = 640
npy(f"{work}/image.npy", (n, 784), data[: n * 784])
npy(f"{work}/label.npy", (n,), bytes(b % 10 for b in data[:n]))
npy(f"{work}/picture.npy", (n, 3072), data[: n * 3072])
npy(f"{work}/context.npy", (n, 16), bytes(b % 128 for b in data[: n * 16]))
npy(f"{work}/next.npy", (n,), bytes(b % 128 for b in data[:n]))
open(f"{work}/text.bin", "wb").write(bytes(b % 128 for b in data[:65536]))
few, many = (struct.pack("<32768i", *(int.from_bytes(data[4 * i : 4 * i + 4], "little") % v for i in range(32768)))
             for v in (128, 50257))
open(f"{work}/few.bin", "wb").write(few)
open(f"{work}/many.bin", "wb").write(many)
PY
gc_step() { # model threads
  case $1 in
  mnist) "$work/mnist" train --image "$work/image.npy" --label "$work/label.npy" --bench 3000 --threads "$2" ;;
  lenet) "$work/lenet" train --image "$work/image.npy" --label "$work/label.npy" --bench 500 --threads "$2" ;;
  resnet20) "$work/resnet20" train --image "$work/picture.npy" --label "$work/label.npy" --bench 10 --threads "$2" ;;
  chars) "$work/chars" train --context "$work/context.npy" --next "$work/next.npy" --bench 500 --threads "$2" ;;
  lstm) "$work/lstm" train --chars "$work/text.bin" --next "$work/text.bin+1" --bench 20 --threads "$2" ;;
  gpt) "$work/gpt" train --tokens "$work/few.bin" --next "$work/few.bin+1" --bench 20 --threads "$2" ;;
  gpt2) "$work/gpt2" train --tokens "$work/many.bin" --next "$work/many.bin+1" --bench 4 --threads "$2" ;;
  esac
}
torch_step() { # its best face: memory is kept, threads spin only where they have a core each
  local file=torch_step
  case $1 in lenet | resnet20) file=torch_nets ;; esac
  MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_TOP_PAD_=268435456 \
    OMP_NUM_THREADS=$2 "$python" "$root/tests/bench/$file.py" "$1" 3 "${@:3}"
}
have_torch=no
"$python" -c 'import torch' 2>/dev/null && have_torch=yes
[ $have_torch = no ] && echo "PyTorch is left out: $python has none"
have_compile=no
"$python" -c 'import torch; torch.compile' 2>/dev/null && have_compile=yes
for model in mnist chars lenet resnet20 lstm gpt gpt2; do
  for threads in 1 2; do
    for pair in 1 2 3; do
      echo "$model, $threads thread(s), gc:      $(gc_step $model $threads)"
      [ $have_torch = yes ] && echo "$model, $threads thread(s), PyTorch: $(torch_step $model $threads)"
      [ $have_compile = yes ] &&
        echo "$model, $threads thread(s), PyTorch, compiled: $(torch_step $model $threads compile)"
    done
  done
done
for step in "$@"; do
  cc -O3 -march=native -fno-math-errno -fopenmp -w "$step" -o "$work/step" -lm
  for threads in 1 2; do
    for pair in 1 2; do
      echo "mnist, $threads thread(s), gc:      $(gc_step mnist $threads)"
      echo "mnist, $threads thread(s), $(basename "$step"):"
      OMP_NUM_THREADS=$threads timeout 120 "$work/step" | grep 'us a step' || echo "  did not end within 120 s"
    done
  done
done
