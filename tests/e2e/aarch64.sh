#!/bin/sh
# Programs for aarch64, compiled by another machine's compiler and run by qemu-user: the bits of a program for this
# machine, in training and inference, as an executable and as a library; and what an older processor says.
. "$(dirname "$0")/common.sh"
cross=aarch64-linux-gnu
[ "$(uname -m)" != aarch64 ] || { not_tested 'programs for aarch64: this machine is a native one'; exit 77; }
for tool in $cross-gcc qemu-aarch64; do
  command -v $tool >/dev/null || { not_tested "programs for aarch64: $tool is missing"; exit 77; }
done
[ -r "$(dirname "$gc")/../lib/gc/aarch64/libgcrt.a" ] || {
  not_tested "programs for aarch64: gc is built without -DGC_CROSS=$cross"
  exit 77
}
emulated() { # emulated CODE CPU COMMAND...
  code=$1 cpu=$2
  shift 2
  run "$code" timeout 120 qemu-aarch64 -L /usr/$cross -cpu "$cpu" "$@"
}
digits 256
prose 4000

# arm NAME: the compiler of an example: its optimiser takes longest, so one in six has it, others on each commit. Without
# its optimiser clang is no choice: it makes a loop over its lanes of each fused multiply-add
arm() { is_optimised "$1" 6 3 && echo "$cross-gcc" || echo "$here/tests/cc-O0 $cross-gcc"; }

# alone NAME ENTRY...: the example with these entries of its own; at the level full with all
alone() {
  name=$1
  shift
  awk -v keep=" $* " -v all="${GC_TEST_LEVEL-}" '
    /^entry / { split($2, part, "("); out = all != "full" && !index(keep, " " part[1] " ") }
    !out
    /}$/ && !/^ / { out = 0 }' "$here/docs/examples/$name.g" >"$name.g"
}

# trains NAME "ENTRY..." "GC OPTIONS" RUN OPTIONS...: some steps of the first entry, with the same weights after them
trains() {
  name=$1 entry=${2%% *} options=$3
  # the entries are several words
  # shellcheck disable=SC2086
  alone "$1" $2
  shift 3
  # the options are several words
  # shellcheck disable=SC2086
  run 0 env CC="$here/tests/cc-O0" "$gc" "$name.g" -O2 $options -o "$name" # the same bits, sooner
  # shellcheck disable=SC2086
  run 0 env CC="$(arm "$name")" "$gc" "$name.g" -O2 $options -o "$name.arm"
  run 0 "./$name" "$entry" "$@" --save "$name.st" --quiet
  emulated 0 cortex-a53 "./$name.arm" "$entry" "$@" --save "$name.arm.st" --quiet
  same "$name.st" "$name.arm.st" "weights of $name"
}
trains mnist 'train predict' '-D N=20' --image images.idx.gz --label labels.idx.gz --steps 4
trains lenet train '-D N=10' --image images.idx.gz --label labels.idx.gz --steps 2
trains vae train '-D N=10 -D H=100' --image images.idx.gz --steps 2
trains lstm train '-D T=8 -D B=8 -D D=20 -D H=72' --chars text.txt --next text.txt+1 --steps 2
trains gpt train '-D L=1 -D B=4 -D T=20' --context text.txt --next text.txt+1 --steps 2
run 0 ./mnist predict --load mnist.st --image images.idx.gz --p p.npy --quiet
emulated 0 cortex-a53 ./mnist.arm predict --load mnist.st --image images.idx.gz --p arm.npy --quiet
same p.npy arm.npy 'predictions of mnist'

# ---- NaN, of which each processor makes its own, is one for those who read outputs ----
cat >nan.g <<'END'
entry e(x : f32[8]) {
  y = (x - x) / (x - x)
  return y, h = f16(y), b = bf16(-y), d = f64(y) - 1, sum = sum(y), kept = concat([y, x])
}
END
"$mkdata" npy f32 8 linear x.npy
run 0 "$gc" nan.g -O2 -o nan
run 0 env CC=$cross-gcc "$gc" nan.g -O2 -o nan.arm
outputs='--y y.npy --h h.npy --b b.npy --d d.npy --sum sum.npy --kept kept.npy'
# the options are several words
# shellcheck disable=SC2086
run 0 ./nan e --x x.npy $outputs
mkdir here && mv [yhbd].npy sum.npy kept.npy here/
# shellcheck disable=SC2086
emulated 0 cortex-a53 ./nan.arm e --x x.npy $outputs
for name in y h b d sum kept; do same here/$name.npy $name.npy "$name, which is NaN"; done
run 0 ./nan e --x x.npy
holds out.txt 'sum = nan'

# ---- vectors of any length, where the processor has them; where not, it is said ----
run 0 env CC=$cross-gcc "$gc" mnist.g -D N=20 -O2 -march=armv8.2-a+sve -o sve
run 0 ./mnist train --image images.idx.gz --label labels.idx.gz --steps 1 --save one.st --quiet
emulated 0 max ./sve train --image images.idx.gz --label labels.idx.gz --steps 1 --save sve.st --quiet # seconds a step
same one.st sve.st 'weights of mnist by SVE'
emulated 3 cortex-a53 ./sve train --image images.idx.gz --label labels.idx.gz
holds out.txt "this machine's processor lacks lse, which the program's code may use"
holds out.txt 'gc -march=armv8-a'

# ---- a library, called by a program ----
run 0 env CC=$cross-gcc "$gc" "$here/docs/examples/perceptron.g" -O2 --emit=lib -o libperceptron.so
cat >use.c <<'END'
#include "perceptron.h"
int main(void) {
  perceptron *m = perceptron_open(2, 1);
  perceptron_close(m);
  return !m;
}
END
run 0 $cross-gcc use.c -o use -L. -lperceptron
emulated 0 cortex-a53 -E LD_LIBRARY_PATH="$PWD" ./use

# ---- another machine's compiler, and no runtime for it ----
mkdir -p bare/bin bare/lib/gc && cp "$gc" bare/bin/gc && cp "$(dirname "$gc")"/../lib/gc/*.? bare/lib/gc
says 3 "cannot read gc's runtime" env CC=$cross-gcc bare/bin/gc "$here/docs/examples/perceptron.g" -o bare.arm
holds out.txt "'$cross-gcc' compiles for another machine: build gc with -DGC_CROSS=PREFIX for PREFIX-gcc"
absent bare.arm
finish
