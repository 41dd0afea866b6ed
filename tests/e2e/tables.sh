#!/bin/sh
# Rows of a table under a dense layer, which gc takes from the table's product instead: against rows that a product
# with ones and zeros picks, which it leaves alone. Values, gradients by table and weight, ids that repeat, the
# transposed weight, bf16, and the body of a scan; an id without a row stops the program.
. "$(dirname "$0")/common.sh"
unoptimised
cat >t.g <<'END'
def differ(a, b) { return max(abs(f32(a) - f32(b))) }
def picked(t, id) { return reshape(reshape(f32(one_hot(id, 7)), [36, 7]) @ t, [4, 9, 3]) }
entry run(id : i32[4, 9], t : f32[7, 3], w : f32[3, 2], v : f32[2, 3]) {
  a = gather(t, id) @ w + gather(t, id + 1) @ v'
  b = picked(t, id) @ w + picked(t, id + 1) @ v'
  at, aw, av = grad(sum(tanh(a) ** 2), [t, w, v])
  bt, bw, bv = grad(sum(tanh(b) ** 2), [t, w, v])
  looped = scan i in 0..4 { yield gather(t, id[i]) @ w }
  short = gather(bf16(t), id + 2) @ bf16(w)
  return values = differ(a, b), dt = differ(at, bt), dw = differ(aw, bw), dv = differ(av, bv),
         inside = differ(looped, picked(t, id) @ w), half = differ(short, picked(t, id + 2) @ w),
         size = min(max(abs(bt)), min(max(abs(bw)), max(abs(bv))))
}
entry outside(id : i32[4, 9], t : f32[7, 3], w : f32[3, 2]) {
  x = gather(t, id + 5)
  return y = x @ w
}
END
"$mkdata" npy i32 4,9 1 id.npy && "$mkdata" npy f32 7,3 2 t.npy && "$mkdata" npy f32 3,2 3 w.npy &&
  "$mkdata" npy f32 2,3 4 v.npy || fail 'no data could be made'
run 0 "$gc" t.g --emit=ir --passes=gather-matmul,dce --reassociate -o t.ir
[ "$(grep -c 'matmul %t, ' t.ir)" = 4 ] || fail "the table is multiplied $(grep -c 'matmul %t, ' t.ir) times, not 4"
for level in 0 2; do
  run 0 "$gc" t.g "-O$level" --reassociate -o t
  run 0 ./t run --id id.npy --t t.npy --w w.npy --v v.npy --quiet
  for name in values inside; do
    at_most "$(sed -n "s/^$name = //p" out.txt)" 0 "-O$level: the difference of $name"
  done
  for name in dt dw dv; do
    at_most "$(sed -n "s/^$name = //p" out.txt)" 1e-5 "-O$level: the difference of $name"
  done
  at_most "$(sed -n 's/^half = //p' out.txt)" 0.03 "-O$level: the difference of half"
  at_least "$(sed -n 's/^size = //p' out.txt)" 0.01 'gradients that are not all zero'
  says 1 'leads to 7 as an index at t.g:15:7, which is not in 0 to 6' ./t outside --id id.npy --t t.npy --w w.npy --quiet
done
finish
