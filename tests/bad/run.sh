#!/bin/sh
# run.sh GC NAME.g [--accept]: a wrong program must give exactly the messages of NAME.err, the exit
# code 1, and no output file. Two comments at its top may change that:
#   # args: --emit=exee      instead of the options that stop after the elaboration
#   # exit: 2                the expected exit code
# --accept writes NAME.err instead of comparing with it.
set -u
case $1 in /*) gc=$1 ;; *) gc=$PWD/$1 ;; esac
cd "$(dirname "$2")" || exit 1
file=$(basename "$2")
want=${file%.g}.err
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

args=$(sed -n 's/^# args: //p' "$file" | head -n 1)
code=$(sed -n 's/^# exit: //p' "$file" | head -n 1)
: "${args:=--emit=ir --passes= -o $tmp/out}"
# the words of args are options: they are meant to be split
# shellcheck disable=SC2086
"$gc" $args "$file" >"$tmp/stdout" 2>"$tmp/stderr" </dev/null
got=$?

if [ "${3-}" = --accept ]; then
  cp "$tmp/stderr" "$want"
  exit 0
fi
failed=0
if [ "$got" -ne "${code:-1}" ]; then
  echo "$file: exit code $got, expected ${code:-1}"
  failed=1
fi
if [ -e "$tmp/out" ]; then
  echo "$file: the failing run left an output file"
  failed=1
fi
diff -u "$want" "$tmp/stderr" || failed=1
exit $failed
