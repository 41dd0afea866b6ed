#!/bin/sh
# A data-parallel model as a C library and as a Python module: a handle is a rank of the caller's MPI communicator, and gives the weights of one
# process; what goes wrong on one rank fails on all; a rank that is lost is heard of within the time that was set.
. "$(dirname "$0")/common.sh"
unoptimised
# hwloc of MPICH asks for X displays by name, which takes ranks seconds each where nobody knows the host's name
export HWLOC_COMPONENTS=-gl
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
cat >net.g <<'END'
hyper lr = 0.1
def net(x) { return linear(dropout(linear(x, 7, bias = false) as a |> bn as m |> relu, 0.2), 3) as out }
entry train(x : f32[n <= 8, 6], label : u8[n]) {
  loss = mean(xent(net(x), label))
  minimize loss with sgd(lr, momentum = 0.9)
  return loss
}
entry predict(x : f32[1, 6]) { return p = softmax(net(x)) }
entry alone(x : f32[1, 6]) { return total = sum(x) }
END

mkdir alone && run 0 "$gc" net.g --emit=lib -o alone/libnet.so
run 0 "${CC:-cc}" -std=c99 -Wall -Wextra -Werror -O1 -DALONE -Ialone "$here/tests/e2e/ranks_lib.c" -o one alone/libnet.so -Wl,-rpath,"$PWD/alone"
run 0 ./one

near() { # near FILE FILE
  checks=$((checks + 1))
  python3 - "$1" "$2" <<'END' || fail "$1 and $2 differ"
import sys, weights
a, b = weights.weights(sys.argv[1]), weights.weights(sys.argv[2])
off = weights.largest(weights.largest(abs(x - y) for x, y in zip(a[k], b[k])) / (max(map(abs, a[k])) + 1e-30) for k in a)
print("off by", off)
sys.exit(not (a.keys() == b.keys() and off <= 1e-6))
END
}

# As mpi4py does, without it: the address of an MPI_Comm.
cat >use.py <<'END'
import ctypes
import numpy as np
import net

mpi = net._library  # by way of which its dependencies are found
level, comm = ctypes.c_int(), ctypes.c_void_p()
mpi.MPI_Init_thread(None, None, 1, ctypes.byref(level))
try:
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
except ValueError:
    world = ctypes.c_int(0x44000000)  # MPICH's
mpi.MPI_Comm_dup(world, ctypes.byref(comm))
try:
    net.Model(ctypes.addressof(comm), threads=-1)
    raise SystemExit("-1 threads")
except net.Error as e:
    assert "-1 threads" in str(e), e
with net.Model(ctypes.addressof(comm), threads=1, seed=7) as m:
    m.set_timeout(60)
    for b, (rows, cut) in enumerate(((8, 4), (7, 3), (5, 4))):
        at = 8 * b + (np.arange(rows)[cut:] if m.rank else np.arange(cut))
        x = ((at[:, None] * 37 + np.arange(6) * 11) % 19 / 8 - 1).astype(np.float32)
        m.train(x, (at % 3).astype(np.uint8))
    m.save("python.safetensors")
mpi.MPI_Finalize()
END

# calls of MPI that no timeout ends: to start and to finish it alone, around which a program has a thread that does
checks=$((checks + 1))
grep -nE 'MPI_(Barrier|Bcast|Reduce|Allreduce|Gather|Allgatherv?|Reduce_scatter(_block)?|Recv|Send|Wait[a-z]*|Comm_(dup|split|split_type|create))\(' \
  "$here/runtime/comm/mpi.c" && fail 'a call of MPI waits for other ranks without end'

if is_drawn ranks 2; then mpi=openmpi; else mpi=mpich; fi
both=$mpi
[ "${GC_TEST_LEVEL-}" != full ] || both='openmpi mpich'
for mpi in $both; do
  if ! command -v "mpicc.$mpi" >/dev/null || ! command -v "mpirun.$mpi" >/dev/null; then
    not_tested "libraries over $mpi: mpicc.$mpi or mpirun.$mpi is missing (sh docs/install.sh tests)"
    continue
  fi
  rm -f pair?.safetensors again?.safetensors
  run 0 env MPICC="mpicc.$mpi" "$gc" net.g --emit=lib --data-parallel=mpi --ranks=2 --shard=optimizer
  exported=$(nm -D --defined-only libnet.so | awk '{ print $3 }' | grep -v '^net_')
  checks=$((checks + 1))
  [ -z "$exported" ] || fail "the library exports $exported"
  run 0 "mpicc.$mpi" -std=c99 -Wall -Wextra -Werror -O1 -I. "$here/tests/e2e/ranks_lib.c" -o use -L. -lnet -Wl,-rpath,"$PWD"
  run 0 "mpirun.$mpi" -n 4 ./use
  near one.safetensors pair0.safetensors
  same pair0.safetensors pair1.safetensors 'two pairs'
  same pair0.safetensors again0.safetensors 'after a reset'
  run 9 "mpirun.$mpi" -n 2 ./use lost
  holds out.txt 'lost as expected'
  absent never.safetensors
  python3 -c 'import numpy' 2>/dev/null || continue
  run 0 env MPICC="mpicc.$mpi" "$gc" net.g --emit=python --data-parallel=mpi --ranks=2 --shard=optimizer
  rm -f python.safetensors
  run 0 "mpirun.$mpi" -n 2 python3 use.py
  same pair0.safetensors python.safetensors 'a Python module'
done
finish
