#!/bin/sh
# What goes wrong outside of the program: data files that cannot be read, end too early or hold something
# else, weights of another model, a full disk, no C compiler. One message with what to do, the documented
# exit code, nothing half written, and an older file of the same name as it was.
. "$(dirname "$0")/common.sh"
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
need "$images" "$labels"
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -o mnist
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -D N=32 -o same_weights
sed 's/256/128/' "$here/docs/examples/mnist.g" >small.g
run 0 "$gc" small.g -O2 -o small
few="--image $images[0:640] --label $labels[0:640] --epochs 1"
run 0 ./mnist train $few --save good.safetensors --quiet
cp good.safetensors kept.safetensors

hinted() { # the message before told what to do
  grep -q 'hint: ' out.txt || { fail 'no remedy was given:'; cat out.txt; }
}
untouched() {
  same good.safetensors kept.safetensors "the older file after: $1"
  absent good.safetensors.* good.safetensors~* .good*
}

# ---- data ----
says 1 'nothing.gz' ./mnist train --image nothing.gz --label "$labels" --save good.safetensors; hinted
untouched 'a missing data file'
if [ "$(id -u)" = 0 ]; then
  echo "root reads every file, so a directory stands for one that cannot be read"
  mkdir -p closed
else
  cp "$labels" closed && chmod 000 closed
fi
says 1 'closed' ./mnist train --image closed --label "$labels"; hinted
head -c 100000 "$images" >cut.gz
says 1 'cut.gz' ./mnist train --image cut.gz --label "$labels" --save good.safetensors; hinted
gzip -dc "$images" | head -c 1000000 >cut.idx
says 1 'cut.idx' ./mnist train --image cut.idx --label "$labels" --save good.safetensors; hinted
untouched 'a truncated data file'
says 1 'u8[64, 784]' ./mnist train --image "$labels" --label "$labels"; hinted
printf '\223NUMPY\001\000v\000{' >bad.npy
says 1 'bad.npy' ./mnist train --image bad.npy --label "$labels"
: >empty
says 1 'empty' ./mnist train --image empty --label "$labels"
says 1 '' ./mnist train --image "$images[0:640]" --label "$labels[0:600]"
says 1 '' ./mnist train --image "$images[9000:20000]" --label "$labels[9000:20000]"

# ---- the command line ----
says 2 '--image' ./mnist train --label "$labels"
says 2 '--epoch' ./mnist train $few --epoch 3
says 2 '' ./mnist trian $few

# ---- weights ----
says 1 'net.fc1.w' ./small test --image "$images[0:64]" --label "$labels[0:64]" --load good.safetensors; hinted
run 0 ./same_weights test --image "$images[0:64]" --label "$labels[0:64]" --load good.safetensors --quiet
head -c 5000 good.safetensors >cut.safetensors
says 1 'cut.safetensors' ./mnist test --image "$images[0:64]" --label "$labels[0:64]" --load cut.safetensors; hinted
says 1 'cut.idx' ./mnist test --image "$images[0:64]" --label "$labels[0:64]" --load cut.idx; hinted

# ---- no room: a limit on the size of files stands for a full disk, and a small disk where one can be had ----
( ulimit -f 100
  ./mnist train $few --save good.safetensors --quiet >out.txt 2>&1
  echo $? >code )
[ "$(cat code)" = 3 ] || { fail "a full disk: exit code $(cat code), not 3"; cat out.txt; }
grep -q 'good.safetensors' out.txt || { fail 'a full disk: the message names no file:'; cat out.txt; }
untouched 'a full disk'
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
  says 3 'disk/w.safetensors' ./mnist train $few --save disk/w.safetensors --quiet; hinted
  says 3 'disk/mnist' "$gc" "$here/docs/examples/mnist.g" -O2 -o disk/mnist
  run 3 sh -c './mnist predict --image "$1[0:5000]" --load good.safetensors --p disk/p.npy --quiet' sh "$images"
  left=$(ls -A disk)
  [ -z "$left" ] || fail "left on the full disk: $left"
  umount disk
else
  echo "NOT TESTED: a disk of 64 KiB cannot be mounted here"
fi
says 3 'nowhere/w.safetensors' ./mnist train $few --save nowhere/w.safetensors --quiet; hinted

# ---- no C compiler ----
says 3 'no C compiler' env CC=/nonexistent "$gc" "$here/docs/examples/mnist.g" -O2 -o none
says 3 'no C compiler' env -u CC PATH=/nowhere "$gc" "$here/docs/examples/mnist.g" -O2 -o none
grep -q 'apt-get install gcc' out.txt || fail 'no C compiler: no remedy'
absent none none.*

# ---- a program that cannot be compiled leaves an older executable alone ----
cp mnist older
echo 'entry f(x : f32[2]) { return x + y }' >wrong.g
says 1 "wrong.g:1" "$gc" wrong.g -O2 -o older
same mnist older 'an older executable'
run 3 "$gc" "$here/docs/examples/mnist.g" -O2 -o nowhere/mnist
finish
