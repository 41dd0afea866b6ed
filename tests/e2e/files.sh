#!/bin/sh
# What goes wrong outside of the program: data files that cannot be read, end too early or hold something
# else, weights of another model, a full disk, no C compiler. One message with what to do, the documented
# exit code, nothing half written, and an older file of the same name as it was.
. "$(dirname "$0")/common.sh"
unoptimised
digits 2000
images=images.idx.gz labels=labels.idx.gz
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -o mnist
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -D N=32 -o same_weights
sed 's/256/128/' "$here/docs/examples/mnist.g" >small.g
run 0 "$gc" small.g -O2 -o small
few="--image $images[0:640] --label $labels[0:640] --epochs 1"
run 0 ./mnist train $few --save good.safetensors --quiet
cp good.safetensors kept.safetensors

for option in --load --save; do
  says 2 "$option: the program has no parameters below net.fk1" ./mnist train $few $option part.safetensors,scope=net.fk1
  holds out.txt 'hint: did you mean net.fc1? info lists the parameters'
  says 2 "$option: without=nett leaves nothing out" ./mnist train $few $option part.safetensors,without=nett
  holds out.txt 'hint: did you mean net? info lists the parameters'
  says 2 "$option: the program has no parameters below other" ./mnist train $few $option part.safetensors,scope=other
  holds out.txt 'hint: info lists the parameters'
done
run 0 ./mnist info train
holds out.txt 'u8[n <= 64, 784]   a batch of rows'

hinted() { # the message before told what to do
  grep -q 'hint: ' out.txt || { fail 'no remedy was given:'; cat out.txt; }
}
untouched() {
  same good.safetensors kept.safetensors "the older file after: $1"
  absent good.safetensors.* good.safetensors~* .good*
}

# ---- data ----
says 1 'nothing.gz' ./mnist train --image nothing.gz --label "$labels" --save good.safetensors; hinted
untouched 'a missing data file'
if [ "$(id -u)" = 0 ]; then
  echo "root reads every file, so a directory stands for one that cannot be read"
  mkdir -p closed
else
  cp "$labels" closed && chmod 000 closed
fi
says 1 'closed' ./mnist train --image closed --label "$labels"; hinted
head -c 100000 "$images" >cut.gz
says 1 'cut.gz' ./mnist train --image cut.gz --label "$labels" --save good.safetensors; hinted
gzip -dc "$images" | head -c 1000000 >cut.idx
says 1 'cut.idx' ./mnist train --image cut.idx --label "$labels" --save good.safetensors; hinted
untouched 'a truncated data file'
says 1 'u8[n <= 64, 784]' ./mnist train --image "$labels" --label "$labels"; hinted
# a number in the place of a file: every integer of its type to the last digit, and no other
cat >number.g <<'END'
entry echoes(long : i64[], short : i32[], flag : bool[]) {
  return l = long, s = short, f = flag
}
END
run 0 "$gc" number.g -o number
run 0 ./number echoes --long 9223372036854775807 --short -2147483648 --flag 1
holds out.txt 'l = 9223372036854775807'
holds out.txt 's = -2147483648'
run 0 ./number echoes --long 9007199254740993 --short 2e9 --flag 0
holds out.txt 'l = 9007199254740993'
holds out.txt 's = 2000000000'
for long in 9223372036854775808 1e19 -1e300 0.5 nan 9007199254740993.0 9.007199254740993e15 0x20000000000001; do
  says 2 "the input long cannot be $long" ./number echoes --long "$long" --short 1 --flag 0; hinted
done
says 2 'the input short cannot be 2147483648' ./number echoes --long 1 --short 2147483648 --flag 0; hinted
says 2 'the input flag cannot be 2' ./number echoes --long 1 --short 1 --flag 2; hinted

# numbers of options: what is refused tells the number that is meant, where that is clear
for given in 'epochs=1.5|--steps N ends the training within an epoch' 'epochs=1,5|--steps N ends the training within an epoch' \
  'epochs=1e2|write --epochs 100' 'steps=1_000|write --steps 1000' "steps=12'000|write --steps 12000" \
  'steps=1,000,000|write --steps 1000000' 'lr=0,001|write --lr 0.001: numbers have a decimal point'; do
  says 2 "--${given%%=*} needs a" ./mnist train ${few% --epochs 1} "--${given%%|*}"
  holds out.txt "hint: ${given#*|}"
done
for given in lr=0,0,1 lr=fast steps=1,00 steps=,5 steps=99999999999999999999999999999999999; do
  says 2 "--${given%%=*} needs a" ./mnist train ${few% --epochs 1} "--$given"
  grep -q 'hint: write' out.txt && { fail "a guess at $given"; cat out.txt; }
done
run 0 ./mnist train $few --lr -1
holds out.txt "note: --lr -1 is below 0, and the program's own value is 0.001: a negative learning rate raises the loss"
run 0 ./mnist train $few --lr 1
grep -q 'below 0' out.txt && fail 'a positive rate is no negative one'
says 1 'mnist: is an executable or a library, which programs do not decode' ./mnist train --image mnist --label "$labels"; hinted

printf '\223NUMPY\001\000v\000{' >bad.npy
says 1 'bad.npy' ./mnist train --image bad.npy --label "$labels"
: >empty
says 1 'empty' ./mnist train --image empty --label "$labels"
says 1 '' ./mnist train --image "$images[0:640]" --label "$labels[0:600]"
says 1 '' ./mnist train --image "$images[1500:4000]" --label "$labels[1500:4000]"

# ---- an option whose value is missing, of the program and of the entry ----
for option in lr label save steps; do
  says 2 "a value is missing after: --$option" ./mnist train --image "$images" --$option; hinted
done
says 2 'unknown option --lrate' ./mnist train --image "$images" --lrate
# each line goes out at once, so that those of two processes do not mix: a packet of this socket is one write
checks=$((checks + 1))
python3 - <<'END' || fail 'a line of a message goes out in pieces'
import socket, subprocess
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
subprocess.run(["./mnist", "train", "--lrate", "1"], stderr=theirs)
theirs.close()
lines = 0
while said := ours.recv(4096):
    lines += said.endswith(b"\n") and said.count(b"\n") == 1
    assert said.endswith(b"\n"), said
assert lines >= 1
END

# ---- rows that are left out are told of if the run comes to the end of an epoch ----
run 0 ./mnist train --image "$images[0:650]" --label "$labels[0:650]" --steps 9 --drop-last
grep -q 'leaves out' out.txt && fail 'an epoch that is not finished leaves out rows'
run 0 ./mnist train --image "$images[0:650]" --label "$labels[0:650]" --steps 10 --drop-last
holds out.txt 'each epoch leaves out 10 of 650 rows'

# ---- the loss is checked where it is returned, and the program says so ----
printf 'entry train(x : f32[4, 2]) { minimize mean(linear(x, 1) ** 2) with sgd(0.1)\n return n = 1 }\n' >blind.g
run 0 "$gc" blind.g -O1 -o blind
"$mkdata" npy f32 8,2 1 blind.npy
run 0 ./blind train --x blind.npy
holds out.txt 'train returns no float scalar, so a loss that is not finite does not end the run'
run 0 ./mnist info train
holds out.txt 'a value that is not finite ends the run'
run 0 ./mnist train $few
grep -q 'does not end the run' out.txt && fail 'a loss that is returned is checked'

# ---- a label or an id that has no place: told before the first step where it comes from an input as it is ----
gzip -dc "$labels" >far.idx
printf '\377' | dd of=far.idx bs=1 seek=$((8 + 1500)) conv=notrunc 2>/dev/null
says 1 'far.idx: input row 1500 holds 255, which is not below 10' ./mnist train --image "$images" --label far.idx --save good.safetensors --log far.csv; hinted
untouched 'a label out of range'
absent far.csv
run 0 ./mnist train --image "$images[0:640]" --label 'far.idx[0:640]' --steps 3 --quiet
cat >tokens.g <<'END'
let V = 7
def model(ids) { return linear(embed(ids, V, 4), V) as out }
entry train(tok : i32[4, 9]) {
  loss = mean(xent(model(tok[:, 0:8]), i64(tok[:, 1:9])))
  minimize loss with sgd(0.1)
  return loss
}
entry some(tok : i32[4, 9]) { return y = sum(model(tok[:, 0:4]')) }
entry loop(tok : i32[4, 9]) {
  h = zeros([4, 4])
  scan t in 0..9 { h = tanh(h + embed(tok[:, t], V, 4) as embed) }
  return y = sum(h)
}
entry computed(tok : i32[4, 9]) {
  loss = mean(xent(model(tok[:, 0:8] + 2), tok[:, 1:9]))
  minimize loss with sgd(0.1)
  return loss
}
END
for level in 0 2; do
  run 0 "$gc" tokens.g -O$level -o tokens
  run 0 "$gc" tokens.g -O$level --emit=c -o tokens.c
  [ "$(grep -c "limits = (const GcLimit\[\]){{9, 7}}" tokens.c)" = 2 ] || fail "-O$level: not two inputs whose every id must have a place"
  "$mkdata" npy i32 20,9 1 tok.npy
  cp tok.npy far.npy
  run 0 ./tokens train --tok tok.npy --save tok.safetensors --quiet
  cp tok.safetensors kept_tok.safetensors
  printf '\007' | dd of=far.npy bs=1 seek=$((128 + 4 * (9 * 17 + 8))) conv=notrunc 2>/dev/null
  says 1 'far.npy: input row 17 holds 7, which is not below 7' ./tokens train --tok far.npy --save tok.safetensors
  run 0 ./tokens some --tok far.npy --load tok.safetensors --quiet
  printf '\377\377\377\377' | dd of=far.npy bs=1 seek=$((128 + 4 * 9 * 3)) conv=notrunc 2>/dev/null
  says 1 'far.npy: input row 3 holds -1, which is not below 7 and not 0 or more' ./tokens train --tok far.npy --save tok.safetensors
  printf '\005\000\000\000' | dd of=far.npy bs=1 seek=$((128 + 4 * 9 * 3)) conv=notrunc 2>/dev/null
  printf '\000' | dd of=far.npy bs=1 seek=$((128 + 4 * (9 * 17 + 8))) conv=notrunc 2>/dev/null
  run 0 ./tokens train --tok far.npy --quiet
  says 1 'far.npy: input row 3 leads to 7 as an index at ' ./tokens computed --tok far.npy --save tok.safetensors
  same tok.safetensors kept_tok.safetensors 'weights after an id without a place'
done

# ---- the command line ----
says 2 '--image' ./mnist train --label "$labels"
says 2 '--epoch' ./mnist train $few --epoch 3
says 2 '' ./mnist trian $few

# ---- weights ----
says 1 'net.fc1.w' ./small test --image "$images[0:64]" --label "$labels[0:64]" --load good.safetensors; hinted
run 0 ./mnist train $few --checkpoint mnist.ckpt --quiet
says 1 'net.fc1.w' ./small train --image "$images[0:64]" --label "$labels[0:64]" --resume mnist.ckpt
grep -q 'resume with the program that wrote the checkpoint' out.txt || fail 'no hint at a checkpoint of another program'
run 0 ./same_weights test --image "$images[0:64]" --label "$labels[0:64]" --load good.safetensors --quiet
head -c 5000 good.safetensors >cut.safetensors
says 1 'cut.safetensors' ./mnist test --image "$images[0:64]" --label "$labels[0:64]" --load cut.safetensors; hinted
says 1 'cut.idx' ./mnist test --image "$images[0:64]" --label "$labels[0:64]" --load cut.idx; hinted
printf 'PK\003\004 and so on' >model.pt
printf '\200\002}q\001 and so on' >model.pth
printf '\211HDF\r\n\032\n and so on' >model.h5
printf '\010\012\022\007pytorch' >model.onnx
cp mnist model.so
for file in pt:'a zip archive, as torch.save' pth:'a pickle, as old versions of torch.save' h5:'an HDF5 file' so:'a program or a library' onnx:'a model of ONNX'; do
  says 1 "model.${file%%:*}: is ${file#*:}" ./mnist test --image "$images[0:64]" --label "$labels[0:64]" --load "model.${file%%:*}"; hinted
  grep -qE 'safetensors.torch.save_file|gc model.onnx' out.txt || fail 'the remedy names no function'
done
printf '\200\002\000\000\000\000\000\000{"w":' >damaged.st # 640 bytes of header: as a pickle begins
says 1 'damaged.st: ' ./mnist test --image "$images[0:64]" --label "$labels[0:64]" --load damaged.st; hinted
grep -q 'pickle' out.txt && fail 'a damaged safetensors file is told from a pickle'

# ---- images that programs do not decode are no rows of bytes ----
for file in gif:'a GIF image:GIF87a' bmp:'a BMP image:BM\012\003\000\000' webp:'a WebP image:RIFF\000\000\000\000WEBP' tiff:'a TIFF image:II*\000'; do
  { printf "${file##*:}" && head -c 784 /dev/zero; } | head -c 778 >picture
  what=${file#*:}
  says 1 "picture: is ${what%%:*}" ./mnist predict --image picture --load good.safetensors; hinted
done

# a tensor of torch.save, of today and of old versions
python3 -c "import zipfile; zipfile.ZipFile('data.pt', 'w').writestr('data/data.pkl', 'x')" || fail 'no file of PyTorch'
{ printf '\200\002\212\nl\374\234F\371 j\250P\031.' && head -c 770 /dev/zero; } | head -c 784 >old.pt
for file in data old; do says 1 "$file.pt: is a file of PyTorch (torch.save), not an array" ./mnist predict --image $file.pt --load good.safetensors; hinted; done

# ---- a checkpoint is tied to what the training does, not to how it is written or to other entries ----
cat >act.g <<'END'
entry train(x : f32[4, 3]) {
  loss = mean(relu(linear(x, 5) as a) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
sed 's/relu/tanh/' act.g >tanh.g
sed 's/0\.1/0.2/' act.g >rate.g
{ echo '# moved by a comment'; cat act.g; echo 'entry infer(x : f32[4, 3]) { return y = linear(x, 5) as a }'; } >same.g
for name in act tanh rate same; do run 0 "$gc" $name.g -o $name; done
"$mkdata" npy f32 8,3 1 rows.npy
run 0 ./act train --x rows.npy --checkpoint act.ckpt --quiet
for name in tanh rate; do
  says 1 'it was written by a program that trains otherwise' ./$name train --x rows.npy --epochs 2 --resume act.ckpt; hinted
done
run 0 ./act train --x rows.npy --epochs 2 --resume act.ckpt --save act.safetensors
run 0 ./same train --x rows.npy --epochs 2 --resume act.ckpt --save same.safetensors
same act.safetensors same.safetensors 'one training, written in two ways'
run 0 ./same infer --x rows.npy --load act.safetensors --quiet

# ---- no room: a limit on the size of files stands for a full disk, and a small disk where one can be had ----
limited() { # in a shell of its own: files of 50 KiB at most
  (ulimit -f 100 && "$@")
}
says 3 'good.safetensors' limited ./mnist train $few --save good.safetensors --quiet; hinted
untouched 'a full disk'
run 0 ./mnist predict --image "$images[0:100]" --load good.safetensors --p p.npy --quiet
cp p.npy kept.npy
says 3 'p.npy' limited ./mnist predict --image "$images" --load good.safetensors --p p.npy --quiet; hinted
same p.npy kept.npy 'an output on a full disk'
absent p.npy.*
cp mnist older
says 3 'cannot write' limited "$gc" "$here/docs/examples/mnist.g" -O2 -o older
same mnist older 'an executable on a full disk'
absent older.*
says 3 'No space left on device' ./mnist train $few --save /dev/full --quiet; hinted
says 3 'No space left on device' ./mnist predict --image "$images" --load good.safetensors --p /dev/full --quiet; hinted
says 3 'No space left on device' "$gc" "$here/docs/examples/mnist.g" --emit=c -o /dev/full
run 3 sh -c '"$1" "$2" --emit=ir >/dev/full' sh "$gc" "$here/docs/examples/mnist.g"
holds out.txt 'cannot write'
says 2 'is no file that can be replaced' "$gc" "$here/docs/examples/mnist.g" -o /dev/null
run 0 ./mnist predict --image "$images" --load good.safetensors --p /dev/null --quiet
[ -c /dev/null ] || fail '/dev/null was replaced'
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
  says 3 'disk/w.safetensors' ./mnist train $few --save disk/w.safetensors --quiet; hinted
  says 3 'disk/mnist' "$gc" "$here/docs/examples/mnist.g" -O2 -o disk/mnist
  run 3 sh -c './mnist predict --image "$1" --load good.safetensors --p disk/p.npy --quiet' sh "$images"
  left=$(ls -A disk)
  [ -z "$left" ] || fail "left on the full disk: $left"
  umount disk
else
  not_tested 'a disk of 64 KiB: it cannot be mounted here; a limit on the size of files was tried instead'
fi
says 3 'nowhere/w.safetensors' ./mnist train $few --save nowhere/w.safetensors --quiet; hinted

# ---- a profile that cannot be written is refused before the first step ----
says 3 'nowhere/p.json' ./mnist train $few --save kept2.safetensors --profile nowhere/p.json --quiet; hinted
absent kept2.safetensors

# ---- no directory for the generated source ----
says 3 "'$scratch/nodir/gc-" env TMPDIR="$scratch/nodir" "$gc" "$here/docs/examples/mnist.g" -O2 -o none
holds out.txt 'set it to a directory that you may write to, or unset it'
absent none none.*

# ---- no C compiler ----
says 3 'no C compiler' env CC=/nonexistent "$gc" "$here/docs/examples/mnist.g" -O2 -o none
says 3 'no C compiler' env -u CC PATH=/nowhere "$gc" "$here/docs/examples/mnist.g" -O2 -o none
grep -q 'apt-get install gcc' out.txt || fail 'no C compiler: no remedy'
says 3 'does not compile an empty file' env CC=/bin/false "$gc" "$here/docs/examples/mnist.g" -O2 -o none
says 3 'does not compile an empty file' env CC=/bin/true "$gc" "$here/docs/examples/mnist.g" -march=x86-64 -o none
says 2 'does not know -march=x86-65' "$gc" "$here/docs/examples/mnist.g" -march=x86-65 -o none
holds out.txt 'as x86-64-v3, skylake or armv8.2-a'
absent none none.*

# ---- gc itself is interrupted while the C compiler runs: nothing is left, an older file is as it was ----
cat >slow_cc <<END
#!/bin/sh
case "\$*" in *-dM*) exec cc "\$@" ;; esac
echo \$\$ >>started
exec sleep 600
END
chmod +x slow_cc
mkdir temporary
for signal in INT TERM HUP; do
  case $signal in INT) code=130 ;; TERM) code=143 ;; HUP) code=129 ;; esac
  rm -f started
  run $code interrupted SIG$signal started env CC=./slow_cc TMPDIR="$PWD/temporary" "$gc" "$here/docs/examples/mnist.g" -o older
  same mnist older "an older executable after SIG$signal"
  absent older.* temporary/*
done

# ---- a killed gc's folder is removed by a later one; those of a gc that runs, or of others, stay ----
start_slow() { # start_slow: a gc whose compiler does not end, in $slow
  rm -f started
  CC=./slow_cc TMPDIR="$PWD/temporary" "$gc" "$here/docs/examples/mnist.g" -o slow >slow.txt 2>&1 &
  slow=$!
  tries=0
  until [ -e started ] || [ $tries = 600 ]; do sleep 0.1 && tries=$((tries + 1)); done
  [ -e started ] || fail 'the slow compiler did not start'
}
mkdir temporary/gc-others temporary/kept
echo kept >temporary/gc-others/file
: >temporary/kept/gc.lock
ln -s kept temporary/gc-linked
start_slow
kill -KILL $slow
wait $slow 2>/dev/null || :
xargs kill <started # its compilers outlive it
[ "$(find temporary -path '*/gc-*/program.c' | wc -l)" = 1 ] || fail 'a killed gc leaves its folder'
start_slow
[ "$(find temporary -path '*/gc-*/program.c' | wc -l)" = 1 ] || fail "a later gc did not remove a killed one's folder"
run 0 env TMPDIR="$PWD/temporary" "$gc" "$here/docs/examples/mnist.g" -o again
[ "$(find temporary -path '*/gc-*/program.c' | wc -l)" = 1 ] || fail "a gc removed another one's folder"
kill -TERM $slow
wait $slow 2>/dev/null || :
[ "$(find temporary | sort | tr '\n' ' ')" = 'temporary temporary/gc-linked temporary/gc-others temporary/gc-others/file temporary/kept temporary/kept/gc.lock ' ] ||
  fail "what is left of temporary folders: $(find temporary | sort | tr '\n' ' ')"
rm -rf temporary/*

# ---- what a run writes is never what it reads ----
cp "$images" rows.gz
for option in '--save rows.gz' '--log rows.gz' '--profile rows.gz' '--checkpoint rows.gz' '--checkpoint rows.gz:1'; do
  says 2 'would overwrite what --image reads' ./mnist train --image rows.gz --label "$labels" --steps 1 $option; hinted
done
says 2 'would overwrite what --image reads' ./mnist predict --image rows.gz --p rows.gz; hinted
same "$images" rows.gz 'an input'

# ---- a program that cannot be compiled leaves an older executable alone ----
cp mnist older
echo 'entry f(x : f32[2]) { return x + y }' >wrong.g
says 1 "wrong.g:1" "$gc" wrong.g -O2 -o older
same mnist older 'an older executable'
run 3 "$gc" "$here/docs/examples/mnist.g" -O2 -o nowhere/mnist
finish
