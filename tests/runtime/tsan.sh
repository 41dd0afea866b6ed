#!/bin/sh
# The runtime's threads under ThreadSanitizer, of a library and of a command: barriers, streams and loops order all
# that they share; and without the barriers it reports races, so that its silence means something.
# usage: tsan.sh GC SOURCE_DIR SCRATCH CC
set -eu
gc=$1 here=$2 cc=$4
rm -rf "$3" && mkdir -p "$3" && cd "$3"
cat >net.g <<'END'
entry train(x : f32[32, 64], t : f32[32, 8]) {
  h = relu(linear(x, 96) as a)
  s = 0 * x[0]
  scan i in 0..4 { s = tanh(s + 0.5) }
  loss = mean((linear(h, 8) as b - t) ** 2) + 0.001 * mean(s)
  minimize loss with adam(0.01)
  return loss
}
entry two(x : f32[32, 64]) { return y = tanh(linear(x, 96) as a), z = relu(linear(x, 80) as c) }
END
flags="-std=c17 -D_GNU_SOURCE -O1 -fsanitize=thread -ffp-contract=off -I$here -I$here/runtime"
echo 'int main(void) { return 0; }' >none.c
if ! "$cc" -fsanitize=thread none.c -o none 2>/dev/null || ! ./none; then
  echo "NOT TESTED: $cc has no ThreadSanitizer that runs here"
  exit 77
fi
# without the rooms that are libraries of their own, of which these programs have nothing; nor do they run what is of GPUs,
# which they link as it is in the library
find "$here/runtime" -name '*.c' ! -name main.c | grep -vE '/runtime/(comm|cuda|images|text|tokens)/' >sources.txt
library=$(dirname "$gc")/../lib/gc/libgcrt.a
mkdir parts
{ cat sources.txt; echo "$here/tests/runtime/tsan.c"; } | while read -r file; do # files of two rooms may have one name
  case $file in # what threads wait in has the optimiser, without which the rest is compiled sooner
  */exec/*) level=-O1 ;;
  *) level=-O0 ;;
  esac
  # shellcheck disable=SC2086
  "$cc" $flags $level -c "$file" -o "parts/$(echo "$file" | tr / _).o"
done
# program NAME: NAME.o of a program, by -O1: with less, threads that have no part in a kernel read the numbers in it
program() {
  # shellcheck disable=SC2086
  "$cc" $flags -march=x86-64 -c "$1.c" -o "$1.o"
}
build() { # build NAME: of NAME.o
  # shellcheck disable=SC2086
  "$cc" $flags "$1.o" parts/*.o "$library" -o "$1" -lz -lm -pthread -Wl,--wrap=cores_available,--wrap=cpus_at_once
}
for streams in 1 2; do
  "$gc" net.g -O2 --streams=$streams -march=x86-64 --emit=c -o net$streams.c
  program net$streams
  build net$streams
  ./net$streams >out.txt 2>&1 || { echo "FAILED: $streams streams:"; head -60 out.txt; exit 1; }
  [ "$(sort -u out.txt | wc -l)" = 1 ] || { echo 'FAILED: the loss depends on the threads:'; cat out.txt; exit 1; }
done
sed -E '/^static const GcStep /,/^};/s/(_a[0-9]+, [0-9]+), [0-9]+, /\1, 0, /' net1.c >loose.c
cmp -s net1.c loose.c && { echo 'FAILED: no barrier was taken away'; exit 1; }
program loose
build loose
if TSAN_OPTIONS=halt_on_error=1 ./loose >out.txt 2>&1 || ! grep -q 'data race' out.txt; then
  echo 'FAILED: without barriers no race was reported'
  exit 1
fi

# ---- each memory order of the barrier is needed ----
pool=$(ls parts/*runtime_exec_pool.c.o)
cp "$pool" pool.o
for order in acq_rel acquire; do
  # threads that sleep are woken in one order with everything: these spin for a second
  sed 's/SPIN = 100000,/SPIN = 1000000000,/; s/MOST_SPINS = 1 << 16/MOST_SPINS = 1 << 30/' "$here/runtime/exec/pool.c" >spin.c
  sed "s/memory_order_$order/memory_order_relaxed/" spin.c >pool.c
  cmp -s spin.c "$here/runtime/exec/pool.c" && { echo 'FAILED: the spin is as short as ever'; exit 1; }
  cmp -s pool.c spin.c && { echo "FAILED: no order $order was taken away"; exit 1; }
  # shellcheck disable=SC2086
  "$cc" $flags -c pool.c -o "$pool"
  build net1
  if TSAN_OPTIONS=halt_on_error=1 ./net1 >out.txt 2>&1 || ! grep -q 'data race' out.txt; then
    echo "FAILED: without the order $order no race was reported"
    exit 1
  fi
done
cp pool.o "$pool"

# ---- a command: batches that all threads gather, --profile, --poison ----
cat >wide.g <<'END'
entry train(x : f32[256, 64], t : f32[256, 8]) {
  loss = mean((linear(relu(linear(x, 96) as a), 8) as b - t) ** 2)
  minimize loss with adam(0.01)
  return loss
}
END
zeros() { # zeros FILE ROWS COLUMNS: as .npy
  {
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($2, $3), }"
    head -c $(($2 * $3 * 4)) /dev/zero
  } >"$1"
}
zeros x.npy 1024 64
zeros t.npy 1024 8
rm parts/*tests_runtime_tsan.c.o
# shellcheck disable=SC2086
"$cc" $flags -c "$here/runtime/program/main.c" -o parts/main.o
for streams in 1 2; do
  "$gc" wide.g -O2 --streams=$streams -march=x86-64 --emit=c -o wide$streams.c
  program wide$streams
  # shellcheck disable=SC2086
  "$cc" $flags wide$streams.o parts/*.o "$library" -o wide$streams -lz -lm -pthread
  for options in '' '--data-memory 0 --epochs 3' '--profile trace.json' --poison '--bench 3'; do
    # shellcheck disable=SC2086
    ./wide$streams train --x x.npy --t t.npy --threads 4 --quiet $options >out.txt 2>&1 ||
      { echo "FAILED: $streams streams, $options:"; head -60 out.txt; exit 1; }
  done
done
