# What programs in tile registers are tested with; sourced, with `what` set to what is in tiles. Arguments of the scripts:
#   GC DATA SCRATCH MKDATA EMULATOR    an object with the instructions, in whose place a processor with AMX has its own
emulator=$5
. "$(dirname "$0")/../e2e/common.sh"
for feature in avx512bw avx512dq avx512vl avx512cd; do
  grep -qw $feature /proc/cpuinfo || { not_tested "$what in tile registers: this processor lacks AVX-512"; exit 77; }
done
unoptimised
amx="${CC:-cc} -mamx-tile -mamx-bf16 -Wl,$emulator"
unset AMX_TEST

# net.g in tile registers, the same without optimisation, and in f32
compile_net() {
  CC=$amx run 0 "$gc" net.g -O2 --precision=bf16 -march=x86-64-v4 -o tiles
  CC=$amx run 0 "$gc" net.g -O0 --precision=bf16 -march=x86-64-v4 -o plain
  run 0 "$gc" net.g -O2 -march=x86-64-v4 -o single
}
# ARGUMENTS…: a run of tiles that must be possible
first_run() {
  ./tiles "$@" >out.txt 2>&1
  [ $? = 3 ] || return 0
  holds out.txt 'the system does not let this program use AMX'
  not_tested "$what in tile registers: the system keeps those of this processor to itself"
  exit 77
}
# SIZE THINGS: entry SIZE, of fixed extents, and entry run of bounded ones have the same bits, and are near to f32, not equal
results_agree() {
  run 0 ./tiles "$1" --x "$1.npy" --load first.st --y "$1.exact.npy" --threads 1
  for threads in 1 5; do
    run 0 ./tiles run --x "$1.npy" --load first.st --y "$1.again.npy" --threads $threads --poison
    same "$1.exact.npy" "$1.again.npy" "$1 bounded $2 on $threads threads"
  done
  run 0 ./plain "$1" --x "$1.npy" --load first.st --y "$1.again.npy" --threads 3
  same "$1.exact.npy" "$1.again.npy" "$1 $2 of -O0"
  run 0 ./single "$1" --x "$1.npy" --load first.st --y "$1.single.npy"
  run 0 ./tiles "$1" --x "$1.npy" --load first.st --expect "y=$1.single.npy" --rtol 3e-2 --atol 3e-2
  run 1 ./tiles "$1" --x "$1.npy" --load first.st --expect "y=$1.single.npy" --rtol 1e-7 --atol 1e-7
}
