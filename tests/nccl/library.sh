#!/bin/sh
# library.sh GC FOLDER-OF-LIBCUDA FOLDER-OF-LIBNCCL SCRATCH: a model as a C library and as a Python module, of which two
# processes have a rank each, on the PTX interpreter and a library that checks NCCL's calls. Weights are those of one
# process on the CPU; what goes wrong on one rank fails on both; a rank that is lost is heard of within the time that was
# set. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 cc=${CC:-cc}
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/cuda/common.sh"
unoptimised
library="$2:$3"
scratch "$4"
need_nvrtc 'libraries whose ranks talk by NCCL' mid
cat >net.g <<'END'
hyper lr = 0.1
def net(x) { return linear(dropout(linear(dropout(x, 0.1), 7, bias = false) as a |> bn as m |> relu, 0.2), 3) as out }
entry train(x : f32[n <= 8, 6], label : u8[n]) {
  loss = mean(xent(net(x), label))
  minimize loss with sgd(lr, momentum = 0.9)
  return loss
}
entry predict(x : f32[1, 6]) { return p = softmax(net(x)) }
END
mkdir alone && compile net.g --emit=lib --target=cpu -O0 -o alone/libnet.so
"$cc" -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror -DALONE -Ialone "$root/tests/nccl/library.c" -o one alone/libnet.so -Wl,-rpath,"$PWD/alone" &&
  ./one || fail 'one process'
for emit in lib python; do
  compile net.g --emit=$emit --data-parallel=nccl --ranks=2 --shard=optimizer --arch=compute_80 --ahead=yes --remarks=ahead
  grep -q 'the preparation of the next batch runs beside the step' out || fail "$emit: no batch is prepared ahead"
done
grep -qi mpi net.h && fail 'the header is about MPI'
exported=$(nm -D --defined-only libnet.so | awk '{ print $3 }' | grep -v '^net_')
[ -z "$exported" ] || fail "the library exports $exported"
"$cc" -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror -I. "$root/tests/nccl/library.c" -o two -L. -lnet -ldl -Wl,-rpath,"$PWD" || fail 'the test does not compile'

# both CODES COMMAND WHAT: rank 0 and rank 1, and their exit codes; $fault is of rank 1
fault=
both() {
  checks=$((checks + 1)) one=0 other=0
  rm -f id.*
  # shellcheck disable=SC2086
  env $fault LD_LIBRARY_PATH="$library" $2 1 "$3" >out.1 2>&1 &
  job=$!
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH="$library" $2 0 "$3" >out.0 2>&1 || one=$?
  wait $job || other=$?
  cat out.0 out.1 >out
  [ "$one $other" = "$1" ] || fail "$2 $3: exit codes $one and $other, not $1"
}
near() {
  checks=$((checks + 1))
  PYTHONPATH="$root/tests/e2e" python3 - "$1" "$2" <<'END' || fail "$1 and $2 differ"
import sys, weights
a, b = weights.weights(sys.argv[1]), weights.weights(sys.argv[2])
off = max(max(abs(x - y) for x, y in zip(a[k], b[k])) / (max(map(abs, a[k])) + 1e-30) for k in a)
sys.exit(not (a.keys() == b.keys() and off <= 1e-5))
END
}
both '3 3' "env FAKENCCL_FAIL=ncclGetUniqueId:2:3 ./two" all
grep -q '^rank 0: ncclGetUniqueId failed: internal error (3)' out || fail 'an id that is not made is not named'
grep -q '^rank 1: rank 0 has no id of NCCL' out || fail 'the other rank hears nothing of an id that is not made'
both '0 0' ./two all
near one.safetensors two.safetensors
same two.safetensors again.safetensors
both '0 0' ./two lost
[ ! -e never.safetensors ] || fail 'a rank that is alone saves'
both '0 0' ./two late
both '0 0' 'env FAKENCCL_STUCK=1 ./two' stuck
both '0 0' 'env FAKECUDA_DEVICES=2 ./two' within
same two.safetensors within.safetensors
fault=FAKENCCL_FAIL=ncclAllReduce:2:3
both '4 4' ./two broken
fault=
grep -q '^rank 1: ncclAllReduce failed: internal error (3)' out || fail 'a failed call is not named'
grep -qE '^rank 0: (the call failed on rank 1 of 2|rank lost: )' out || fail 'the other rank hears nothing of it'
mkdir none && : >none/libnccl.so.2
LD_LIBRARY_PATH="$2:none" ./two 0 all >out 2>&1
grep -q 'NCCL was not found' out || fail 'a library without NCCL'

if python3 -c 'import numpy' 2>/dev/null; then
  cat >use.py <<'END'
import os, sys, time
import numpy as np
import net

rank = int(sys.argv[1])
if rank == 0:
    with open("id.tmp", "wb") as f:
        f.write(net.make_id())
    os.rename("id.tmp", "id.0")
while not os.path.exists("id.0"):
    time.sleep(0.01)
with net.Model(open("id.0", "rb").read(), rank, seed=7, device="cuda:0") as m:
    assert m.rank == rank and m.device == "cuda:0"
    m.set_timeout(60)
    for b, (rows, cut) in enumerate(((8, 4), (7, 3), (5, 4))):
        at = 8 * b + (np.arange(rows)[cut:] if rank else np.arange(cut))
        x = ((at[:, None] * 37 + np.arange(6) * 11) % 19 / 8 - 1).astype(np.float32)
        m.train(x, (at % 3).astype(np.uint8))
    m.save("python.safetensors")
try:
    net.Model(b"", rank)
    sys.exit("an id without bytes")
except ValueError as e:
    assert "128 bytes" in str(e)
END
  both '0 0' 'python3 use.py' ''
  same two.safetensors python.safetensors
fi
finish
