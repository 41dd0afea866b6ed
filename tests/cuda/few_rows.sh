#!/bin/sh
# few_rows.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: products of at most 16 rows on tensor cores, whose operand B goes from
# memory to registers, in the PTX interpreter: the bits of a program of more rows at most, where both operands go through
# shared memory and parts of the depth through scratch. And in f32, of a bounded depth or bounded rows: the bits of the
# program that is compiled for the sizes. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3 most= arch=compute_80
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bounded.sh"
unoptimised 6 2 # fixed seeds have it at other times
scratch "$4"
need_nvrtc 'products of few rows on tensor cores on the PTX interpreter' mid
# more parts than a block has warps; a depth that ends within a step, of rows that are loaded by 4 and by 8 bytes
cat >plain.g <<'END'
entry plain(x : f32[n <= BOUND, 2600], w : f32[2600, 28], y : f32[n, 1315], v : f32[1315, 50], u : f32[n, 600], r : f32[600, 2116],
            s : f32[64, n, 100], k : f32[64, 100, 256], l : f32[64, 100, 132]) {
  a = f32(bf16(x) @ bf16(w)) + 1
  b = f32(relu(f16(y) @ f16(v)))
  c = f32(bf16(u) @ bf16(r))
  d = f32(bf16(s) @ bf16(k))
  e = f32(f16(s) @ f16(l))
  return a, b, c, d, e
}
END
# stored across the depth, in rows of odd lengths too; batches
cat >across.g <<'END'
entry across(x : f32[3, 170, n <= BOUND], w : f32[3, 170, 40], y : f32[1200, n], v : f32[1200, 33, 24]) {
  a = f32(transpose(bf16(x), [0, 2, 1]) @ bf16(w))
  b = f32(transpose(bf16(y)) @ bf16(reshape(v, [1200, 792])))
  return a, b
}
END
# two in one launch, of each layer
cat >layers.g <<'END'
def layer(y) {
  param k : bf16[128, 64] = normal(0.1)
  param v : bf16[128, 64] = normal(0.1)
  return y / 2 + f32(concat([bf16(y) @ k, relu(bf16(y) @ v)], axis = 1)) / 16
}
entry layers(x : f32[n <= BOUND, 128]) {
  y = x
  for i in 0..4 { y = layer(y) as l[i] }
  return y
}
END
"$mkdata" npy f32 2600,28 2 w.npy && "$mkdata" npy f32 1315,50 3 v.npy && "$mkdata" npy f32 600,2116 4 r.npy &&
  "$mkdata" npy f32 64,100,256 11 k.npy && "$mkdata" npy f32 64,100,132 12 l.npy && "$mkdata" npy f32 3,170,40 5 wa.npy && "$mkdata" npy f32 1200,33,24 6 va.npy || fail 'no data could be made'
# rows BOUND ROWS…: at these of as many as the bound
rows() {
  for p in plain across layers; do
    cp $p.g $p.any && sed -i "s/BOUND/$1/" $p.g && compile $p.g --target=cuda --arch=$arch -o $p
  done
  "$gc" plain.g --target=cuda --arch=$arch --print-schedules >bound 2>&1
  shift
  for n; do
    "$mkdata" npy f32 "$n,2600" 1 x.npy && "$mkdata" npy f32 "$n,1315" 7 y.npy && "$mkdata" npy f32 "$n,600" 8 u.npy && "$mkdata" npy f32 "64,$n,100" 13 s.npy &&
      "$mkdata" npy f32 "3,170,$n" 9 xa.npy && "$mkdata" npy f32 "1200,$n" 10 ya.npy || fail 'no data could be made'
    sizes plain "n=$n" 'a b c d e' --x x.npy --w w.npy --y y.npy --v v.npy --u u.npy --r r.npy --s s.npy --k k.npy --l l.npy
    "$mkdata" npy f32 "$n,128" 16 xl.npy || fail 'no data could be made'
    sizes layers "n=$n" y --x xl.npy
    sizes across "n=$n" 'a b' --x xa.npy --w wa.npy --y ya.npy --v va.npy
  done
  "$gc" layers-exact.g --target=cuda --stats=time >times 2>&1
  grep -q ' 4 .* matmul[^;]*; .*matmul' times || fail 'two products are not one launch'
  "$gc" plain-exact.g --target=cuda --arch=$arch --print-schedules >forms 2>&1
  for p in plain across layers; do mv $p.any $p.g; done
}
# more rows, in three parts of the depth as in tiles of twice the columns
cat >three.g <<'END'
entry three(x : f32[b <= 40, n <= 70, 1600], w : f32[b, 1600, 72]) { return y = f32(bf16(x) @ bf16(w)) }
END
compile three.g --target=cuda --arch=$arch -o three
three() { # B N
  "$mkdata" npy f32 "$1,$2,1600" 1 xt.npy && "$mkdata" npy f32 "$1,1600,72" 2 wt.npy || fail 'no data could be made'
  sizes three "b=$1 n=$2" y --x xt.npy --w wt.npy
  "$gc" three-exact.g --target=cuda --arch=$arch --print-schedules >out 2>&1
  grep -q "^cuda .*product .* parts=$3 " out || fail "a product of $1 times $2 rows has not $3 parts"
}
# few rows of so many columns have one part, as the bounded program has
for rows in 'b <= 64' 8; do
  echo "entry wide(x : f32[$rows, 4096], w : f32[4096, 20000]) { return y = f32(bf16(x) @ bf16(w)) }" >wide.g
  "$gc" wide.g --target=cuda --arch=$arch --print-schedules >out 2>&1
  grep -q '^cuda .*product .* parts=1 .* most=0 ' out || fail "few rows of many columns, $rows"
done
# steps that are equal at the bound, and the last of which may be a part; a depth of several chains
cat >floats.g <<'END'
entry floats(x : f32[1, n <= 784], w : f32[n, 40], y : f32[4, d <= 1300], v : f32[d, 9], u : f32[r <= 7, 230], t : f32[230, 40]) {
  return a = relu(x @ w) + 1, b = y @ v, c = u @ t
}
END
compile floats.g --target=cuda --arch=$arch -o floats
floats() { # N D R
  "$mkdata" npy f32 "1,$1" 1 xf.npy && "$mkdata" npy f32 "$1,40" 2 wf.npy && "$mkdata" npy f32 "4,$2" 3 yf.npy &&
    "$mkdata" npy f32 "$2,9" 4 vf.npy && "$mkdata" npy f32 "$3,230" 5 uf.npy && "$mkdata" npy f32 230,40 6 tf.npy || fail 'no data could be made'
  sizes floats "n=$1 d=$2 r=$3" 'a b c' --x xf.npy --w wf.npy --y yf.npy --v vf.npy --u uf.npy --t tf.npy
}
if is_drawn few_rows 2; then
  floats 784 1300 7
  floats 113 1 2
  rows 40 1 11 16
  three 33 30 3
  three 40 17 3
else
  floats 671 1029 1
  rows 40 2 9
  three 33 70 3
  three 20 17 3
  rows 13 5 # the run decides how many parts the warps do
  grep -q '^cuda .*product .*thin=yes' bound || fail 'no kernel of bounded rows is thin'
fi
for form in 'n=28 .* bn=16 .* thin=yes parts=9 ' 'n=50 .* copy_b=4 .* thin=yes' 'n=2116 .* thin=yes parts=1 ' 'n=256 .* bn=64 .* copy_b=16 .* thin=yes' 'n=132 .* bn=32 .* copy_b=8 .* thin=yes'; do
  grep -q "^cuda .*product .*$form" forms || fail "no kernel is '$form'"
done
finish
