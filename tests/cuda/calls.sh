#!/bin/sh
# calls.sh GC EXAMPLES MKDATA DRIVER-DIRECTORY SCRATCH [all]: the calls of the driver that a narrow mnist.g makes, on the PTX interpreter.
# Two allocations; the step captured once for each of the two blocks of inputs, then replayed; a step queued with its
# inputs before the one in front of it is waited for; kernels that may begin before the one in front has ended. Each call
# fails in turn, the first time and the last (`all`: and in the middle), also those of --profile and --poison: its
# message, exit code 3, and no file half written. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 examples=$2 mkdata=$3 driver=$4 all=${6-}
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$5"
need_nvrtc 'calls of the driver'
export FAKECUDA_CHECK=none
sed 's/linear(x, 256)/linear(x, 16)/' "$examples/mnist.g" >mnist.g
compile mnist.g -D N=2 --target=cuda,cpu --arch=compute_90 -o mnist
"$mkdata" npy u8 10,784 256 image.npy
"$mkdata" npy u8 10 10 label.npy
# train STEPS OPTIONS…
train() {
  steps=$1
  shift
  LD_LIBRARY_PATH=$driver ./mnist train --image image.npy --label label.npy --seed 3 --steps "$steps" --device cuda --threads 1 \
    "$@" >out 2>&1
}
train 1 --save before || fail 'one step, for a file that is to be replaced'
# counts FILE CALL N
counts() {
  checks=$((checks + 1))
  n=$(grep -cx "$2" "$1")
  [ "$n" -eq "$3" ] || fail "$n of $2, not $3"
}

# ---- what a run calls ----
FAKECUDA_LOG=calls train 5 || fail 'five steps'
counts calls cuMemAlloc_v2 2
counts calls cuMemAllocHost_v2 1
for call in cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags; do counts calls $call 2; done
counts calls cuGraphLaunch 5
checks=$((checks + 2))
sed '1,/cuGraphInstantiateWithFlags/d' calls | sed '1,/cuGraphInstantiateWithFlags/d' | grep -q cuLaunchKernel &&
  fail 'a kernel is launched beside the graphs'
# graphs launched at each wait: of init none, then always one more than is waited for
waits=$(awk '$1 == "cuGraphLaunch" { n++ } $1 == "cuEventSynchronize" { printf "%d ", n }' calls)
[ "$waits" = '0 2 3 4 5 5 ' ] || fail "steps queued at each wait: $waits"
# once there are graphs, each is queued behind a copy of its inputs, before the one in front of it is waited for
checks=$((checks + 1))
queued=$(tr '\n' ' ' <calls | grep -oE \
  'cuMemcpyHtoDAsync_v2 cuEventRecord cuStreamWaitEvent cuGraphLaunch cuEventRecord cuEventSynchronize' | wc -l)
[ "$queued" -eq 3 ] || fail "$queued steps are queued beside one that runs"

# ---- kernels that may begin before the one in front of them has ended ----
# All of a graph but the first one, which is behind a copy; none by a driver that does not capture such launches.
checks=$((checks + 2))
awk '/cuStreamBeginCapture/ { kernels = early = 0 } $1 == "cuLaunchKernelEx" { kernels++ } $1 == "programmatic" { early++ }
  /cuStreamEndCapture/ && (kernels < 2 || early != kernels - 1) { exit 1 }' calls || fail 'kernels of a graph wait for all of the one in front'
rm -f calls
FAKECUDA_DRIVER=12020 FAKECUDA_LOG=calls train 2 || fail 'an older driver'
grep -q programmatic calls && fail 'an older driver captures programmatic launches'

# ---- each fails in turn ----
# fails PATTERN OPTIONS…: calls that match it
fails() {
  pattern=$1
  shift
  rm -f calls
  FAKECUDA_LOG=calls train 2 --save all "$@" || fail "two steps $*"
  sort calls | uniq -c | grep -E " ($pattern)\$" >list
  [ -s list ] || fail "no call is $pattern: $*"
  while read -r n call; do
    for at in $(printf '%s\n' 1 ${all:+$((n / 2 + 1))} "$n" | sort -nu); do
      cp before good
      code=0 checks=$((checks + 1))
      FAKECUDA_FAIL=$call:$at:999 train 2 --save good "$@" || code=$?
      find . -name '*tmp-*' | grep -q . && fail "$call $at $*: a temporary file is left"
      if grep -q 'note: the step cannot be replayed' out; then
        [ $code -eq 0 ] && cmp -s all good || fail "$call $at $*: without a graph, exit code $code"
        continue
      fi
      [ $code -eq 3 ] || fail "$call $at $*: exit code $code"
      grep -q "error: .*$call failed: CUDA_ERROR_UNKNOWN (999)" out && grep -q 'hint:' out ||
        fail "$call $at $*: not its message"
      if [ "$call" = cuDevicePrimaryCtxRelease_v2 ] || grep -q 'weights saved' out; then
        cmp -s all good || fail "$call $at $*: not the weights of the run"
      else
        cmp -s before good || fail "$call $at $*: the file is touched"
      fi
    done
  done <list
}
fails 'cu.*'
fails cuEventElapsedTime --profile p.json
fails cuMemsetD8Async --poison
finish
