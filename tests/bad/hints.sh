#!/bin/sh
# hints.sh GC SOURCE: each name of lang/syntax/hints.def is unknown and brings its hint, be it of a function, an argument
# or a keyword, and each expression that a hint recommends compiles.
set -u
gc=$1
table=$2/lang/syntax/hints.def
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
rows=0 failed=0
# table_of KINDS: a line a row, the name and its text
table_of() { sed -n "s/^HINT(\($1\), *\"\([^\"]*\)\", *\"\(.*\)\")\$/\2 \3/p" "$table" | sed 's/\\"/"/g'; }
# refused NAME PROGRAM: in it the name is unknown
refused() {
  rows=$((rows + 1))
  printf '%s\n' "$2" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" || return 0
  echo "$1 is known"
  failed=1
}
# says NAME WORDS [x]: in what gc said of the program before; x: as a whole line
says() {
  grep -q"${3-}"F -- "$2" "$work/error" && return
  echo "$1: gc does not say: $2"
  cat "$work/error"
  failed=1
}
{
  cat <<'END'
let n = 4
let c = 4
let h = 8
let w = 8
entry all(x : f32[n, 6], y : f32[n, 6], u : f32[n], images : f32[n, c, h, w], ids : i32[n], places : i32[n, 6],
          rows : f32[n, 6], scores : f32[n, n], logits : f32[n, 10], labels : i32[n], target : f32[n, 10], q : f32[2, n, 6],
          k : f32[2, 5, 6],
          v : f32[2, 5, 6], filters : f32[8, n, 3]) {
END
  table_of 'CALL\|LAYER' | awk '{name = $1; sub(/^[^ ]* /, ""); print "  of_" name " = " $0}
      END {print "  return z = x"; print "}"}'
} >"$work/all.g"
"$gc" "$work/all.g" --emit=ir >/dev/null 2>"$work/error" || { cat "$work/error" && failed=1; }

table_of 'CALL\|NAME' >"$work/rows"
while read -r name hint; do
  refused "$name" "entry f(x : f32[4]) { return y = $name(x) }"
  says "$name" "hint: write $hint" x
done <"$work/rows"
table_of TYPE >"$work/rows"
while read -r name hint; do
  refused "$name" "entry f(x : f32[4], y : $name[4]) { return z = x }"
  says "$name" "hint: $hint" x
done <"$work/rows"
table_of ARGUMENT >"$work/rows"
while read -r name here; do
  refused "$name" "def g(x, $here) { return x }
entry f(x : f32[4]) { return y = g(x, $name = 1) }"
  says "$name" "hint: did you mean '$here'?" x
done <"$work/rows"
table_of LACKING >"$work/rows"
while read -r name hint; do
  refused "$name" "entry f(x : f32[4]) { return y = relu(x, $name = 1) }"
  says "$name" "hint: $hint" x
done <"$work/rows"
table_of LOSS >"$work/rows"
while read -r name hint; do
  refused "$name" "entry f(x : f32[4]) { return y = mse(x, x, $name = 1) }"
  says "$name" "hint: $hint" x
done <"$work/rows"
table_of LAYER >"$work/rows"
while read -r name hint; do
  refused "$name" "entry f(x : f32[4]) { return y = $name(x) }"
  says "$name" "hint: its layer declares parameters: $hint" x
done <"$work/rows"
table_of STEP >"$work/rows"
while read -r name hint; do
  refused "$name" "entry f(x : f32[4, 3]) { return y = $name(x) }"
  says "$name" "hint: it is one step of a loop, from h = zeros([n, 64]) on: $hint"
done <"$work/rows"
table_of MODULE >"$work/rows"
while read -r name library; do
  refused "$name" "entry f(x : f32[4]) { return y = $name.a.b.relu(x) }"
  says "$name" "error: '$name' is a module of $library, and there are no modules; write relu(x)"
  [ "$(grep -c 'error: ' "$work/error")" = 1 ] || { echo "the module $name has several errors" && failed=1; }
done <"$work/rows"
table_of RESERVED >"$work/rows"
while read -r word hint; do
  refused "$word" "entry f(x : f32[4]) {
  a = $word(x)
  b = jax.$word(x)
  return y = x
}"
  says "$word" "hint: write $hint" x
  says "$word" "there are no modules; write $hint"
done <"$work/rows"
table_of KEYWORD >"$work/rows"
while read -r word hint; do
  refused "$word" "entry f(x : f32[4]) {
  $word x
  return y = x
}"
  says "$word" "hint: $hint" x
done <"$work/rows"
# a symbol is said as an error of its own
sed -n 's/^SYMBOL("\([^"]*\)", *[^ ]*, *"\(.*\)")$/\1 \2/p' "$table" >"$work/rows"
while read -r symbol message; do
  symbol=$(printf '%s' "$symbol" | sed 's/\\xc2\\xa0/\\0302\\0240/') # sh knows octal numbers alone
  refused "$symbol" "entry f(x : f32[4]) {
  a = x $(printf '%b' "$symbol") x
  return y = x
}"
  says "$symbol" "error: $(printf '%s' "$message" | sed 's/\\"/"/g; s/\\\\/\\/g')"
done <"$work/rows"
[ "$rows" = "$(grep -c '^[A-Z]*(' "$table")" ] && [ "$rows" -gt 50 ] || { echo "$rows rows were read" && failed=1; }
echo "$rows names"
exit $failed
