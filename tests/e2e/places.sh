#!/bin/sh
# places.sh GC DATA SCRATCH MKDATA [DRIVER-DIRECTORY]: every op that takes an index or a label as data stops at one that has
# no place, first or last, and says the row. With a driver the programs have kernels for GPUs alone, and it runs them.
. "$(dirname "$0")/common.sh"
target=--target=cpu device=cpu
if [ -n "${5-}" ]; then
  export LD_LIBRARY_PATH="$5"
  unset CUDA_VISIBLE_DEVICES
  target='--target=cuda --arch=compute_80' device=cuda
  unoptimised
  if ! has_nvrtc mid; then
    not_tested 'indices without a place on the PTX interpreter: there is no NVRTC'
    [ -z "${GC_NO_SKIP-}" ] && exit 77 # an error where everything must be tested
    exit 1
  fi
fi
build() { # build NAME OPTION...: NAME, which runs the program of NAME.g on the device
  file=$1
  shift
  # shellcheck disable=SC2086
  run 0 "$gc" "$file.g" -O2 $target "$@" -o "$file.program"
  printf '#!/bin/sh\nexec ./%s.program "$@" --device %s\n' "$file" $device >"$file"
  chmod +x "$file"
}
cat >p.g <<'END'
entry xent_of(x : f32[3, 4], i : i32[3]) { return y = xent(x, i) }
entry gather_of(x : f32[3, 4], i : i32[3]) { return y = gather(x, i) }
entry take_along_of(x : f32[3, 4], i : i32[3, 4]) { return y = take_along(x, i) }
entry scatter_add_of(x : f32[3, 4], i : i32[3]) { return y = scatter_add(x, i, x) }
entry row_of(x : f32[3, 4], i : i32[]) { return y = x[i] }
entry dynamic_slice_of(x : f32[3, 4], i : i32[]) { return y = dynamic_slice(x, i, 2) }
entry dynamic_update_of(x : f32[3, 4], i : i32[]) { return y = dynamic_update(x, x[0:2], i) }
entry update_of_run(x : f32[n <= 5, 4], i : i32[]) { return y = dynamic_update(x, x[1:], i) }
entry computed_xent(x : f32[3, 4], i : i32[3]) { return y = xent(x, i * 2) }
entry computed_gather(x : f32[3, 4], i : i32[3]) { return y = gather(x, i * 2) }
entry computed_take(x : f32[3, 4], i : i32[3, 4]) { return y = take_along(x, i * 2) }
entry computed_scatter_add(x : f32[3, 4], i : i32[3]) { return y = scatter_add(x, i * 2, x) }
END
build p
"$mkdata" npy f32 3,4 1 x.npy || fail 'no data could be made'
ids() { # ids FILE SHAPE NUMBER...: i32; a number is below 128 or -1
  file=$1 header="{'descr': '<i4', 'fortran_order': False, 'shape': ($2), }"
  shift 2
  { printf '\223NUMPY\001\000v\000%-117s\n' "$header"
    for i in "$@"; do
      if [ "$i" = -1 ]; then printf '\377\377\377\377'; else printf "\\$(printf %03o "$i")\000\000\000"; fi
    done; } >"$file"
}
ids good.npy 3, 0 1 1
ids high.npy 3, 0 4 0
ids edge.npy 3, 0 3 0
ids low.npy 3, 0 -1 0
ids wide.npy '3, 4' 0 1 1 1 1 1 0 0 0 0 0 0
ids wide_high.npy '3, 4' 0 1 1 1 0 0 4 0 0 0 0 0
ids wide_low.npy '3, 4' 0 1 1 1 0 0 -1 0 0 0 0 0
for name in xent_of gather_of scatter_add_of; do
  run 0 ./p $name --x x.npy --i good.npy --quiet
  says 1 'high.npy: input row 1 holds 4, which is not below ' ./p $name --x x.npy --i high.npy
  says 1 'low.npy: input row 1 holds -1' ./p $name --x x.npy --i low.npy
  run 0 ./p computed_${name%_of} --x x.npy --i good.npy --quiet
  says 1 'high.npy: input row 1 leads to 8 as ' ./p computed_${name%_of} --x x.npy --i high.npy
  says 1 'low.npy: input row 1 leads to -2 as ' ./p computed_${name%_of} --x x.npy --i low.npy
done
for name in gather_of scatter_add_of; do # the first one behind 3 rows, as 4 is behind 4 labels
  says 1 'edge.npy: input row 1 holds 3, which is not below 3' ./p $name --x x.npy --i edge.npy
done
ids two.npy 3, 0 2 0
says 1 'two.npy: input row 1 leads to 4 as a label' ./p computed_xent --x x.npy --i two.npy
run 0 ./p take_along_of --x x.npy --i wide.npy --quiet
says 1 'wide_high.npy: input row 1 holds 4' ./p take_along_of --x x.npy --i wide_high.npy
says 1 'wide_low.npy: input row 1 holds -1' ./p take_along_of --x x.npy --i wide_low.npy
run 0 ./p computed_take --x x.npy --i wide.npy --quiet
says 1 'wide_high.npy: input row 1 leads to 8 as ' ./p computed_take --x x.npy --i wide_high.npy
says 1 'wide_low.npy: input row 1 leads to -2 as ' ./p computed_take --x x.npy --i wide_low.npy
for name in row_of dynamic_slice_of dynamic_update_of; do
  case $name in dynamic_slice_of) how='leads to' ;; *) how=holds ;; esac
  run 0 ./p $name --x x.npy --i 1 --quiet
  says 1 "$how 3" ./p $name --x x.npy --i 3
  says 1 "$how -1" ./p $name --x x.npy --i -1
done
says 1 'leads to 3' ./p dynamic_slice_of --x x.npy --i 2
says 1 'holds 2' ./p dynamic_update_of --x x.npy --i 2
run 0 ./p update_of_run --x x.npy --i 1 --quiet
says 1 'holds 2' ./p update_of_run --x x.npy --i 2

# an index that is part of an input, or made of it: the row of the file that it comes from, in any batch, shuffled
# or not; one that is made of several things: none of their files, whatever their names are
cat >q.g <<'END'
entry labels(x : f32[4, 6], label : i32[4, 3]) { return y = xent(broadcast(reshape(x, [4, 1, 6]), [4, 2, 6]), label[:, 1:]) }
entry column(x : f32[4, 6], t : i32[4, 3]) { return y = gather(x[0], t[:, 1]) }
entry turned(x : f32[4, 6], t : i32[4, 3]) { return y = gather(x[0], min(t', 100)) }
entry in_loop(x : f32[4, 6], t : i32[4, 3]) {
  s = zeros([4, 1])
  scan k in 0..3 { s = s + take_along(x, reshape(min(t[:, k], 100), [4, 1])) }
  return s
}
entry by_row(x : f32[4, 6], t : i32[4, 3]) {
  s = zeros([])
  scan k in 0..4 { s = s + x[0, min(t[k, 1], 100)] }
  return s
}
entry train(x : f32[4, 6], t : i32[4, 3]) {
  loss = mean(xent(reshape(linear(x, 18), [4, 3, 6]), t + 1))
  minimize loss with sgd(0.1)
  return loss
}
entry two(x : f32[4, 6], index : u8[4], t : i32[4]) { return y = gather(x, t + i32(index)) }
entry other(x : f32[4, 6], index : u8[4], t : i32[4]) { return y = gather(x, t + 1), z = f32(index) }
entry cache(start : f32[2, 3]) {
  state n : i32[] = zeros()
  state buffer : f32[8, 3] = zeros()
  buffer := dynamic_update(buffer, start, n - 1)
  return y = sum(buffer)
}
entry folded(x : f32[4, 6], t : i32[4, 3]) {
  s = zeros([4, 6])
  scan k in 0..3 { s = s + gather(x, abs(t[:, k])) }
  return s
}
END
build q
"$mkdata" npy f32 20,6 1 x.npy && "$mkdata" npy f32 2,3 1 start.npy || fail 'no data could be made'
zeros() { for i in $(seq "$1"); do printf '0 '; done; }
ids t.npy '20, 3' $(zeros 52) 9 $(zeros 7) # row 17
for name in column turned in_loop by_row; do
  case $name in column) how='holds 9, which is not below 6' ;; *) how='leads to 9 as an index at q.g:' ;; esac
  case $name in by_row) row=input ;; *) row='input row 17' ;; esac # another in each iteration
  says 1 "t.npy: $row $how" ./q $name --x x.npy --t t.npy
done
says 1 't.npy: input row 17 holds 9, which is not below 6' ./q labels --x x.npy --label t.npy
for order in --shuffle --no-shuffle; do
  says 1 't.npy: input row 17 leads to 10 as a label at q.g:15:15, which is not in 0 to 5' \
    ./q train --x x.npy --t t.npy $order --save never.safetensors
  absent never.safetensors*
done
"$mkdata" npy u8 20 1 small.npy && ids one.npy 20, $(zeros 18) 5 0 || fail 'no data could be made'
head -c 128 small.npy >zero.npy && head -c 20 /dev/zero >>zero.npy
says 1 'q.g:19:66: an index is 5 (element 2), which is not in 0 to 3' ./q two --x x.npy --index zero.npy --t one.npy
grep -q 'npy\|input row' out.txt && fail 'a file is named that may be right'
says 1 'one.npy: input row 18 leads to 6 as an index' ./q other --x x.npy --index zero.npy --t one.npy
ids minus.npy '20, 3' $(zeros 60 | sed 's/0/-1/g') # computed in every iteration: never the input's own number
run 0 ./q folded --x x.npy --t minus.npy --quiet

# so it is in a loop that runs in blocks for a memory limit, where rows are taken by a table of the iterations' numbers
cat >r.g <<'END'
entry learn(t : i32[16, 12], y : f32[16, 32]) {
  param w : f32[32, 32] = glorot()
  param rows : f32[6, 32] = normal()
  h = zeros([16, 32])
  scan k in 0..12 { h = tanh(h @ w + gather(rows, min(t[:, k], 100))) * sigmoid(h) }
  loss = mse(h, y)
  minimize loss with sgd(0.1)
  return loss
}
END
build r --memory-limit=60% --remarks=remat
grep -q 'of 12 iterations of scan are recomputed before their backward pass, [0-9]* at a time' out.txt || {
  fail 'no loop runs in blocks'
  cat out.txt
}
"$mkdata" npy f32 32,32 1 y.npy || fail 'no data could be made'
ids t32.npy '32, 12' $(zeros 209) 9 $(zeros 174) # row 17
says 1 't32.npy: input row 17 leads to 9 as an index at r.g:5:' ./r learn --t t32.npy --y y.npy --no-shuffle
says 1 'q.g:24:13: a start is -1 (element 0), which is not in 0 to 6' ./q cache --start start.npy
finish
