#!/bin/sh
# covers.sh GC: every built-in function is used wrongly in some program here, and so is each argument of it that may be
# left out, by its name. What counts is the line that an error is about.
set -u
gc=$1
cd "$(dirname "$0")" || exit 1
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
awk '/^[^ ]*: error: /{getline; print}' ./*.err >"$lines"
functions=0 arguments=0 failed=0
signatures=$("$gc" --help=builtins-md | sed -n 's/^| `\([a-z0-9_]*([^`]*)\)` .*/\1/p')
[ -n "$signatures" ] || { echo "gc lists no functions" && exit 1; }
while read -r signature; do
  name=${signature%%(*}
  functions=$((functions + 1))
  grep -q "\b$name(" "$lines" || { echo "no program here uses $name wrongly" && failed=1; }
  for argument in $(printf '%s\n' "${signature#*(}" | tr ',)' '\n\n' | sed -n 's/^ *\([a-z_0-9]*\) = .*/\1/p'); do
    arguments=$((arguments + 1))
    grep -q "\b$name(.*\b$argument = " "$lines" ||
      { echo "no program here gives $name a wrong '$argument'" && failed=1; }
  done
done <<END
$signatures
END
echo "$functions functions, $arguments arguments that may be left out"
exit $failed
