#!/bin/sh
# A program for plain x86-64 holds its code twice, the second time for processors with FMA: the same bits as a
# program for this machine.
. "$(dirname "$0")/common.sh"
lightly_optimised
[ "$(uname -m)" = x86_64 ] || { not_tested "levels of x86-64: this is $(uname -m)"; exit 77; }
digits 640
for march in native x86-64 x86-64-v2; do
  run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -march=$march --emit=c -o $march.c
  run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -march=$march -o $march
  run 0 ./$march train --image images.idx.gz --label labels.idx.gz --save $march.st --quiet
  same native.st $march.st "weights of $march"
done
# ---- what it is without FMA: the file that --emit=c writes has that code alone ----
run 0 "${CC:-cc}" -std=gnu17 -O2 -march=x86-64 -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -fno-strict-aliasing -w \
  -I"$here/runtime" x86-64.c -o plain "$(dirname "$gc")/../lib/gc/libgcrt.a" -lm -pthread
run 0 ./plain train --image images.idx.gz --label labels.idx.gz --save plain.st --quiet
same native.st plain.st 'weights without FMA'
if command -v objdump >/dev/null; then
  count() { objdump -d "$1" | grep -c 'vfmadd[0-9]*ps'; }
  checks=$((checks + 2))
  [ "$(count x86-64)" -gt 0 ] || fail 'a program for x86-64 holds no code with FMA'
  [ "$(count plain)" = 0 ] || fail 'code for x86-64 alone has FMA'
else
  not_tested 'instructions of the two copies: objdump is missing'
fi
finish
