#!/bin/sh
# What reading costs a step of LeNet: rows in memory, rows that stay on disk, images that stay decoded, and images that
# are decoded in each epoch. Two figures of each: the step's time, the least of several rounds, in which all take
# turns, as a ratio to rows in memory, over the epochs behind the first; and the CPU time of the thread that reads
# ahead, which other programs on the machine change little. usage: reading.sh BUILD DATA [ROUNDS [THREADS]]
set -eu
build=$(realpath "$1") data=$(realpath "$2") rounds=${3:-3} threads=${4:-2}
here=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$build/bin/runtime_mkimages" digits "$data/mnist/t10k-images-idx3-ubyte.gz" "$data/mnist/t10k-labels-idx1-ubyte.gz" 0 10000 digits
"$build/bin/gc" "$here/docs/examples/lenet.g" --images -O2 -o lenet
# measured ARGUMENTS...: seconds of epochs 2 and 3, of 200 steps each, and CPU milliseconds of the reader in all three
measured() {
  ./lenet train "$@" --epochs 3 --seed 1 --threads "$threads" --quiet --log log.csv 2>/dev/null &
  id=$! reader=0
  while kill -0 $id 2>/dev/null; do
    for task in /proc/$id/task/*; do
      [ "$(cat "$task/comm" 2>/dev/null)" = reader ] && reader=$(cut -d' ' -f1 "$task/schedstat" 2>/dev/null || echo $reader)
    done
    sleep 0.02
  done
  wait $id
  awk -F, -v reader="$reader" 'NR == 201 { a = $NF } END { print $NF - a, reader / 1e6 }' log.csv
  rm log.csv
}
array='--image digits.images --label digits.labels'
for round in $(seq "$rounds"); do
  for kind in memory disk kept decoded; do
    case $kind in
    memory) s=$(measured $array) ;;
    disk) s=$(measured $array --data-memory 0) ;;
    kept) s=$(measured --image digits) ;;
    decoded) s=$(measured --image digits --data-memory 0) ;;
    esac
    echo "$kind $s"
  done
done | awk '
  !($1 in best) || $2 < best[$1] { best[$1] = $2 }
  !($1 in cpu) || $3 < cpu[$1] { cpu[$1] = $3 }
  END {
    for (k in best)
      printf "%-8s %6.2f ms a step, %5.3f of rows in memory; reader %.3f ms of CPU a step\n", k, best[k] * 1000 / 400,
             best[k] / best["memory"], cpu[k] / (k == "kept" ? 200 : 600)
  }'
