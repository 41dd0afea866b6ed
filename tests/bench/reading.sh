#!/bin/sh
# What reading costs a step of LeNet: rows in memory, rows that stay on disk, images that stay decoded, and images that
# are decoded in each epoch. Each figure is the least of several rounds, in which all take turns, as a ratio to rows in
# memory, over the epochs behind the first. usage: reading.sh BUILD DATA [ROUNDS [THREADS]]
set -eu
build=$(realpath "$1") data=$(realpath "$2") rounds=${3:-3} threads=${4:-2}
here=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$build/bin/runtime_mkimages" digits "$data/mnist/t10k-images-idx3-ubyte.gz" "$data/mnist/t10k-labels-idx1-ubyte.gz" 0 10000 digits
"$build/bin/gc" "$here/docs/examples/lenet.g" --images -O2 -o lenet
seconds() { # seconds ARGUMENTS...: of epochs 2 and 3, of 200 steps each
  ./lenet train "$@" --epochs 3 --seed 1 --threads "$threads" --quiet --log log.csv 2>/dev/null
  awk -F, 'NR == 201 { a = $NF } END { print $NF - a }' log.csv
  rm log.csv
}
array='--image digits.images --label digits.labels'
for round in $(seq "$rounds"); do
  for kind in memory disk kept decoded; do
    case $kind in
    memory) s=$(seconds $array) ;;
    disk) s=$(seconds $array --data-memory 0) ;;
    kept) s=$(seconds --image digits) ;;
    decoded) s=$(seconds --image digits --data-memory 0) ;;
    esac
    echo "$kind $s"
  done
done | awk '
  !($1 in best) || $2 < best[$1] { best[$1] = $2 }
  END {
    for (k in best) printf "%-8s %6.2f ms a step, %5.3f of rows in memory\n", k, best[k] * 1000 / 400, best[k] / best["memory"]
  }'
