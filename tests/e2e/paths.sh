#!/bin/sh
# What a program writes destroys nothing: no file that another option names, no link, no mode; and a killed
# run leaves nothing behind.
. "$(dirname "$0")/common.sh"
cat >net.g <<'END'
def net(x) { return (linear(x, 1) as fc)[:, 0] }
entry train(x : f32[4, 8], y : f32[4]) {
  loss = mean((net(x) - y) ** 2)
  minimize loss with adamw(0.01)
  return loss
}
entry predict(x : f32[4, 8]) { return p = net(x) }
END
run 0 "$gc" net.g -O1 -o net
"$mkdata" npy f32 64,8 1 x.npy && "$mkdata" npy f32 64 2 y.npy || fail 'no data could be made'
train="./net train --x x.npy --y y.npy --steps 8 --quiet"

# ---- no two uses of one file of which one writes, whatever its name there ----
run 0 $train --save w.st --checkpoint c.st
cp w.st w.kept
cp c.st c.kept
cp net net.kept
cp x.npy x.kept
ln -s w.st link.st
ln w.st hard.st
mkdir -p folder
for w in w.st ./w.st folder/../w.st link.st "$PWD/w.st" hard.st; do
  for option in log profile checkpoint; do
    says 2 "--$option would overwrite what --load reads" $train --load w.st --$option "$w"
  done
done
says 2 '--log would overwrite what --load reads' $train --load link.st,scope=net --log w.st
says 2 '--log would overwrite what --x reads' $train --log x.npy
says 2 '--save would overwrite what --resume reads' $train --resume c.st --save c.st
says 2 '--log would overwrite what --resume reads' $train --resume c.st --log c.st
says 2 '--save and --checkpoint would both write this file' $train --save new.st --checkpoint folder/../new.st:4
says 2 '--save and --log would both write this file' $train --save new.st --log new.st
says 2 '--log and --profile would both write this file' $train --log new.st --profile new.st
says 2 '--p would overwrite what --load reads' ./net predict --x x.npy --load w.st --p w.st
says 2 '--p would overwrite what --x reads' ./net predict --x x.npy --load w.st --p x.npy
run 0 ./net predict --x x.npy --load w.st --p p.npy --quiet
says 2 '--p would overwrite what --expect reads' ./net predict --x x.npy --load w.st --expect p.npy --p p.npy
says 2 '--profile would overwrite what --expect reads' ./net predict --x x.npy --load w.st --expect p.npy --profile p.npy
for option in save log profile checkpoint; do
  says 2 "--$option would overwrite this program itself" $train --$option net
done
ln -s nothing-yet dangling
says 2 '--save and --log would both write this file' $train --save dangling --log nothing-yet
absent new.st nothing-yet
same w.st w.kept 'weights that were read'
same c.st c.kept 'a checkpoint that was read'
same net net.kept 'the program'
same x.npy x.kept 'an input'

# ---- what is meant to be written anew, and what is no file, may be named twice ----
run 0 $train --load w.st --save w.st
run 0 ./net train --x x.npy --y y.npy --quiet --resume c.st --checkpoint c.st --steps 12
run 0 $train --save /dev/null --checkpoint /dev/null

# ---- a file of another kind is somebody's own; one of the same kind, an empty one, a device may be replaced ----
echo 'a plan for today' >notes.txt
cp notes.txt notes.kept
run 0 $train --log log.csv --profile p.json
for option in save checkpoint; do
  for file in notes.txt x.npy log.csv p.json net.g; do
    cp "$file" other
    says 2 'is not a safetensors file, and would be replaced by one' $train --$option other
    same other "$file" "what --$option refused to replace"
  done
done
says 2 'is not a log of training, and would be replaced by one' $train --log notes.txt
says 2 'is not a log of training, and would be replaced by one' ./net train --x x.npy --y y.npy --resume c.st --steps 12 --log notes.txt
says 2 'is not a profile, and would be replaced by one' $train --profile notes.txt
for file in notes.txt w.st; do
  cp $file notes
  says 2 'is not a .npy file, and would be replaced by one' ./net predict --x x.npy --p notes
done
same notes.txt notes.kept 'a file of notes'
: >empty
run 0 ./net predict --x x.npy --load w.st --p empty --quiet
run 0 ./net predict --x x.npy --load w.st --p empty --quiet
run 0 $train --save w.kept --checkpoint c.kept --log log.csv --profile p.json
run 0 ./net predict --x x.npy --load w.st --p /dev/null --quiet

# ---- ... and so is what gc did not write, and the weights of another model ----
refused() { # refused TEXT FILE COMMAND…
  text=$1 file=$2
  shift 2
  cp "$file" "$file.kept"
  says 2 "$file: is $text, and would be replaced" "$@"
  holds out.txt 'hint: remove it, or name another file'
  same "$file" "$file.kept" "$file, which is $text"
}
sed 's/net\.fc\.b/net.fc.c/' w.st >path.st
sed 's/net\.fc\.b/net.fc.c/' c.st >path.ckpt
sed 's/"shape":\[8,1\]/"shape":[4,2]/' w.st >shape.st
sed 's/"format":"gc"/"format":"pt"/' w.st >torch.st
head -c 200 w.st >short.st
"$mkdata" npy f32 4 1 numpy.npy
other='the file of another model, or of another size of this one'
refused "$other" path.st $train --save path.st
refused "$other" shape.st $train --save shape.st
refused "$other" path.ckpt $train --checkpoint path.ckpt
refused 'a safetensors file that gc did not write' torch.st $train --load torch.st --save torch.st
refused 'a damaged safetensors file' short.st $train --save short.st
refused 'a checkpoint' c.st $train --save c.st
refused 'a file of weights' w.st $train --checkpoint w.st
refused 'a .npy file that gc did not write' numpy.npy ./net predict --x x.npy --p numpy.npy
run 0 ./net predict --x x.npy --p made.npy
run 0 ./net predict --x 'x.npy[0:8]' --p made.npy # of other rows, of which there may be any number
sed 's/<f4/<i4/' made.npy >ints.npy
sed 's/(8,), }  /(4, 2), }/' made.npy >matrix.npy
for file in ints.npy matrix.npy; do
  refused 'a .npy file of other elements or other rows' $file ./net predict --x x.npy --p $file
done

# ---- a symbolic link stays one; a file that is replaced keeps its mode ----
mkdir -p big
for target in big/w.st big/new.st; do
  rm -f to.st
  ln -s "$target" to.st
  [ -e big/w.st ] || { cp w.st big/w.st && chmod 640 big/w.st; }
  run 0 $train --save to.st
  [ -L to.st ] || fail "the link to $target was replaced by a file"
  [ -f "$target" ] || fail "the save through a link did not reach $target"
  run 0 ./net predict --x x.npy --load to.st --p p.npy --quiet
done
[ "$(stat -c %a big/w.st)" = 640 ] || fail "a mode of 640 became $(stat -c %a big/w.st)"
for mode in 600 644 400; do
  chmod $mode w.st
  run 0 $train --save w.st
  [ "$(stat -c %a w.st)" = $mode ] || fail "a mode of $mode became $(stat -c %a w.st)"
done
(umask 077 && run 0 $train --save private.st && [ "$(stat -c %a private.st)" = 600 ]) || fail 'the umask was not respected'

# ---- the same of the files that gc itself writes ----
mkdir -p made
cp net made/net
chmod 700 made/net
ln -s made/net program
ln -s made/later later
run 0 "$gc" net.g -O1 -o program
run 0 "$gc" net.g -O1 -o later
run 0 "$gc" net.g --emit=ir -o made/net.ir
chmod 600 made/net.ir
ln -s made/net.ir text
run 0 "$gc" net.g --emit=ir -o text
[ -L program ] && [ -L text ] && [ -L later ] && [ -f made/later ] || fail 'gc replaced a symbolic link'
[ "$(stat -c %a made/net)" = 711 ] || [ "$(stat -c %a made/net)" = 755 ] || fail "gc made of the mode 700 $(stat -c %a made/net)"
[ "$(stat -c %a made/net.ir)" = 600 ] || fail "gc made of the mode 600 $(stat -c %a made/net.ir)"
run 0 ./program predict --x x.npy --load w.st --p p.npy --quiet
run 0 ./later predict --x x.npy --load w.st --p p.npy --quiet
cp net.g net.kept.g
says 2 'would replace the input' "$gc" net.g --emit=ir -o ./net.g
ln -s net.g also.g
says 2 'would replace the input' "$gc" net.g -o also.g
cp net.g kernel.c
says 2 '--save-temps would replace the input kernel.c' "$gc" -x g kernel.c -o kernel --save-temps
same net.g kernel.c "gc's input"
ln -s both.c both
says 2 'the output and --save-temps would both write both.c' "$gc" net.g -o both --save-temps
ln -s libpair.so.c pair.h
says 2 'the header and --save-temps would both write libpair.so.c' "$gc" net.g --emit=lib -o libpair.so --save-temps
mkdir -p own/bin
cp "$gc" own/bin/gc
says 2 'the output would replace gc itself' own/bin/gc net.g -o own/bin/gc
same "$gc" own/bin/gc 'gc itself'
# shellcheck disable=SC2016
says 2 'the standard output and the output would both write page' \
  sh -c '"$1" net.g --dump-plan=json -o page >page' sh "$gc"
same net.g net.kept.g "gc's input"
left=$(ls -A made | grep -vxE 'net|net.ir|later')
[ -z "$left" ] || fail "gc left $left"

# ---- gc replaces what it wrote, by its mark, and nothing else ----
cp notes.txt own/notes
for emit in exe ast ir plan c cuda; do
  for file in notes.txt x.npy w.st net.kept.g /bin/true; do
    cp "$file" own/it
    says 2 'the output would replace own/it, which gc did not write' "$gc" net.g --emit=$emit -o own/it
    same own/it "$file" "what gc refused to replace"
  done
  rm own/it
  for i in 1 2; do run 0 "$gc" net.g -O1 --emit=$emit -o own/it; done
done
cp notes.txt own/net.c
says 2 '--save-temps would replace own/net.c, which gc did not write' "$gc" net.g -o own/net --save-temps
printf 'id,lower,upper,size\na,0,3,64\n' >buffers.csv
cp buffers.csv packed.csv
says 2 'the output would replace packed.csv, which gc did not write' "$gc" --pack buffers.csv -o packed.csv
rm packed.csv
for i in 1 2; do run 0 "$gc" --pack buffers.csv -o packed.csv; done
same own/notes notes.txt 'a file of notes'
for emit in exe ir; do says 2 'the output would be own, which is a directory; name a file with -o' "$gc" net.g --emit=$emit -o own; done
says 2 'the output would be own, which is a directory' "$gc" --pack buffers.csv -o own
cp net.g own.g
says 2 'the output would be own, which is a directory' "$gc" own.g
run 0 "$gc" net.g --emit=c -o /dev/null
run 0 "$gc" -h

# ---- a killed run leaves nothing but whole files ----
mkdir killed
for i in 1 2 3 4 5; do
  rm -f killed/*
  run 137 interrupted SIGKILL killed/c.st ./net train --x x.npy --y y.npy --steps 100000000 --checkpoint killed/c.st:1 --quiet
  # killed just before a complete file replaces the old one, it leaves both
  for left in killed/*; do
    case $left in killed/c.st | killed/c.st.gc-tmp) ;; *) fail "left after SIGKILL: $left" ;; esac
    run 0 ./net train --x x.npy --y y.npy --quiet --resume "$left" --epochs 1
  done
done

# ---- two runs may write one file at a time: what is there is whole ----
for i in 1 2 3; do $train --save both.st & done
$train --save both.st
wait
run 0 ./net predict --x x.npy --load both.st --p p.npy --quiet
absent both.st.*

# ---- what a run leaves that is killed just before the new file replaces the old one: the next one takes it away ----
if strace -qq -o strace.txt -e trace=rename true 2>/dev/null; then
  cp c.kept between.st
  run 137 strace -qq -f -o strace.txt -e trace=rename -e inject=rename:signal=SIGKILL:when=1 $train --checkpoint between.st
  same between.st c.kept 'the file that was to be replaced'
  run 0 ./net train --x x.npy --y y.npy --quiet --resume between.st.gc-tmp --epochs 1
  run 0 $train --checkpoint between.st
  absent between.st.gc-tmp
else
  not_tested 'a run that is killed between two steps: strace cannot trace here'
fi

# ---- where the file system has no unnamed files, a stale temporary file is taken over ----
without() { strace -qq -f -o strace.txt -e trace=access -e inject=access:error=EACCES "$@"; }
if strace -qq -o strace.txt -e trace=access true 2>/dev/null; then
  echo stale >w2.st.gc-tmp
  run 0 without $train --save w2.st
  absent w2.st.gc-tmp
  [ "$(stat -c %a w2.st)" = "$(stat -c %a c.kept)" ] || fail "a new file has the mode $(stat -c %a w2.st)"
  run 0 ./net predict --x x.npy --load w2.st --p p.npy --quiet
  ln -s x.npy w3.st.gc-tmp
  says 3 'w3.st: creating a file beside it failed' without $train --save w3.st
  same x.npy x.kept 'what a planted link led to'
else
  not_tested 'a file system without unnamed files: strace cannot trace here'
fi
finish
