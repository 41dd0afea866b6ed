#!/bin/sh
# A next-character model on real text: the loss falls, it writes, and training survives what happens to
# long runs: checkpoints and kills, Ctrl-C, a loss that is no number.
. "$(dirname "$0")/common.sh"
text=$data/text/tinyshakespeare.txt
need "$text"
run 0 "$gc" "$here/docs/examples/chars.g" -O2 -o chars
head -c 100016 "$text" >text.txt
rows="--context text.txt~1[0:100000] --next text.txt+16~1[0:100000]"
held="--context text.txt~1[90000:100000] --next text.txt+16~1[90000:100000]"
last() { tail -1 "$1" | cut -d, -f3; }

# ---- it learns ----
run 0 ./chars train $rows --steps 500 --seed 3 --save w.safetensors --log log.csv --threads 2
loss=$(sed -n '2,$p' log.csv | tail -50 | awk -F, '{s += $3} END {print s / NR}')
echo "loss $loss"
at_most "$loss" 2.4 'the mean loss of the last 50 of 500 steps'
at_least "$(sed -n 2p log.csv | cut -d, -f3)" 4 'the loss of the first step'
run 0 ./chars validate $held --load w.safetensors --quiet

# ---- it writes 300 characters ----
run 0 ./chars write --load w.safetensors --steps 300 --text char --quiet
size=$(wc -c <out.txt)
[ "$size" = 300 ] || [ "$size" = 301 ] || fail "$size characters, not 300 (and perhaps a newline)"
cp out.txt written.txt
run 0 ./chars write --load w.safetensors --steps 300 --text char --quiet --threads 3
same out.txt written.txt 'the same text on three threads'
run 0 ./chars write --load w.safetensors --steps 300 --text char --quiet --seed 9
cmp -s out.txt written.txt && fail 'another seed writes the same text'

# ---- checkpoint, kill, resume: the bits of a run that nothing interrupted ----
run 0 ./chars train $rows --steps 120 --seed 5 --save whole.safetensors --log whole.csv
./chars train $rows --steps 100000 --seed 5 --checkpoint c.ckpt:40 --quiet >killed.txt 2>&1 &
pid=$! tries=0
while [ ! -s c.ckpt ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -9 $pid
wait $pid 2>/dev/null
[ -s c.ckpt ] || fail 'no checkpoint was written'
rm -f c.ckpt c.ckpt.*
run 0 ./chars train $rows --steps 40 --seed 5 --checkpoint c.ckpt --quiet
run 0 ./chars train $rows --steps 120 --resume c.ckpt --save resumed.safetensors --quiet --threads 1
same whole.safetensors resumed.safetensors 'resumed after 40 of 120 steps'

# ---- Ctrl-C: the step is finished, the weights are saved, exit code 130 ----
# A job of a script ignores SIGINT unless it is told otherwise, so python sends it where there is one.
cat >interrupt.py <<'END'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=open("interrupted.txt", "wb"))
while p.poll() is None and not (os.path.exists("running.csv") and os.path.getsize("running.csv")):
    time.sleep(0.05)  # until the first steps are logged
p.send_signal(signal.SIGINT)
sys.exit(p.wait() % 256)
END
run 130 python3 interrupt.py ./chars train $rows --steps 1000000 --log running.csv --save stopped.safetensors --quiet
[ -s stopped.safetensors ] || fail 'SIGINT: no weights were saved'
run 0 ./chars validate $held --load stopped.safetensors --quiet

# ---- a loss that is no number stops the run and leaves good weights alone ----
cp w.safetensors before.safetensors
says 1 'step' ./chars train $rows --steps 50 --lr 1e30 --load w.safetensors --save w.safetensors --quiet
grep -qE 'step [0-9]+' out.txt || { fail 'the message names no step:'; cat out.txt; }
same before.safetensors w.safetensors 'weights after a loss that is no number'
absent w.safetensors.tmp*
finish
