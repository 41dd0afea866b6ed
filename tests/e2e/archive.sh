#!/bin/sh
# From a release's archive, which is no git repository, with clang instead of gcc: docs/quickstart.sh as a user runs
# it, with fewer steps, and the weights of the program that clang compiled against those of gcc's, byte for byte.
. "$(dirname "$0")/common.sh"
clang=$(command -v clang-16) || { not_tested 'gc built by clang: clang-16 is missing'; exit 77; }
mkdir gc && for part in CMakeLists.txt README.md LICENSE .clang-format lang ir passes codegen runtime tests docs; do
  cp -R "$here/$part" gc/ || fail "no $part in the archive"
done
cd gc || exit 1
sed -i.whole 's/--steps 400/--steps 20/; s/--steps 300/--steps 30/' docs/quickstart.sh
cmp -s docs/quickstart.sh docs/quickstart.sh.whole && fail 'the steps of docs/quickstart.sh have changed'
run 0 env CC="$clang" GIT_DIR=/nonexistent sh docs/quickstart.sh
cp out.txt ../quickstart.txt
holds ../quickstart.txt ' 100 %' # of the build
holds ../quickstart.txt 'step 20  loss'
holds ../quickstart.txt 'accuracy = '
holds ../quickstart.txt 'without sharing'
holds ../quickstart.txt 'entry train: training'
out=build/quickstart
for file in gpt gpt.safetensors plan.txt plan.json; do
  [ -s "$out/$file" ] || fail "docs/quickstart.sh left no $file"
done
grep -q 'CMAKE_C_COMPILER:.*clang-16' build/CMakeCache.txt || fail 'clang did not build gc'

# ---- the same from gcc's ----
run 0 env CC=gcc build/bin/gc docs/examples/gpt.g -O2 -D L=2 -D drop=0 -o "$out/gpt_gcc"
run 0 "$out/gpt_gcc" train --context "$out/known.txt~1" --next "$out/known.txt+1~1" --steps 20 --lr 3e-3 --save gcc.safetensors --quiet
same "$out/gpt.safetensors" gcc.safetensors 'weights of programs from clang and gcc'
run 0 env CLANG_FORMAT=clang-format-14 GIT_DIR=/nonexistent sh tests/format.sh
finish
