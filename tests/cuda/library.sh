#!/bin/sh
# library.sh GC ROOT DRIVER-DIRECTORY SCRATCH: a model as a C library that runs on a GPU, which here is the PTX
# interpreter: the bits of the CPU in every call, each call of the driver failing in turn, and no GPU at all. Where the
# directory is "-" the driver is the one that the loader finds, and what only the interpreter's can be told is left out.
# Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 root=$2 driver=$3 cc=${CC:-cc}
. "$(dirname "$0")/common.sh"
[ "$driver" = - ] || unoptimised
scratch "$4"
need_nvrtc 'libraries for a GPU' mid
# run CODE NAME COMMAND…
run() {
  want=$1 name=$2 code=0 checks=$((checks + 1))
  shift 2
  "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$want" ] || fail "$name: exit code $code, not $want"
}

awk '/^cat >net.g/ { on = 1; next } /^END/ { exit } on' "$root/tests/e2e/lib.sh" >net.g
cat >>net.g <<'END'
entry far(at : i32) { return one = gather(one_hot(iota(6), 6), 2 * reshape(at, [1])) }
END
compile net.g --emit=lib --target=cuda,cpu --arch=compute_80
link="-I. -L. -lnet -Wl,-rpath,$PWD -pthread -lm"
# shellcheck disable=SC2086
{
  run 0 'the test of libraries' "$cc" -std=c99 -D_GNU_SOURCE -DON_GPU -O1 "$root/tests/e2e/lib.c" -o use $link
  run 0 'its own test' "$cc" -std=c99 -D_GNU_SOURCE -Wall -Werror -O1 "$root/tests/cuda/library.c" -o library $link
}
for device in cpu gpu; do
  [ $device = gpu ] && [ "$driver" != - ] && export LD_LIBRARY_PATH="$driver"
  hide=$([ $device = cpu ] && echo 'CUDA_VISIBLE_DEVICES= FAKECUDA_DEVICES=0')
  # shellcheck disable=SC2086
  run 0 "all that libraries do, on the $device" env $hide ./use
  for file in lib.safetensors p.bin z.bin; do mv $file $device.$file; done
done
for file in lib.safetensors p.bin z.bin; do same cpu.$file gpu.$file; done
if [ "$driver" = - ]; then # a GPU's warps run in an order of its own
  run 0 devices ./library
  finish
fi
for order in 0 1; do FAKECUDA_ORDER=$order run 0 "devices, order $order" ./library; done

# ---- which device ----
on() { # DEVICE VARIABLE…
  device=$1
  shift
  run 0 "$*" env "$@" ./library default
  grep -qx "on $device" out || fail "$*: not on $device"
}
on cuda:0 FAKECUDA_CC=99.0
on cpu FAKECUDA_DEVICES=0
on cpu FAKECUDA_MEMORY=1K
on cpu FAKECUDA_CC=7.5
on cpu FAKECUDA_FAIL=cuMemAlloc_v2:2:out_of_memory
on cpu FAKECUDA_FAIL=cuEventSynchronize:1:719
[ "$(FAKECUDA_DEVICES=0 ./library fail)" = 'the NVIDIA driver finds no device; nvidia-smi lists the devices; CUDA_VISIBLE_DEVICES may hide them' ] ||
  fail 'no device, and a library that must have one'

# ---- each call of the driver fails in turn ----
cp cpu.lib.safetensors first.safetensors
FAKECUDA_LOG=calls run 0 'a short run' ./library fail
cp good.safetensors all.safetensors
sort calls | uniq -c >counts
while read -r n call; do
  case $call in cuGetErrorName) continue ;; esac
  for at in $(printf '1\n%d\n%d\n' $((n / 2 + 1)) "$n" | sort -nu); do
    cp first.safetensors good.safetensors
    code=0 checks=$((checks + 1))
    FAKECUDA_FAIL=$call:$at:$((at % 2 ? 999 : 719)) ./library fail >out 2>&1 || code=$?
    if [ $code = 0 ]; then # what fails while a graph is made, or when the model is closed, changes nothing
      same good.safetensors all.safetensors
      continue
    fi
    [ $code = 3 ] || [ $code = 4 ] || fail "$call $at: exit code $code"
    said="$call failed"
    case $call in *Capture* | *Graph*) said=' failed: CUDA_ERROR' ;; esac # the run goes on, and meets a device that stays lost
    grep -qF "$said" out || fail "$call $at: not its message"
    same good.safetensors first.safetensors
    for file in *tmp-*; do [ ! -e "$file" ] || fail "$call $at: $file is left behind"; done
  done
done <counts
finish
