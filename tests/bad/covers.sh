#!/bin/sh
# covers.sh GC: every built-in function is used wrongly in some program here, and so is each argument of it that may be
# left out, by its name. An error counts for the function that its message names or at which its caret stands.
set -u
gc=$1
cd "$(dirname "$0")" || exit 1
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
# the message, what the caret stands at, and the line of the program, between tabs
awk '/^[^ ]*: error: / {
  message = $0; sub(/^[^ ]*: error: /, "", message)
  getline source; getline caret
  printf "%s\t%s\t%s\n", message, substr(source, index(caret, "^")), source
}' ./*.err >"$lines"
functions=0 arguments=0 failed=0
signatures=$("$gc" --help=builtins-md | sed -n 's/^| `\([a-z0-9_]*([^`]*)\)` .*/\1/p')
[ -n "$signatures" ] || { echo "gc lists no functions" && exit 1; }
tab=$(printf '\t')
while read -r signature; do
  name=${signature%%(*}
  functions=$((functions + 1))
  about=$(grep -E "^[^$tab]*\b$name\b[^$tab]*$tab.*$tab.*\b$name\(|$tab$name\(" "$lines") ||
    { echo "no program here uses $name wrongly" && failed=1; }
  for argument in $(printf '%s\n' "${signature#*(}" | tr ',)' '\n\n' | sed -n 's/^ *\([a-z_0-9]*\) = .*/\1/p'); do
    arguments=$((arguments + 1))
    printf '%s\n' "$about" | grep -q "\b$name(.*\b$argument = " ||
      { echo "no program here gives $name a wrong '$argument'" && failed=1; }
  done
done <<END
$signatures
END
echo "$functions functions, $arguments arguments that may be left out"
exit $failed
