#!/bin/sh
# Communication beside computation, on a double of MPI in one process (mpi/mpi.h): a collective is over as late as it may
# be, and its bytes are looked at. The weights are those of a run in which each is over at once, and of one with --poison.
. "$(dirname "$0")/common.sh"
unoptimised

cat >net.g <<'END'
entry train(x : f32[n <= 8, 30], t : f32[n, 3]) {
  h = linear(x, 40) as a |> bn as m |> relu
  loss = mean((linear(linear(h, 50) as b |> relu, 3) as c - t) ** 2)
  minimize loss with adam(1e-2, clip = 1)
  return loss
}
END
"$mkdata" npy f32 20,30 3 x.npy && "$mkdata" npy f32 20,3 4 t.npy || fail 'no data could be made'
# what mpicc -show says of a compiler that finds the double
printf '#!/bin/sh\necho cc -isystem %s\n' "$here/tests/e2e/mpi" >mpicc && chmod +x mpicc
export MPICC=./mpicc

run 0 "$gc" net.g -O1 --data-parallel=mpi --ranks=2 --shard=optimizer -o net
for how in late early poison; do
  early= poison=
  [ $how != early ] || early=GC_MPI_EARLY=1
  [ $how != poison ] || poison=--poison
  # shellcheck disable=SC2086
  run 0 env $early ./net train --x x.npy --t t.npy --epochs 2 --threads 2 --save $how.safetensors $poison
done
same late.safetensors early.safetensors 'ends of collectives'
same late.safetensors poison.safetensors 'ends of collectives with --poison'

# More threads than processors sleep at once. The first one does not, while something is under way, for longer than a nap:
# it wakes up to let that go on.
cat >naps.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
static _Atomic int naps;
long syscall(long what, ...) {
  va_list l;
  long a[6];
  va_start(l, what);
  for (int i = 0; i < 6; i++) a[i] = va_arg(l, long);
  va_end(l);
  if (what == SYS_futex && (int)a[1] == FUTEX_WAIT_PRIVATE && a[3]) naps++;
  return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(what, a[0], a[1], a[2], a[3], a[4], a[5]);
}
__attribute__((destructor)) static void say(void) {
  FILE *f = fopen("naps.txt", "w");
  if (f) fprintf(f, "%d\n", naps), fclose(f);
}
END
run 0 "${CC:-cc}" -shared -fPIC naps.c -ldl -o naps.so
cat >wide.g <<'END'
entry train(x : f32[n <= 64, 30]) {
  h = x
  for i in 0..3 { h = relu(linear(h, 256) as l[i]) }
  loss = mean(h ** 2)
  minimize loss with sgd(1e-2)
  return loss
}
END
"$mkdata" npy f32 128,30 3 rows.npy || fail 'no data could be made'
run 0 "$gc" wide.g -O1 --data-parallel=mpi --ranks=2 -o wide
run 0 env GC_MPI_EARLY=1 ./wide train --x rows.npy --epochs 2 --threads 2 --save at-once.safetensors
run 0 env LD_PRELOAD="$PWD/naps.so" ./wide train --x rows.npy --epochs 2 --threads $(($(nproc) + 2)) --save naps.safetensors
at_least "$(cat naps.txt)" 1 'times that the first thread slept for no longer than a nap'
same at-once.safetensors naps.safetensors 'more threads than processors'
finish
