#!/bin/sh
# Folders of images: classes, shapes, kinds of PNG and JPEG, memory; the weights are those of the same rows in one
# array; and every wrong folder or file with its one message.
. "$(dirname "$0")/common.sh"
unoptimised
mkimages=$(dirname "$mkdata")/runtime_mkimages
[ -x "$mkimages" ] || { not_tested 'images: gc was built without libpng and libjpeg-turbo' && exit 77; }
cat >net.g <<'G'
entry gray(x : u8[1, 4, 6]) { return y = x }
entry flat(x : u8[n <= 4, 16]) { return y = x, sum = sum(i32(x)) }
entry planar(x : f32[1, 3, 5, 7]) { return y = x }
entry last(x : u8[1, 5, 7, 3]) { return y = x }
entry alone(s : f32[n <= 2], x : u8[3, 4, 4]) { return y = x, t = s }
entry two(x : u8[1, 4, 6], z : u8[1, 4, 6]) { return d = i32(x) - i32(z) }
entry mask(m : i32[n <= 4, 4, 4]) { return y = m }
entry chosen(m : u8[1, 4, 6]) { return y = gather(iota(250), m) }
entry pair(x : u8[n <= 4, 4, 4], m : i32[n, 4, 4]) { return y = sum(i32(x) - m) }
entry odd(x : u8[1, 5]) { return y = x }
entry train(image : u8[4, 1, 6, 6], label : u8[4]) {
  loss = mean(xent(linear(f32(flatten(image)) / 255, 3), label))
  minimize loss with sgd(0.1)
  return loss }
entry test(image : u8[4, 1, 6, 6], label : i32[4]) { return loss = mean(xent(linear(f32(flatten(image)) / 255, 3), label)) }
G
run 0 "$gc" net.g --images -o net
run 0 "$gc" net.g -o plain
libraries=$(ldd ./net | sed -E 's/^[[:space:]]*([^ ]+).*/\1/; s#.*/##' | grep -vE '^(linux-vdso|linux-gate|ld-linux)' | sort | tr '\n' ' ')
exactly "$libraries" 'libc.so.6 libm.so.6 ' 'libraries of a program that decodes images'
grep -q 'libpng' plain && fail 'a program without --images holds decoders'
grep -q 'libpng' net || fail 'a program with --images holds no libpng'
numbers() { tail -c "$2" "$1" | od -An -v -tu1 | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; } # numbers FILE COUNT
values() { tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1"; } # of weights, without the header, which has the words of a folder
picture() { "$mkimages" "$@" || fail "no picture: $*"; }

# ---- kinds of files: one picture ----
picture png color 7 5 9 color.png && picture png interlaced 7 5 9 lace.png && picture png alpha 7 5 9 alpha.png
picture png deep 7 5 9 deep.png && picture png gray 6 4 9 gray.png && picture png palette 6 4 0 palette.png
picture jpeg color 7 5 9 color.jpg && picture jpeg interlaced 7 5 9 lace.JPEG && picture jpeg gray 6 4 9 gray.jpg
run 0 ./net planar --x color.png --y color.npy
run 0 ./net last --x color.png --y last.npy
for other in lace alpha; do
  run 0 ./net planar --x $other.png --y other.npy
  same color.npy other.npy "$other.png"
done
run 0 ./net gray --x gray.png --y gray.npy
exactly "$(numbers gray.npy 24)" '9 42 75 109 172 205 19 52 85 119 182 215 29 62 95 129 192 225 39 72 105 139 202 235' 'gray.png'
exactly "$(numbers last.npy 6)" '213 245 21 242 18 50' 'the last pixels of color.png, channels last'
run 0 ./net gray --x gray.jpg --y near.npy
python3 -c '
a, b = (open(f, "rb").read()[-24:] for f in ("gray.npy", "near.npy"))
assert max(abs(x - y) for x, y in zip(a, b)) < 12, (a, b)' || fail 'gray.jpg is another picture'
for file in deep.png color.jpg lace.JPEG; do run 0 ./net planar --x $file --y other.npy; done
run 0 ./net gray --x palette.png --y gray.npy
exactly "$(numbers gray.npy 3)" '120 105 97' 'palette.png as gray'
"$mkdata" npy f32 2 1 two.npy || fail "no data could be made"
run 0 ./net alone --x color.png --s two.npy --y alone.npy

# ---- the largest centred part, resampled ----
picture png gray 12 4 0 wide.png && picture png gray 8 8 0 even.png
run 0 ./net flat --x wide.png --y flat.npy # columns 4 to 7 as they are
exactly "$(numbers flat.npy 16)" '66 83 100 146 76 93 110 156 86 103 120 166 96 113 130 176' 'a centre crop'
run 0 ./net flat --x even.png --y flat.npy # each of two pixels and parts of their neighbours
exactly "$(numbers flat.npy 16)" '21 66 131 191 30 75 140 200 40 85 150 210 49 94 159 219' 'half the size'

# ---- masks: the nearest pixel, of a palette its indices ----
run 0 ./net mask --m even.png --y mask.npy
exactly "$(tail -c 64 mask.npy | od -An -v -td4 | tr -s ' \n' ' ')" ' 30 80 160 210 40 90 170 220 50 100 180 230 60 110 190 240 ' 'a mask of half the size'
run 0 ./net chosen --m palette.png --y ids.npy
exactly "$(tail -c 96 ids.npy | od -An -v -td4 -N12 | tr -s ' \n' ' ')" ' 0 33 66 ' 'a palette of classes'

# ---- two folders of which one has fewer files: the first name without its partner ----
mkdir -p photos masks
for i in 1 2 3 4; do picture png gray 4 4 $i photos/$i.png; done
lacks() { # lacks HINT MASK...
  rm -f masks/* && hint=$1 && shift
  for i in "$@"; do picture png gray 4 4 0 "masks/$i.png"; done
  says 1 "x has 4 rows (photos), but m has $# (masks)" ./net pair --x photos --m masks
  holds out.txt "hint: $hint"
}
paired='rows are paired in the order of names:'
lacks "$paired row 1 of x is photos/2.png, and of m masks/3.png" 1 3 4
lacks "$paired row 0 of x is photos/1.png, and of m masks/2.png" 2 3 4
lacks "$paired row 3 of x is photos/4.png, and m has none" 1 2 3
lacks "$paired row 4 of m is masks/5.png, and x has none" 1 2 3 4 5
lacks 'row i of each file must belong together; choose rows with FILE[a:b]' m1 m2 m3

# ---- folders: rows by class and name ----
mkdir -p pets/cat pets/dog pets/ant pets/.hidden
for i in 1 2 10; do picture png gray 6 6 $((i * 5)) pets/cat/$i.png && picture jpeg color 9 6 $((40 + i)) pets/dog/$i.JPG; done
picture png color 6 8 90 pets/ant/a.png && picture png gray 7 6 80 pets/ant/b.png
echo notes >pets/cat/notes.txt
run 0 ./net train --image pets/ --steps 2 --save a.st --seed 2
holds out.txt 'note: pets: label is ant = 0, cat = 1, dog = 2'
holds out.txt 'note: pets: 1 file not named .png, .jpg or .jpeg is left out'
for options in '--label pets' '--data-memory 0' '--data-memory 120' '--threads 2 --poison'; do
  run 0 ./net train --image pets/ --steps 2 --save b.st --seed 2 $options
  same a.st b.st "weights with $options"
done
run 0 ./net train --image pets --steps 2 --data-memory 0 # one epoch: nothing is kept
grep -q '8 images' out.txt && fail 'a note on images that are decoded once anyway'
run 0 ./net train --image 'pets[4:8]' --steps 1 --validate test --validate.image 'pets/[0:4]'
run 0 ./net test --image pets --load a.st

# ---- images without room in memory are decoded once, and stay in a file without a name ----
cat >count.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
static _Atomic int images;
static int is(const char *name) { return getenv("DISK") && strcmp(getenv("DISK"), name) == 0; }
int open(const char *path, int flags, ...) {
  va_list v;
  va_start(v, flags);
  int mode = va_arg(v, int);
  va_end(v);
  if (strstr(path, "pets/")) images++;
  return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) {
  if (is("broken")) return errno = EIO, -1;
  return ((ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite"))(fd, from, n, at);
}
int fallocate(int fd, int mode, off_t at, off_t n) {
  if (is("full")) return errno = ENOSPC, -1;
  if (is("old")) return errno = EOPNOTSUPP, -1;
  return ((int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate"))(fd, mode, at, n);
}
int fstatvfs(int fd, struct statvfs *s) {
  int code = ((int (*)(int, struct statvfs *))dlsym(RTLD_NEXT, "fstatvfs"))(fd, s);
  if (is("small")) s->f_bavail = 200, s->f_frsize = 1; /* half of it has two rows */
  return code;
}
__attribute__((destructor)) static void say(void) { fprintf(stderr, "decoded %d\n", images); }
C
run 0 "${CC:-cc}" -shared -fPIC count.c -ldl -o count.so
run 0 ./net train --image pets --epochs 3 --seed 2 --save a.st
keeps() { # keeps DECODED NOTE OPTIONS...: how often an image is decoded in three epochs, and what is said of it
  decoded=$1 text=$2 && shift 2
  run 0 env DISK="${disk:-}" LD_PRELOAD="$PWD/count.so" ./net train --image pets --epochs 3 --seed 2 --save b.st "$@"
  holds out.txt "decoded $decoded"
  holds out.txt "$text"
  same a.st b.st "weights with ${disk:-a disk} and $*"
}
keeps 8 'note: pets: 8 of 8 images are decoded once and stay in a file in ., of 0.0 MB: see --data-cache' --data-memory 0 --data-cache .
keeps 8 'note: pets: 3 of 8 images are decoded once and stay in a file in ., of 0.0 MB: see --data-cache' --data-memory 450 --data-cache . --threads 2 --poison
keeps 24 'note: pets: 8 of 8 images are decoded anew in each epoch: --data-cache none; see --data-memory and --data-cache' --data-memory 0 --data-cache none
disk=small keeps 20 'note: pets: 6 of 8 images are decoded anew in each epoch: half of what is free in . has room for 2; see --data-memory and --data-cache' --data-memory 0 --data-cache .
disk=full keeps 24 'note: pets: 8 of 8 images are decoded anew in each epoch: half of what is free in . has room for 0; see' --data-memory 0 --data-cache .
disk=old keeps 8 'note: pets: 8 of 8 images are decoded once' --data-memory 0 --data-cache .
disk=broken keeps 24 'note: pets: 8 of 8 images are decoded once' --data-memory 0 --data-cache .
unset disk
run 0 env TMPDIR=missing ./net train --image pets --epochs 2 --data-memory 0
holds out.txt 'note: pets: 8 of 8 images are decoded anew in each epoch: missing: no file can be made there: No such file or directory; see'
run 0 env LD_PRELOAD="$PWD/count.so" ./net train --image pets --epochs 1 --validate test:1 --validate.image pets --data-memory 0 --data-cache .
holds out.txt 'decoded 16'
says 3 'error: --data-cache missing: no file can be made there: No such file or directory' ./net train --image pets --epochs 2 --data-memory 0 --data-cache missing
holds out.txt 'hint: name a folder on a disk that you may write to, or none'
run 0 env TMPDIR=there ./net info train
holds out.txt '  decoded images beyond it: in a file in there, if half of its free space has room'

mkdir -p two/dog two/cat && cp pets/dog/*.JPG two/dog && cp pets/cat/1.png two/cat # other numbers of their own
run 0 ./net train --image pets/ --steps 2 --label pets --load a.st --save b.st
run 0 ./net test --image two --load b.st
cp out.txt figure.txt
mkdir two/ant && cp pets/ant/a.png two/ant
run 0 ./net test --image 'two[1:5]' --load b.st # behind the ant: the same rows and, with it, numbers
same out.txt figure.txt 'a figure of classes that are numbered by the weights'
rm -r two/ant # a validation on a part of the classes: as the weights number them
run 0 ./net train --image pets --steps 2 --label pets --load a.st --save b.st --validate test --validate.image two
exactly "$(sed -n 's/^test  step 2  //p' out.txt)" "$(sed -n 's/ =//p' figure.txt | grep loss)" 'a validation on a part of the classes'
mkdir two/zoo && cp pets/ant/a.png two/zoo
says 1 'error: two: the class zoo is none of those that pets has for label' ./net train --image pets --steps 2 --validate test --validate.image two
says 1 'error: two: the class zoo is none of those that b.st has for label' ./net test --image two --load b.st
holds out.txt 'hint: it has ant = 0, cat = 1, dog = 2'

# ---- pictures and their masks: one file too few shifts the others ----
mkdir left right && for i in 1 2 3 4 5 6; do cp gray.png left/$i.png && cp gray.jpg right/$i.jpg; done
run 0 ./net two --x left --z right
grep -q 'paired' out.txt && fail 'a note on images whose names agree'
rm left/6.png right/5.jpg
run 0 ./net two --x left --z right
holds out.txt 'note: rows are paired in order: row 4 of x is left/5.png, and of z right/6.jpg'

# ---- results are named by the images they are of ----
run 0 ./net gray --x 'two[1:3]'
exactly "$(sed -n 's/ y =$//p' out.txt | tr '\n' ' ')" '[two/dog/1.JPG] [two/dog/10.JPG] ' 'the images of rows 1 and 2'

# ---- a reader that is too slow ----
mkdir slow && for i in 1 2 3 4 5 6 7 8; do picture png color 1600 1200 $i slow/$i.png; done
cat >slow.g <<'G'
entry train(x : u8[1, 2, 2]) {
  loss = mean(linear(f32(flatten(x)) / 255, 1) ** 2)
  minimize loss with sgd(0.1)
  return loss }
G
run 0 "$gc" slow.g --images -o slow.out
cat >alone.py <<'P' # on one CPU, where the thread that computes reads, and none waits for another one
import os, resource, subprocess
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
subprocess.run("./slow.out train --x slow --epochs 4 --data-memory 0 --data-cache none".split(), check=True)
waits = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
assert waits < 32, "%d waits in 32 steps" % waits
P
run 0 python3 alone.py
grep -q '^note: the reader cannot keep up: [0-9]* % of the time was spent waiting for rows; slow: --data-memory 1M keeps all images decoded' out.txt ||
  { fail 'a slow reader is not noted'; cat out.txt; }
[ "$(grep -c 'cannot keep up' out.txt)" = 1 ] || fail 'it is said more than once'
run 0 ./slow.out info train
grep -q '^  reader  *1,0[0-9,]*  if any is: the next batch, and a thread.s stack$' out.txt || { fail 'info has no reader'; cat out.txt; }

# ---- the rows of an array ----
images=$data/mnist/t10k-images-idx3-ubyte.gz labels=$data/mnist/t10k-labels-idx1-ubyte.gz
if [ -r "$images" ] && [ -r "$labels" ]; then
  rows=300 steps='--steps 9'
  [ "${GC_TEST_LEVEL:-default}" = full ] && rows=10000 steps='--epochs 2'
  "$mkimages" digits "$images" "$labels" 0 $rows digits || fail 'no digits'
  [ "$(find digits -name '*.png' | wc -l)" = $rows ] || fail 'not all digits'
  run 0 "$gc" "$here/docs/examples/lenet.g" --images -o lenet
  run 0 ./lenet train --image digits.images --label digits.labels $steps --save array.st
  run 0 ./lenet test --image digits.images --label digits.labels --load array.st --quiet
  cp out.txt figure.txt
  for options in '' '--threads 2 --data-memory 100K'; do
    run 0 ./lenet train --image digits $steps --save folder.st $options
    for file in array folder; do values $file.st >$file.raw; done
    same array.raw folder.raw "weights of digits $options"
    run 0 ./lenet test --image digits --load folder.st --quiet $options
    same out.txt figure.txt "the accuracy on digits $options"
  done
  if [ "$rows" = 10000 ]; then # folders of 8,000 images and of 2,000 others: what the arrays reach, in another order
    for part in 'learn 0 8000' 'held 8000 10000'; do
      set -- $part
      "$mkimages" digits "$images" "$labels" "$2" "$3" "$1" || fail 'no digits'
    done
    run 0 ./lenet train --image learn --epochs 5 --seed 1 --save learned.st
    run 0 ./lenet test --image held --load learned.st --quiet
    at_least "$(sed -n 's/^accuracy = //p' out.txt)" 0.97 'accuracy on folders of PNG files'
    exactly "$(./lenet test --image "$images[8000:10000]" --label "$labels[8000:10000]" --load learned.st --quiet)" "$(cat out.txt)" \
      'accuracy on the same images as arrays'
  fi
else
  not_tested 'a folder of real digits: set the CMake setting GC_SHARED_DATA'
fi

# ---- what is wrong ----
wrong() { # wrong MESSAGE HINT ARGUMENTS...
  message=$1 hint=$2
  shift 2
  says 1 "error: $message" ./net "$@"
  holds out.txt "hint: $hint"
}
says 1 'error: pets: is a directory, and this program decodes no images' ./plain test --image pets
holds out.txt 'hint: give a file; or, if images lie there, compile the program with gc --images'
says 1 'error: color.png: is an image, which this program does not decode' ./plain planar --x color.png
holds out.txt 'hint: compile it with gc --images; or, if the bytes of the file are meant, color.png:u8'
wrong 'pets: is a folder of images, but the input x is u8[1, 5]' 'an image is [H, W] or [1, H, W] (gray)' odd --x pets
holds out.txt 'of other files a pattern has all: FOLDER/*.npy'
wrong 'pets/cat: is a folder, which the pattern pets/c* matches' 'a pattern stands for files; a folder of images' gray --x 'pets/c*'
wrong 'pets/*/*.png: holds images, but the input label is u8[4]' 'labels are the names of folders of images' train --image pets --label 'pets/*/*.png'
wrong 'pets: holds 8 images, but the input x has no batch axis' 'give one image' alone --x pets --s two.npy
wrong 'color.png: holds images; +k, ~s and :type are for flat files' 'choose rows with color.png[a:b]' planar --x color.png+3
wrong 'pets: rows 5 to 9 were asked for, but it has 8 rows' '[a:b] takes rows' test --image 'pets[5:9]'
for n in 8 20 33 50 60; do
  head -c $n color.png >short.png
  run 1 ./net planar --x short.png
  grep -q '^net: error: short.png: is damaged: ' out.txt || { fail "a PNG of $n bytes"; cat out.txt; }
done
for n in 3 20 200 600; do
  head -c $n color.jpg >short.jpg
  run 1 ./net planar --x short.jpg
  grep -q '^net: error: short.jpg: is damaged: ' out.txt || { fail "a JPEG of $n bytes"; cat out.txt; }
done
picture jpeg cmyk 7 5 1 cmyk.jpg
wrong 'cmyk.jpg: has CMYK colours; save it in RGB' 'remove the file, or write it again' planar --x cmyk.jpg
python3 - <<'P'
import struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(name, w, h, body): # 16 bits a sample
    open(name, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 16, 6, 0, 0, 0)) + chunk(b"IDAT", body) + chunk(b"IEND", b""))
png("claims.png", 60000, 60000, zlib.compress(bytes(1 << 20)))
png("little.png", 10000, 10000, zlib.compress(bytes(1 << 20)))
png("longer.png", 70000, 1, b"")
jpg = bytearray(open("color.jpg", "rb").read())
at = jpg.index(b"\xff\xc0") + 5
jpg[at:at + 4] = struct.pack(">HH", 60000, 2000)
open("claims.jpg", "wb").write(jpg)
jpg[at:at + 4] = struct.pack(">HH", 60000, 60000)
open("large.jpg", "wb").write(jpg + bytes(8 << 20))
P
wrong 'claims.png: is damaged: it is cut short' 'remove the file' planar --x claims.png
wrong 'little.png: is damaged: it is cut short' 'remove the file' planar --x little.png
wrong 'longer.png: is damaged: ' 'remove the file' planar --x longer.png
wrong 'claims.jpg: is damaged: it is cut short' 'remove the file' planar --x claims.jpg
wrong 'large.jpg: has 60000 x 60000 pixels; at most 65535 a side and 134217728 in all are decoded' 'remove the file' planar --x large.jpg
cp net.g pets/cat/a.png
wrong 'pets/cat/a.png: is no PNG and no JPEG image' 'remove the file, or convert it' train --image pets --save none.st
: >pets/cat/a.png
wrong 'pets/cat/a.png: is no PNG and no JPEG image' 'remove the file' train --image pets --save none.st --threads 2 --data-memory 0
absent none.st
rm pets/cat/a.png
mkdir pets/bee
wrong 'pets/bee: has no images (.png, .jpg, .jpeg)' 'each folder in pets is a class: remove the folder, or fill it' test --image pets
cp even.png pets/bee
wrong "pets: the class dog is number 3, which is not below 3" 'it has 4 classes, and the input label is of 3' test --image pets
mkdir pets/bee/more
wrong 'pets/bee/more: is a folder within a class' 'images lie in pets/CLASS/ or, without classes, in a folder itself' test --image pets
rm -r pets/bee && cp even.png pets/top.png
wrong 'pets: has images beside folders: top.png and ' 'either all images lie in folders' test --image pets
mkdir none bare
wrong 'none: is a folder without images (.png, .jpg, .jpeg)' 'give a folder of images' gray --x none
cp even.png bare
wrong 'bare: has no folders, whose names would be the labels of label' 'sort the images into a folder for each class' train --image bare
run 0 ./net gray --x bare

# ---- gc without the libraries, and what does not link them ----
build=$(dirname "$(dirname "$gc")")
mkdir -p less/bin less/lib/gc && cp "$gc" less/bin/gc && cp "$build"/lib/gc/*.h "$build/lib/gc/libgcrt.a" less/lib/gc/
says 3 'error: --images: this gc was built without libpng and libjpeg-turbo' less/bin/gc net.g --images -o less/net
holds out.txt "hint: 'sh docs/install.sh' installs them (Debian: libpng-dev and libjpeg62-turbo-dev); then configure and build gc again"
absent less/net
run 0 less/bin/gc net.g -o less/net
says 2 '--images is for executables; a library takes arrays' "$gc" net.g --images --emit=lib -o libnet.so
finish
