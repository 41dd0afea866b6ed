#!/bin/sh
# hints.sh GC SOURCE: each name of lang/syntax/hints.def is unknown and brings its hint, be it of a function, an argument
# or a keyword, and each expression that a hint recommends compiles.
set -u
gc=$1
table=$2/lang/syntax/hints.def
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
          v : f32[2, 5, 6], filters : f32[8, n, 3]) {
END
  sed -n 's/^HINT(\(CALL\|LAYER\), *"\([^"]*\)", *"\(.*\)")$/\2 \3/p' "$table" | sed 's/\\"/"/g' |
    awk '{name = $1; sub(/^[^ ]* /, ""); print "  of_" name " = " $0}
      END {print "  return z = x"; print "}"}'
} >"$work/all.g"
"$gc" "$work/all.g" --emit=ir >/dev/null 2>"$work/error" || { cat "$work/error" && failed=1; }
sed -n 's/^HINT(\(CALL\|NAME\), *"\([^"]*\)", *"\(.*\)")$/\2 \3/p' "$table" | sed 's/\\"/"/g' >"$work/rows"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4]) { return y = $name(x) }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  grep -qxF "hint: write $hint" "$work/error" || { echo "no such hint for $name: $hint" && cat "$work/error" && failed=1; }
done <"$work/rows"
sed -n 's/^HINT(TYPE, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/types"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4], y : $name[4]) { return z = x }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is a type" && failed=1
  grep -qxF "hint: $hint" "$work/error" || { echo "no such hint for the type $name: $hint" && cat "$work/error" && failed=1; }
done <"$work/types"
sed -n 's/^HINT(ARGUMENT, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/arguments"
while read -r name here; do
  rows=$((rows + 1))
  printf 'def g(x, %s) { return x }\nentry f(x : f32[4]) { return y = g(x, %s = 1) }\n' "$here" "$name" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  grep -qxF "hint: did you mean '$here'?" "$work/error" || { echo "no such hint for the argument $name: $here" && cat "$work/error" && failed=1; }
done <"$work/arguments"
sed -n 's/^HINT(LACKING, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/lacking"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4]) { return y = relu(x, $name = 1) }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  grep -qxF "hint: $hint" "$work/error" || { echo "no such hint for the argument $name" && cat "$work/error" && failed=1; }
done <"$work/lacking"
sed -n 's/^HINT(LOSS, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/losses"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4]) { return y = mse(x, x, $name = 1) }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  grep -qxF "hint: $hint" "$work/error" || { echo "no such hint for the argument $name of a loss" && cat "$work/error" && failed=1; }
done <"$work/losses"
sed -n 's/^HINT(LAYER, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/layers"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4]) { return y = $name(x) }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name takes one argument" && failed=1
  grep -qxF "hint: its layer declares parameters: $hint" "$work/error" || { echo "no such hint for $name: $hint" && cat "$work/error" && failed=1; }
done <"$work/layers"
sed -n 's/^HINT(STEP, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/steps"
while read -r name hint; do
  rows=$((rows + 1))
  echo "entry f(x : f32[4, 3]) { return y = $name(x) }" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name takes one argument" && failed=1
  grep -qF "hint: it is one step of a loop, from h = zeros([n, 64]) on: $hint" "$work/error" ||
    { echo "no such hint for $name: $hint" && cat "$work/error" && failed=1; }
done <"$work/steps"
sed -n 's/^HINT(MODULE, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/modules"
while read -r name library; do
  rows=$((rows + 1))
  printf 'entry f(x : f32[4]) {\n  return y = %s.a.b.relu(x)\n}\n' "$name" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$name is known" && failed=1
  [ "$(grep -c 'error: ' "$work/error")" = 1 ] && grep -qF "error: '$name' is a module of $library, and there are no modules; write relu(x)" "$work/error" ||
    { echo "no such message for the module $name of $library" && cat "$work/error" && failed=1; }
done <"$work/modules"
sed -n 's/^HINT(RESERVED, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" >"$work/reserved"
while read -r word hint; do
  rows=$((rows + 1))
  printf 'entry f(x : f32[4]) {\n  a = %s(x)\n  b = jax.%s(x)\n  return y = x\n}\n' "$word" "$word" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$word is a function" && failed=1
  grep -qxF "hint: write $hint" "$work/error" && grep -qF "there are no modules; write $hint" "$work/error" ||
    { echo "no such hint for $word: $hint" && cat "$work/error" && failed=1; }
done <"$work/reserved"
sed -n 's/^HINT(KEYWORD, *"\([^"]*\)", *"\(.*\)")$/\1 \2/p' "$table" | sed 's/\\"/"/g' >"$work/keywords"
while read -r word hint; do
  rows=$((rows + 1))
  printf 'entry f(x : f32[4]) {\n  %s x\n  return y = x\n}\n' "$word" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$word is known" && failed=1
  grep -qxF "hint: $hint" "$work/error" || { echo "no such hint for the keyword $word: $hint" && cat "$work/error" && failed=1; }
done <"$work/keywords"
# a symbol is said as an error of its own
sed -n 's/^SYMBOL("\([^"]*\)", *[^ ]*, *"\(.*\)")$/\1 \2/p' "$table" >"$work/symbols"
while read -r symbol message; do
  rows=$((rows + 1))
  symbol=$(printf '%s' "$symbol" | sed 's/\\xc2\\xa0/\\0302\\0240/') # sh knows octal numbers alone
  printf 'entry f(x : f32[4]) {\n  a = x %b x\n  return y = x\n}\n' "$symbol" >"$work/one.g"
  "$gc" "$work/one.g" --emit=ir >/dev/null 2>"$work/error" && echo "$symbol is a token" && failed=1
  message=$(printf '%s' "$message" | sed 's/\\"/"/g; s/\\\\/\\/g')
  grep -qF "error: $message" "$work/error" || { echo "no such message for $symbol: $message" && cat "$work/error" && failed=1; }
done <"$work/symbols"
[ "$rows" = "$(grep -c '^[A-Z]*(' "$table")" ] && [ "$rows" -gt 50 ] || { echo "$rows rows were read" && failed=1; }
echo "$rows names"
exit $failed
