#!/bin/sh
# --validate: another entry runs while one trains, in the same memory; figures and weights are those of separate runs.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'G'
hyper lr = 0.02
def net(x : f32[n, 6]) {
  state middle : f32[6] = zeros()
  if training { middle := 0.9 * middle + 0.1 * mean(x, axis = 0) }
  h = relu(linear(x - middle, 12) as a)
  return linear(dropout(h, 0.2), 3) as c
}
def measures(x : f32[n, 6], y : f32[n, 3]) {
  p = net(x + 0.01 * normal(shape = shape(x)))
  loss = mse(p, y)
  return loss, mean(p)
}
entry train(x : f32[8, 6], y : f32[8, 3]) {
  loss = mse(net(x), y)
  minimize loss with adam(lr)
  return loss
}
entry test(x : f32[10, 6], y : f32[10, 3]) {
  loss, middle = measures(x, y)
  return middle, accuracy = -loss, loss, p = net(x), rows = 10
}
entry wide(x : f32[400, 6], y : f32[400, 3]) { return loss = mse(net(x), y) }
entry count(x : f32[10, 6], y : f32[10, 3]) {
  state seen : i32 = 0
  seen := seen + 1
  return loss = mse(net(x), y) }
entry predict(x : f32[1, 6]) { return p = net(x) }
G
run 0 "$gc" net.g -o net
"$mkdata" npy f32 72,6 1 x.npy
"$mkdata" npy f32 72,3 2 y.npy
rows='--x x.npy[0:40] --y y.npy[0:40]' held='--validate.x x.npy[40:70] --validate.y y.npy[40:70]'
test='--x x.npy[40:70] --y y.npy[40:70]'
train="./net train $rows --seed 5"

# ---- the figure of a separate run, and the same weights as without; on any number of threads, and poisoned ----
run 0 $train --epochs 4 --save plain.st
for extra in '--validate test' '--validate=test:3 --threads 2' '--validate test:7 --poison' '--validate wide:2'; do
  case $extra in *wide*) other='--validate.x wide.npy --validate.y widey.npy' ;; *) other=$held ;; esac
  [ -f wide.npy ] || { "$mkdata" npy f32 400,6 3 wide.npy && "$mkdata" npy f32 400,3 4 widey.npy; }
  run 0 $train --epochs 4 $other $extra --save with.st
  cp out.txt with.txt
  same plain.st with.st "weights with $extra"
done
run 0 $train --epochs 4 --save with.st $held --validate test:7 --quiet
cp out.txt quiet.txt
[ -s quiet.txt ] && fail '--quiet printed a validation'
run 0 $train --epochs 4 $held --validate test:7
[ "$(grep -c '^test  step' out.txt)" = 3 ] || { fail 'steps 7, 14 and the last one are validated'; cat out.txt; }
cp out.txt plain.txt
run 0 $train --epochs 4 $held --validate 'test:every 7'
exactly "$(grep '^test  step' out.txt)" "$(grep '^test  step' plain.txt)" 'every 7 is 7'
says 2 'error: --validate test:every: every is no number of steps' $train $held --validate test:every
says 2 'error: --validate test:every x: x is no number of steps' $train $held --validate 'test:every x'
holds out.txt 'hint: --validate test:100 validates after every 100 steps, --validate test after each epoch'
run 0 $train --epochs 4 $held --validate test:7
validated=$(sed -n 's/^test  step 20  middle \(.*\)  accuracy \(.*\)  loss \(.*\)$/\1 \2 \3/p' out.txt)
run 0 ./net test $test --load plain.st --seed 5 --quiet --p p.npy
exactly "$validated" "$(sed -n 's/^\(middle\|accuracy\|loss\) = //p' out.txt | tr '\n' ' ' | sed 's/ $//')" 'figures'

# ---- memory: the larger plan, no more ----
run 0 ./net info train
total=$(sed -n 's/^  total *\([0-9,]*\).*/\1/p' out.txt | tr -d ,)
with=$(sed -n 's/^  with test *\([0-9,]*\)  if it validates: they share the arena$/\1/p' out.txt | tr -d ,)
wide=$(sed -n 's/^  with wide *\([0-9,]*\)  if it validates: they share the arena$/\1/p' out.txt | tr -d ,)
grep -q 'with count\|with predict' out.txt && fail 'info lists entries that cannot validate'
run 0 ./net info wide
alone=$(sed -n 's/^  total *\([0-9,]*\).*/\1/p' out.txt | tr -d ,)
at_most "$with" $((total + 12288)) 'bytes with test' # its table of addresses, and figures for the plot
at_most "$wide" $(((total > alone ? total : alone) + 8192)) 'bytes with wide'

# ---- the best weights, and an early end ----
run 0 $train --epochs 60 $held --validate test --save best.st --save-best --patience 3 --checkpoint c.ck
grep -q '^note: training ended early: 3 validations without a better loss$' out.txt || { fail 'no early end'; cat out.txt; }
cp out.txt whole.txt
line=$(grep '^note: best.st has the weights of step' out.txt)
step=$(echo "$line" | sed 's/.*step \([0-9]*\):.*/\1/') best=${line##* }
run 0 $train --steps "$step" --save that.st
same best.st that.st 'weights of the best step'
run 0 $train --epochs "$(grep -c '^epoch' whole.txt)" $held --validate test --save last.st --save-best --patience 3
grep -q 'ended early' out.txt && fail 'the last epoch is no early end'
same best.st last.st 'the best weights of as many epochs'
run 0 ./net test $test --load best.st --seed 5 --quiet --p p.npy
holds out.txt "loss = $best"
run 0 $train --epochs 6 $held --validate test --save best2.st --save-best --patience 3 --checkpoint c.ck
run 0 ./net train $rows --resume c.ck --epochs 60 $held --validate test --save best2.st --save-best --patience 3
same best.st best2.st 'the best weights of a run that was resumed'
exactly "$(grep '^note: training' out.txt)" "$(grep '^note: training' whole.txt)" 'early end of a run that was resumed'
run 0 $train --epochs 2 $held --validate test --save best.st --save-best accuracy
holds out.txt 'has the weights of step 5: accuracy '
says 1 'error: loss is infinite at step 2' $train $held --validate test:1 --save best.st --save-best=-middle --lr 1e15
holds out.txt "hint: a smaller learning rate helps most often; --check-finite names the operation that made it, --watch PATH prints a value's statistics; best.st has the weights of step 1"

# ---- a resumed best figure is one of the same metric, and --save has its weights; else the best begins anew ----
again="./net train $rows --resume c.ck $held --validate test"
run 0 $train --epochs 2 $held --validate test --save b1.st --save-best --checkpoint c.ck
run 0 $again --epochs 3 --save b1.st --save-best accuracy
holds out.txt 'note: c.ck: its best figure is of another metric (-test.loss, here +test.accuracy); the best begins anew'
holds out.txt 'note: b1.st has the weights of step 15: accuracy '
run 0 $again --epochs 3 --save gone.st --save-best
holds out.txt 'note: gone.st: has no weights of the best validation, that of step '
holds out.txt 'note: gone.st has the weights of step 15: loss '
same b1.st gone.st 'the weights of one step'
rm -f gone.st
run 0 $again --epochs 2 --save gone.st --save-best
holds out.txt 'note: weights saved to gone.st'
grep -q 'keeps the weights' out.txt && fail 'weights that are not there'
run 0 $again --epochs 2 --save b1.st --save-best
grep -q 'begins anew' out.txt && fail 'the best figure is lost'
holds out.txt 'note: b1.st: is taken as the weights of the best validation so far, that of step '
holds out.txt 'note: b1.st keeps the weights of step '

# ---- the log: CSV and JSON lines hold the same rows, validations to the last bit; resumed they are the same ----
"$mkdata" npy f32 72,3 7 other.npy
run 0 $train --epochs 4 $held --validate test:3 --log log.csv --plot plot.svg --quiet
run 0 $train --epochs 4 $held --validate test:3 --log log.jsonl --quiet
run 0 $train --steps 11 $held --validate test:3 --log part.csv --checkpoint c.ck --quiet
sed -i '12s/[0-9.]*$/1000.500/' part.csv # the seconds of step 11
run 0 ./net train $rows --resume c.ck --epochs 4 $held --validate test:3 --log part.csv --quiet
says 2 'error: part.csv: is a log with other columns' ./net train $rows --resume c.ck --epochs 4 --log part.csv
run 0 $train --steps 11 $held --validate test:3 --log part.jsonl --checkpoint c.ck --quiet
sed -i '11s/[0-9.]*}$/1000.500}/' part.jsonl
run 0 ./net train $rows --resume c.ck --epochs 4 $held --validate test:3 --log part.jsonl --quiet
run 0 $train --steps 12 --save step12.st --quiet
run 0 ./net test $test --load step12.st --seed 5 --quiet --p p.npy --loss loss.npy
run 0 python3 - <<'P'
import csv, json, struct
read = lambda name: [{k: v for k, v in r.items() if k != "seconds" and v != ""} for r in csv.DictReader(open(name))]
rows, part = read("log.csv"), read("part.csv")
assert open("log.csv").readline() == "epoch,step,loss,lr,test.middle,test.accuracy,test.loss,seconds\n"
for r in rows:
    assert all(len(r[k]) <= len(repr(float(r[k]))) for k in r if k.startswith("test.")), f"more digits than read back: {r}"
assert len(rows) == 20 and [r["step"] for r in rows if "test.loss" in r] == "3 6 9 12 15 18 20".split()
drop = lambda r: {k: v for k, v in r.items() if not k.startswith("test.")} # step 11 was the last one of its run
assert [drop(r) if r["step"] == "11" else r for r in part] == rows
assert all(float(r["seconds"]) >= 1000.5 for r in list(csv.DictReader(open("part.csv")))[10:])
for name in "log.jsonl", "part.jsonl":
    lines = [json.loads(x) for x in open(name)]
    assert name[0] != "p" or all(x["seconds"] >= 1000.5 for x in lines[10:]), "seconds do not go on"
    assert all(x.pop("seconds") >= 0 for x in lines)
    lines = [drop(x) if x["step"] == 11 else x for x in lines]
    assert lines == [{k: float(v) for k, v in r.items()} for r in rows], name
array = open("loss.npy", "rb").read()[-12:]
assert sum(struct.unpack("<3f", array)) / 3 == float(rows[11]["test.loss"]), "the mean of the batches of a run of its own"
P

# ---- the plot: a panel per name, both lines named at their ends, whole XML ----
run 0 python3 - <<'P'
import xml.dom.minidom as x
d = x.parse("plot.svg")
texts = [t.firstChild.data for t in d.getElementsByTagName("text")]
assert [t for t in texts if t in ("loss", "middle", "accuracy")] == ["loss", "middle", "accuracy"], texts
assert sum(t.startswith("train 0.") for t in texts) == 1 and sum(t.startswith("test ") for t in texts) == 3, texts
lines = d.getElementsByTagName("polyline")
assert len(lines) == 4 and sorted(len(l.getAttribute("points").split()) for l in lines) == [7, 7, 7, 20]
ends = [(float(t.getAttribute("y")), t.firstChild.data) for t in d.getElementsByTagName("text") if t.getAttribute("fill")]
assert abs(ends[0][0] - ends[1][0]) >= 14.9, ends
P
run 0 $train --steps 3000 --plot plot.svg --quiet # replaced; in at most 256 points
[ "$(grep -o ',' plot.svg | wc -l)" -lt 300 ] || fail 'the plot has too many points'
says 1 'error: loss is' $train --lr 1e30 --plot broken.svg
holds broken.svg '</svg>'
cp log.csv log.svg
says 2 'error: log.svg: is not a plot of training, and would be replaced by one' $train --plot log.svg
says 2 'error: --plot net.v1/loss.png: the plot is an SVG picture, not .png' $train --plot net.v1/loss.png
holds out.txt 'hint: name it net.v1/loss.svg; browsers show it, and rsvg-convert makes a PNG of it'
run 0 ./net train $rows --resume c.ck --epochs 4 --plot late.svg
grep -q '^note: late.svg: begins at step [0-9]*, since it is no plot of this training yet; --log keeps all steps$' out.txt || fail 'the plot of a resumed run'
run 0 $train --epochs 4 --plot whole.svg --quiet # one that was written later than the checkpoint goes on from there
run 0 $train --steps 11 --checkpoint c.ck:7 --plot half.svg --quiet
cp c.ck older.ck
run 0 $train --steps 7 --checkpoint older.ck --quiet
run 0 ./net train $rows --resume older.ck --epochs 4 --plot half.svg
grep -q 'note: half.svg' out.txt && fail 'a plot that goes on'
same whole.svg half.svg 'the plot of a run that was resumed'
run 0 ./net test $test --load plain.st --p p.npy
holds out.txt 'note: middle, accuracy, loss: the means over 3 batches'
run 0 ./net test --x 'x.npy[40:50]' --y 'y.npy[40:50]' --load plain.st --p p.npy
grep -q 'the mean' out.txt && fail 'the mean of one batch was named'
run 0 ./net train --help
holds out.txt '--lr V'
run 0 ./net test --help
grep -q -- '--lr V' out.txt && fail 'the help lists a hyper that the entry does not read'
holds out.txt '--loss FILE.npy            output f32[], else the mean over batches is printed'
holds out.txt '--p FILE.npy               output f32[10, 3], else printed'
says 2 'error: new.svg: --log and --plot would both write this file' $train --plot new.svg --log new.svg

# ---- a figure that moves by one bit, and one over the whole range of doubles, have axes ----
cat >ends.g <<'G'
hyper lr = 0.02
entry train(x : f32[8, 6]) {
  loss = mean(linear(x, 3) ** 2)
  minimize loss with sgd(lr)
  odd = f64(step % 2)
  return loss, bit = 1 + 2.3e-16 * odd, all = 1.7e308 * (2 * odd - 1), lr = 2 * lr, step = odd, seconds = 2 * odd, top5_err = loss, stop_cost = loss, seen = i32(step) + 2000000011, tenth = f32(0.1)
}
entry wild(x : f32[1, 6]) {
  h = mean(x) + normal(shape = [400, 400])
  l = mean(linear(x, 3) ** 2)
  minimize l with sgd(lr)
  return loss = 1.7e308 * (2 * f64(step > 8) - 1), busy = sum(h @ h @ h, axis = 0)
}
entry slow(x : f32[1, 6]) {
  h = mean(x) + normal(shape = [180, 180])
  w = linear(x, 3)
  return loss = mean(w) + 1e-9 * mean(h @ h @ h), top5_err = mean(w), stop_cost = mean(w), top5_acc = mean(w), negative_likelihood = mean(w)
}
G
run 0 "$gc" ends.g -o ends
run 0 timeout -s KILL 300 ./ends train --x x.npy --epochs 1 --plot plot.svg --log taken.csv --quiet
[ "$(grep -c '<polyline' plot.svg)" = 10 ] && [ "$(grep -c text-anchor=.end plot.svg)" -lt 80 ] || fail 'axes without end'
grep -q 'nan\|inf' plot.svg && fail 'the plot has figures that are none'
exactly "$(head -1 taken.csv)" epoch,step,loss,bit,all,train.lr,train.step,train.seconds,top5_err,stop_cost,seen,tenth,lr,seconds 'columns that outputs, hypers and rows would share'
exactly "$(sed -n 2p taken.csv | cut -d, -f 11-13)" 2000000011,0.1,0.02 'integers have all their digits, floats those that they need'

run 3 $train --plot /dev/full --save full.st # reported, and the training is kept
run 0 $train --save plain1.st
same plain1.st full.st 'weights beside a plot that could not be written'
checks=$((checks + 1)) # on a terminal, in blocks; one epoch long enough to be shown before it ends, on any machine
"$mkdata" npy f32 120,6 1 long.npy
timeout -s KILL 300 python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' \
  ./ends wild --x long.npy --epochs 1 </dev/null >out.txt 2>&1 || { fail 'a terminal'; cat out.txt; }
grep -q '▁.*█' out.txt || { fail 'no course of the loss'; cat out.txt; }

# ---- whole words of a metric's name say whether it falls ----
ends="./ends train --x x.npy[0:8] --validate slow --validate.x x.npy[0:2] --save m.st"
for name in stop_cost negative_likelihood top5_err; do
  says 2 "error: whether a better $name is higher or lower is not known" $ends --save-best $name
done
run 0 $ends --save-best top5_acc

# ---- an early end stays one when it is resumed, and a validation that a signal ended comes again ----
run 0 ./net train $rows --epochs 60 $held --validate test --patience 3 --checkpoint early.ck --seed 5
done=$(grep -c '^epoch' out.txt)
run 0 ./net train $rows --epochs 60 $held --validate test --patience 3 --resume early.ck --seed 5
grep -q '^epoch' out.txt && { fail "training went on after its early end in epoch $done"; cat out.txt; }
holds out.txt 'note: training ended early: 3 validations without a better loss'
slow='--validate slow:1 --validate.x x.npy[0:30] --steps 4'
run 0 ./ends train --x x.npy $slow
grep '^slow' out.txt >whole.txt
run 130 interrupted SIGINT first.st ./ends train --x x.npy $slow --save first.st --save-best --checkpoint owed.ck
grep '^slow' out.txt >parts.txt
run 0 ./ends train --x x.npy $slow --resume owed.ck
grep '^slow' out.txt | sed 's/  best$//' >>parts.txt
sed -i 's/  best$//' parts.txt
same whole.txt parts.txt 'validations around a signal'

# ---- a log of the other form is not continued, and what others wrote is not replaced ----
cp part.csv form.jsonl
says 2 'error: form.jsonl: is a log in another format' ./net train $rows --resume c.ck --epochs 4 $held --validate test:3 --log form.jsonl
same part.csv form.jsonl 'a log of the other form'
printf 'epoch,step,loss\n1,1,0.5\n' >mine.csv
printf 'epoch,step,loss,seconds\n1,1,0.5,12\n' >mine2.csv
printf '{"epoch":1,"loss":0.5}\n' >mine.jsonl
for file in mine.csv mine2.csv mine.jsonl; do
  cp $file kept
  says 2 "error: $file: is a table that --log did not write, and would be replaced" $train --log $file
  same $file kept "$file"
done
for file in log.csv log.jsonl; do run 0 $train --steps 1 --log $file --quiet; done
printf '{"traceEvents": [\n]}\n' >mine.json
says 2 'error: mine.json: is not a profile, and would be replaced by one' $train --profile mine.json

# ---- refused ----
says 2 'error: --validate test needs --validate.x FILE --validate.y FILE' $train --validate test
says 2 'error: --validate test needs --validate.y FILE' $train --validate test --validate.x x.npy
says 2 'error: this program has no entry: tset' $train --validate tset $held
holds out.txt 'hint: did you mean test?'
says 2 'error: --validate test:5x: 5x is no number of steps' $train --validate test:5x $held
says 2 'error: --validate.x: no entry validates' $train $held
says 2 'error: --validate.z: the entry test has no such input' $train --validate test --validate.z x.npy
says 2 'error: an input of the validation is given twice: x' $train --validate test $held --validate.x x.npy
says 2 'error: --validate train: the entry trains' $train --validate train
says 2 'error: --validate count: the entry assigns seen, which would change the training' $train --validate count
says 2 'error: --validate predict: the entry returns no float scalar' $train --validate predict --validate.x x.npy
says 2 'error: --save-best: nothing is validated' $train --save-best --save w.st
says 2 'error: --patience: nothing is validated' $train --patience 3
says 2 'error: --save-best: no file is named for the weights' $train --save-best --validate test $held
says 2 'error: --save-best p: test returns no float scalar of this name' $train --save-best p --save w.st --validate test $held
holds out.txt 'hint: it returns middle, accuracy, loss'
says 2 'error: whether a better middle is higher or lower is not known' $train --save-best middle --save w.st --validate test $held
holds out.txt 'hint: write --save-best +middle if it rises, --save-best -middle if it falls'
says 2 'error: --validate is for entries that train; test does not' ./net test $test --validate test $held
says 2 'error: x.npy: --save would overwrite what --x reads' $train --validate test $held --save x.npy
says 1 'error: y.npy: holds f32[72, 3], but the input x is f32[10, 6]' $train --validate test --validate.x y.npy --validate.y y.npy
absent w.st
finish
