#!/bin/sh
# What --load spares, and images of weights: what is mapped is what was read, bit for bit; pages that nobody writes to are in memory once; an image
# of other weights, of another program or with a changed byte is never used; what cannot be done changes no file.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'XX'
let W = 2100
def net(x) { return linear(relu(linear(x, W) as fc1), 5) as fc2 }
entry train(x : f32[4, 900], y : f32[4, 5]) {
  loss = mean((net(x) as net - y) ** 2)
  minimize loss with adamw(0.01)
  return loss
}
entry predict(x : f32[n <= 4, 900]) { return y = net(x) as net }
entry kept() {
  param w : f32[40] = normal()
  state k : f32[40] = w
  return w = w, k = k
}
entry count() {
  state n : f32[40000] = ones()
  n := n + 1
  return n = n[39999]
}
entry noise() { return r = sum(normal(shape = [4])) }
XX
run 0 "$gc" net.g -o net
"$mkdata" npy f32 8,900 1 x.npy && "$mkdata" npy f32 8,5 2 y.npy || fail 'no data could be made'
run 0 ./net train --seed 3 --steps 0 --save w.st
predict="./net predict --x x.npy --quiet"
run 0 $predict --load w.st --y read.npy

# ---- what is mapped ----
mapped() { # mapped FILE OPTIONS...: the image is neither written nor found wrong
  before=$(stat -c %i:%y w.img) file=$1
  shift
  run 0 ./net predict --x x.npy --y mapped.npy "$@"
  [ "$(stat -c %i:%y w.img)" = "$before" ] || fail "the image was written again: $*"
  grep -F w.img out.txt && fail "a note about the image: $*"
  same "$file" mapped.npy 'results of mapped weights'
}
run 0 $predict --load w.st,image=w.img --y made.npy
same read.npy made.npy 'results of the run that made the image'
mapped read.npy --load w.st,image=w.img --seed 8
touch w.st
mapped read.npy --load w.st,image=w.img
cp w.st copy.st
mapped read.npy --load copy.st,image=w.img --threads 2
mapped read.npy --load copy.st,image=w.img --threads 16
# an image that is cut short while a run reads it
cp w.img short.img
run 0 $predict --load w.st,image=short.img --y mapped.npy
./net predict --x x.npy --load w.st,image=short.img --bench 100000000 --threads 2 2>err.txt >out.txt &
until grep 'rw-p .*short.img' /proc/$!/maps >maps.txt 2>/dev/null; do kill -0 $! || { fail 'a run that maps an image'; break; }; done
run 0 python3 - <<'P'
for line in open("maps.txt"):
    where, _, offset = line.split()[:3]
    assert int(where.split("-")[0], 16) % (2 << 20) == int(offset, 16) % (2 << 20) == 0, f"no huge page fits: {line}"
P
: >short.img
code=0
wait $! || code=$?
[ "$code" = 1 ] || fail "exit code $code for an image that is cut short"
holds err.txt 'net: error: short.img: is cut short while it is in use'
[ "$(grep -c error err.txt)" = 1 ] || fail 'one message of an image that is cut short'
# who writes has pages of its own
cp w.img kept.img
train="./net train --x x.npy --y y.npy --quiet --steps 2"
run 0 $train --load w.st --save read.st
run 0 $train --load w.st,image=w.img --save mapped.st
same read.st mapped.st 'weights that were trained on from an image'
run 0 ./net count --load w.st,image=w.img --steps 3
holds out.txt 'n = 4'
run 0 $train --load w.st,image=w.img --save mapped.st
same w.img kept.img 'the image, to which nobody writes'
run 0 ./net info predict
awk '/ unwritten / { gsub(",", ""); ok = $2 > 7.5e6 && $2 < 8e6 } END { exit !ok }' out.txt || fail 'info does not say what is shared'
run 0 ./net info count
grep -c ' unwritten ' out.txt >shown.txt

# ---- what is not used ----
anew() { # anew TEXT FILE OPTIONS...: a note has the text, and the image is of what was read
  text=$1 file=$2
  shift 2
  run 0 ./net predict --x x.npy --y anew.npy "$@"
  holds out.txt "w.img: $text, and has been written anew"
  same "$file" anew.npy 'results beside an image that is not used'
  mapped "$file" "$@"
}
damage() { # damage AT: another byte there
  python3 -c 'import sys; f = open("w.img", "r+b"); f.seek(int(sys.argv[1])); b = f.read(1); f.seek(-1, 1); f.write(bytes([b[0] ^ 1]))' "$1"
}
size=$(stat -c %s w.img)
for at in 2 65600 3000000 $((size - 1)); do
  damage "$at"
  anew 'is damaged' read.npy --load w.st,image=w.img
done
damage 60
anew 'is of another program or of other weights' read.npy --load w.st,image=w.img
cp w.img kept.img
damage 9
says 2 'w.img: is no image of weights' $predict --load w.st,image=w.img
cp kept.img w.img
truncate -s -4096 w.img
anew 'is damaged' read.npy --load w.st,image=w.img
run 0 $train --load w.st --save w.st
run 0 $predict --load w.st --y read.npy
anew 'is of another program or of other weights' read.npy --load w.st,image=w.img
run 0 "$gc" net.g --weights=q8 -o other
run 0 ./other predict --x x.npy --load w.st --y other.npy --save other.st
run 0 ./other predict --x x.npy --load w.st,image=w.img --quiet --expect other.npy --rtol 0 --atol 0
run 0 ./other predict --x x.npy --load w.st,image=w.img --quiet --expect other.npy --rtol 0 --atol 0
anew 'is of another program or of other weights' read.npy --load w.st,image=w.img
# random initial values that the files do not have are of the seed, others are not: mapped runs above have other ones
run 0 $predict --load w.st,scope=net.fc1 --seed 5 --y part.npy
anew 'is of another program or of other weights' part.npy --load w.st,scope=net.fc1,image=w.img --seed 5
run 0 $predict --load w.st,scope=net.fc1 --seed 6 --y part.npy
anew 'is of another program or of other weights' part.npy --load w.st,scope=net.fc1,image=w.img --seed 6
run 0 ./net predict --x x.npy --load w.st,without=net.fc1 --load 'copy.st,scope=net.fc1,image=w.img' --y two.npy
run 0 $predict --load w.st,without=net.fc1 --load copy.st,scope=net.fc1 --expect two.npy --rtol 0 --atol 0

# initial values that no file has are of one program, of its hypers and of the weights in it
cat >tiny.g <<'XX'
let K = 3.0
hyper scale = 1.0
entry get() {
  param w : f32[40] = ones() * scale
  param v : f32[40] = ones() * scale
  transient state k : f32[40] = K
  return w = w[0], v = v[0], k = k[0]
}
XX
run 0 "$gc" tiny.g -o tiny
run 0 "$gc" tiny.g -D K=5.0 -o five
run 0 ./tiny get --scale 2 --save own.st
run 0 "$gc" tiny.g --weights=own.st -o own
run 0 ./tiny get --save tiny.st
initial() { # initial VALUES COMMAND...: of w, v and k, each time
  values=$1
  shift
  for i in 1 2; do
    run 0 "$@" --load tiny.st,scope=w,image=tiny.img
    [ "$(awk '$2 == "=" { printf "%s%s", s, $3; s = " " }' out.txt)" = "$values" ] || fail "$*: not $values"
  done
}
initial '1 1 3' ./tiny get
initial '1 1 5' ./five get
initial '1 4 5' ./five get --scale 4
initial '1 2 3' ./own get
initial '1 1 3' ./tiny get

# ---- what is refused ----
cp w.st kept.st
cp w.img kept.img
says 2 'w.st: --load image would overwrite what --load reads' $predict --load w.st,image=./w.st
says 2 'read.st: is no image of weights' $predict --load w.st,image=read.st
says 2 'x.npy: --load image would overwrite what --x reads' $predict --load w.st,image=x.npy
says 2 'net.g: is no image of weights' $predict --load w.st,image=net.g
says 2 '--load image and --save would both write this file' $predict --load w.st,image=new.st --save new.st
says 2 '--load: image= is named twice' $predict --load w.st,scope=net.fc1,image=a.img --load w.st,without=net.fc1,image=b.img
says 2 '--save: image= is for --load' $predict --save new.st,image=new.img
says 2 'image= is for --load' ./net train --x x.npy --y y.npy --resume w.st,image=new.img
says 1 'w.img: is an image of weights, not the weights' $predict --load w.img
says 1 'w.img: is an image of weights, not the weights' $predict --load w.img,image=new.img
says 1 'gone.st: cannot be read' $predict --load gone.st,image=w.img
says 3 'no/such/w.img: ' $predict --load w.st,image=no/such/w.img
says 1 'other.st: has ' $predict --load other.st,image=w.img
same w.img kept.img 'an image of weights that do not fit'
same w.st kept.st 'weights that were refused as an image'
absent new.st new.img a.img b.img

# ---- initial values that files make needless are not drawn; those that a state is made of are ----
peak() { # peak COMMAND...: kilobytes of the process
  python3 -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
drawn=$(peak ./other predict --x x.npy) loaded=$(peak ./other predict --x x.npy --load w.st)
at_least "$drawn" $((loaded + 5000)) 'kilobytes with initial floats of quantized weights'
# of an image a process has what it reads
all=$(peak ./net predict --x x.npy --load w.st,image=w.img) few=$(peak ./net noise --load w.st,image=w.img)
at_least "$all" $((few + 5000)) 'kilobytes of an entry that reads all weights of an image'
for seed in 1 2; do run 0 ./net kept --seed $seed --w w$seed.npy --k k$seed.npy --save kept$seed.st; done
run 0 ./net kept --seed 2 --load kept1.st,without=k --w w.npy --k k.npy
same w.npy w1.npy 'a param of a file'
same k.npy k2.npy 'a state that begins with the initial value of a param'

# ---- weights in the program itself are in memory once ----
run 0 "$gc" net.g --weights=w.st -o inside
drawn=$(peak ./net predict --x x.npy) inside=$(peak ./inside predict --x x.npy)
at_least $((drawn + 3000)) "$inside" 'kilobytes of a program with weights in itself'

# of a table that only gathers read, the pages of the rows that are read
cat >rows.g <<'XX'
def net(ids) {
  param table : f32[80000, 64] = normal()
  param bias : f32[3] = normal()
  return gather(table, ids) + bias[1]
}
entry read(ids : i32[2, 3]) { return y = net(ids) as net }
XX
# a tensor of 12 bytes in front of the table, which is trained, too
{ sed '2{h;d};3G' rows.g
cat <<'XX'
entry change(ids : i32[2, 3]) {
  loss = mean(net(ids) as net)
  minimize loss with sgd(1)
  return loss
}
XX
} >both.g
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("6i", 0, 79999, 5, 20000, 1, 38123))' >ids.bin
for name in rows both; do
  run 0 "$gc" $name.g -o $name
  run 0 ./$name read --ids ids.bin --y drawn.npy --save $name.st
  run 0 "$gc" $name.g --weights=$name.st -o inside
  run 0 ./inside read --ids ids.bin --y rows.npy --seed 2
  same drawn.npy rows.npy "rows of a table in the program: $name"
  [ $name = both ] && continue
  drawn=$(peak ./rows read --ids ids.bin)
  at_least "$drawn" $(($(peak ./inside read --ids ids.bin) + 8000)) 'kilobytes of a table of which rows are read'
done
case $(uname -m) in x86_64) # at each level that a program has
  run 0 "$gc" rows.g --weights=rows.st -march=x86-64,x86-64-v2 -o levels
  at_least "$drawn" $(($(peak ./levels read --ids ids.bin) + 8000)) 'kilobytes of such a table at the higher of two levels' ;;
esac
run 0 ./inside change --ids ids.bin --save changed.st
run 0 ./both change --ids ids.bin --load both.st --save loaded.st
same changed.st loaded.st 'a table in the program that is trained'
run 0 "$gc" rows.g --weights=rows.st -o inside
for by in ./inside ./rows; do run 0 $by read --ids ids.bin --y $by.npy --load changed.st; done
same rows.npy inside.npy 'a table of a file in the place of one in the program'
run 0 "$gc" net.g --emit=lib
cat >use.c <<'XX'
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long anonymous(void) { /* bytes of this process that are no file's */
  char line[200];
  long kb = -1;
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "Anonymous: %ld", &kb);
  if (f) fclose(f);
  return kb * 1024;
}

int main(int argc, char **argv) {
  static float x[900], y[3][5];
  net *m[3];
  for (int i = 0; i < 900; i++) x[i] = (float)(i % 7) - 3;
  for (int i = 0; i < 3; i++) {
    m[i] = net_open(1, 1);
    if (!m[i] || !net_load(m[i], argv[1]) || !net_predict(m[i], 1, x, y[i])) return puts(net_error(m[i])), 1;
  }
  long bytes = anonymous();
  float n = 0, before[5], loss;
  static float batch[3600], target[20];
  memcpy(before, y[0], sizeof before);
  bool ok = net_train(m[0], batch, target, &loss) && net_count(m[1], &n) && net_predict(m[0], 1, x, y[0]) && net_predict(m[1], 1, x, y[1]);
  ok = ok && memcmp(y[0], before, sizeof before) != 0 && memcmp(y[1], before, sizeof before) == 0 && n == 2;
  /* what does not fit changes nothing; fresh weights are those of the seed */
  bool refused = !net_load(m[1], "other.st,image=w.img") && net_predict(m[1], 1, x, y[1]) && memcmp(y[1], before, sizeof before) == 0;
  /* nor does an image that is damaged and that cannot be written anew */
  refused &= !net_load(m[0], "w.st,image=/dev/fd/7") && strstr(net_error(m[0]), "/dev/fd/7: ") && net_predict(m[0], 1, x, y[2]) && memcmp(y[2], y[0], sizeof before) == 0;
  /* an image brings back what a new model begins with: states, and the numbers of calls, which random values depend on */
  float noise[3], counted;
  ok = ok && net_noise(m[2], &noise[0]) && net_noise(m[2], &noise[1]) && net_count(m[2], &counted) && net_load(m[2], "w.st,image=w.img");
  ok = ok && net_noise(m[2], &noise[2]) && net_count(m[2], &counted) && counted == 2 && noise[0] != noise[1] && noise[0] == noise[2];
  net *fresh = net_open(1, 9);
  ok = ok && net_reset(m[1], 9) && net_predict(m[1], 1, x, y[1]) && net_predict(fresh, 1, x, y[2]) && memcmp(y[1], y[2], sizeof before) == 0;
  printf("%d %d %ld\n", ok, refused, bytes);
  return 0;
}
XX
run 0 "${CC:-cc}" -I. use.c -o use -L. -lnet -Wl,-rpath,"$PWD"
mkdir gone
cp w.img kept.img
damage 1000000
mv w.img gone
mv kept.img w.img
exec 7<gone/w.img
rm -r gone
run 0 ./use w.st,image=w.img
read -r ok refused shared <out.txt
run 0 ./use w.st
read -r ok2 refused2 own <out.txt
[ "$ok$refused$ok2$refused2" = 1111 ] || fail "handles of the library: $ok$refused$ok2$refused2"
at_least "$own" $((shared + 3 * 7500000)) 'bytes that three handles have more than mapped ones'
finish
