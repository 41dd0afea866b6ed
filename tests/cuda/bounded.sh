# What scripts share that compare a program of bounded axes with the one that is compiled for the sizes, on the PTX
# interpreter. A script sets `driver`, the folder of its libcuda.so.1, `arch`, `most`, and maybe `options` of gc, and reads common.sh before.

# runs PROGRAM NAME OPTIONS…: its entry on the device; NAME.work has the launches
runs() {
  program=$1 name=$2
  shift 2
  rm -f "$name".*
  FAKECUDA_WORK=$name.work LD_LIBRARY_PATH="$driver" ./"$program" "$@" --device cuda --quiet >out 2>&1 || fail "$program $*"
}
total() { awk '{ n += $2 } END { printf "%d", n }' "$1.work"; }
# sizes ENTRY "h=8 n=2 v=4" "OUTPUTS" OPTIONS…: the bits, and at most `most` percent of the warp instructions, of ENTRY.g, which is
# compiled, and of the same compiled for the sizes; without `most` the bits alone
sizes() {
  entry=$1 lets=$2 outputs=$3
  shift 3
  text=$(cat "$entry.g")
  for l in $lets; do text=$(echo "$text" | sed "s/\b${l%=*} <= [0-9]*/${l%=*}/g"); done
  { for l in $lets; do echo "let $l"; done && echo "$text"; } >"$entry-exact.g"
  compile "$entry-exact.g" --target=cuda --arch=$arch ${options-} -o "$entry-exact"
  runs "$entry" bounded "$entry" "$@" $(printf ' --%s bounded.%s.npy' $(for o in $outputs; do echo $o $o; done)) --poison
  runs "$entry-exact" exact "$entry" "$@" $(printf ' --%s exact.%s.npy' $(for o in $outputs; do echo $o $o; done))
  for o in $outputs; do same bounded.$o.npy exact.$o.npy; done
  [ -n "$most" ] || return 0
  checks=$((checks + 1))
  bounded=$(total bounded) exact=$(total exact)
  [ "$bounded" -gt 0 ] && [ $((bounded * 100)) -le $((exact * most)) ] ||
    fail "$entry at $lets takes $bounded warp instructions, and $exact where it is compiled for that"
}
