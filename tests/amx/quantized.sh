#!/bin/sh
# Products of integers in tile registers have the bits of vpdpbusd, of any shape, number of threads and bounded rows.
#   quantized.sh GC DATA SCRATCH MKDATA EMULATOR
what='products of bytes'
. "$(dirname "$0")/common.sh"
for feature in avx512_vnni fma; do
  grep -qw $feature /proc/cpuinfo || { not_tested "$what in tile registers: this processor lacks $feature"; exit 77; }
done
cat >net.g <<'END'
def net(x : f32[n, 77]) { return linear(relu(linear(x, 1100) as a), 150) as b }
entry all(x : f32[70, 77]) { return y = net(x) }
entry nine(x : f32[9, 77]) { return y = net(x) }
entry run(x : f32[n <= 70, 77]) { return y = net(x) }
entry turned(x : f32[70, 77]) {
  param t : f32[83, 77] = normal()
  return y = x @ t'
}
END
march=-march=x86-64-v4
amx="${CC:-cc} -mamx-tile -mamx-bf16 -mamx-int8 -mavx512vnni -Wl,$emulator"
vectors="${CC:-cc} -mavx512vnni"
"$mkdata" npy f32 70,77 3 x.npy && "$mkdata" npy f32 9,77 3 x9.npy && "$mkdata" npy f32 8,77 4 x8.npy &&
  "$mkdata" npy f32 1,77 5 x1.npy || fail 'no data could be made'
first=yes
for form in w8a8 w4a8; do
  CC=$amx run 0 "$gc" net.g -O2 --weights=$form $march -o tiles
  CC=$vectors run 0 "$gc" net.g -O2 --weights=$form $march -o plain
  CC=$amx run 0 "$gc" net.g -O2 --weights=$form $march --print-schedules
  grep -q 'product .* m=70 n=1100 .* amx_bytes=yes' out.txt || fail "$form takes no tile registers"
  [ $first ] && first_run all --x x.npy
  first=
  for entry in 'all x' 'nine x9' 'turned x' 'run x' 'run x9' 'run x8' 'run x1'; do
    set -- $entry
    rm -f want.npy got.npy
    run 0 ./plain "$1" --x "$2.npy" --y want.npy
    for threads in 1 3; do
      run 0 ./tiles "$1" --x "$2.npy" --y got.npy --threads $threads --poison
      same want.npy got.npy "$form: $entry on $threads threads"
    done
  done
done
export AMX_TEST=absent
says 3 "this machine's processor lacks amx-tile" ./tiles all --x x.npy
finish
