#!/bin/sh
# Files beyond --data-memory stay on disk: the same bits, the same messages, and little memory.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'G'
let D = 6
def net(x : f32[n, d], y : u8[n]) { return mean(xent(linear(x, 5), y)) }
entry train(x : f32[8, D], y : u8[8], z : f32[8, 2], t : u8[8, 4], next : u8[8]) {
  loss = net(x, y) + mean(z) + mean(xent(embed(t, 16, 16) |> sum(axis = 1), next))
  minimize loss with sgd(0.1)
  return loss
}
entry test(x : f32[8, D], y : u8[8]) { return loss = net(x, y) }
entry big(x : f32[8, 196608]) { loss = mean(linear(x, 1) ** 2)
  minimize loss with sgd(0.1)
  return loss }
G
run 0 "$gc" net.g -o net
"$mkdata" npy f32 90,6 1 x.npy && "$mkdata" npy i64 90 5 y.npy && "$mkdata" npy f64 90,2 3 z.npy && "$mkdata" npy u8 100 16 t.npy
tail -c 100 t.npy >t.bin
data="--x x.npy[2:90] --y y.npy[2:90] --z z.npy[2:90] --t t.bin:u8~1[2:90] --next t.bin:u8+4~1[2:90]"
run 0 ./net train $data --epochs 5 --seed 3 --save memory.st --log memory.csv --checkpoint c.ck:20
for extra in '' '--threads 2 --poison' '--no-shuffle'; do
  run 0 ./net train $data --epochs 5 --seed 3 $extra --save memory.st
  grep -q 'stay on disk' out.txt && fail 'small files stay on disk'
  run 0 ./net train $data --epochs 5 --seed 3 $extra --save disk.st --data-memory 0
  [ "$(grep -c 'rows stay on disk' out.txt)" = 5 ] || { fail 'not five inputs on disk'; cat out.txt; }
  same memory.st disk.st "weights $extra"
done
run 0 ./net train $data --epochs 5 --seed 3 --save disk.st --data-memory 3000 # the largest: x alone
[ "$(grep -c 'rows stay on disk' out.txt)" = 1 ] && grep -q '^note: x.npy: 88 rows stay' out.txt || { fail 'not x alone'; cat out.txt; }
run 0 ./net train $data --epochs 5 --seed 3 --save memory.st
same memory.st disk.st 'one file on disk'
run 0 ./net train $data --steps 20 --seed 3 --checkpoint c.ck
run 0 ./net train $data --epochs 5 --resume c.ck --data-memory 0 --save disk.st
same memory.st disk.st 'resumed from disk'
run 0 ./net test --x x.npy[10:26] --y y.npy[10:26] --load memory.st --quiet
cp out.txt figure.txt
run 0 ./net test --x x.npy[10:26] --y y.npy[10:26] --load memory.st --data-memory 1K --quiet
same out.txt figure.txt 'the figure, both files below 1K'
run 0 ./net test --x x.npy[10:26] --y y.npy[10:26] --load memory.st --data-memory 0 --quiet
same out.txt figure.txt 'the figure from disk'

# ---- packed files and tables are unpacked once ----
run 0 python3 - <<'P'
import gzip, struct, zipfile
y = struct.unpack("<90q", open("y.npy", "rb").read()[-720:])
for name, part in ("y.csv", y), ("y-1.csv", y[:31]), ("y-2.csv", y[31:]):
    open(name, "w").write("label\n" + "".join("%d\n" % v for v in part))
for name in "x.npy", "t.bin":
    gzip.open(name + ".gz", "wb").write(open(name, "rb").read())
zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED).write("z.npy")
P
packed="--x x.npy.gz[2:90] --z z.npz[2:90] --t t.bin.gz:u8~1[2:90] --next t.bin.gz:u8+4~1[2:90]"
for y in y.csv 'y-?.csv'; do
  for extra in '' '--no-shuffle --threads 2 --poison'; do
    run 0 ./net train $data --epochs 5 --seed 3 $extra --save memory.st
    run 0 ./net train $packed --y "$y[2:90]" --epochs 5 --seed 3 $extra --save disk.st --data-memory 0 --data-cache .
    [ "$(grep -c '^note: .*: is unpacked once and stays in a file in ., of 0.0 MB: see --data-cache' out.txt)" = 4 ] || { fail 'not four files unpacked'; cat out.txt; }
    same memory.st disk.st "weights of packed files and $y $extra"
  done
done
run 0 ./net train $data --epochs 5 --seed 3 --save memory.st
run 0 ./net train $packed --y y.csv[2:90] --epochs 5 --seed 3 --save disk.st --data-memory 0 --data-cache none
[ "$(grep -c 'stays in memory: --data-cache none; see --data-memory and --data-cache' out.txt)" = 4 ] || { fail 'not four files in memory'; cat out.txt; }
same memory.st disk.st 'weights of packed files in memory'
run 0 env TMPDIR=missing ./net train $packed --y y.csv[2:90] --steps 1 --data-memory 0
holds out.txt 'note: y.csv: stays in memory: missing: no file can be made there: No such file or directory; see'
says 3 'error: --data-cache missing: no file can be made there: No such file or directory' ./net train $packed --y y.csv[2:90] --data-memory 0 --data-cache missing
holds out.txt 'hint: name a folder on a disk that you may write to, or none'
cat >small.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/statvfs.h>
int fstatvfs(int fd, struct statvfs *s) {
  int code = ((int (*)(int, struct statvfs *))dlsym(RTLD_NEXT, "fstatvfs"))(fd, s);
  s->f_bavail = 200, s->f_frsize = 1; /* half of it has room for the labels, 88 bytes, alone */
  return code;
}
C
run 0 "${CC:-cc}" -shared -fPIC small.c -ldl -o small.so
run 0 env LD_PRELOAD="$PWD/small.so" ./net train $packed --y y.csv[2:90] --epochs 5 --seed 3 --save disk.st --data-memory 0 --data-cache .
holds out.txt 'note: y.csv: is unpacked once'
holds out.txt 'note: z.npz: stays in memory: half of what is free in . has no room for it; see'
same memory.st disk.st 'weights where the disk has room for one file'
cat >old.c <<'C'
#include <errno.h>
#include <sys/types.h>
int fallocate(int fd, int mode, off_t at, off_t n) { return (void)fd, (void)mode, (void)at, (void)n, errno = EOPNOTSUPP, -1; }
C
run 0 "${CC:-cc}" -shared -fPIC old.c -o old.so
run 0 env LD_PRELOAD="$PWD/old.so" ./net train $packed --y y.csv[2:90] --epochs 5 --seed 3 --save disk.st --data-memory 0 --data-cache .
[ "$(grep -c 'stays in memory: no room can be reserved in .: Operation not supported; see' out.txt)" = 4 ] || { fail 'files on a disk that reserves nothing'; cat out.txt; }
same memory.st disk.st 'weights where the disk reserves nothing'

# ---- what is wrong is said as of rows in memory ----
for bad in high:7 wide:1000; do
  python3 - "$bad" <<'P'
import struct, sys
name, value = sys.argv[1].split(":")
raw = bytearray(open("y.npy", "rb").read())
raw[-40 * 8:-39 * 8] = struct.pack("<q", int(value)) # row 50
open(name + ".npy", "wb").write(raw)
P
done
for memory in 0 1G; do
  says 1 'high.npy: input row 50 holds 7, which is not below 5' ./net test --x x.npy --y high.npy --data-memory $memory
  cp out.txt high.$memory
  says 1 'wide.npy: element 50 (row 50) is 1000, which the input y (u8) cannot hold' ./net test --x x.npy --y wide.npy --data-memory $memory
  cp out.txt wide.$memory
done
for what in high wide; do
  grep 'error\|hint' $what.0 >a.txt && grep 'error\|hint' $what.1G >b.txt
  same a.txt b.txt "the message of a file on disk: $what"
done
says 2 'error: --data-memory lots is no size' ./net test --x x.npy --y y.npy --data-memory lots
holds out.txt 'hint: write 500M or 2G; M is 2^20 bytes, G 2^30'

# ---- 3 GB in less than 200 MB: an array, and windows over three that are one sequence ----
run 0 python3 - <<'P'
import resource, struct, subprocess
def hole(name, *dims):
    head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % n for n in dims)).ljust(117) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
        f.truncate(10 + len(head) + 4 * dims[0] * (dims[1] if len(dims) > 1 else 1))
hole("big.npy", 4096, 196608)
for part in "123":
    hole("big-%s.npy" % part, 1365 * 196608 + int(part))
for x in "big.npy", "big-?.npy~196608", "big-?.npy+7~100000":
    subprocess.run(["./net", "big", "--x", x, "--steps", "6", "--quiet", "--data-memory", "64M"], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(used, "KB")
assert used < 200 * 1024, used
P
# one of the threads that read a batch tells the system of its rows
cat >told.c <<'C'
#include <fcntl.h>
#include <stdio.h>
static _Atomic int calls;
int posix_fadvise(int fd, off_t at, off_t n, int how) { return (void)fd, (void)at, (void)n, (void)how, calls++, 0; }
__attribute__((destructor)) static void say(void) { fprintf(stderr, "told %d times\n", calls); }
C
run 0 "${CC:-cc}" -shared -fPIC told.c -o told.so
run 0 env LD_PRELOAD="$PWD/told.so" ./net big --x 'big.npy[0:32]' --data-memory 0 --threads 2 --no-shuffle
holds out.txt 'told '
at_least 4 "$(sed -n 's/told \(.*\) times/\1/p' out.txt)" 'times that the rows of four batches were told of'
rm -f big.npy big-?.npy

# ---- a run is resumed within an epoch: all threads come for a batch while the reader reads another one ----
cat >slow.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static int is_reader(void) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  return strcmp(name, "reader") == 0;
}
ssize_t pread(int fd, void *to, size_t n, off_t at) { /* it is in the midst of a row for long */
  if (is_reader()) usleep(100000);
  return ((ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(fd, to, n, at);
}
int pthread_mutex_unlock(pthread_mutex_t *m) { /* others let it begin one */
  int code = ((int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock"))(m);
  if (!is_reader()) usleep(10000);
  return code;
}
C
run 0 "${CC:-cc}" -shared -fPIC slow.c -ldl -o slow.so
run 0 env LD_PRELOAD="$PWD/slow.so" timeout -s KILL 300 ./net train $data --epochs 2 --resume c.ck --data-memory 0 --threads 4 --save disk.st
finish
