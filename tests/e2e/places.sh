#!/bin/sh
# Every op that takes an index or a label as data stops at one that has no place, first or last, and says the row.
. "$(dirname "$0")/common.sh"
cat >p.g <<'END'
entry xent_of(x : f32[3, 4], i : i32[3]) { return y = xent(x, i) }
entry gather_of(x : f32[3, 4], i : i32[3]) { return y = gather(x, i) }
entry take_along_of(x : f32[3, 4], i : i32[3, 4]) { return y = take_along(x, i) }
entry scatter_add_of(x : f32[3, 4], i : i32[3]) { return y = scatter_add(x, i, x) }
entry row_of(x : f32[3, 4], i : i32[]) { return y = x[i] }
entry dynamic_slice_of(x : f32[3, 4], i : i32[]) { return y = dynamic_slice(x, i, 2) }
entry dynamic_update_of(x : f32[3, 4], i : i32[]) { return y = dynamic_update(x, x[0:2], i) }
entry computed_xent(x : f32[3, 4], i : i32[3]) { return y = xent(x, i * 2) }
entry computed_gather(x : f32[3, 4], i : i32[3]) { return y = gather(x, i * 2) }
entry computed_take(x : f32[3, 4], i : i32[3, 4]) { return y = take_along(x, i * 2) }
entry computed_scatter(x : f32[3, 4], i : i32[3]) { return y = scatter_add(x, i * 2, x) }
END
run 0 "$gc" p.g -O2 -o p
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
ids low.npy 3, 0 -1 0
ids wide.npy '3, 4' 0 1 1 1 1 1 0 0 0 0 0 0
ids wide_high.npy '3, 4' 0 1 1 1 0 0 4 0 0 0 0 0
ids wide_low.npy '3, 4' 0 1 1 1 0 0 -1 0 0 0 0 0
for name in xent_of gather_of scatter_add_of computed_xent computed_gather computed_scatter; do
  run 0 ./p $name --x x.npy --i good.npy --quiet
  says 1 'row 1 holds' ./p $name --x x.npy --i high.npy
  says 1 'row 1 holds -' ./p $name --x x.npy --i low.npy
done
for name in take_along_of computed_take; do
  run 0 ./p $name --x x.npy --i wide.npy --quiet
  says 1 ' holds ' ./p $name --x x.npy --i wide_high.npy
  says 1 ' holds -' ./p $name --x x.npy --i wide_low.npy
done
for name in row_of dynamic_slice_of dynamic_update_of; do
  run 0 ./p $name --x x.npy --i 1 --quiet
  says 1 'holds 3' ./p $name --x x.npy --i 3
  says 1 'holds -1' ./p $name --x x.npy --i -1
done
says 1 'holds 3' ./p dynamic_slice_of --x x.npy --i 2
says 1 'holds 2' ./p dynamic_update_of --x x.npy --i 2
finish
