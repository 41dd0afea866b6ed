#!/bin/sh
# Tensors of more than 2^31 elements, as an input, as values of the arena, as what is reduced, gathered from and cut.
. "$(dirname "$0")/common.sh"
free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
if [ "${free:-0}" -lt 6000000 ]; then
  not_tested 'tensors of more than 2^31 elements: this machine has less than 6 GB of free memory'
  exit 77
fi
cat >large.g <<'END_G'
let R = 70000
let C = 31000
entry read(x : u8[R, C], ids : i32[3]) {
  return rows = sum(i32(x), axis = 1)[R - 3:], columns = sum(i32(x), axis = 0)[C - 3:], top = argmax(x, axis = 1)[R - 3:],
         taken = sum(i32(gather(x, ids)), axis = 1), last = x[R - 1, C - 1]
}
entry made(first : i32[1]) {
  y = u8((reshape(iota(R), [R, 1]) * 7 + iota(C) + first[0]) % 251)
  z = concat([y[1:], y[:1]], axis = 0)
  return rows = sum(i32(z), axis = 1)[R - 3:], sums = sum(cumsum(i32(z[R - 2:]), axis = 0), axis = 1), last = z[R - 2, C - 1]
}
END_G
# x is zeros, a hole of the file, but for its last three rows
python3 - <<'END_P' || fail 'no data could be made'
import struct
R, C = 70000, 31000
def npy(name, kind, shape, data, zeros=0):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        f.seek(zeros, 1)
        f.write(data)
x = [bytes((r * C + i) % 251 for i in range(C)) for r in range(3)]
npy("x.npy", "|u1", (R, C), b"".join(x), (R - 3) * C)
npy("ids.npy", "<i4", (3,), struct.pack("<3i", R - 1, 0, R - 2))
npy("first.npy", "<i4", (1,), struct.pack("<i", 5))
def say(name, *values):
    return f"{name} = [{' '.join(map(str, values))}]" if len(values) > 1 else f"{name} = {values[0]}"
with open("read.txt", "w") as f:
    print(say("rows", *map(sum, x)), say("columns", *(sum(r[i] for r in x) for i in range(C - 3, C))),
          say("top", *(r.index(max(r)) for r in x)), say("taken", sum(x[2]), 0, sum(x[1])), say("last", x[2][-1]), sep="\n", file=f)
z = [[((r + 1) % R * 7 + i + 5) % 251 for i in range(C)] for r in range(R - 3, R)]
with open("made.txt", "w") as f:
    print(say("rows", *map(sum, z)), say("sums", sum(z[1]), sum(z[1]) + sum(z[2])), say("last", z[1][-1]), sep="\n", file=f)
END_P
run 0 "$gc" large.g -O2 -o large
run 0 ./large read --x x.npy --ids ids.npy --quiet
same out.txt read.txt 'reading more than 2^31 elements'
run 0 ./large made --first first.npy --quiet
same out.txt made.txt 'making more than 2^31 elements'
rm -f x.npy
finish
