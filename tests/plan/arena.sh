# Optimization costs no memory: no entry of any of these programs needs a larger arena at -O2 than at -O0.
#   arena.sh GC FILE.g ...
# One line an entry: file, arena and steps at -O0, and at -O2.
set -eu
gc=$1
shift
. "$(dirname "$0")/../dumped.sh"
written() { "$1" "$2" -O0 -march=x86-64-v3 --dump-plan=json; }
entries() { # written or dumped, file: arena_bytes and steps of each entry
  "$1" "$gc" "$2" | grep -oE '"(steps|arena_bytes)": *[0-9]+' |
    awk '/steps/ { steps = $NF } /arena_bytes/ { print $NF, steps }'
}
status=0
for file; do
  written=$(entries written "$file")
  optimized=$(entries dumped "$file")
  n=$(echo "$written" | wc -l)
  [ "$n" = "$(echo "$optimized" | wc -l)" ] || { echo "FAILED: $file: other entries"; status=1; continue; }
  for k in $(seq "$n"); do
    # shellcheck disable=SC2046 # two numbers each
    set -- $(echo "$written" | sed -n "${k}p") $(echo "$optimized" | sed -n "${k}p")
    printf '%-16s %12d %6d %12d %6d\n' "${file##*/}" "$@"
    [ "$3" -le "$1" ] || { echo "FAILED: $file: entry $k takes $3 bytes at -O2, $1 at -O0"; status=1; }
  done
done
exit $status
