# What the end-to-end scripts share. A script is called as  NAME.sh GC DATA SCRATCH  and runs in SCRATCH,
# emptied before. It goes on after a failure, so that one run shows all of them; `finish` gives the verdict.
set -u
gc=$1 data=$2 scratch=$3
here=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
failures=0 checks=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# need FILE...: real data; without it nothing here can be tested
need() {
  for file in "$@"; do
    [ -r "$file" ] && continue
    echo "NOT TESTED: $file is missing. Set the CMake setting GC_SHARED_DATA to the folder with the test data."
    exit 77
  done
}

# run CODE COMMAND...: what it prints goes to out.txt
run() {
  want=$1 code=0
  shift
  checks=$((checks + 1))
  "$@" >out.txt 2>&1 || code=$?
  [ "$code" = "$want" ] && return
  fail "exit code $code, not $want: $*"
  cat out.txt
}

# says CODE TEXT COMMAND...: exactly one line of error, which has TEXT in it
says() {
  want=$1 text=$2
  shift 2
  run "$want" "$@"
  grep -qF -- "$text" out.txt || { fail "no '$text' from: $*"; cat out.txt; }
  lines=$(grep -c 'error: ' out.txt)
  [ "$lines" = 1 ] || { fail "$lines errors, not one, from: $*"; cat out.txt; }
}

same() { # same FILE FILE WHAT
  checks=$((checks + 1))
  cmp -s "$1" "$2" || fail "$3: $1 and $2 differ"
}

holds() { # holds FILE TEXT
  checks=$((checks + 1))
  grep -qF -- "$2" "$1" || { fail "$1 does not say '$2':"; cat "$1"; }
}

at_least() { # at_least NUMBER BOUND WHAT
  checks=$((checks + 1))
  awk -v x="$1" -v b="$2" 'BEGIN { exit !(x + 0 >= b + 0 && x ~ /^[0-9.+e-]+$/) }' || fail "$3: $1 is not at least $2"
}

at_most() {
  checks=$((checks + 1))
  awk -v x="$1" -v b="$2" 'BEGIN { exit !(x + 0 <= b + 0 && x ~ /^[0-9.+e-]+$/) }' || fail "$3: $1 is not at most $2"
}

absent() { # absent FILE...: nothing of the kind is left behind
  checks=$((checks + 1))
  for file in "$@"; do [ ! -e "$file" ] || fail "$file was left behind"; done
}

finish() {
  echo "$checks checks, $failures failures"
  [ "$failures" = 0 ]
  exit
}
