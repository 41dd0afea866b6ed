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
finish
