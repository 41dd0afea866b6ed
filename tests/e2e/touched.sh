#!/bin/sh
# Weights of a file, or of the program itself, lie near the threads that read them: each of two threads writes first to half of the pages, and
# writes half of an image.
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
# faults, written: of each thread but the first, by proc(5): page faults, and bytes that it wrote
others() { for task in /proc/$program/task/*; do [ "$task" = "/proc/$program/task/$program" ] || "$@" <"$task/$file"; done; }
faults() { file=stat others cut -d ' ' -f 10; }
written() { file=io others sed -n 's/^wchar: //p'; }

# does HOW LEAST WHAT COMMAND...: the second thread of a program comes to so many faults or bytes
does() {
  how=$1 least=$2 what=$3
  shift 3
  "$@" --threads 2 --bench 1000000 >out.txt 2>&1 &
  program=$!
  deadline=$(($(date +%s) + 300)) seen=0
  while kill -0 $program 2>/dev/null && [ "$(date +%s)" -lt $deadline ]; do
    seen=$($how | awk '{ n += $1 } END { print n + 0 }')
    [ "$seen" -lt "$least" ] || break
    sleep 0.1
  done
  checks=$((checks + 1))
  kill -0 $program 2>/dev/null || fail "the program ended: $(cat out.txt)"
  kill $program
  wait $program || true
  [ "$seen" -ge "$least" ] || fail "the second thread has $how only $seen: $what"
}
does faults 30 'weights of a file' ./net predict --x x.npy --load w.st # without a weight it has ten
run 0 "$gc" net.g --weights=w.st -o own
does faults 30 'weights in the program' ./own predict --x x.npy
if grep -q wchar /proc/self/io 2>/dev/null; then
  does written 50000000 'the image' ./net predict --x x.npy --load w.st,image=w.img
else
  not_tested 'which thread writes an image: this kernel does not tell how much threads write'
fi
# what no thread can write is said once
says 3 'full.img: writing failed: File too large' sh -c 'ulimit -f 65536 && exec "$@"' sh ./net predict --x x.npy --load w.st,image=full.img --threads 2
absent full.img
finish
