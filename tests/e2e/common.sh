# What the end-to-end scripts share. A script is called as  NAME.sh GC DATA SCRATCH MKDATA  and runs in
# SCRATCH, emptied before; MKDATA makes data files (tests/runtime/mkdata.c). It goes on after a failure, so that one run shows all of them; `finish` gives the verdict.
set -u
gc=$1 data=$2 scratch=$3 mkdata=$4
here=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
export PYTHONPATH="$here/tests/e2e${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1 # weights.py
failures=0 checks=0

. "$here/tests/optimised.sh"

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# not_tested WHAT: said loudly; tests/run.sh repeats it at its end
not_tested() { echo "NOT TESTED: $*"; }

# need FILE...: real data; without it nothing here can be tested
need() {
  for file in "$@"; do
    [ -r "$file" ] && continue
    not_tested "$file is missing; set the CMake setting GC_SHARED_DATA to the folder with the test data"
    exit 77
  done
}

# digits N: made-up rows in the form of MNIST, as images.idx.gz and labels.idx.gz
digits() {
  "$mkdata" idx u8 "$1,28,28" 1 images.idx && "$mkdata" idx u8 "$1" 2 labels.idx && gzip -1f images.idx labels.idx ||
    fail 'no data could be made'
}

# prose N: the first N bytes of tests/prose.txt, as text.txt. It is an old state of the manual, frozen: bounds on
# losses hold for exactly this text.
prose() {
  head -c "$1" "$here/tests/prose.txt" >text.txt
  [ "$(wc -c <text.txt)" = "$1" ] || fail "tests/prose.txt has fewer than $1 bytes"
}

# interrupted SIGNAL FILE COMMAND...: sends the signal once FILE is there and not empty; the exit code is
# the command's, 128 + n where it died of signal n. A job of a script ignores SIGINT, hence python.
interrupted() {
  python3 - "$@" <<'END'
import os, signal, subprocess, sys, time
name, file, command = sys.argv[1], sys.argv[2], sys.argv[3:]
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(command)
while p.poll() is None and not (os.path.exists(file) and os.path.getsize(file)):
    time.sleep(0.02)
p.send_signal(getattr(signal, name))
code = p.wait()
sys.exit(code if code >= 0 else 128 - code)
END
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

# exactly FIGURE WANT WHAT: the figures of a program have the same digits on every machine. A change that is meant
# to change roundings changes them, and then they are to be judged and written down anew.
exactly() {
  checks=$((checks + 1))
  [ "$1" = "$2" ] || fail "$3: $1, not $2"
}

# ---- bounded dimensions: a program and the one that is compiled for an extent ----

hows='--poison --threads 2
--threads 1'
# on_gpu DRIVER: where the folder of a driver is given, `compare` runs the program by it, which `$target` compiles, in one
# of two ways, in the other on other commits, but at the level full; the exact one is the CPU's
fake='' target=''
on_gpu() {
  fake=$1
  export LD_LIBRARY_PATH="$fake"
  [ -n "$fake" ] || return
  target='--target=cuda,cpu --arch=compute_80'
  hows='--device cuda --poison
--device cuda'
  has_nvrtc mid && return
  not_tested 'extents on a GPU: there is no NVRTC'
  [ -n "${GC_NO_SKIP-}" ] && exit 1
  exit 77
}
# outputs NAME...: options that write each output to OUT.NAME.npy
outputs() { for name; do printf ' --%s OUT.%s.npy' "$name" "$name"; done; }

exact() { # exact PROGRAM "n=3 t=5": the program PROGRAM-exact has these numbers, $level is how it is optimised
  lets=$2 text=$(cat "$1.g")
  for l in $2; do text=$(echo "$text" | sed "s/\b${l%=*} <= [0-9A-Z]*/${l%=*}/g"); done
  { for l in $2; do echo "let $l"; done && echo "$text"; } >"$1-exact.g"
  run 0 "$gc" "$1-exact.g" $level --target=cpu -o "$1-exact"
}

# compare PROGRAM ENTRY "OPTIONS" FILE...: what both programs write with these options are the same files
compare() {
  program=$1 entry=$2 options=$3
  shift 3
  rm -f exact.* bounded.* # each program's own
  run 0 "./$program-exact" "$entry" $(echo "$options" | sed 's/OUT/exact/g') --threads 1 --quiet
  echo "$hows" >hows
  if [ -n "$fake" ] && [ "${GC_TEST_LEVEL-}" != full ] && [ "$(wc -l <hows)" -eq 2 ]; then
    # not in two, as scripts draw extents by, so that each extent is run in both ways
    if is_drawn "$program $entry $lets" 4 || is_drawn "$program $entry $lets" 4 1; then sed -i 1d hows; else sed -i 2d hows; fi
  fi
  while read -r how; do
    run 0 "./$program" "$entry" $(echo "$options" | sed 's/OUT/bounded/g') $how --quiet
    for name; do same "bounded.$name" "exact.$name" "$program $entry at $lets, $how, $name"; done
  done <hows
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
