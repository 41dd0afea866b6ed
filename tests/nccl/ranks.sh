#!/bin/sh
# ranks.sh GC MKDATA FOLDER-OF-LIBCUDA FOLDER-OF-LIBNCCL SCRATCH: programs of two ranks that talk by NCCL, on the PTX
# interpreter and a library that checks NCCL's calls. Weights, figures and checkpoints are those of one process on the
# CPU; each thing that can be missing and each call that can fail ends both ranks with one message and code, and no file
# is touched. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cuda/common.sh"
unoptimised
scratch "$5"
need_nvrtc 'ranks that talk by NCCL' mid
library="$3:$4"
cp "$root/tests/e2e/ranks.g" net.g
"$mkdata" npy f32 21,64 3 x.npy && "$mkdata" npy u8 21 4 label.npy || fail 'no data could be made'
compile net.g --target=cpu -O0 -o one
compile net.g --data-parallel=nccl --ranks=2 --shard=optimizer --arch=compute_80 --remarks=ahead -o two
grep -q 'the preparation of the next batch runs beside the step' out || fail 'no batch is prepared ahead'
compile net.g --data-parallel=nccl --ranks=2 --shard=optimizer --arch=compute_80 --ahead=no -o behind
"$gc" net.g --data-parallel=nccl --ranks=2 --dump-plan >out 2>&1
grep -q all_reduce out || fail 'the plan has no collectives'
"$gc" net.g --data-parallel=nccl --ranks=2 --arch=compute_80 --emit=cuda -o net.cu >out 2>&1 || fail 'no kernels'
grep -q 'gc: note: --emit=cuda has kernels alone: collectives are calls of NCCL' out || fail 'kernels without a note'
cat >loop.g <<'END'
entry train(x : f32[8, 4, 16]) {
  h, l = zeros([8, 16]), zeros([])
  scan i in 0..4 { h = tanh(h + linear(x[:, i], 16) as fc); l = l + mean(h ** 2) }
  minimize l with sgd(0.01)
  return l
}
END
"$gc" loop.g --exact --data-parallel=nccl --ranks=2 --arch=compute_80 -o none >out 2>&1 && fail 'collectives in a loop'
grep -q 'error: ranks on GPUs cannot exchange values in a loop' out && [ ! -e none ] || fail 'a loop is not refused'
data='--x x.npy --label label.npy'
train="train $data --epochs 2 --seed 5"

# begin NAME=VALUE... -- OPTIONS...: both ranks in the background, as $first and $second; what they print in out.0, out.1
begin() {
  rm -f meet
  set -- GC_MASTER=./meet GC_WORLD_SIZE=2 LD_LIBRARY_PATH="$library" "$@"
  env GC_RANK=1 "$@" >out.1 2>&1 &
  second=$!
  env GC_RANK=0 "$@" >out.0 2>&1 &
  first=$!
}
# ended CODE WHAT: of both
ended() {
  checks=$((checks + 1)) one=0 other=0
  wait $first || one=$?
  wait $second || other=$?
  cat out.0 out.1 >out
  [ "$one $other" = "$1 $1" ] || fail "$2: exit codes $one and $other, not $1"
}
# ranks CODE WHAT [NAME=VALUE...] ./PROGRAM OPTIONS...
ranks() {
  want=$1 what=$2
  shift 2
  begin "$@"
  ended "$want" "$what"
}
says() { grep -qF -e "$1" out || fail "'$1' is not said"; }
# once WHAT: one message and no other
once() { [ "$(grep -cE 'error:|^rank [01]: ' out)" -eq 1 ] || fail "$1: not one message"; }
near() { # near FILE FILE WHAT: adamw magnifies the order of sums
  checks=$((checks + 1))
  PYTHONPATH="$root/tests/e2e" python3 - "$1" "$2" <<'END' || fail "$3: $1 and $2 differ"
import sys, weights
a, b = weights.weights(sys.argv[1]), weights.weights(sys.argv[2])
off = max(max(abs(x - y) for x, y in zip(a[k], b[k])) / (max(map(abs, a[k])) + 1e-30) for k in a)
sys.exit(not (a.keys() == b.keys() and off <= 1e-5))
END
}
figures() { awk -F, '{ printf "%s,%s", $1, $2; for (i = 3; i < NF; i++) printf ",%.4g", $i; print "" }' "$1"; }

# ---- what one process gives ----
./one $train --save one.st --log one.csv >out 2>&1 || fail 'on the CPU'
./one ${train% --epochs*} --seed 5 --steps 2 --checkpoint half-one.st >out 2>&1 || fail 'half of it on the CPU'
ranks 0 trains FAKENCCL_SLOW=50 FAKECUDA_LOG=driver.log FAKENCCL_LOG=nccl.log ./two $train --save two.st --log two.csv
near one.st two.st 'two ranks'
figures one.csv >one.log && figures two.csv >two.log && same one.log two.log
grep -q 'graph' out && fail 'a step is not captured'
grep -q 'cuGraphLaunch' driver.log || fail 'no graph runs'
[ "$(grep -c cuStreamCreate driver.log)" -eq 6 ] || fail 'collectives have no stream of their own'
for call in ncclAllReduce ncclReduceScatter ncclAllGather ncclCommDestroy; do
  [ $(($(grep -c "$call" nccl.log) % 2)) -eq 0 ] && grep -q "$call" nccl.log || fail "$call: not by both ranks"
done
[ "$(grep -c 'epoch 2/2' out)" -eq 1 ] || fail 'not one rank prints'

grep -q 'ncclReduceScatter 2 of type 7' nccl.log || fail 'no slice is short' # of 3 elements

# what is prepared beside the step before, on each rank, is what the step itself would make
ranks 0 'a batch is prepared in its step' ./behind $train --save got.st --log got.csv
same two.st got.st
figures got.csv >got.log && same two.log got.log
ranks 0 'prepared ahead, without a short last batch' ./two $train --drop-last --save ahead.st
ranks 0 'prepared in its step, without a short last batch' ./behind $train --drop-last --save got.st
same ahead.st got.st

# nodes of a graph in any order that its edges allow, kernel by kernel, with dead bytes poisoned
ranks 0 'another order' FAKECUDA_ORDER=1 ./two $train --save got.st
same two.st got.st
ranks 0 'poisoned' FAKECUDA_ORDER=7 ./two $train --poison --save got.st
same two.st got.st
ranks 0 'a profile' ./two $train --profile p.json --save got.st
same two.st got.st
grep -q reduce_scatter p.json || fail 'a profile without collectives'

# The share of waiting: the interpreter runs a collective where it was captured, in front of what waits for it, and in
# the other order when nothing else can run. Runs that are not timed count as those that are.
share() { sed -n 's/^epoch 6.* on 2 ranks  waiting \([0-9]*\) %.*/\1/p' out; }
ranks 0 'collectives that are over' FAKENCCL_TAKES=2 ./two train $data --epochs 6
[ "$(share)" -le 20 ] || fail "of collectives that are over $(share) % is waited for"
ranks 0 'collectives that are waited for' FAKENCCL_TAKES=2 FAKECUDA_ORDER=1 ./two train $data --epochs 6
[ "$(share)" -ge 40 ] || fail "of collectives that nothing runs beside $(share) % is waited for"

# a wait that nobody hears shows in the weights, or in what the interpreter finds
seen=0
for at in 2 3 4 5 6 7 8 9; do # until it does for two: some wait for what is over in any order
  [ $seen -lt 2 ] || break
  begin FAKECUDA_ORDER=1 FAKECUDA_DEAF=$at ./two $train --save got.st --timeout 5
  wait $first; one=$?; wait $second
  [ $one -eq 0 ] && cmp -s two.st got.st || seen=$((seen + 1))
done
[ $seen -ge 2 ] || fail "of eight waits that were dropped only $seen showed"

# what one rank has
cat >spread.ir <<'END'
module "spread.g"
entry spread(%x : f32[2,64]) ranks 2 {
  %y = collective_broadcast %x {root = 1} : f32[2,64]
  return %y {names = "y"}
}
END
tail -c $((19 * 256)) x.npy | head -c 512 >rows.bin
compile -x ir spread.ir --data-parallel=nccl --ranks=2 --arch=compute_80 -o spread
ranks 0 'a broadcast' ./spread spread --x 'x.npy[0:4]' --y spread.npy --poison
tail -c 512 spread.npy >spread.bin
same rows.bin spread.bin

# blocks that lie apart are gathered one by one
cat >gather.g <<'END'
entry train(x : f32[8, 3]) {
  p = linear(x, 4) as a
  loss = mean(cumsum(p', axis = 1) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
compile gather.g --target=cpu -O0 -o gather-one
compile gather.g --data-parallel=nccl --ranks=2 --arch=compute_80 -o gather-two
"$mkdata" npy f32 16,3 3 rows.npy
./gather-one train --x rows.npy --epochs 2 --save one-g.st >out 2>&1 || fail 'blocks on the CPU'
ranks 0 blocks FAKENCCL_LOG=blocks.log ./gather-two train --x rows.npy --epochs 2 --save two-g.st
near one-g.st two-g.st 'gathered blocks'
grep -q ncclGroupEnd blocks.log || fail 'blocks are not a group'

# ---- launchers ----
# launched WHAT 'NAME=VALUE …': with @ for the rank
launched() {
  # shellcheck disable=SC2046
  env $(echo "$2" | tr @ 1) LD_LIBRARY_PATH="$library" ./two $train --save got.st >out.1 2>&1 &
  second=$!
  # shellcheck disable=SC2046
  env $(echo "$2" | tr @ 0) LD_LIBRARY_PATH="$library" ./two $train --save got.st >out.0 2>&1 &
  first=$!
  ended 0 "$1"
  same two.st got.st
}
port=$((20000 + $$ % 20000))
launched torchrun "RANK=@ WORLD_SIZE=2 LOCAL_RANK=@ MASTER_ADDR=localhost MASTER_PORT=$port TORCHELASTIC_USE_AGENT_STORE=True"
launched srun "SLURM_PROCID=@ SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=@ SLURM_STEP_NODELIST=localhos[t-z,7],b SLURM_JOB_ID=$$"
launched mpirun "OMPI_COMM_WORLD_RANK=@ OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=@ OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=$$/1 TMPDIR=."
launched 'a port' "GC_RANK=@ GC_WORLD_SIZE=2 GC_MASTER=[::1]:$((port + 7))"

# connections that say nothing keep no rank waiting: three of them, heard for 5 seconds each
rm -f silent
meets="GC_WORLD_SIZE=2 GC_MASTER=localhost:$((port + 8)) LD_LIBRARY_PATH=$library"
# shellcheck disable=SC2086
env $meets GC_RANK=0 ./two predict --x x.npy --load one.st --timeout 9 >out.0 2>&1 &
first=$!
python3 - $((port + 8)) <<'END' &
import os, socket, sys, time
held = []
for attempt in range(500):
    try:
        held.append(socket.create_connection(("localhost", int(sys.argv[1]))))
        if len(held) == 3:
            break
    except OSError:
        time.sleep(0.02)
open("silent", "w").close()
for attempt in range(1000):
    if not os.path.exists("silent"):
        break
    time.sleep(0.05)
END
holder=$!
for attempt in $(seq 200); do [ -e silent ] || sleep 0.1; done
# shellcheck disable=SC2086
env $meets GC_RANK=1 ./two predict --x x.npy --load one.st --timeout 9 >out.1 2>&1 &
second=$!
ended 0 'silent connections'
rm -f silent
wait $holder

# ---- files ----
ranks 0 'half of it' ./two ${train% --epochs*} --seed 5 --steps 2 --checkpoint half.st
near half-one.st half.st 'a checkpoint'
ranks 0 resumes ./two $train --resume half.st --save got.st
same two.st got.st
ranks 0 'resumes one process' ./two $train --resume half-one.st --save got.st
near one.st got.st 'one process resumed by two'
./one $train --resume half.st --save got.st >out 2>&1 || fail 'one process resumes two'
near one.st got.st 'two resumed by one process'
./one predict --x x.npy --load one.st --best one.npy >out 2>&1
ranks 0 predicts ./two predict --x x.npy --load one.st --best two.npy
same one.npy two.npy
ranks 0 tests ./two test $data --load one.st
says 'loss = '

# ---- what is missing ----
keep() { cp one.st kept.st; }
kept() { checks=$((checks + 1)); cmp -s one.st kept.st || fail "$1: a file was touched"; ls | grep -q 'tmp-' && fail "$1: temporary files"; :; }
keep
mkdir none && : >none/libnccl.so.2
library="$3:none" ranks 3 'no NCCL' ./two $train --save kept.st
says 'NCCL was not found' && once 'no NCCL'
ranks 3 'an old NCCL' FAKENCCL_VERSION=2804 ./two $train --save kept.st
says 'this NCCL is too old: it is version 2.8' && once 'an old NCCL'
library="$4" ranks 3 'no driver' ./two $train --save kept.st
says 'no NVIDIA driver was found' && once 'no driver'
ranks 3 'too few devices' FAKECUDA_DEVICES=2 GC_LOCAL_RANK=2 ./two $train --save kept.st
says 'there is no device cuda:2: the driver finds 2' && once 'too few devices'
ranks 0 'a device for each' FAKECUDA_DEVICES=2 ./two $train --save got.st
same two.st got.st
ranks 2 'a device by number' ./two $train --device cuda:1 --save kept.st
says 'each rank takes a device of its own' && once 'a device by number'
ranks 3 'the host' ./two $train --device cpu --save kept.st
says 'this program holds no code for cpu' && once 'the host'
ranks 1 'no file' ./two train --x nothing.npy --label label.npy
says 'nothing.npy: cannot be read' && once 'no file'
# alone CODE TEXT NAME=VALUE...: one process
alone() {
  want=$1 text=$2
  shift 2
  checks=$((checks + 1)) code=0
  env LD_LIBRARY_PATH="$library" "$@" ./two $train --save kept.st --timeout 1 >out 2>&1 || code=$?
  [ "$code" -eq "$want" ] || fail "$text: exit code $code, not $want"
  says "$text" && once "$text"
}
alone 2 'this program is for 2 ranks, and 1 runs it' A=
says 'start 2 processes with torchrun, mpirun or srun, or with GC_RANK, GC_WORLD_SIZE and GC_MASTER set'
alone 3 '1 of 2 ranks have come within 1 seconds: missing 1' GC_RANK=0 GC_WORLD_SIZE=2 GC_MASTER=./meet
alone 3 'rank 0 has not answered at ./meet for 1 seconds' GC_RANK=1 GC_WORLD_SIZE=2 GC_MASTER=./meet
alone 3 'rank 0 has not answered at localhost:9 for 1 seconds' GC_RANK=1 GC_WORLD_SIZE=2 GC_MASTER=localhost:9
alone 3 'nothing says where the 2 ranks meet' GC_RANK=0 GC_WORLD_SIZE=2
alone 3 'GC_MASTER=here is no place to meet' GC_RANK=0 GC_WORLD_SIZE=2 GC_MASTER=here
alone 3 'GC_MASTER=localhost:70000 is no place to meet' GC_RANK=0 GC_WORLD_SIZE=2 GC_MASTER=localhost:70000
alone 3 'MASTER_PORT=65535 is torchrun' RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=65535 TORCHELASTIC_USE_AGENT_STORE=True
alone 3 'GC_RANK=2: ranks are numbered from 0 to GC_WORLD_SIZE - 1' GC_RANK=2 GC_WORLD_SIZE=2
alone 3 'GC_RANK=x is no number from 0 on' GC_RANK=x GC_WORLD_SIZE=2
alone 3 'no/such/folder/meet: cannot be written' GC_RANK=0 GC_WORLD_SIZE=2 GC_MASTER=no/such/folder/meet
kept 'what is missing'

# ---- what fails: each call of NCCL, at its first and its last time, on either rank ----
sort nccl.log | awk '{ print $1 }' | uniq -c | while read -r n call; do echo "$((n / 2)) $call"; done >calls
while read -r n call; do
  [ "$call" = ncclGetUniqueId ] && n=1 # of rank 0 alone
  [ "$call" = ncclCommAbort ] && continue
  for at in $(printf '1\n%d\n' "$n" | sort -nu); do
    keep
    rank=$(((n + at) % 2))
    [ "$call" = ncclGetUniqueId ] && rank=0
    fault=FAKENCCL_FAIL=$call:$at:3
    # the other rank hears nothing of it
    cat >one.sh <<END
[ "\$GC_RANK" = $rank ] && export $fault
exec "\$@"
END
    begin sh one.sh ./two $train --save kept.st --timeout 9
    one=0 other=0
    wait $first || one=$?
    wait $second || other=$?
    cat out.0 out.1 >out
    checks=$((checks + 1))
    case $call in
    ncclCommDestroy) continue ;; # when all is written
    ncclAll* | ncclReduce*) # captured, it fails without harm: all that follows is launched one by one
      if grep -q 'cannot be replayed' out; then continue; fi ;;
    esac
    [ "$one $other" = '3 3' ] || fail "$call $at on $rank: exit codes $one and $other"
    says "$call failed: internal error (3): $call was told to fail" && once "$call $at on $rank"
    kept "$call $at on $rank"
  done
done <calls

# ---- what happens beside the calls ----
keep
ranks 3 'a link goes down' FAKENCCL_ASYNC=9:6 ./two $train --save kept.st --timeout 9
says 'NCCL failed: remote process exited or there was a network error (6): a link went down' && once 'a link'
ranks 3 'a collective that does not end' FAKENCCL_ASYNC=20:0 ./two $train --save kept.st --timeout 1
says 'the other ranks have not answered for 1 seconds' && once 'a collective that does not end'
for gone in 0 1; do
  : >met.log
  begin FAKENCCL_LOG=met.log FAKENCCL_ASYNC=20:0 ./two $train --save kept.st --timeout 60
  for attempt in $(seq 600); do # until both are beyond their meeting
    [ "$(grep -c ncclReduceScatter met.log)" -ge 2 ] && break
    sleep 0.1
  done
  if [ $gone = 0 ]; then kill -9 $first; else kill -9 $second; fi
  one=0 other=0
  wait $first 2>/dev/null || one=$?
  wait $second 2>/dev/null || other=$?
  cat out.0 out.1 >out
  [ $((one + other)) -eq 140 ] || fail "rank $gone is killed: exit codes $one and $other"
  says "rank $gone has ended" && once "rank $gone is killed"
done
kept 'what happens beside'

# a rank is killed at any moment: the other ends, the last checkpoint is whole, and what goes on from it ends with the
# bits of an uninterrupted run
some="train $data --seed 5"
steps='--steps 40 --checkpoint kept.ckpt:1 --save killed.st'
began=$(date +%s%N)
ranks 0 'a run that is to be killed' ./two $some $steps
took=$(($(date +%s%N) - began)) killed=0 try=0 kills=1
[ "${GC_TEST_LEVEL-}" != full ] || kills=100
mv killed.st whole.st
while [ $killed -lt $kills ] && [ $try -lt $((10 * kills)) ]; do
  try=$((try + 1))
  rm -f kept.ckpt killed.st
  at=$(awk -v seed="${GC_TEST_SEED:-0}" -v try=$try -v took="$took" 'BEGIN { srand(seed % 1000000 * 1000 + try); printf "%.4f %d", rand() * took / 1e9, rand() * 2 }')
  begin ./two $some $steps --timeout 9
  sleep "${at% *}"
  if [ "${at#* }" = 0 ]; then victim=$first left=$second; else victim=$second left=$first; fi
  kill -9 "$victim" 2>/dev/null
  one=0 other=0
  wait "$victim" 2>/dev/null || one=$?
  wait "$left" || other=$?
  [ $one -eq 137 ] || continue
  killed=$((killed + 1)) checks=$((checks + 1))
  cat out.0 out.1 >out
  [ $other -eq 3 ] || [ -s killed.st ] || fail "second and rank $at: the other rank ends with $other"
  [ "$(grep -cE 'error:|^rank [01]: ' out)" -le 1 ] || fail "second and rank $at: not one message"
  resume=
  [ ! -s kept.ckpt ] || resume='--resume kept.ckpt'
  # shellcheck disable=SC2086
  ranks 0 "second and rank $at: what goes on" ./two $some $resume --steps 40 --save killed.st
  same whole.st killed.st
done
[ $killed -ge $kills ] || fail "only $killed runs were killed"
finish
