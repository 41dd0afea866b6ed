#!/bin/sh
# Levels of x86-64 in one program: each is the program compiled for it alone, down to the files that the C compiler makes of
# its kernels. The processor chooses, or --device. A level without FMA brings one that has it. The bits are those of all
# others, also with the schedules of a processor with small caches.
. "$(dirname "$0")/common.sh"
unoptimised
[ "$(uname -m)" = x86_64 ] || { not_tested "levels of x86-64: this is $(uname -m)"; exit 77; }
digits 320
mnist="$here/docs/examples/mnist.g"
train() { # PROGRAM WEIGHTS OPTION...
  program=$1 weights=$2
  shift 2
  run 0 "./$program" train --image images.idx.gz --label labels.idx.gz --save "$weights" --quiet "$@"
}
has() { # LEVEL: whether this processor has it
  case $1 in *-v3 | haswell) needs=avx2 ;; *-v4) needs=avx512vl ;; *) needs=sse2 ;; esac
  grep -qw $needs /proc/cpuinfo
}
export XDG_CACHE_HOME="$PWD/cache" && mkdir cache # what one program compiles the other one finds
for march in x86-64 haswell x86-64-v4; do run 0 "$gc" "$mnist" -O2 -march=$march -o $march; done
run 0 "$gc" "$mnist" -O2 -march=x86-64 --emit=c -o x86-64.c
run 0 "$gc" "$mnist" -O2 -march=x86-64,haswell,x86-64-v4 --save-temps -v -o both
# the tables of the lower two name a further level
holds out.txt "$(sed -n 's/^gc: .* of \([0-9]*\) files were compiled before$/\1/p' out.txt | awk '{ print "gc: " $1 - 2 " of " $1 " files" }')"
sed -e '/^extern const GcProgram/d' -e 's/, NULL, &gc_program_1}/}/' both.x86-64.c >both.c
same x86-64.c both.c 'the source of a level'
[ -f both.x86-64-v4.c ] && [ ! -e both.x86-64-v3.c ] || fail '--save-temps does not keep the levels that were named'

# ---- which one runs ----
train x86-64 alone.st
run 0 ./x86-64 info # for processors with FMA
holds out.txt 'for cpu x86-64, cpu x86-64-v3'
train both both.st
same alone.st both.st 'weights of several levels'
for level in x86-64 haswell x86-64-v4; do
  if ! has $level; then
    not_tested "the level $level: this processor lacks $needs"
    says 3 "this machine's processor lacks" ./both predict --image images.idx.gz --device cpu:$level
    continue
  fi
  best=$level
  train both $level.st --device cpu:$level
  same alone.st $level.st "weights of the level $level"
  run 0 ./both predict --image images.idx.gz --bench 1 --device cpu:$level
  holds out.txt "; $level, "
done
if has x86-64-v4; then
  train x86-64-v4 v4.st
  same v4.st x86-64-v4.st 'weights of a level and of its own program'
fi
run 0 ./both info
holds out.txt 'for cpu x86-64, cpu haswell, cpu x86-64-v4'
[ "$(sed -n 's/^  \([^ ]*\) *runs here$/\1/p' out.txt)" = $best ] || fail "not $best runs here: $(cat out.txt)"
says 2 'the program has no level x86-64-v2 for cpu' ./both predict --image images.idx.gz --device cpu:x86-64-v2
says 2 'its levels are x86-64, haswell, x86-64-v4: gc -march=LIST compiles it for others' ./both predict --image images.idx.gz --device cpu:
says 2 '--device: there is no device tpu' ./both predict --image images.idx.gz --device tpu
holds out.txt 'hint: devices are cpu, cpu:LEVEL'
printf 'def net(x : f32[8, 4]) { return relu(linear(x, 3) as fc) * 2 }\nentry run(x : f32[8, 4]) { return y = net(x) }\n' >remarks.g
run 0 "$gc" remarks.g -march=x86-64 --remarks -o level && cp out.txt one.txt
[ -s one.txt ] || fail 'no remarks'
run 0 "$gc" remarks.g -march=x86-64,x86-64-v2 --remarks -o levels
same one.txt out.txt 'remarks of two levels'
says 2 'x86-64-v4 would never run' "$gc" "$mnist" -march=x86-64-v4,x86-64-v3 -o none
says 2 '--emit=c is for one level of instructions: -march=x86-64-v3' "$gc" "$mnist" -march=x86-64-v3,x86-64-v4 --emit=c

# ---- none of them: what the lowest one needs is what is missing ----
echo 'entry one() { return y = sin(f32(arange(3))) }' >one.g
run 0 "$gc" one.g -march=bdver3,bdver4 -o one # whose four operands of FMA no later processor has
grep -qw fma4 /proc/cpuinfo || says 3 "this machine's processor lacks " ./one one

# ---- a level that brings one with FMA stands behind all that this one includes ----
sed '1i hyper lr = 0.1' one.g >warned.g
run 0 "$gc" warned.g -march=x86-64,x86-64-v2 -o three
[ "$(grep -c 'warning: no entry reads hyper lr' out.txt)" = 1 ] || fail "a warning for each level: $(cat out.txt)"
run 0 ./three --version
holds out.txt 'for cpu x86-64, cpu x86-64-v2, cpu x86-64-v3'
says 2 'a name is missing beside a comma' "$gc" one.g -march=x86-64-v3,,x86-64-v4 -o none

# ---- a library ----
cat >two.g <<'END'
entry half(x : f32[3, 40], w : f32[40, 50]) { return y = x @ w / 2 }
END
cat >main.c <<'END'
#include "two.h"
#include <stdio.h>
#include <string.h>
int main(int n, char **names) {
  static float x[120], w[2000], y[150], first[150];
  for (int i = 0; i < 2000; i++) w[i] = x[i % 120] = (float)i / 777;
  for (int i = 1; i < n; i++) {
    two *m = two_open_on(names[i], 1, 0);
    if (!m || !two_half(m, x, w, y)) return puts(two_error(m)), 1;
    if (i == 1) memcpy(first, y, sizeof y);
    if (memcmp(first, y, sizeof y) != 0 || strcmp(two_device(m), names[i]) != 0) return 2;
    two_close(m);
  }
  return 0;
}
END
run 0 "$gc" two.g -march=x86-64-v2,x86-64-v3,x86-64-v4 --emit=lib -o libtwo.so
run 0 gcc main.c ./libtwo.so -Wl,-rpath,. -o main
devices='cpu cpu:x86-64-v2'
for level in x86-64-v3 x86-64-v4; do has $level && devices="$devices cpu:$level"; done
# shellcheck disable=SC2086
run 0 ./main $devices
run 1 ./main cpu:x86-64
holds out.txt 'the program has no level x86-64 for cpu'
finish
