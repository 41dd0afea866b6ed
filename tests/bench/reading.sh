#!/bin/sh
# What reading costs a step of LeNet: rows in memory, rows that stay on disk, images that stay decoded in memory (kept)
# or in a temporary file (filed), and images that are decoded in each epoch. Of each the step's time, the least of several rounds in which all take turns, over the
# epochs behind the first, and its ratio to rows in memory; and the CPU time of all threads that it takes beyond that of
# rows in memory, which other programs on the machine change little. The least that a ratio can be is one and that CPU
# time, divided among the threads (one thread: among two CPUs), by the step's.
# As root the programs come before all others of the machine, which is then as if it were idle.
# usage: reading.sh BUILD DATA [ROUNDS [THREADS]]
set -eu
build=$(realpath "$1") data=$(realpath "$2") rounds=${3:-5} threads=${4:-2}
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${READING_AHEAD:-}" ] && [ -w /proc/self/autogroup ] && [ "$(id -u)" = 0 ]; then
  READING_AHEAD=1 exec setsid -w sh -c 'echo -20 >/proc/self/autogroup; exec sh "$0" "$@"' "$0" "$@"
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$build/bin/runtime_mkimages" digits "$data/mnist/t10k-images-idx3-ubyte.gz" "$data/mnist/t10k-labels-idx1-ubyte.gz" 0 10000 digits
"$build/bin/gc" "$here/docs/examples/lenet.g" --images -O2 -o lenet
# measured ARGUMENTS...: seconds of epochs 2 and 3, of 200 steps each, and CPU seconds of all three; in a subshell, whose
# times are those of this program
measured() {
  ./lenet train "$@" --epochs 3 --seed 1 --threads "$threads" --quiet --log log.csv 2>/dev/null
  times >times.txt
  awk -F'[ ,ms]+' 'FILENAME == "times.txt" { cpu = 60 * $1 + $2 + 60 * $3 + $4; next }
    FNR == 202 { a = $NF } END { print $NF - a, cpu }' times.txt log.csv
  rm log.csv
}
array='--image digits.images --label digits.labels'
for round in $(seq "$rounds"); do
  for kind in memory disk kept filed decoded; do
    case $kind in
    memory) s=$(measured $array) ;;
    disk) s=$(measured $array --data-memory 0) ;;
    kept) s=$(measured --image digits) ;;
    filed) s=$(measured --image digits --data-memory 0) ;;
    decoded) s=$(measured --image digits --data-memory 0 --data-cache none) ;;
    esac
    echo "$kind $s"
  done
done | awk -v threads="$threads" '
  !($1 in best) || $2 < best[$1] { best[$1] = $2 }
  !($1 in cpu) || $3 < cpu[$1] { cpu[$1] = $3 }
  END {
    split("memory disk kept filed decoded", kinds)
    for (i = 1; i <= 5; i++) {
      k = kinds[i]
      once = k == "kept" || k == "filed"
      read = (cpu[k] - cpu["memory"]) * 1000 / (once ? 200 : 600)
      printf "%-8s %6.2f ms a step, %5.3f of rows in memory; reading takes %.2f ms of CPU a step%s\n", k, best[k] * 1000 / 400,
             best[k] / best["memory"], read, once ? " of the first epoch" : ""
    }
  }'
