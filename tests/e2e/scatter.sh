#!/bin/sh
# Gradients of gathered rows have the bits of one thread on any number of threads, which each list the ids of their own rows:
# of f32 and f16, of ids that one block, several or none of a thread holds, of a number of ids that a run decides. An id out
# of range is an error on several threads, too, and behind valid ids of its block.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
entry rows(ids : i32[5000], dy : f32[5000, 9]) {
  t = zeros([1000, 9])
  return g = grad(sum(gather(t, ids) * dy), t)
}
entry moved(ids : i32[5000], by : i32, dy : f32[5000, 9]) {
  t = zeros([1000, 9])
  return g = grad(sum(gather(t, ids + by) * dy), t)
}
entry few(ids : u8[700], dy : f32[700, 130]) {
  t = zeros([256, 130])
  return g = grad(sum(gather(t, ids) * dy), t)
}
entry halves(ids : i32[n <= 5000], dy : f32[n, 9]) {
  t = f16(zeros([1000, 9]))
  return g = f32(grad(sum(f32(gather(t, ids)) * dy), t))
}
END
run 0 "$gc" net.g -O2 -o net --print-schedules
holds out.txt 'gather_grad scatter ids=5000 rows=1000 row=9 runs=0 shift=0 chunk=0 units=1000 balance=0.44,0.28,0.09,0.05'
python3 - <<'END' || fail 'no data could be made'
import struct, random
random.seed(4)
def npy(name, descr, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data)
def ids(name, n, rows):
    npy(name, "<i4", (n,), struct.pack("<%di" % n, *rows))
ids("rows_ids.npy", 5000, [random.randrange(1000) for _ in range(5000)])
ids("sorted_ids.npy", 5000, [i // 5 for i in range(5000)])
ids("one_ids.npy", 5000, [998] * 5000)
ids("low_ids.npy", 5000, [random.randrange(500) + 1 for _ in range(4990)] + [0] + [3] * 9)
ids("high_ids.npy", 5000, [random.randrange(500) for _ in range(4990)] + [999] + [3] * 9)
ids("few_ids.npy", 1300, [random.randrange(1000) for _ in range(1300)])
npy("few_bytes.npy", "|u1", (700,), bytes(random.randrange(256) for _ in range(700)))
END
"$mkdata" npy f32 5000,9 1 dy.npy && "$mkdata" npy f32 1300,9 2 few_dy.npy && "$mkdata" npy f32 700,130 3 wide_dy.npy ||
  fail 'no data could be made'

# on_threads ENTRY IDS DY: one thread adds rows as they come
on_threads() {
  rm -f g_?.npy
  for threads in 1 2 5; do
    run 0 ./net $1 --ids $2 --dy $3 --g g_$threads.npy --threads $threads --poison
    same g_1.npy g_$threads.npy "$1 of $2 on $threads threads"
  done
}
for form in rows sorted one; do
  on_threads rows ${form}_ids.npy dy.npy
  on_threads halves ${form}_ids.npy dy.npy
done
on_threads halves few_ids.npy few_dy.npy
on_threads few few_bytes.npy wide_dy.npy
for threads in 1 2; do
  says 1 'an index' ./net moved --ids low_ids.npy --by -1 --dy dy.npy --g g.npy --threads $threads
  says 1 'an index' ./net moved --ids high_ids.npy --by 1 --dy dy.npy --g g.npy --threads $threads
done
finish
