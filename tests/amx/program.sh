#!/bin/sh
# Programs with products in tile registers, as a user compiles and runs them: any number of threads, bounded rows and
# levels.
#   program.sh GC DATA SCRATCH MKDATA EMULATOR
what=products
. "$(dirname "$0")/common.sh"

# ---- a network, of any number of rows and of one ----
cat >net.g <<'END'
hyper lr = 0.01
def net(x : f32[n, 45]) { return linear(relu(linear(x, 75) as a), 300) as b }
entry run(x : f32[n <= 70, 45]) { return y = net(x) }
entry all(x : f32[70, 45]) { return y = net(x) }
entry one(x : f32[1, 45]) { return y = net(x) }
entry deep(x : f32[35, 1090]) { return y = linear(x, 20) as c }
entry head(x : f32[40, 45], y : f32[40, 300]) {
  z = linear(stop_gradient(net(x)), 300) as top
  loss = mean((z - y) ** 2)
  minimize loss with adamw(lr)
  return loss
}
entry train(x : f32[n <= 40, 45], y : f32[n, 300]) {
  loss = mean((net(x) - y) ** 2)
  minimize loss with adamw(lr)
  return loss
}
END
"$mkdata" npy f32 70,45 3 x.npy && "$mkdata" npy f32 70,300 4 y.npy && "$mkdata" npy f32 35,1090 5 deep.npy &&
  "$mkdata" npy f32 1,45 3 x1.npy || fail 'no data could be made'
CC=$amx run 0 "$gc" net.g -O2 --precision=bf16 -march=x86-64-v4 --print-schedules
holds out.txt ' amx=yes l1='
holds out.txt ' partial=yes pack=yes '
grep -q ' m=1 n=300 k=75 .* streams=4 ' out.txt || fail 'one row packs its weight'
compile_net
first_run all --x x.npy
steps='train --x x.npy --y y.npy --epochs 2 --no-shuffle'
run 0 ./tiles $steps --threads 1 --save first.st
grep -q 'keep the initial value' out.txt && fail 'copies of trained params count as such that are not trained'
for threads in 2 5; do
  run 0 ./tiles $steps --threads $threads --poison --save again.st
  same first.st again.st "weights of $threads threads"
done
run 0 ./plain $steps --threads 2 --save again.st
same first.st again.st 'weights of -O0'
run 0 ./single $steps --save single.st
of_run() { # PROGRAM WEIGHTS OUTPUT
  run 0 "./$1" all --x x.npy --load "$2" --y "$3"
}
of_run tiles first.st y.tiles.npy
run 0 ./tiles run --x x.npy --load first.st --y again.npy --threads 3
same y.tiles.npy again.npy 'a bounded batch and an exact one'
of_run single first.st y.single.npy
run 0 ./tiles all --x x.npy --load first.st --expect y=y.single.npy --rtol 3e-2 --atol 3e-2
run 1 ./tiles all --x x.npy --load first.st --expect y=y.single.npy --rtol 1e-7 --atol 1e-7
run 0 ./single deep --x deep.npy --y deep.single.npy
run 0 ./tiles deep --x deep.npy --expect y=deep.single.npy --rtol 3e-2 --atol 3e-2

run 0 ./tiles head --x x.npy --y y.npy
holds out.txt ' other params keep the initial values: head reads but does not train them'

# ---- a row has the bits that it has among others ----
cat >rows.py <<'END'
def parts(name):
    file = open(name, "rb").read()
    n = 10 + int.from_bytes(file[8:10], "little")
    return file[:n], file[n:]
END
python3 - <<'END' || fail 'no row could be copied'
from rows import parts
row = parts("x1.npy")[0] + parts("x.npy")[1][: 45 * 4]
open("x1.npy", "wb").write(row)
END
run 0 ./tiles one --x x1.npy --load first.st --y one.npy
run 0 ./tiles run --x x1.npy --load first.st --y again.npy --threads 2
same one.npy again.npy 'one row of a bounded batch'
python3 - <<'END' || fail 'a row alone has other bits'
from rows import parts
one, all = parts("one.npy")[1], parts("y.tiles.npy")[1]
assert len(one) == 300 * 4 and one == all[: len(one)]
END

# ---- where the system refuses, or the processor has none ----
export AMX_TEST=refused
says 3 'the system does not let this program use AMX' ./tiles all --x x.npy
holds out.txt 'compile it with gc -march=x86-64-v4'
export AMX_TEST=absent
says 3 "this machine's processor lacks amx-tile" ./tiles all --x x.npy
unset AMX_TEST
CC=$amx run 0 "$gc" net.g -O2 -march=x86-64-v4 -o floats
run 0 ./floats --version
grep -q amx out.txt && fail 'a program without such products asks for them'
CC=$amx run 0 "$gc" net.g -O2 --precision=bf16 -march=x86-64-v3,x86-64-v4 -o levels
run 0 ./levels all --x x.npy --load first.st --y again.npy
same y.tiles.npy again.npy 'a level and the program that is compiled for it alone'
export AMX_TEST=refused
run 0 ./levels info
[ "$(sed -n 's/^  \([^ ]*\) *runs here$/\1/p' out.txt)" = x86-64-v3 ] || fail "not x86-64-v3 runs: $(cat out.txt)"
run 0 ./levels all --x x.npy --load first.st --expect y=y.single.npy --rtol 3e-2 --atol 3e-2
finish
