#!/bin/sh
# examples.sh GC EXAMPLES MKDATA DRIVER-DIRECTORY SCRATCH: a narrow mnist.g and chars.g as executables on the PTX
# interpreter: they train, save, go on from the file and infer there, to the last bit as on the CPU, in two orders of
# warps, and what is saved on one is what the other reads. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 examples=$2 mkdata=$3 driver=$4
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$5"
need_nvrtc 'whole programs on the PTX interpreter'
# on DEVICE COMMAND…
on() {
  device=$1 checks=$((checks + 1))
  shift
  if [ "$device" = cuda ]; then
    LD_LIBRARY_PATH=$driver "$@" --device cuda --threads 1 >out 2>&1
  else
    "$@" --device cpu --threads 1 >out 2>&1
  fi || fail "$* on $device"
}
make() { # NAME OPTIONS…
  name=$1
  shift
  compile "$name.g" --target=cuda,cpu --arch=compute_80 "$@" -o "$name"
}
# both NAME INPUTS… -- ENTRY OUTPUT INFERENCE-OPTIONS…
both() {
  name=$1 inputs=''
  shift
  while [ "$1" != -- ]; do inputs="$inputs $1" && shift; done
  shift
  entry=$1 output=$2
  shift 2
  rm -f ./*.st ./*.csv cpu.npy cuda.npy # weights of another model, changed logs and other arrays are not replaced
  for device in cpu cuda; do
    # shellcheck disable=SC2086
    {
      on $device "./$name" train $inputs --steps 3 --seed 3 --quiet --log $device.csv --save $device.st
      on $device "./$name" train $inputs --steps 2 --seed 4 --quiet --log $device.2.csv --load cpu.st --save $device.2.st
    }
    on $device "./$name" "$entry" --load cpu.2.st --"$output" $device.npy "$@" --quiet
  done
  sed -i 's/,[^,]*$//' ./*.csv # without the seconds
  for file in csv 2.csv st 2.st npy; do same cpu.$file cuda.$file; done
  grep -q '[0-9]' cuda.csv && [ "$(wc -l <cuda.csv)" -eq 4 ] || fail "$name: no log of three losses"
}

sed 's/linear(x, 256)/linear(x, 48)/' "$examples/mnist.g" >mnist.g # cuda/mnist runs its kernels
cp "$examples/chars.g" .
make mnist -D N=8
"$mkdata" npy u8 64,784 256 image.npy
"$mkdata" npy u8 64 10 label.npy
both mnist --image image.npy --label label.npy -- predict p --image 'image.npy[0:1]'
export FAKECUDA_ORDER=1 FAKECUDA_CHECK=none # cuda/chars looks at its kernels
make chars -D B=8 -D H=128
"$mkdata" npy u8 64,16 128 context.npy
"$mkdata" npy u8 64 128 next.npy
both chars --context context.npy --next next.npy -- write char --steps 4
finish
