#!/bin/sh
# elsewhere.sh GC SOURCE: each name of lang/syntax/elsewhere.def is unknown and brings its hint, be it of a function, an argument
# or a keyword, and each expression that a hint recommends compiles.
set -u
gc=$1
table=$2/lang/syntax/elsewhere.def
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
rows=0 failed=0
{
  cat <<'END'
let n = 4
let c = 4
let h = 8
let w = 8
entry all(x : f32[n, 6], y : f32[n, 6], u : f32[n], images : f32[n, c, h, w], ids : i32[n], places : i32[n, 6],
          rows : f32[n, 6], scores : f32[n, n], logits : f32[n, 10], labels : i32[n], target : f32[n, 10], q : f32[2, n, 6],
          k : f32[2, 5, 6],
          v : f32[2, 5, 6]) {
END
  sed -n 's/^ELSEWHERE("\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" | sed 's/\\"/"/g' |
    awk '{name = $1; sub(/^[^ ]* /, ""); print "  of_" name " = " $0}
      END {print "  return z = x"; print "}"}'
} >"$work/all.g"
"$gc" "$work/all.g" --emit=ir >/dev/null 2>"$work/error" || { cat "$work/error" && failed=1; }
sed -n 's/^\(ELSEWHERE\|SAY\)("\([^"]*\)", *"\(.*\)")$/\2 \3/p' "$table" | sed 's/\\"/"/g' >"$work/rows"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4]) { return y = $name(x) }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  grep -qxF "hint: write $hint" "$work/error" || { echo "no such hint for $name: $hint" && cat "$work/error" && failed=1; }
done <"$work/rows"
sed -n 's/^ARGUMENT("\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/arguments"
while read -r name here; do
  rows=$((rows + 1))
  printf 'def g(x, %s) { return x }\nentry f(x : f32[4]) { return y = g(x, %s = 1) }\n' "$here" "$name" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  grep -qxF "hint: did you mean '$here'?" "$work/error" || { echo "no such hint for the argument $name: $here" && cat "$work/error" && failed=1; }
done <"$work/arguments"
sed -n 's/^KEYWORD("\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" | sed 's/\\"/"/g' >"$work/keywords"
while read -r word hint; do
  rows=$((rows + 1))
  printf 'entry f(x : f32[4]) {\n  %s x\n  return y = x\n}\n' "$word" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$word is known" && failed=1
  grep -qxF "hint: $hint" "$work/error" || { echo "no such hint for the keyword $word: $hint" && cat "$work/error" && failed=1; }
done <"$work/keywords"
[ "$rows" = "$(grep -c '^[A-Z]*("' "$table")" ] && [ "$rows" -gt 50 ] || { echo "$rows rows were read" && failed=1; }
echo "$rows names"
exit $failed
