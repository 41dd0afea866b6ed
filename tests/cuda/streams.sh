#!/bin/sh
# streams.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: an executable with streams, in the PTX interpreter, whose batches are
# prepared ahead, other than on the CPU. Its branches run in any order that events allow and give the CPU's bits,
# captured or not; a wait that the driver drops shows; each call that makes streams fails in turn. Exit code 77 and
# "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'streams on the PTX interpreter' mid
cat >net.g <<'END'
def net(x : f32[n, 6]) {
  if training { x = x * uniform(0.9, 1.1, shape = [n, 1]) }
  h = relu(linear(x, 12) as first)
  a = relu(linear(h, 8) as a1)
  b = tanh(linear(sigmoid(linear(h, 10) as b1), 8) as b2)
  c = relu(linear(tanh(linear(relu(linear(h, 6) as c1), 9) as c2), 8) as c3)
  z = zeros([n, 8])
  scan i in 0..3 { z = tanh(z + h[:, 0:8] * 0.5) }
  return linear(concat([a, b, c, z], axis = 1), 3) as last
}
entry train(x : f32[8, 6], y : f32[8, 3]) {
  d = net(x) - y
  loss = mean(d * d)
  minimize loss with adamw(0.01)
  return loss
}
END
compile net.g --streams=4 --target=cuda,cpu --arch=compute_80 --plan-timeout=0 --remarks=ahead -o net
grep -q 'the preparation of the next batch runs beside the step' out || fail 'the GPU prepares no batch ahead'
grep -q 'stays in the step: the threads of a step are all that this target has' out || fail 'the CPU does'
"$gc" net.g --streams=4 --target=cuda --plan-timeout=0 --dump-plan >out 2>&1
grep -q '4 streams, [1-9]' out || fail 'the plan has no streams'
"$mkdata" npy f32 24,6 3 x.npy
"$mkdata" npy f32 24,3 4 y.npy
run='train --x x.npy --y y.npy --epochs 2 --seed 5'
./net $run --device cpu --threads 1 --save want >out 2>&1 || fail 'on the CPU'
./net $run --device cpu --threads 5 --save got >out 2>&1 || fail 'on five threads'
cmp -s want got || fail 'five threads: other weights'
# gpu NAME ENVIRONMENT... -- OPTIONS...
gpu() {
  name=$1
  shift
  rm -f got
  env LD_LIBRARY_PATH="$driver" "$@" --device cuda --save got >out 2>&1
}
for order in 0 1 7 23; do
  gpu "$order" FAKECUDA_ORDER=$order FAKECUDA_LOG=calls.$order ./net $run || fail "order $order"
  cmp -s want got || fail "order $order: other weights than the CPU's"
done
[ "$(grep -c cuStreamCreate calls.0)" -eq 5 ] || fail 'not as many streams as the plan has'
waits=$(grep -c cuStreamWaitEvent calls.0)
[ "$waits" -gt 20 ] || fail 'hardly a wait'
for mode in --poison '--profile p.json'; do
  gpu "$mode" ./net $run $mode || fail "$mode"
  cmp -s want got || fail "$mode: other weights"
done

# a wait that is not heard: the interpreter's order, the last node that can run first, shows it
seen=0 at=1
while [ $at -le "$waits" ] && [ $seen -lt 4 ]; do # until four do
  gpu deaf FAKECUDA_ORDER=1 FAKECUDA_DEAF=$at ./net $run
  cmp -s want got || seen=$((seen + 1))
  at=$((at + 4))
done
[ $seen -ge 4 ] || fail "of $waits waits that were dropped only $seen showed"

notes=0
# calls that fail: while capturing the step runs without a graph, before that the program says what failed
for call in cuEventRecord cuStreamWaitEvent cuStreamCreate cuEventCreate; do
  n=$(grep -c "^$call$" calls.0)
  for at in 1 $((n / 3)) $((n / 2)) "$n"; do
    gpu "$call $at" FAKECUDA_CHECK=none FAKECUDA_FAIL=$call:$at:unknown ./net $run
    code=$?
    grep -q 'note: the step cannot be replayed as a graph' out && notes=$((notes + 1))
    if [ $code -eq 0 ]; then
      cmp -s want got || fail "$call $at: other weights"
    else
      [ $code -eq 3 ] && grep -q "$call failed" out || fail "$call $at: exit code $code"
      [ ! -e got ] || fail "$call $at: weights were saved"
    fi
  done
done
[ $notes -ge 2 ] || fail 'no note that capturing failed'
finish
