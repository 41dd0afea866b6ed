#!/bin/sh
# Proves that a change of the compiler's own sources changes nothing that it makes: IR, plan, C and CUDA of
# every example, at two levels, from two compilers, byte for byte.
#   tests/identical.sh GC_BEFORE GC_AFTER [FILE.g ...]
# Prints one line a difference; exit 1 if there was any, 2 if it was called wrongly.
set -eu
[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
before=$1 after=$2
shift 2
[ $# -gt 0 ] || set -- "$(dirname "$0")"/../docs/examples/*.g
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
made() { # compiler, file, output: everything that one compiler makes of one program; messages count too
  for level in -O0 -O2; do
    "$1" "$2" $level -march=x86-64-v3 --emit=ir -o - || echo "exit $?"
    "$1" "$2" $level -march=x86-64-v3 --dump-plan=json || echo "exit $?"
    "$1" "$2" $level -march=x86-64-v3 --emit=c -o - || echo "exit $?"
    "$1" "$2" $level --target=cuda --emit=cuda -o - || echo "exit $?"
  done >"$3" 2>&1
}
different=0
for file; do
  made "$before" "$file" "$scratch/before"
  made "$after" "$file" "$scratch/after"
  if ! cmp -s "$scratch/before" "$scratch/after"; then
    echo "differs: $file (first at line $(cmp "$scratch/before" "$scratch/after" | sed 's/.*line //'))"
    different=1
  fi
done
[ $different = 0 ] && echo "identical: $# programs"
exit $different
