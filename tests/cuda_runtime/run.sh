#!/bin/sh
# A program for a GPU and the CPU, as a user runs it, on a driver that is no driver: the same bits as the CPU's
# in every way of running, each thing that a machine can lack, and each call of the driver failing in turn.
# usage: run.sh PROGRAM MKDATA MOCK-PREFIX SCRATCH
set -eu
. "$(dirname "$0")/../runtime/check.sh"
model=$1 mkdata=$2 mock=$3
rm -rf "$4" && mkdir -p "$4" && cd "$4"

# gpu CODE NAME ARGS...: exit code and output in out.txt
gpu() {
  want=$1 name=$2
  shift 2
  checks=$((checks + 1)) code=0
  LD_LIBRARY_PATH=$mock-${kind:-whole} "$model" "$@" >out.txt 2>&1 || code=$?
  [ "$code" = "$want" ] || { fail "$name: exit code $code, not $want"; cat out.txt; }
}
cpu() {
  checks=$((checks + 1))
  "$model" "$@" --device cpu >cpu.txt 2>&1 || { fail "on the CPU: $*"; cat cpu.txt; }
}
# lacks TEXT HINT: an error with --device cuda; without, a note and the CPU
lacks() {
  text=$1 hint=$2
  gpu 3 "$text" predict --x x.npy --device cuda
  holds out.txt "error: $text" lacks
  holds out.txt "hint: $hint" lacks
  holds out.txt '--device cpu runs it here' lacks
  gpu 0 "$text" predict --x 'x.npy[0:8]'
  holds out.txt "note: this runs on the CPU: $text" lacks
  gpu 0 "$text" predict --x 'x.npy[0:8]' --quiet
  grep -q note out.txt && fail "--quiet has a note: $text" || :
}

"$mkdata" npy f32 100,4 1 x.npy
"$mkdata" npy f32 100,3 linear t.npy
printf 'The quick brown fox jumps over the lazy dog, and that is all there is.\n' >words.txt
data='--x x.npy --target t.npy'

# ---- on the CPU, for comparison ----
cpu train $data --epochs 7 --save w.safetensors --log log.csv
held='--validate test:5 --validate.x x.npy --validate.target t.npy'
cpu train $data --epochs 7 $held --save g.safetensors --log held.csv
same w.safetensors g.safetensors validate
cpu train $data --epochs 7 --seed 9 --no-shuffle --save w9.safetensors
cpu predict --x x.npy --load w.safetensors --y y.npy
cpu test $data --load w.safetensors
cp cpu.txt test.txt
cpu train $data --steps 31 --checkpoint c.ckpt
cpu generate --steps 30 --text char
cp cpu.txt text.txt

# ---- the same bits, in either order of the streams ----
for MOCK_ORDER in late early; do
  export MOCK_ORDER
  gpu 0 train train $data --epochs 7 --save g.safetensors --log g.csv --device cuda
  holds out.txt 'epoch 7/7' train
  grep -q 'graph\|CPU' out.txt && { fail 'training is not as it should be'; cat out.txt; } || :
  same w.safetensors g.safetensors train
  same_log log.csv g.csv train
  gpu 0 validate train $data --epochs 7 $held --save g.safetensors --log g.csv
  same w.safetensors g.safetensors validate
  same_log held.csv g.csv validate
  gpu 0 default train $data --epochs 7 --save g.safetensors
  same w.safetensors g.safetensors default
  gpu 0 seed train $data --epochs 7 --seed 9 --no-shuffle --save g.safetensors
  same w9.safetensors g.safetensors seed
  gpu 0 poison train $data --epochs 7 --save g.safetensors --poison
  same w.safetensors g.safetensors poison
  gpu 0 profile train $data --epochs 7 --save g.safetensors --profile p.json
  same w.safetensors g.safetensors profile
  holds p.json '"name": "update", "ph": "X", "pid": 1, "tid": 0' profile
  holds p.json '"dur": 250.000' profile
  for call in cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphDestroy; do
    MOCK_FAIL=$call:1:999 gpu 0 "$call" train $data --epochs 7 --save g.safetensors
    holds out.txt 'note: the step cannot be replayed as a graph' "$call"
    holds out.txt "$call failed" "$call"
    same w.safetensors g.safetensors "$call"
  done
  gpu 0 predict predict --x x.npy --load w.safetensors --y g.npy
  same y.npy g.npy predict
  gpu 0 expect predict --x x.npy --load g.safetensors --expect y.npy --rtol 0 --atol 0
  gpu 0 test test $data --load w.safetensors
  same test.txt out.txt test
  gpu 0 generate generate --steps 30 --text char
  same text.txt out.txt generate
  gpu 0 bench train $data --bench 20
  holds out.txt 'Mock 0, 20 steps' bench
  gpu 0 part train $data --epochs 3 --checkpoint g.ckpt
  gpu 0 resume train $data --epochs 7 --resume g.ckpt --save g.safetensors
  same w.safetensors g.safetensors resume
  gpu 0 'part of an epoch' train $data --steps 31 --checkpoint g.ckpt:7
  same c.ckpt g.ckpt 'checkpoints of both'
  gpu 0 'resume the CPU' train $data --epochs 7 --resume c.ckpt --save g.safetensors
  same w.safetensors g.safetensors 'resume the CPU'
  cpu train $data --epochs 7 --resume g.ckpt --save g.safetensors
  same w.safetensors g.safetensors 'resume on the CPU'
  gpu 0 scope predict --x x.npy --load w.safetensors,scope=net.b --y g.npy
  cpu predict --x x.npy --load w.safetensors,scope=net.b --expect g.npy --rtol 0 --atol 0
  gpu 0 rows rows --tok 'words.txt~1[0:2]' --next 'words.txt+3~1[0:2]'
  holds out.txt 'code = [101032 32113]' rows
  "$mkdata" npy u8 100 2 labels.npy
  gpu 0 classes classes --label labels.npy
  printf '\001\002\000\005\001\001\001\001' >labels.bin
  printf '\001\000\002\000\003\000\004\000\005\000\054\001' >far.u16
  gpu 1 'an id without a place' rows --tok far.u16:u16 --next 'words.txt~1[0:2]'
  holds out.txt 'far.u16: input row 1 holds 300, which is not below 256' 'an id without a place'
  gpu 1 fault classes --label labels.bin
  holds out.txt 'labels.bin: input row 3 holds 5, which is not below 3' fault
  cp w.safetensors good
  gpu 1 'not finite' train $data --epochs 50 --lr 1e30 --save good
  holds out.txt 'loss is' 'not finite'
  same w.safetensors good 'not finite'
done
export MOCK_ORDER=late

# ---- what a machine can lack ----
mkdir "${mock##*/}-none" && : >"${mock##*/}-none/libcuda.so.1"
mock=${mock##*/} kind=none gpu 3 'no library' predict --x x.npy --device cuda
holds out.txt 'no NVIDIA driver was found: mock-none/libcuda.so.1: file too short' 'no library'
if PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q '^[[:space:]]*libcuda\.so\.1 '; then
  echo 'NOT TESTED: a machine without a driver: this one has one'
else
  mock=${mock##*/} kind=nowhere gpu 3 'nowhere a library' predict --x x.npy --device cuda
  holds out.txt 'no NVIDIA driver was found: libcuda.so.1: cannot open' 'nowhere a library'
fi
kind=old lacks 'the NVIDIA driver is too old: it has no cuLaunchKernelEx' 'install the NVIDIA driver 525'
export MOCK_FAIL=cuInit:1:34
lacks "libcuda.so.1 is the CUDA toolkit's stub" 'take the toolkit'
MOCK_FAIL=cuInit:1:100
lacks 'the NVIDIA driver finds no device' 'nvidia-smi lists the devices'
MOCK_FAIL=cuModuleLoadData:1:222
lacks 'the NVIDIA driver, which knows CUDA 13.0, refuses the program' 'update the NVIDIA driver'
MOCK_FAIL=cuDevicePrimaryCtxRetain:1:46
lacks 'cuDevicePrimaryCtxRetain failed: an error that the driver has no name for (46)' 'another process'
unset MOCK_FAIL
export MOCK_DEVICES=0
lacks 'the NVIDIA driver finds no device' 'nvidia-smi lists the devices'
MOCK_DEVICES=2
gpu 3 'third device' predict --x x.npy --device cuda:2
holds out.txt 'there is no device cuda:2: the driver finds 2' 'third device'
unset MOCK_DEVICES
export MOCK_VERSION=11040
lacks 'the NVIDIA driver is too old: it knows CUDA 11.4, and the program needs 12.0' 'install the NVIDIA driver 525'
unset MOCK_VERSION
export MOCK_CC=75
lacks 'Mock 0 is an sm_75, and the program holds code for compute_80 only' 'compile it with gc --arch=sm_75'
unset MOCK_CC
export MOCK_MEMORY=2000
gpu 3 'too little memory' train $data --save good
holds out.txt 'bytes on the device, and Mock 0 has 2000 free of its 2000' 'too little memory'
holds out.txt 'or run it with --device cpu' 'too little memory'
gpu 0 info info train
holds out.txt 'too little for this entry' info
unset MOCK_MEMORY
gpu 0 info info
holds out.txt 'compiled by gc 0.1.0 for cuda, cpu' info
holds out.txt 'device Mock 0 (sm_90), 67,108,864 bytes' info
holds out.txt 'entry train (training) on cuda' info
holds out.txt 'entry train (training) on cpu' info
holds out.txt '67,108,864' info
MOCK_FAIL=cuInit:1:34 gpu 0 info info
holds out.txt 'device none: libcuda.so.1 is the CUDA' info
gpu 2 'no such device' train $data --device cuda:x
holds out.txt 'there is no device cuda:x' 'no such device'
MOCK_DEVICES=2 gpu 0 'second device' train $data --device cuda:1 --bench 2
holds out.txt 'Mock 1' 'second device'

# ---- each call fails in turn: its message, exit code 3, no file touched ----
# fails FILE BEFORE COMMAND...: FILE is BEFORE before it, and after it where it failed
fails() {
  file=$1 before=$2
  shift 2
  MOCK_LOG=calls.txt gpu 0 'all calls' "$@" --device cuda
  cp "$file" all
  sort calls.txt | uniq -c >counts.txt
  for cu in 999 719; do
    while read -r n call; do
      for at in $(printf '1\n%d\n%d\n' $((n / 2 + 1)) "$n" | sort -nu); do
        cp "$before" "$file"
        rm -f good.ckpt
        # what fails while a graph is made is a note: the run goes on without
        checks=$((checks + 1)) code=0
        MOCK_FAIL=$call:$at:$cu LD_LIBRARY_PATH=$mock-whole "$model" "$@" --device cuda >out.txt 2>&1 || code=$?
        if [ $cu = 999 ] && grep -q 'note: the step cannot be replayed' out.txt; then
          [ $code = 0 ] && cmp -s all "$file" || { fail "$1: $call $at: without a graph"; cat out.txt; }
          continue
        fi
        [ $code = 3 ] || { fail "$1: $call $at $cu: exit code $code"; cat out.txt; }
        [ "$(grep -c 'error:' out.txt)" = 1 ] || { fail "$1: $call $at $cu: not one message"; cat out.txt; }
        [ "$(grep -c 'hint:' out.txt)" = 1 ] || { fail "$1: $call $at $cu: not one remedy"; cat out.txt; }
        holds out.txt "$call failed" "$1: $call $at $cu"
        # the last call comes after all files are complete
        [ "$call" = cuDevicePrimaryCtxRelease_v2 ] || grep -q 'weights saved' out.txt ||
          same "$before" "$file" "$1: $call $at $cu"
        if [ -e good.ckpt ]; then
          cp good.ckpt half.ckpt
          "$model" train $data --epochs 2 --resume half.ckpt --device cpu --threads 1 --quiet >half.txt 2>&1 ||
            { fail "$1: $call $at $cu: a damaged checkpoint"; cat half.txt; }
        fi
        ls | grep -q 'tmp-' && { fail "$1: $call $at $cu: temporary files"; rm -f ./*tmp-*; } || :
      done
    done <counts.txt
  done
}
fails good w.safetensors train $data --epochs 2 --threads 1 --load w.safetensors --save good --checkpoint good.ckpt:3
gpu 0 'an older array' predict --x 'x.npy[0:16]' --load w.safetensors --y older.npy
fails good.npy older.npy predict --x x.npy --threads 1 --load w.safetensors --y good.npy

# ---- signals ----
rm -f s.safetensors s.ckpt
LD_LIBRARY_PATH=$mock-whole "$model" train $data --steps 1000000000 --save s.safetensors \
  --checkpoint s.ckpt:1000000000 --log s.csv --quiet >out.txt 2>&1 &
pid=$!
sleep 0.5
kill -INT $pid
code=0
wait $pid || code=$?
checks=$((checks + 1))
[ $code = 130 ] && [ -s s.safetensors ] || { fail "SIGINT: exit code $code"; cat out.txt; }
steps=$(tail -1 s.csv | cut -d, -f2)
cpu train $data --steps "$steps" --save s2.safetensors --quiet
same s.safetensors s2.safetensors 'SIGINT: the weights of the last step that was logged'

echo "$checks checks, $fails failed"
[ $fails = 0 ]
