#!/bin/sh
# The hand-written program as a user runs it: training, resuming, files of every format, and what goes wrong.
# usage: run.sh PROGRAM MKDATA SCRATCH
set -eu
. "$(dirname "$0")/check.sh"
model=$1 mkdata=$2
rm -rf "$3" && mkdir -p "$3" && cd "$3"

# run CODE NAME ARGS...: exit code and output in out.txt
run() {
  want=$1 name=$2
  shift 2
  checks=$((checks + 1)) code=0
  "$model" "$@" >out.txt 2>&1 || code=$?
  [ "$code" = "$want" ] || { fail "$name: exit code $code, not $want"; cat out.txt; }
}
says() { # says CODE TEXT ARGS...
  text=$2 c=$1
  shift 2
  run "$c" "$*" "$@"
  holds out.txt "$text" "$*"
}

"$mkdata" npy f32 100,4 1 x.npy
"$mkdata" npy f32 100,3 linear t.npy
"$mkdata" npy f64 100,4 1 x64.npy
"$mkdata" idx u8 100,2,2 1 x.idx
"$mkdata" idx u8 100 2 labels.idx
"$mkdata" npy i64 100 2 labels.npy
"$mkdata" npy f32 100 2 f.npy
printf 'The quick brown fox jumps over the lazy dog, and that is all there is.\n' >text.txt
data='--x x.npy --target t.npy'

# ---- training: the same bits whatever the threads, the interruptions, the poison ----
run 0 train train $data --epochs 30 --save w.safetensors --log log.csv --threads 1
holds out.txt 'epoch 30/30' train
run 0 'two threads' train $data --epochs 30 --save w2.safetensors --log log2.csv --threads 2
same w.safetensors w2.safetensors threads
for threads in 3 5 16; do # more than the cores of a small machine, and rows that do not divide evenly
  run 0 "$threads threads" train $data --epochs 30 --save wt.safetensors --threads $threads
  same w.safetensors wt.safetensors "$threads threads"
done
says 2 'too many' train $data --threads 100000
says 0 'compiled by gc' --version
same_log log.csv log2.csv threads
run 0 poison train $data --epochs 30 --save w3.safetensors --poison
same w.safetensors w3.safetensors poison
run 0 part train $data --epochs 11 --checkpoint c.ckpt --log log4.csv
run 0 resume train $data --epochs 30 --resume c.ckpt --save w4.safetensors --log log4.csv
same w.safetensors w4.safetensors resume
same_log log.csv log4.csv 'resumed log'
run 0 'part of an epoch' train $data --steps 101 --checkpoint c.ckpt:20
run 0 'nothing left' train $data --steps 50 --resume c.ckpt
holds out.txt '101 steps are done already, 50 were asked for' 'nothing left'
grep -q '^epoch\|rows/s' out.txt && { fail 'progress of no training:'; cat out.txt; }
run 0 'initial weights' train --steps 0 --save initial.safetensors --seed 7
run 0 'initial weights, with data' train $data --steps 0 --save none.safetensors --seed 7 --log none.csv --checkpoint none.ckpt
same initial.safetensors none.safetensors 'initial weights'
run 0 'from initial weights' train $data --steps 9 --load initial.safetensors --seed 7 --save from.safetensors
run 0 'from no step' train $data --steps 9 --resume none.ckpt --save from2.safetensors
run 0 'another seed' train $data --steps 9 --seed 7 --save from3.safetensors
same from.safetensors from3.safetensors 'from initial weights'
same from2.safetensors from3.safetensors 'a checkpoint of no step'
run 0 'a copy' train --steps 0 --load w.safetensors --save copy.safetensors
same w.safetensors copy.safetensors '--load and --save without a step'
says 2 '--steps 0: nothing is trained, and no file is named for the weights' train $data --steps 0
says 1 'nofolder: cannot be read' train --x nofolder
says 2 'train needs --target FILE' train --steps 0 --save copy.safetensors --x x.npy
says 2 'train needs --x FILE --target FILE' train --steps 0 --save copy.safetensors --checkpoint none.ckpt
says 2 '--steps 0 writes the initial weights by an entry that trains, which generate does not' generate --steps 0
run 0 'resume in an epoch' train $data --epochs 30 --resume c.ckpt --save w5.safetensors
same w.safetensors w5.safetensors 'resume in an epoch'
run 0 'other seed' train $data --epochs 30 --seed 7 --save w6.safetensors
cmp -s w.safetensors w6.safetensors && fail 'another seed gave the same weights'
run 0 'f64 data' train --x x64.npy --target t.npy --epochs 30 --save w7.safetensors
same w.safetensors w7.safetensors 'f64 data'
tail -1 log.csv | awk -F, '{exit !($3 < 0.01)}' || fail "the loss did not fall: $(tail -1 log.csv)"

# ---- a terminal gets a line that is written again and again in an epoch of more than 0.1 s, with the time left and, where it fits, the loss in blocks ----
"$mkdata" npy f32 1000000,4 1 long_x.npy
"$mkdata" npy f32 1000000,3 linear long_t.npy
cat >terminal.py <<'END'
import fcntl, os, pty, re, signal, struct, sys, termios
line = rb"\repoch \d+/\d+  step \d+/125000  loss \S+  \d+ rows/s  \d+:\d\d(:\d\d)? left"
narrow, wide = re.compile(line + rb"\x1b\[K"), re.compile(line + rb"  \xe2\x96\x88(\xe2\x96[\x81-\x88]){1,15}\x1b\[K")
signal.alarm(100)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said, renewed = b"", False
try:
    while piece := os.read(terminal, 4096):
        said += piece
        if narrow.search(said):  # of 80 columns; the loss falls, so its first block is the highest
            said = b""
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 25, 200, 0, 0))
        if not renewed and wide.search(said):  # it would train for hours: seen is enough
            renewed = True
            os.kill(pid, signal.SIGINT)
except OSError:  # nobody has the other end any more
    pass
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if code != 130 or not renewed:
    sys.exit(f"exit code {code}: {said!r}")
END
checks=$((checks + 1))
python3 terminal.py "$model" train --x long_x.npy --target long_t.npy --epochs 1000000 || fail 'the line of a terminal'

# ---- weights in other processes ----
run 0 test test $data --load w.safetensors
holds out.txt 'loss = ' test
holds out.txt '4 of 100 rows were left out' test
run 0 predict predict --x x.npy --load w.safetensors --y y.npy
run 0 'expect itself' predict --x x.npy --load w.safetensors --expect y.npy --rtol 0 --atol 0
run 0 'expect the truth' predict --x 'x.npy[0:96]' --load w.safetensors --expect y.npy
says 1 'elements; the first, element 0' predict --x x.npy --load w.safetensors,scope=net.b --expect y.npy
says 1 'but the run makes' predict --x 'x.npy[0:8]' --load w.safetensors --expect y.npy
run 0 bench train $data --bench 20
holds out.txt 'median' bench
says 2 '--save and --bench exclude each other' train $data --bench 2 --save bench.safetensors
says 2 '--y and --bench exclude each other' predict --x x.npy --bench 2 --y bench.npy
says 2 '--steps and --bench exclude each other' train $data --steps 3 --bench 2
run 0 profile train $data --epochs 2 --profile p.json
holds p.json '"name": "update"' profile
checks=$((checks + 1))
grep -E '^ +[0-9.]+ ' out.txt | sed '$d' | sort -c -k1,1 -rn || fail 'the slowest kernel is not the first of the profile'
tail -n 1 out.txt | grep -qE '^ +[0-9.]+ +100.0 .* all' || fail 'the profile has no sum'

# ---- what is easily forgotten ----
kept='note: the weights were not kept; --save FILE writes them'
says 0 "$kept" train $data --epochs 1
for option in '--save w0.safetensors' '--checkpoint c0.ckpt' --quiet '--bench 2'; do
  run 0 "$option" train $data $option
  ! grep -qF "$kept" out.txt || fail "$option: says that weights were not kept"
done
cp x.npy nan.npy # row 57, column 1
printf '\000\000\300\177' | dd of=nan.npy bs=1 seek=$(($(wc -c <x.npy) - 684)) conv=notrunc 2>dd.txt
says 1 'row 57 of the input x (nan.npy) holds nan' train --x nan.npy --target t.npy --save w0.safetensors
says 1 'hint: this one alone is x.npy[5:6]' predict --x 'x.npy[5]' --load w.safetensors
says 1 'no.npy[5]: cannot be read' predict --x 'no.npy[5]' --load w.safetensors

# ---- files: formats, ranges, windows, types ----
run 0 idx classes --label labels.idx
run 0 'i64 labels' classes --label labels.npy
gzip -kf labels.idx x.npy
run 0 'gzip idx' classes --label labels.idx.gz
run 0 'gzip npy' predict --x x.npy.gz --load w.safetensors --expect y.npy --rtol 0 --atol 0
run 0 'idx images' predict --x x.idx
says 0 'code = [101032 32113]' rows --tok 'text.txt~1[0:2]' --next 'text.txt+3~1[0:2]'
says 0 '[2:4] code' rows --tok text.txt~1 --next text.txt+3~1
run 0 'text' generate --steps 26 --text char
holds out.txt 'hello, world' text
checks=$((checks + 1))
timeout 300 "$model" generate --steps 4000000000 --text char 2>err.txt | head -c 100 >/dev/null
holds err.txt 'could not be written' 'a closed pipe'
run 0 'save a state' generate --steps 3 --save g.safetensors --quiet
says 0 'char = 108' generate --load g.safetensors
printf '\001\000\002\000\003\000\004\000\005\000\006\000' >tok.u16
says 0 'code = [3001 6002]' rows --tok tok.u16:u16 --next 'tok.u16:u8~2[0:2]'
printf '\001\000\002\000\003\000\004\000\005\000\054\001' >far.u16
says 1 'far.u16: input row 1 holds 300, which is not below 256' rows --tok far.u16:u16 --next 'tok.u16:u8~2[0:2]'
holds out.txt 'the input tok must hold 0 to 255' 'the remedy'
for file in x.npy x.npy.gz x.idx labels.idx.gz; do
  for suffix in +1 '~2' :u8 :f32; do
    says 1 "$file: has rows of its own; +k, ~s and :type are for flat files" predict --x "$file$suffix"
  done
done
gzip -nc tok.u16 >packed.u16.gz
says 0 'code = [3001 6002]' rows --tok packed.u16.gz:u16 --next 'tok.u16:u8~2[0:2]'
printf '\037\213\002\000\003\000\004\000\005\000\006\000' >like.u16 # begins as gzip does
says 1 'like.u16: input row 0 holds 35615, which is not below 256' rows --tok like.u16:u16 --next 'tok.u16:u8~2[0:2]'
printf '\000\000\010\003\001\000\002\000\003\000\004\000' >zero.u16 # begins as IDX does, and has other sizes
says 1 'zero.u16: input row 0 holds 776, which is not below 256' rows --tok zero.u16:u16 --next 'tok.u16:u8~2[0:2]'
for suffix in '' :u8 +8; do
  says 1 'w.safetensors: holds weights (safetensors), not rows of an input' predict --x "w.safetensors$suffix"
done
says 1 'tok moves on by' rows --tok text.txt --next text.txt+3
says 1 'rows 0 to 999' predict --x 'x.npy[0:999]'
says 1 'x has 100 rows' train --x x.npy --target 't.npy[0:50]'
says 1 'one batch takes 8' predict --x 'x.npy[0:5]'
says 1 'holds f32[100, 3], but the input x is f32[8, 4]' predict --x t.npy
says 1 'real numbers are not rounded' classes --label f.npy
says 1 'is text, but the input x needs f32' predict --x text.txt
printf '\211PNG\r\n\032\n\001\000\001\000\001\000\001\000' >digit.png
says 1 'digit.png: is an image, which this program does not decode' classes --label digit.png
says 1 'digit.png: input row 0 holds 137, which is not below 3' classes --label digit.png:u8
cp t.npy 'odd+1'
says 1 'holds f32[100, 3]' predict --x odd+1

# ---- damaged files ----
head -c 900 x.npy >cut.npy
says 1 'its header means' predict --x cut.npy
head -c 40 labels.idx.gz >cut.gz
says 1 'cut.gz' classes --label cut.gz
printf 'garbage' >bad.npy
says 1 'does not begin like such a file' predict --x bad.npy
: >empty
says 1 'is empty' predict --x empty
says 1 'a directory' predict --x .
truncate -s 4T sparse
says 3 'this machine has' predict --x sparse --data-memory 9000G
says 1 'its header is empty' predict --x x.npy --load sparse
mkfifo pipe
says 1 'a pipe' predict --x pipe
says 1 'a device' predict --x /dev/zero
says 1 'cannot be read' predict --x missing.npy
printf '\001\002\000\005\001\001\001\001' >labels.bin
says 1 'labels.bin: input row 3 holds 5, which is not below 3' classes --label labels.bin
head -c 200 w.safetensors >cut.safetensors
says 1 'cut.safetensors' predict --x x.npy --load cut.safetensors
cp w.safetensors more.safetensors && printf x >>more.safetensors
says 1 'appended' predict --x x.npy --load more.safetensors
says 1 'is no checkpoint' train $data --resume w.safetensors
sed 's/net\.w/net.v/' w.safetensors >other.safetensors
says 1 'has no tensor net.w' predict --x x.npy --load other.safetensors
cp c.ckpt flipped.ckpt
printf '\377' | dd of=flipped.ckpt bs=1 seek="$(($(stat -c %s c.ckpt) - 30))" conv=notrunc 2>/dev/null
says 1 'checksum is wrong' train $data --resume flipped.ckpt
says 1 'another --seed' train $data --resume c.ckpt --seed 3
says 1 'another number of rows' train --x 'x.npy[0:80]' --target 't.npy[0:80]' --resume c.ckpt
"$mkdata" npy f32 100,4 3 x3.npy
says 1 'other data of as many rows' train --x x3.npy --target t.npy --resume c.ckpt
sed 's/"gc\.data"/"gc.atad"/' c.ckpt >format.ckpt
says 1 'a checkpoint of another format: gc.data is missing' train $data --resume format.ckpt
# hypers go on as they were, and a note says which the command line has changed
run 0 'another rate' train $data --epochs 30 --lr 0.02 --save rate.safetensors
run 0 'a part of it' train $data --epochs 11 --lr 0.02 --checkpoint rate.ckpt
run 0 'the rest of it' train $data --epochs 30 --resume rate.ckpt --save rest.safetensors
same rate.safetensors rest.safetensors 'the rate of the checkpoint'
says 0 'was written with --lr 0.02; training goes on with 0.01' train $data --epochs 30 --lr 0.01 --resume rate.ckpt

# ---- packed data without an end: what no row needs is not unpacked for long, and a signal is heard meanwhile ----
head -c 400000000 /dev/zero | gzip >zeros.gz
says 1 'unpacks to more than 200 times its size, though its rows were needed up to byte 32 alone' predict --x 'zeros.gz[0:2]'
says 1 'zeros.gz' predict --x 'zeros.gz[0:99999999]'
"$model" predict --x zeros.gz >out.txt 2>&1 &
pid=$!
until grep -q '^SigCgt:.*[4-7c-f]...$' "/proc/$pid/status"; do :; done # it hears SIGTERM from here on
kill -TERM $pid
checks=$((checks + 1)) code=0
wait $pid || code=$?
[ $code = 143 ] || fail "a signal while data loads: exit code $code"
holds out.txt 'zeros.gz: stopped by a signal while it was read' 'a signal while data loads'
rm zeros.gz

# ---- what is no file of weights is said once ----
printf 'a note that somebody wrote\n' >notes.txt
says 1 'notes.txt: is a text file; weights are read from safetensors' predict --x x.npy --load notes.txt
printf '\377\0\0\0\0\0\0\0{}' >beyond.safetensors
says 1 'beyond.safetensors: its header reaches past its end' predict --x x.npy --load beyond.safetensors
[ "$(grep -c 'safetensors file' out.txt)" = 1 ] || fail 'a wrong file of weights is called so twice'

# ---- a checkpoint into a pipe, which cannot be given its checksum last ----
mkfifo taken
run 0 'a checkpoint in a file' train $data --steps 3 --checkpoint three.ckpt
cat taken >taken.ckpt &
run 0 'a checkpoint into a pipe' train $data --steps 3 --checkpoint taken
wait $!
same three.ckpt taken.ckpt 'a checkpoint through a pipe'
rm taken

# ---- what must not spoil good weights ----
cp w.safetensors good
says 1 'loss is' train $data --epochs 50 --lr 1e30 --save w.safetensors
same w.safetensors good 'after a loss that is not finite'
cp three.ckpt older.ckpt
run 0 'large weights' train $data --steps 1 --lr 1e6 --save large.safetensors
says 1 'net.w hold values that are not finite' train $data --load large.safetensors --steps 1 --lr 3e38 --save w.safetensors --checkpoint three.ckpt
same w.safetensors good 'after weights that are not finite'
same three.ckpt older.ckpt 'a checkpoint after weights that are not finite'
says 3 'failed' train $data --save nowhere/w.safetensors
says 2 'is not a file that can be replaced' train $data --save .
says 3 'No space left on device' train $data --save /dev/full
says 3 'No space left on device' predict --x x.npy --load w.safetensors --y /dev/full
run 0 'nowhere' predict --x x.npy --load w.safetensors --y /dev/null --quiet
[ -c /dev/null ] || fail '/dev/null was replaced'
mkfifo taken
cat taken >taken.npy &
run 0 'into a pipe' predict --x x.npy --load w.safetensors --y taken --quiet
wait $!
same y.npy taken.npy 'an output through a pipe'
rm taken
(ulimit -f 1 && "$model" predict --x 'x.npy' --y big.npy >out.txt 2>&1) && fail 'a full disk went unnoticed' || holds out.txt 'failed' 'file size limit'
[ ! -e big.npy ] || fail 'a half-written file was left'
ls | grep -q 'tmp-' && fail "temporary files were left: $(ls | grep tmp-)"

# ---- signals: the step ends, weights are saved ----
# The log is opened when signals are caught already: once it is there, the run can be stopped.
started() {
  tries=0
  while [ ! -s "$1" ] && [ $tries -lt 3000 ] && kill -0 $pid 2>/dev/null; do sleep 0.1; tries=$((tries + 1)); done
  [ -s "$1" ] || fail "no step was made in 300 seconds"
}
rm -f s.safetensors int.csv term.csv
"$model" train $data --steps 1000000000 --save s.safetensors --log int.csv --quiet >out.txt 2>&1 &
pid=$!
started int.csv
kill -INT $pid
code=0
wait $pid || code=$?
checks=$((checks + 1))
[ $code = 130 ] && [ -s s.safetensors ] || fail "SIGINT: exit code $code"
"$model" train $data --steps 1000000000 --checkpoint s.ckpt:100000000 --log term.csv --quiet >out.txt 2>&1 &
pid=$!
started term.csv
kill -TERM $pid
code=0
wait $pid || code=$?
checks=$((checks + 1))
[ $code = 143 ] && [ -s s.ckpt ] || fail "SIGTERM: exit code $code"

# ---- the command line ----
says 2 'did you mean train?' tran
says 2 'did you mean --epochs?' train $data --epoch 3
says 2 'did you mean --lr?' train $data --learning-rate 3
says 2 'did you mean --threads?' train $data --Num_Workers 3
says 2 'hint: --save FILE writes weights, and --load FILE reads them; the options of train' train $data --model 3
says 2 'the batch is fixed when gc compiles: gc -D N=' train $data --batch 4
says 2 'train needs --target FILE' train --x x.npy
says 2 'given twice' train $data --x x.npy
says 2 'given twice' train $data --seed 1 --seed 2
says 2 'needs a whole number' train $data --epochs 0
says 2 'needs a whole number' train $data --seed 18446744073709551616
says 2 'needs a number' train $data --lr fast
says 2 'is for entries that train' test $data --log w
says 2 'exclude each other' train $data --epochs 1 --steps 1
says 2 'a value is missing' train $data --seed
says 3 'holds no code for cuda' train $data --device cuda
says 2 '; this program holds code for cpu alone' train $data --device tpu
says 2 'gc --data-parallel=mpi --ranks=N; mpirun -n N' train $data --ranks 2
says 0 'total' info
# the lines of an entry's process are its total
checks=$((checks + 1))
sed 's/,//g' out.txt | awk '/bytes of the process/ {sum = 0; on = 1; next}
  on && $1 == "total" {n++; if (sum != $2) exit 1; on = 0; next}
  on {sum += $2} END {exit n == 0}' || { fail 'info: the lines of a process are not its total'; cat out.txt; }
says 0 'exit codes' train --help
checks=$((checks + 1))
awk 'length > 100 { print; bad = 1 } END { exit bad }' out.txt || fail 'lines of --help are longer than 100'
holds out.txt '  --save FILE                write the weights at the end' 'the meaning of an option'
says 0 'entries' --help
run 0 'explicit names' train --input.x x.npy --input.target=t.npy --hyper.lr 0.01 --quiet
[ ! -s out.txt ] || { fail 'quiet said something'; cat out.txt; }

echo "$checks checks, $fails failed"
[ $fails = 0 ]
