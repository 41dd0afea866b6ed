#!/bin/sh
# Data parallelism over MPI, with each implementation that is here: ranks give the weights, figures and logs of one
# process, also in a last batch that leaves a rank without rows; what goes wrong is said once, and no rank waits for
# one that is gone.
. "$(dirname "$0")/common.sh"
unoptimised 20
# hwloc of MPICH asks for X displays by name, which takes ranks seconds each where nobody knows the host's name
export HWLOC_COMPONENTS=-gl
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0

cp "$here/tests/e2e/ranks.g" net.g
cat >loop.g <<'END'
let N = 4
hyper lr = 0.1
entry train(x : f32[n <= N, 6, 5], t : f32[n, 3]) { # of 4 ranks each has a row
  h = zeros([n, 7])
  hs = scan i in 0..6 {
    h = rnn(x[:, i], h) as cell
    yield h
  }
  loss = mean((linear(transpose(hs, [1, 0, 2]), 3) as out - reshape(t, [n, 1, 3])) ** 2)
  minimize loss with sgd(lr, momentum = 0.9)
  return loss
}
END
# what is made of the extent alone has its rows, too, and so has an axis that joins it with a length, in either order
cat >made.g <<'END'
entry train(x : f32[n <= 8, 2], ids : i32[n, t <= 6]) {
  p = linear(x, 1) as a
  w = f32(iota(n) + 1)
  table = normal(shape = [8, 1])
  times = linear(transpose(reshape(x, [n, 2, 1]), [1, 0, 2]), 3) as b # rows behind the time, and a bias
  words = dropout(linear(embed(ids, 4, 3) as e, 4) as d, 0.5)
  turned = bn(reshape(transpose(words, [1, 0, 2]), [t * n, 4])) as f
  loss = mean(times ** 2) + mean(tanh(linear(turned, 2) as g) ** 2) + (sum(p[:, 0] ** 2 * w) + sum((p - table[:n]) ** 2)) / sum(ones([n])) + mean(where(iota(n) < 2, 5.0, 1.0)) +
         sum(normal(shape = [n]) * p[:, 0])
  minimize loss with sgd(0.01)
  return loss
}
END
# all rows are gathered, so that ranks have equal shares; of states of 14 and 7 elements the last of 3 ranks has less
cat >pairs.g <<'END'
entry train(x : f32[n <= 6, 2]) {
  p = linear(x, 7) as a
  loss = mean(xent(p @ p', iota(n))) / n
  minimize loss with sgd(0.1, momentum = 0.9, clip = 1)
  return loss
}
END
# batch norm of each rank's rows: of 7 rows, of 8 at most, two ranks have 3 and 4
cat >local.g <<'END'
entry train(x : f32[n <= 8, 6, 5], t : f32[n, 3]) {
  loss = mean((linear(tanh(bn(linear(flatten(x), 5, bias = false) as a) as n), 3) as out - t) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
cat >parts.g <<'END'
def norm(x, g, b) {
  y = x - mean(x, axis = 0)
  return y / sqrt(mean(y * y, axis = 0) + 1e-5) * g + b
}
def parts(x) {
  param g : f32[5] = ones()
  param b : f32[5] = zeros()
  state running_mean : f32[5] = zeros()
  state running_var : f32[5] = ones()
  running_mean := 0.9 * running_mean + 0.1 * mean(x, axis = 0)
  running_var := 0.9 * running_var + 0.1 * 7 / 6 * var(x, axis = 0)
  return concat([norm(x[:3], g, b), norm(x[3:], g, b)])
}
entry train(x : f32[7, 6, 5], t : f32[7, 3]) {
  loss = mean((linear(tanh(parts(linear(flatten(x), 5, bias = false) as a) as n), 3) as out - t) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
echo 'entry predict() { return y = iota(3) }' >whole.g
"$mkdata" npy f32 21,64 3 x.npy && "$mkdata" npy u8 21 4 label.npy || fail 'no data could be made'
"$mkdata" npy f32 12,6,5 5 s.npy && "$mkdata" npy f32 12,3 6 t.npy || fail 'no data could be made'
python3 -c '
import shutil
shutil.copy("x.npy", "nan.npy")
f = open("nan.npy", "r+b")
f.seek(-15 * 64 * 4, 2)
f.write(b"\0\0\xc0\x7f")' || fail 'no nan could be written'
net='train --x x.npy --label label.npy'
# one label in the last row is none of the input's
"$mkdata" npy i64 21 4 high.npy || fail 'no data could be made'
python3 -c '
f = open("high.npy", "r+b")
f.seek(-8, 2)
f.write(b"\xe8\3\0\0\0\0\0\0")' || fail 'no label could be written'

# Each read of an .npy file is a line "FILE AT BYTES" of reads.RANK, each of a temporary file in rows/ one of "unpacked".
cat >reads.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t pread(int fd, void *to, size_t n, off_t at) {
  ssize_t got = ((ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(fd, to, n, at);
  const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  char name[40], path[4096] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (!rank || got <= 0 || length < 10) return got;
  if (strstr(path, "/rows/")) strcpy(path, "/unpacked");
  else if (strcmp(path + length - 4, ".npy") != 0) return got;
  snprintf(name, sizeof name, "reads.%s", rank);
  int log = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (log < 0 || dprintf(log, "%s %lld %zd\n", strrchr(path, '/') + 1, (long long)at, got) < 0) abort();
  close(log);
  return got;
}
END
run 0 "${CC:-cc}" -shared -fPIC reads.c -ldl -o reads.so

# Four ranks have read of FILE, whose rows have so many bytes, the headers and each its rows: the `batch` of several
# steps, or `shuffled` ones, as many and in all of them each row once an epoch; or a `share` of all rows, once. A read of
# shuffled rows of a batch gets those between them, too, if these are few bytes.
own_rows() { # own_rows FILE BYTES ROWS EPOCHS HOW WHAT
  checks=$((checks + 1))
  python3 - "$@" <<'END' || fail "$6: a rank reads rows of $1 that it does not need"
import collections, os, sys
name, size, rows, epochs, how = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
head = os.path.getsize(name) - size * rows
all, at_once = collections.Counter(), rows if how == "share" else 8
for rank in range(4):
    reads = [line.split() for line in open("reads.%d" % rank)]
    spans = [(int(at) - head, int(n)) for path, at, n in reads if path == name and int(at) >= head]
    assert not any(at % size or n % size for at, n in spans), spans
    got = sorted(row for at, n in spans for row in range(at // size, (at + n) // size))
    own, batches = [], 0
    for first in range(0, rows, at_once):
        n = min(at_once, rows - first)
        batch = range(first + n * rank // 4, first + n * (rank + 1) // 4)
        own += batch
        batches += len(batch) > 0
    print("rank", rank, "has read", got)
    if how == "shuffled": # the ends of a read are its own rows
        ends = sum(min(n // size, 2) for at, n in spans)
        assert epochs * batches <= len(spans) and ends <= epochs * len(own) <= len(got), own
    else:
        assert got == sorted(own * epochs), own
    all.update(got)
missing = collections.Counter(list(range(rows)) * epochs)
missing.subtract(all)
assert not any(n > 0 if how == "shuffled" else n for n in missing.values()), missing
END
  rm -f reads.?
}

# all ranks have the rows of rank 1
cat >spread.ir <<'END'
module "spread.g"
entry spread(%x : f32[2,64]) ranks 2 {
  %y = collective_broadcast %x {root = 1} : f32[2,64]
  return %y {names = "y"}
}
END
tail -c $((19 * 256)) x.npy | head -c 512 >rows.bin

# With slices of the gradients' sums a program fits that does not with the sums.
slices_of_gradients() { # slices_of_gradients MPIRUN
  cat >deep.g <<'END'
entry train(x : f32[252, 32]) {
  h = x
  for i in 0..4 { h = relu(linear(h, 32, bias = false) as l[i]) }
  loss = mean(h ** 2)
  minimize loss with sgd(0.1, momentum = 0.9, clip = 1)
  return loss
}
END
  "$mkdata" npy f32 504,32 3 deep.npy && rm -f deep-?.safetensors || fail 'no data could be made'
  run 0 "$gc" deep.g --target=cpu -o deep-1
  run 0 ./deep-1 train --x deep.npy --epochs 2 --save deep-1.safetensors
  says 1 'does not fit into 40,000 bytes' "$gc" deep.g -O1 --data-parallel=mpi --ranks=2 --shard=optimizer --memory-limit=40000 -o never
  for n in 2 3; do # of 1,024 elements the last of 3 ranks has less
    run 0 "$gc" deep.g -O1 --data-parallel=mpi --ranks=$n --shard=gradients --memory-limit=40000 -o deep-$n
    run 0 "$1" -n $n ./deep-$n train --x deep.npy --epochs 2 --save deep-$n.safetensors --poison
    near deep-1.safetensors deep-$n.safetensors 1e-6 "$1: slices of gradients on $n ranks"
  done
}

# Weights within so much of the largest of their tensor: sums are in another order, which adamw magnifies
near() { # near FILE FILE BOUND WHAT
  checks=$((checks + 1))
  python3 - "$1" "$2" "$3" <<'END' || fail "$4: $1 and $2 differ"
import sys, weights
a, b = weights.weights(sys.argv[1]), weights.weights(sys.argv[2])
off = weights.largest(weights.largest(abs(x - y) for x, y in zip(a[k], b[k])) / (max(map(abs, a[k])) + 1e-30) for k in a)
print("off by", off)
sys.exit(not (a.keys() == b.keys() and off <= float(sys.argv[3])))
END
}

# figures FILE: a log without its times
figures() { awk -F, '{ printf "%s,%s", $1, $2; for (i = 3; i < NF; i++) printf ",%.4g", $i; print "" }' "$1"; }

run 0 "$gc" net.g --target=cpu -o net-1
run 0 "$gc" loop.g --target=cpu -o loop-1
"$mkdata" npy f32 13,2 8 m.npy && "$mkdata" npy u8 13,4 4 ids.npy || fail 'no data could be made'
run 0 "$gc" made.g --target=cpu -o made-1
run 0 ./made-1 train --x m.npy --ids ids.npy --epochs 2 --no-shuffle --save made-1.safetensors
run 0 "$gc" pairs.g --target=cpu -o pairs-1
pairs='train --x m.npy[0:12] --no-shuffle'
# shellcheck disable=SC2086
run 0 ./pairs-1 $pairs --epochs 2 --save pairs-1.safetensors
run 0 "$gc" pairs.g --target=cpu --exact -o exact-1
# shellcheck disable=SC2086
run 0 ./exact-1 $pairs --epochs 2 --save exact-1.safetensors
run 0 "$gc" parts.g --target=cpu -O1 -o parts-1
run 0 ./parts-1 train --x 's.npy[0:7]' --t 't.npy[0:7]' --epochs 2 --no-shuffle --save parts-1.safetensors
# shellcheck disable=SC2086
run 0 ./net-1 $net --epochs 2 --seed 5 --save net-1.safetensors --log net-1.csv
run 0 ./loop-1 train --x s.npy --t t.npy --epochs 2 --save loop-1.safetensors
run 0 ./net-1 test --x x.npy --label label.npy --load net-1.safetensors
./net-1 info >info-1.txt
cp out.txt test-1.txt

# Epochs may have had a step more before a checkpoint, or a step less; one that stands before a batch which is left out
# has ended. --drop-last is like ranks that would have no row.
some='--x x.npy[0:18] --label label.npy[0:18]'
# shellcheck disable=SC2086
run 0 ./net-1 train $some --checkpoint some.safetensors
# shellcheck disable=SC2086
run 0 ./net-1 train $some --drop-last --epochs 2 --resume some.safetensors --checkpoint less.safetensors
holds out.txt 'epoch 2/2  step 5 '
# shellcheck disable=SC2086
run 0 ./net-1 train $some --epochs 3 --resume less.safetensors
holds out.txt 'epoch 3/3  step 8 '
# shellcheck disable=SC2086
run 0 ./net-1 train $some --epochs 2 --resume less.safetensors
holds out.txt '5 steps are done already, 5 were asked for'
# shellcheck disable=SC2086
run 0 ./net-1 train $some --steps 2 --checkpoint some-2.safetensors
# shellcheck disable=SC2086
run 0 ./net-1 train $some --drop-last --epochs 2 --resume some-2.safetensors
holds out.txt 'epoch 2/2  step 4 '

through() { # through MPICC MPIRUN
  export MPICC="$1"
  mpirun=$2
  for n in 2 4; do
    rm -f net-n.* loop-n.*
    shard= exact= whole='--data-memory 1M' reads=
    [ $n = 2 ] || shard='--shard=optimizer --ahead=yes' exact=--exact whole= reads="env LD_PRELOAD=$PWD/reads.so"
    # shellcheck disable=SC2086
    run 0 "$gc" net.g --data-parallel=mpi --ranks=$n $shard --memory-per-rank=2,4 -o net-n
    # shellcheck disable=SC2086
    run 0 "$gc" loop.g --data-parallel=mpi --ranks=$n $exact -o loop-n
    [ $n = 2 ] || holds out.txt "the batch of the entry train has all 4 rows, not fewer: a rank's share of it is one row"
    # shellcheck disable=SC2086
    run 0 $reads $mpirun -n $n ./net-n $net --epochs 2 --seed 5 --save net-n.safetensors --log net-n.csv --poison $whole
    grep -c 'epoch 2/2' out.txt >count.txt
    exactly "$(cat count.txt)" 1 "$1, $n ranks: lines that say the last epoch"
    holds out.txt " rows/s on $n ranks  waiting "
    near net-1.safetensors net-n.safetensors 1e-5 "$1, $n ranks"
    [ $n = 2 ] || own_rows x.npy 256 21 2 shuffled "$1"
    figures net-1.csv >one.csv && figures net-n.csv >many.csv
    same one.csv many.csv "$1, $n ranks: the log"
    run 0 $mpirun -n $n ./loop-n train --x s.npy --t t.npy --epochs 2 --save loop-n.safetensors --threads 2
    near loop-1.safetensors loop-n.safetensors 1e-6 "$1, $n ranks, a loop"
    [ $n = 2 ] || same loop-1.safetensors loop-n.safetensors "$1, $n ranks, the bits of a loop"
    [ $n = 4 ] || continue
    run 0 $mpirun -n $n ./net-n test --x x.npy --label label.npy --load net-1.safetensors --watch loss
    holds out.txt '  all_reduce f32[]'
    grep -o 'loss = [0-9.]*' test-1.txt | awk '{ printf "%.4g\n", $3 }' >one.txt
    grep -o 'loss = [0-9.]*' out.txt | awk '{ printf "%.4g\n", $3 }' >many.txt # mpirun mixes what is printed
    same one.txt many.txt "$1, $n ranks: an entry that tests"
  done
  run 0 "$gc" -x ir spread.ir --data-parallel=mpi --ranks=2 -o spread
  rm -f spread.npy
  run 0 $mpirun -n 2 ./spread spread --x 'x.npy[0:4]' --y spread.npy --poison
  tail -c 512 spread.npy >spread.bin
  same rows.bin spread.bin "$1: what one rank has"
  [ "${GC_TEST_LEVEL-}" != full ] || slices_of_gradients "$mpirun"
  run 0 "$gc" whole.g --data-parallel=mpi --ranks=4 -o whole
  holds out.txt 'warning: no entry is split among the 4 ranks'
  run 0 "$gc" made.g --data-parallel=mpi --ranks=4 -o made-n
  rm -f made-n.safetensors
  # shellcheck disable=SC2086
  run 0 $reads $mpirun -n 4 ./made-n train --x m.npy --ids ids.npy --epochs 2 --no-shuffle --save made-n.safetensors
  own_rows m.npy 8 13 2 batch "$1"
  near made-1.safetensors made-n.safetensors 1e-6 "$1, 4 ranks, values of the extent"
  mkdir -p rows && gzip -kf m.npy && head -c $((13 * 8)) /dev/zero >unpacked && cp made-n.safetensors made-p.safetensors
  # shellcheck disable=SC2086
  run 0 $reads $mpirun -n 4 ./made-n train --x m.npy.gz --ids ids.npy --epochs 2 --no-shuffle --save made-n.safetensors --data-cache rows
  own_rows unpacked 8 13 2 batch "$1"
  same made-p.safetensors made-n.safetensors "$1, 4 ranks, a packed file"
  run 0 "$gc" pairs.g --data-parallel=mpi --ranks=3 --shard=optimizer -o pairs-n
  holds out.txt 'the batch of the entry train has all 6 rows, not fewer: '
  run 0 ./pairs-n info
  holds out.txt '20 bytes on each of 3 ranks'
  holds out.txt '12 bytes on each of 3 ranks'
  rm -f pairs-n.* exact-n.*
  # shellcheck disable=SC2086
  run 0 $mpirun -n 3 ./pairs-n $pairs --steps 2 --checkpoint pairs-n.half --poison
  # shellcheck disable=SC2086
  run 0 ./pairs-1 $pairs --steps 4 --resume pairs-n.half --save pairs-n.all
  # shellcheck disable=SC2086
  run 0 $mpirun -n 3 ./pairs-n $pairs --steps 4 --resume pairs-n.half --save pairs-n.safetensors
  near pairs-1.safetensors pairs-n.safetensors 1e-6 "$1, 3 ranks, all rows gathered"
  near pairs-1.safetensors pairs-n.all 1e-6 "$1, 3 ranks resumed by one process"
  run 0 "$gc" pairs.g --data-parallel=mpi --ranks=3 --shard=optimizer --exact -o exact-n
  # shellcheck disable=SC2086
  run 0 $mpirun -n 3 ./exact-n $pairs --epochs 2 --save exact-n.safetensors
  same exact-1.safetensors exact-n.safetensors "$1, 3 ranks, bits of short slices"
  run 0 "$gc" local.g -O1 --data-parallel=mpi --ranks=2 --batch-norm=local -o local-n
  rm -f local-n.safetensors
  run 0 $mpirun -n 2 ./local-n train --x 's.npy[0:7]' --t 't.npy[0:7]' --epochs 2 --no-shuffle --save local-n.safetensors
  near parts-1.safetensors local-n.safetensors 1e-6 "$1, 2 ranks, batch norm of each"
  # a checkpoint of one rank goes on in four
  # shellcheck disable=SC2086
  run 0 $mpirun -n 4 ./net-n $net --steps 2 --seed 5 --checkpoint half.safetensors
  # shellcheck disable=SC2086
  run 0 $mpirun -n 4 ./net-n $net --epochs 2 --seed 5 --resume half.safetensors --save resumed.safetensors
  same net-n.safetensors resumed.safetensors "$1: resumed"
  # each has a quarter of the state of adamw, and its checkpoint has the state of one process
  run 0 ./net-n info
  holds out.txt '36 bytes on each of 4 ranks'
  holds out.txt 'of the arena and globals: under way to other ranks'
  holds out.txt ' %  of a step, for other ranks, by the model of gc --remarks=comm'
  # what a program for 4 ranks says of 2 is what gc does, whose row of 4 is what that program says of itself
  awk '/^entry/ { at = $2 }
    at == "train" && /planned|under way|of a batch/ { sum[$1] = $2; gsub(",", "", sum[$1]) }
    $3 == "bytes" { sum[$1] = $2 }
    END { print sum["param"], sum["state"], sum["optimizer"], sum["arena"] + 2 * sum["ahead"], sum["messages"] }' out.txt >own.txt
  run 0 "$gc" net.g --data-parallel=mpi --ranks=4 --shard=optimizer --ahead=yes --memory-per-rank=2,4
  awk '$1 == 4 && $2 == "train" { gsub(",", ""); print $3, $4, $5, $7, $8 }' out.txt >four.txt
  awk '$1 == 2 && $2 == "train" { print $3, $4, $5, $6, $7, $8, $9 }' out.txt >two.txt
  same own.txt four.txt "$1: bytes of one of 4 ranks"
  run 0 ./net-n info train -n 2
  awk '$2 ~ /^[0-9,]+$/ { printf "%s%s", n++ ? " " : "", $2 } END { print "" }' out.txt >said.txt
  same two.txt said.txt "$1: bytes of one of 2 ranks"
  run 0 "$gc" net.g --data-parallel=mpi --ranks=2 --shard=optimizer --ahead=yes --dump-plan
  awk '/^entry/ { at = $2 } $1 == "arena" { gsub(",", ""); sum += at == "train:" ? $3 : at ~ /^train.ahead/ ? 2 * $3 : 0 } END { print sum }' out.txt >plan.txt
  exactly "$(cat plan.txt)" "$(awk '{ gsub(",", ""); print $5 }' two.txt)" "$1: the arena of one of 2 ranks"
  # shellcheck disable=SC2086
  run 0 ./net-1 $net --epochs 2 --seed 5 --resume half.safetensors --save resumed-1.safetensors
  near net-1.safetensors resumed-1.safetensors 1e-5 "$1: resumed by one process"
  # shellcheck disable=SC2086
  run 0 ./net-1 $net --steps 2 --seed 5 --checkpoint half-1.safetensors
  near half-1.safetensors half.safetensors 1e-5 "$1: the state in slices"
  rm -f resumed.safetensors
  # shellcheck disable=SC2086
  run 0 $mpirun -n 4 ./net-n $net --epochs 2 --seed 5 --resume half-1.safetensors --save resumed.safetensors
  near net-1.safetensors resumed.safetensors 1e-5 "$1: one process resumed by four"
  # the best weights of a validation, and the end that it decides, are those of one process
  best='--epochs 4 --seed 5 --validate test --validate.x x.npy --validate.label label.npy --save-best --patience 2'
  # shellcheck disable=SC2086
  run 0 ./net-1 $net $best --save best-1.safetensors --checkpoint best-1.st
  # shellcheck disable=SC2086
  run 0 $mpirun -n 4 ./net-n $net $best --save best-n.safetensors --checkpoint best-n.st --timeout 9
  near best-1.safetensors best-n.safetensors 1e-5 "$1: the best weights"
  # shellcheck disable=SC2086
  run 0 $mpirun -n 4 ./net-n $net ${best#--epochs 4 --seed 5} --epochs 6 --resume best-n.st --save best-n.safetensors --timeout 9
  # every rank runs an entry that returns rows, and one prints them
  run 0 $mpirun -n 4 ./net-n predict --x x.npy --load net-1.safetensors --best many.npy
  run 0 ./net-1 predict --x x.npy --load net-1.safetensors --best one.npy
  same one.npy many.npy "$1: predictions"

  # epochs of 18 rows have three batches in one process, and two in four ranks, of which the last would leave two without rows
  some='train --x x.npy[0:18] --label label.npy[0:18]'
  # shellcheck disable=SC2086
  run 0 $mpirun -n 4 ./net-n $some --epochs 2 --resume some.safetensors
  holds out.txt 'epoch 2/2  step 5 '
  holds out.txt 'each epoch leaves out 2 of 18 rows: each of 4 ranks takes a row of a batch at least'

  # shellcheck disable=SC2086
  says 2 'this program is for 4 ranks, and 1 runs it' ./net-n $net
  says 2 'this program is for 4 ranks, and has no plan for 8' ./net-n info -n 8
  holds out.txt 'hint: gc --data-parallel=mpi --ranks=4 --memory-per-rank=8 puts its bytes into the program'
  says 2 '-n needs a number of ranks, not 0' ./net-n info train -n 0
  # shellcheck disable=SC2086
  says 2 'this program is for 4 ranks, and 3 run it' $mpirun -n 3 ./net-n $net
  holds out.txt 'or compile it with gc --ranks=3 and another batch, a multiple of 3'
  # also of a program of which nothing is split
  says 2 'this program is for 4 ranks, and 2 run it' $mpirun -n 2 ./whole predict
  holds out.txt 'or compile it with gc --ranks=2'
  run 0 $mpirun -n 4 ./whole predict
  # rows are checked before the first step, by each rank a share of them
  # shellcheck disable=SC2086
  says 1 'high.npy: element 20 (row 20) is 1000, which the input label (u8) cannot hold' $reads $mpirun -n 4 ./net-n train --x x.npy --label high.npy
  own_rows high.npy 8 21 1 share "$1"
  says 1 'x.npy: has 3 rows, but each of 4 ranks takes one at least' $mpirun -n 4 ./net-n train --x 'x.npy[0:3]' --label 'label.npy[0:3]'
  says 1 'error: x.npy: holds f32[21, 64], but the input label is u8[n <= 8]' $mpirun -n 4 ./net-n train --x x.npy --label x.npy
  says 1 'nothing.npy: cannot be read' $mpirun -n 4 ./net-n train --x nothing.npy --label label.npy
  # shellcheck disable=SC2086
  says 1 'loss is ' $mpirun -n 4 ./net-n $net --epochs 9 --lr 1e30 --save never.safetensors
  absent never.safetensors
  # a row of the last rank: the others have it from a collective
  # shellcheck disable=SC2086
  says 1 'row 6 of the input x (nan.npy) holds nan' $mpirun -n 4 ./net-n train --x nan.npy --label label.npy --no-shuffle --check-finite
  holds out.txt 'of train, forward pass, layer net.random_flip'
}

# Runs ./net-n in four ranks in the background, as $job; each leaves its process's id in pid.RANK
# mpirun of OpenMPI with PMIx 4.2 or 5 frees what it knows of a rank twice if the rank is killed while it connects, and then
# waits for a lock in it for ever, behind all ranks. So it frees nothing here, and no run may stand still.
cat >kept.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
void __libc_free(void *);
void free(void *p);
void free(void *p) {
  if (strncmp(program_invocation_short_name, "mpirun.openmpi", 14) != 0) __libc_free(p);
}
END
run 0 "${CC:-cc}" -shared -fPIC kept.c -o kept.so

ranked() { # ranked MPIRUN OPTIONS [COMMAND]
  rm -f pid.*
  # shellcheck disable=SC2016,SC2086
  env LD_PRELOAD="$PWD/kept.so" $1 -n 4 ${3-} sh -c 'echo $$ >pid.${OMPI_COMM_WORLD_RANK-$PMI_RANK}; exec ./net-n "$@"' - $net --seed 5 $2 --timeout 5 --quiet >gone.txt 2>&1 &
  job=$!
}

now() { echo $(($(date +%s%N) / 1000000)); }

# What mpirun and the ranks are doing.
doing() {
  for id in $job $(cat pid.*); do
    [ -d /proc/"$id" ] || continue
    echo "$id: $(tr '\0' ' ' </proc/"$id"/cmdline)"
    grep -E '^(State|PPid|SigPnd|ShdPnd|SigCgt)' /proc/"$id"/status
    for task in /proc/"$id"/task/*; do echo "  $(cat "$task/comm" "$task/wchan" "$task/syscall" 2>/dev/null | tr '\n' ' ')"; done
  done
  cat /proc/loadavg gone.txt
}

# gone MPIRUN N: N times one of the ranks is killed at any moment of a run. The others end soon, the last checkpoint, if
# there is one, is whole, and a run that goes on from it ends with the bits of the uninterrupted run.
gone() {
  longest=0
  steps='--steps 20 --checkpoint kept.safetensors:1 --save killed.safetensors'
  rm -f kept.safetensors killed.safetensors
  began=$(date +%s%N)
  ranked "$1" "$steps"
  wait $job || { fail 'a run that is to be killed does not run'; cat gone.txt; return; }
  took=$(($(date +%s%N) - began))
  mv killed.safetensors whole.safetensors
  killed=0 try=0
  while [ $killed -lt "$2" ] && [ $try -lt $((10 * $2)) ]; do
    try=$((try + 1))
    rm -f kept.safetensors killed.safetensors
    # $took is that of a machine which is as busy as it was
    at=$(awk -v seed="${GC_TEST_SEED:-0}" -v try=$try -v took="$took" 'BEGIN { srand(seed % 1000000 * 1000 + try); printf "%.4f %d", rand() * took / 1e9, rand() * 4 }')
    ranked "$1" "$steps"
    sleep "${at% *}"
    [ -s "pid.${at#* }" ] && kill -9 "$(cat "pid.${at#* }")" 2>/dev/null || { wait $job; continue; }
    since=$(now) lasted=0
    while kill -0 $job 2>/dev/null && [ $lasted -lt 30000 ]; do
      sleep 0.05
      lasted=$(($(now) - since))
    done
    checks=$((checks + 1))
    if kill -0 $job 2>/dev/null; then
      fail "ranks or mpirun wait for one that is gone, second and rank $at"
      doing
      kill -9 $job
    fi
    [ $lasted -le $longest ] || longest=$lasted
    if wait $job; then
      [ -s killed.safetensors ] || fail "a killed rank is no failure, second and rank $at"
      continue
    fi
    killed=$((killed + 1))
    [ "$(grep -cE 'error:|^rank [0-3]: ' gone.txt)" -le 1 ] || fail "not one message, second and rank $at"
    resume=
    [ ! -s kept.safetensors ] || resume='--resume kept.safetensors'
    # shellcheck disable=SC2086
    run 0 $1 -n 4 ./net-n $net --seed 5 $resume --steps 20 --save killed.safetensors
    same whole.safetensors killed.safetensors "second and rank $at"
  done
  at_least $killed "$2" 'runs that were killed'
  echo "$1: $killed runs of which one rank was killed were over within $longest ms"
}

# until_has FILE: waits until the job has written something there, or has ended
until_has() { while [ ! -s "$1" ] && kill -0 $job 2>/dev/null; do sleep 0.02; done; }

# twice MPIRUN: one Ctrl-C reaches a rank twice, from the terminal and from mpirun; the weights are saved all the same.
twice() {
  rm -f twice.csv
  ranked "$1" '--steps 100000000 --log twice.csv --save twice.safetensors --threads 1'
  until_has twice.csv
  # what info says of one rank is what the process has: the only memory for which large pages are asked
  taken=$(awk '/^Size:/ { size = $2 } /^VmFlags:.* hg/ { n += size } END { print n * 1024 }' "/proc/$(cat pid.0)/smaps")
  ./net-n info train --threads 1 >info.txt
  planned=$(awk '/^entry/ { here = $2 == "train" } here && $1 == "total" { gsub(",", ""); print int(($2 + 4095) / 4096) * 4096 }' info.txt)
  exactly "$taken" "$planned" "$1: bytes of a rank"
  whole=$(awk '$1 == "optimizer" && $3 == "bytes" { gsub(",", ""); print $2 }' info-1.txt)
  slices=$(awk '$1 == "optimizer" { n = $0; sub(/ bytes.*/, "", n); sub(/.* /, "", n); sum += / of 4 ranks/ ? 4 * n : $3 != "bytes" ? n : 0 } END { print sum }' info.txt)
  exactly "$slices" "$whole" "$1: bytes of the optimizer's state"
  for _ in 1 2 3; do kill -INT "$(cat pid.0)" 2>/dev/null || break; done
  wait $job
  checks=$((checks + 1))
  [ -s twice.safetensors ] || fail "$1: two signals end the run without its weights"
}

# The last rank is on a machine of its own, and mpirun is slow to hear what a rank calls.
cat >apart.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
FILE *fopen(const char *path, const char *mode) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  if (rank && *rank == '3' && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) path = "/proc/sys/kernel/ostype";
  return ((FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen"))(path, mode);
}
int PMPI_Abort(long, int);
int MPI_Abort(long ranks, int code) { return sleep(1), PMPI_Abort(ranks, code); }
END
run 0 "${CC:-cc}" -shared -fPIC apart.c -ldl -o apart.so

# stopped MPIRUN: the others do not wait for a rank that stands still longer than --timeout says, and one of them says so,
# of two on one machine and one on another that could at the same time
stopped() {
  rm -f stopped.csv
  ranked "$1" '--steps 100000000 --log stopped.csv --threads 1' "env LD_PRELOAD=$PWD/apart.so"
  until_has stopped.csv
  kill -STOP "$(cat pid.0)"
  code=0
  wait $job || code=$?
  exactly "$code" 3 "$1: the code of ranks that one does not answer"
  exactly "$(grep -o 'the other ranks have not answered for 5 seconds: one of them has ended, or is that much slower' gone.txt | wc -l)" 1 "$1: ranks that say so"
  holds gone.txt 'hint: --timeout S waits longer'
}

# stands_still MPIRUN WHAT SECONDS COMMAND...: rank 2 of the command stands still before it has begun to talk, or when it has
# nothing more to say. One rank says so, and the others are ended before they do; on a busy machine that may take too long.
stands_still() {
  at=$1 what=$2 seconds=$3
  shift 3
  for _ in 1 2 3; do
    code=0
    LD_PRELOAD="$PWD/kept.so" timeout -s KILL 120 "$at" -n 4 "$@" --timeout "$seconds" --quiet >out.txt 2>&1 || code=$?
    [ "$code" != 0 ] || fail "$at: ranks of which one has not $what end well"
    [ "$code" != 137 ] || fail "$at: ranks of which one has not $what, or mpirun, do not end"
    said=$(grep -c "the other ranks have not $what within $seconds seconds: one of them has ended, or is that much slower" out.txt)
    [ "$said" != 1 ] || break
  done
  exactly "$said" 1 "$at: ranks that say so"
  holds out.txt 'hint: --timeout S waits longer'
}
cat >still.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int PMPI_Finalize(void);
int MPI_Finalize(void);
int MPI_Finalize(void) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  return rank && *rank == '2' ? (int)sleep(60) : PMPI_Finalize();
}
END
run 0 "${CC:-cc}" -shared -fPIC still.c -o still.so

# One implementation of the two on each commit, both at the level full
both='openmpi mpich'
if [ "${GC_TEST_LEVEL-}" != full ]; then is_drawn ranks 2 && both=openmpi || both=mpich; fi
tested= kills=1
[ "${GC_TEST_LEVEL-}" != full ] || kills=50 # with each
for mpi in $both; do
  if ! command -v "mpicc.$mpi" >/dev/null || ! command -v "mpirun.$mpi" >/dev/null; then
    not_tested "data parallelism over $mpi: mpicc.$mpi or mpirun.$mpi is missing (sh docs/install.sh tests)"
    continue
  fi
  tested=1
  through "mpicc.$mpi" "mpirun.$mpi"
  gone "mpirun.$mpi" $kills
  twice "mpirun.$mpi"
  stopped "mpirun.$mpi"
  # shellcheck disable=SC2016,SC2086
  stands_still "mpirun.$mpi" started 1 sh -c '[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" != 2 ] || exec sleep 60
    exec ./net-n "$@"' - $net
  # shellcheck disable=SC2086
  stands_still "mpirun.$mpi" ended 5 env LD_PRELOAD="$PWD/still.so" ./net-n $net
done
[ -z "$tested" ] && [ -n "${GC_NO_SKIP-}" ] && exit 1

# ---- before anything runs ----
cat >texts.g <<'END'
entry train(x : i32[n <= 8, t <= 6]) {
  y = linear(embed(x, 9, 4) as e, 9) as o
  loss = mean(xent(y, x))
  minimize loss with adam(0.1)
  return loss, most = max(y)
}
entry rows(x : i32[1, t <= 6]) { return embed(x, 9, 4) as e }
END
says 1 'reduce_max needs all rows of the batch, beside the extent t, which is known only at run time' "$gc" texts.g --data-parallel=mpi --ranks=2 --shard=optimizer -o never
sed 's/n <= 8/8/' texts.g >eight.g
says 1 'needs all rows of the batch, beside the extent t, which is known only at run time' "$gc" eight.g --data-parallel=mpi --ranks=2 -o never
says 1 'the batch of at most 8 of the entry train cannot be split among 3 ranks' "$gc" net.g --data-parallel=mpi --ranks=3 -o never
sed 's/root = 1/root = 2/' spread.ir >bad.ir
says 1 'is of rank 2, and there are 2' "$gc" -x ir bad.ir --data-parallel=mpi --ranks=2 -o never
says 3 "'./no-mpicc -show' does not say how MPI is linked" env MPICC=./no-mpicc "$gc" net.g --data-parallel=mpi --ranks=2 -o never
says 1 'the batch of at most 4 of the entry train cannot be split among 3 ranks' "$gc" loop.g --data-parallel=mpi --ranks=3 -o never
says 2 '--data-parallel needs the number of processes' "$gc" net.g --data-parallel=mpi -o never
says 2 'which is not given' "$gc" net.g --ranks=2 -o never
says 2 '--tokens is for texts: compile a program for each' "$gc" net.g --data-parallel=mpi --ranks=2 --tokens -o never
says 2 "--ranks takes a number" "$gc" net.g --data-parallel=mpi --ranks=0 -o never
says 2 'which is not given' "$gc" net.g --shard=optimizer -o never
says 2 'which is not given' "$gc" net.g --memory-per-rank=2
says 2 "as 1,2,4, not '2,'" "$gc" net.g --data-parallel=mpi --ranks=2 --memory-per-rank=2,
says 1 'error: for 3 ranks: the batch of at most 8 of the entry train cannot be split among 3 ranks' "$gc" net.g --data-parallel=mpi --ranks=2 --memory-per-rank=3
run 0 "$gc" loop.g --data-parallel=mpi --ranks=2 --memory-per-rank=4
holds out.txt "warning: for 4 ranks: the batch of the entry train has all 4 rows, not fewer: a rank's share of it is one row"
says 2 'this program has no ranks' ./net-1 info -n 2
holds out.txt 'hint: compile it with gc --data-parallel=mpi --ranks=2, or =nccl for GPUs'
run 0 ./net-1 info -n 1
# no limit has ranks sum the same gradient twice
cat >again.g <<'END'
def net(x) {
  x = relu(conv(reshape(x, [dim(x, 0), 1, 8, 8]), 16, 3, bias = false) as c)
  x = relu(conv(dropout(x, 0.2), 16, 3, bias = false) as d)
  return linear(global_avg_pool(x), 3) as out
}
entry train(x : f32[n <= 96, 64], label : u8[n]) {
  y = net(x)
  loss = mean(xent(y, label % 3))
  minimize loss with sgd(1e-2)
  return loss, accuracy = mean(argmax(y) == label % 3)
}
END
for limit in 590592 630K 1M; do
  "$gc" again.g --data-parallel=mpi --ranks=2 -march=x86-64-v3 --memory-limit=$limit --dump-plan >plan.txt 2>&1
  checks=$((checks + 1))
  [ "$(grep -c ' all_reduce ' plan.txt)" -le 7 ] || fail "a sum is made twice in $limit"
done
grep -q ' all_reduce ' plan.txt || fail 'no sums over the ranks'
cat >stateless.g <<'END'
entry train(x : f32[4, 3]) {
  loss = mean(linear(x, 2) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
run 0 "$gc" stateless.g --data-parallel=mpi --ranks=2 --shard=optimizer --emit=ir -o stateless.ir
holds out.txt '--shard changes nothing: no optimizer has state to divide among 2 ranks'
says 2 'which is not given' "$gc" net.g --batch-norm=local -o never
says 2 'statistics that one process has not' "$gc" net.g --data-parallel=mpi --ranks=2 --batch-norm=local --exact -o never
run 0 "$gc" loop.g --data-parallel=mpi --ranks=2 --batch-norm=local --emit=ir -o loop.ir
holds out.txt '--batch-norm=local changes nothing: no batch norm of training has statistics of its batch'
says 2 'optimizer' "$gc" net.g --data-parallel=mpi --ranks=2 --shard=params -o never
says 2 'one for computation, and one for collectives' "$gc" net.g --data-parallel=mpi --ranks=2 --streams=2 -o never
says 2 'for executables' "$gc" net.g test --data-parallel=mpi --ranks=2 --emit=onnx -o never.onnx
says 2 'for the target cpu' "$gc" net.g --data-parallel=mpi --ranks=2 --target=cuda -o never
cat >share.g <<'END'
entry train(x : f32[8, 3], t : f32[4, 3]) {
  loss = mean(linear(x, 3) ** 2) + mean(t ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
says 1 'the input t of the entry train has 4 rows, as the share of each of 2 ranks' "$gc" share.g --data-parallel=mpi --ranks=2 -o never
cat >inner.g <<'END'
entry train(pos : f32[t <= 6, 3], x : f32[n <= 8, t]) {
  loss = mean(linear(x @ pos, 3) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
run 0 "$gc" inner.g --data-parallel=mpi --ranks=2 --emit=ir -o inner.ir
holds inner.ir 'x : f32[n<=4,t<=6]'
absent never libnever.so
finish
