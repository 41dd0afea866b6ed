#!/bin/sh
# microbatch.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: a batch in parts, in the PTX interpreter and on the CPU: the weights
# are those of the whole batch, to the last bit; of a static batch, and of a bounded one whose last parts are short or
# empty. --watch and --check-finite say of both devices the same. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'a batch in parts on the PTX interpreter' min
cat >images.g <<'END'
def net(x) {
  a = relu(conv(x, 9, 3) as a) # 16 x 32 pixels; below, of 8 x 16, six images a chunk
  b = tanh(conv(a, 6, 3, 2, groups = 3) as b)
  c = relu(conv(b, 6, 3, groups = 6) as c)
  return linear(flatten(conv_transpose(c, 5, 2, 2) as d), 5) as head
}
entry train(x : f32[n <= 12, 2, 16, 32], t : u8[n]) {
  loss = mean(xent(net(x), t % 5))
  minimize loss with sgd(0.1)
  return loss
}
END
cat >rows.g <<'END'
entry train(x : f32[2, 1024, 3], t : u8[2, 1024]) {
  loss = mean(xent(linear(tanh(linear(layernorm(x) as norm, 5) as up), 7) as down, t % 7))
  minimize loss with sgd(0.1)
  return loss
}
END
before=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
behind=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify
# same NET PROGRAM X-DIMS ROW EPOCHS: the weights of the program for the whole batch, which is exact.g
same() {
  net=$1 program=$2 rows=$3
  compile exact.g --target=cpu --passes="$before,$behind" -o whole
  "$mkdata" npy f32 "$rows" 3 x.npy
  "$mkdata" npy u8 "${rows%",$4"}" 4 t.npy
  run="train --x x.npy --t t.npy --seed 5 --epochs $5"
  # shellcheck disable=SC2086
  ./whole $run --save want >out 2>&1 || fail "$net of $rows whole, on the CPU"
  # shellcheck disable=SC2086
  ./"$program" $run --device cpu --save got >out 2>&1 || fail "$net of $rows in parts, on the CPU"
  cmp -s want got || fail "$net of $rows in parts on the CPU: other weights"
  rm -f got
  # shellcheck disable=SC2086
  env LD_LIBRARY_PATH="$driver" ./"$program" $run --device cuda --poison --save got >out 2>&1 || fail "$net of $rows in parts, on the GPU"
  cmp -s want got || fail "$net of $rows in parts on the GPU: other weights"
  rm -f want got
}
# looked CODE OPTIONS: on both devices a run of `parts` ends with the code and says the same, but for names of kernels
looked() {
  code=$1
  shift
  for device in cpu cuda; do
    env LD_LIBRARY_PATH="$driver" ./parts train --x x.npy --t t.npy --seed 5 --epochs 2 --quiet --device $device "$@" >out 2>&1
    got=$?
    [ $got -eq "$code" ] || fail "$* on $device: exit code $got: $(cat out)"
    sed -n 's/\(^watch .* step [0-9]*\)  [^ ]*/\1/p; s/.* \(makes \(nan\|inf\) in step [0-9]* of train\).*/\1/p; /hint: row/p' out >$device.txt
  done
  cmp cpu.txt cuda.txt || fail "$*: the GPU says something else: $(cat cpu.txt cuda.txt)"
}
for net in images rows; do
  parts=2
  [ "$net" = images ] && parts=3 # of a bounded batch: of 5 rows the parts have 4, 1 and none
  passes="$before,microbatch{parts=$parts}"
  compile $net.g --target=cuda,cpu --arch=compute_80 --passes="$passes" --emit=ir -o $net.ir
  compile $net.g --target=cuda,cpu --arch=compute_80 --passes="$passes,$behind" -o parts
  case $net in
  images)
    grep -q 'conv_filter_grad %[^,]*, %[^,]*, %' $net.ir || fail 'no sum is continued'
    for n in 12 5; do
      sed "s/n <= 12/$n/; s/u8\[n\]/u8[$n]/" $net.g >exact.g
      same $net parts $n,2,16,32 2,16,32 $((n == 5 ? 2 : 1))
    done
    looked 0 --watch loss --watch net.a.w:2 --check-finite
    grep -q '^watch net.a.w:2  step 2 ' cuda.txt || fail "no gradient: $(cat cuda.txt)"
    printf '\0\0\200\177' | dd of=x.npy bs=1 seek=128 conv=notrunc 2>/dev/null # the first number is infinite
    looked 1 --check-finite
    grep -q 'hint: row 0 of the input x' cuda.txt || fail "no operation is named: $(cat cuda.txt)"
    ;;
  rows)
    grep -q 'f32\[2048,5\]' $net.ir && fail 'a dense layer is whole'
    cp $net.g exact.g
    same $net parts 2,1024,3 3 2
    ;;
  esac
done
finish
