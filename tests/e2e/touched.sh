#!/bin/sh
# Weights of a file, or of the program itself, lie near the threads that read them: each of two threads writes first to half of the pages.
. "$(dirname "$0")/common.sh"
cat >net.g <<'XX'
def net(x) { return linear(x, 8192) as fc }
entry train(x : f32[2, 4096]) {
  loss = mean(net(x))
  minimize loss with sgd(0.1)
  return loss
}
entry predict(x : f32[n <= 2, 4096]) { return y = net(x) }
XX
run 0 "$gc" net.g -o net
"$mkdata" npy f32 2,4096 1 x.npy || fail 'no data could be made'
run 0 ./net train --x x.npy --steps 0 --save w.st # 128 MB: 64 pages of 2 MB, or 512 times as many
# faults: of each thread but the first, by proc(5)
faults() { for task in /proc/$program/task/*; do [ "$task" = "/proc/$program/task/$program" ] || cut -d ' ' -f 10 "$task/stat"; done; }

# touches WHAT COMMAND...: the second thread of a program writes first to its half of the weight
touches() {
  what=$1
  shift
  "$@" --threads 2 --bench 1000000 >out.txt 2>&1 &
  program=$!
  deadline=$(($(date +%s) + 300)) seen=0
  while kill -0 $program 2>/dev/null && [ "$(date +%s)" -lt $deadline ]; do
    seen=$(faults | awk '{ n += $1 } END { print n + 0 }')
    [ "$seen" -lt 30 ] || break # without a weight it has ten
    sleep 0.1
  done
  checks=$((checks + 1))
  kill -0 $program 2>/dev/null || fail "the program ended: $(cat out.txt)"
  kill $program
  wait $program || true
  [ "$seen" -ge 30 ] || fail "the second thread has touched $seen pages of $what"
}
touches 'a file' ./net predict --x x.npy --load w.st
run 0 "$gc" net.g --weights=w.st -o own
touches 'weights in the program' ./own predict --x x.npy
finish
