#!/bin/sh
# What happens to long runs: checkpoints and kills, Ctrl-C, a loss that is no number.
. "$(dirname "$0")/common.sh"
run 0 "$gc" "$here/docs/examples/chars.g" -O2 -o chars
prose 20016
rows="--context text.txt~1[0:20000] --next text.txt+16~1[0:20000]"
done_steps() { grep -ao '"gc.done":"[0-9]*"' "$1" | tr -dc 0-9; }

# ---- resume: the bits of a run that nothing interrupted ----
run 0 ./chars train $rows --steps 60 --seed 5 --save whole.safetensors --quiet
run 0 ./chars train $rows --steps 25 --seed 5 --checkpoint c.ckpt --quiet
run 0 ./chars train $rows --steps 60 --resume c.ckpt --save resumed.safetensors --quiet --threads 1
same whole.safetensors resumed.safetensors 'resumed after 25 of 60 steps'

# ---- kill -9 in the middle: what was written last is whole, and the run goes on from there ----
# The kill comes at any moment, also while a checkpoint is written; how far the run came is read from the file.
for pause in 0 0.13 0.37; do
  rm -f k.ckpt* k.csv
  ./chars train $rows --steps 1000000 --seed 5 --checkpoint k.ckpt:3 --log k.csv --quiet >killed.txt 2>&1 &
  pid=$! tries=0
  while [ ! -s k.ckpt ] && [ $tries -lt 6000 ] && kill -0 $pid 2>/dev/null; do sleep 0.05; tries=$((tries + 1)); done
  sleep $pause
  kill -9 $pid
  code=0
  wait $pid 2>/dev/null || code=$?
  [ "$code" = 137 ] || { fail "the run ended with $code before it was killed"; cat killed.txt; }
  [ -s k.ckpt ] || fail 'no checkpoint was written'
  steps=$(done_steps k.ckpt)
  at_least "$steps" 3 'steps of the checkpoint'
  cp k.ckpt killed.ckpt
  run 0 ./chars train $rows --steps $((steps + 5)) --resume killed.ckpt --log k.csv --save after_kill.safetensors --quiet --threads 1
  exactly "$(sed 1d k.csv | cut -d, -f2 | tr '\n' ' ')" "$(seq -s ' ' 1 $((steps + 5))) " 'the steps of the log'
  run 0 ./chars train $rows --steps $((steps + 5)) --seed 5 --save whole.safetensors --quiet
  same whole.safetensors after_kill.safetensors "resumed after kill -9 at step $steps"
done

# ---- Ctrl-C: the step is finished, the weights are saved, exit code 130 ----
run 130 interrupted SIGINT running.csv ./chars train $rows --steps 1000000 --log running.csv --save stopped.safetensors
holds out.txt 'note: stopped by SIGINT after step '
[ -s stopped.safetensors ] || fail 'SIGINT: no weights were saved'
stopped_at=$(sed -n 's/^.*note: stopped by SIGINT after step \([0-9]*\).*/\1/p' out.txt)
run 0 ./chars train $rows --steps "$stopped_at" --save whole.safetensors --quiet
same whole.safetensors stopped.safetensors "the weights of $stopped_at steps, saved at Ctrl-C"

# ---- a loss that is no number stops the run and leaves good weights alone ----
cp stopped.safetensors w.safetensors
says 1 'step' ./chars train $rows --steps 50 --lr 1e30 --load w.safetensors --save w.safetensors --quiet
# the tutorial shows this message, of another program
grep -A1 'error: loss is ' out.txt | sed -E 's/^chars(: error: loss is )[-a-z]+( at step )[0-9]+( \(epoch )[0-9]+(, batch )[0-9]+\)$/mnist\1nan\23\31\43)/' >said.txt
[ "$(wc -l <said.txt)" = 2 ] || { fail 'the message is not of two lines:'; cat out.txt; }
while IFS= read -r line; do holds "$here/docs/tutorial.md" "$line"; done <said.txt
same stopped.safetensors w.safetensors 'weights after a loss that is no number'
absent w.safetensors.tmp*
finish
