#!/usr/bin/env bash
# Measures training on two ranks of this machine, over MPI and shared memory, with a thread each:
# - collectives by themselves (tests/scale/collectives.c);
# - steps of nets on two ranks, beside the prediction of tests/scale from these collectives and the step of half the
#   batch, which two processes run at the same time without talking;
# - with a Python that has torch, the same steps by PyTorch's DistributedDataParallel over Gloo.
#   tests/bench/ranks.sh BUILD [PYTHON]
# Runs alternate, PAIRS times (default 3); what is printed are medians, in microseconds. Two ranks of a busy machine
# wait for each other's turn, so that nothing can be measured: RUN='chrt -f 10' gives them the processors, as root, for
# some seconds at a time. SHARD=sharded measures --shard=optimizer. Needs OpenMPI or MPICH.
set -euo pipefail
build=$(cd "$1" && pwd)
python=${2:-}
root=$(cd "$(dirname "$0")/../.." && pwd)
shard=${SHARD:-plain} pairs=${PAIRS:-3}
read -ra run <<<"${RUN:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_base_warn_component_unused=0
[ "$(nproc)" -ge 2 ] || { echo "two ranks need two processors" >&2; exit 3; }
cd "$work"

grep -m1 'model name' /proc/cpuinfo
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores, $(date +%F), $(mpirun --version | head -1), ${RUN:-no} priority"
python3 - <<'PY'
import random
def npy(path, shape, most):
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    n = shape[0] * (shape[1] if len(shape) > 1 else 1)
    body = bytes(b % most for b in random.Random(0).randbytes(n))
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + body)
npy("digits.npy", (128, 784), 256)
npy("pictures.npy", (256, 3072), 256)
npy("labels.npy", (256,), 10)
npy("context.npy", (64, 64), 128)
npy("next.npy", (64, 64), 128)
PY
mpicc -O2 "$root/tests/scale/collectives.c" -o collectives
"${run[@]}" mpirun -n 2 ./collectives 0.03 | tee collectives.txt

median() { sort -n | awk '{ x[NR] = $1 } END { print NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'; }
# microseconds WORDS: the median of a step that --bench prints, of the slowest process
microseconds() { grep -oE 'median [0-9.]+' | awk '$2 > most { most = $2 } END { print most }'; }

# net NAME LET BATCH STEPS DEFINES FILES: its step in half, on two ranks, and by PyTorch
net() {
  local name=$1 let=$2 batch=$3 steps=$4 defines=$5 files=$6 options=() half one pair both
  for define in ${defines//,/ }; do options+=(-D "$define"); done
  [ "$shard" = plain ] || both=--shard=optimizer
  "$build/bin/gc" "$root/docs/examples/$name.g" -O2 -D "$let=$((batch / 2))" "${options[@]}" -o "$name-half"
  "$build/bin/gc" "$root/docs/examples/$name.g" -O2 -D "$let=$batch" "${options[@]}" --data-parallel=mpi --ranks=2 ${both:-} -o "$name-two"
  for pair in $(seq "$pairs"); do
    # shellcheck disable=SC2086
    "${run[@]}" bash -c 'for i in 1 2; do taskset -c $((i - 1)) "$@" & done; wait' - "./$name-half" train $files --bench "$steps" --threads 1 2>&1 | microseconds >>"$name.half"
    # shellcheck disable=SC2086
    "${run[@]}" mpirun -n 2 --bind-to core "./$name-two" train $files --bench "$steps" --threads 1 2>&1 | microseconds >>"$name.two"
    [ -z "$python" ] || OMP_NUM_THREADS=1 "${run[@]}" "$python" "$root/tests/bench/torch_ranks.py" "$name" 2 "$batch" 2 | cut -d' ' -f1 >>"$name.torch"
  done
  half=$(median <"$name.half") one=$(median <"$name.two")
  "$build/bin/scale" "$root" cpu "$root/docs/examples/$name.g" train "$let=$((batch / 2))${defines:+,$defines}" 2 "$shard" \
    "$(awk -v us="$half" 'BEGIN { print us / 1e6 }')" collectives.txt >predicted.txt
  awk -v name="$name" -v half="$half" -v two="$one" -v torch="$([ -n "$python" ] && median <"$name.torch")" '{
    predicted = $2 * 1e6
    printf "%s: half the batch %.0f us, two ranks %.0f, predicted %.0f (%+.0f %%)", name, half, two, predicted, 100 * (predicted / two - 1)
    if (torch) printf ", PyTorch %.0f, ratio %.2f", torch, torch / two
    print ""
  }' predicted.txt
}
net lenet N 64 500 '' '--image digits.npy --label labels.npy[0:128]'
net resnet20 N 128 12 '' '--image pictures.npy --label labels.npy'
net gpt B 32 24 drop=0 '--context context.npy --next next.npy'
