# What the scripts of the CUDA target share. A script sets `gc` and reads this; it goes on after a failure, so that
# one run shows all of them, and ends with `finish`. What a command printed is in the file `out`.
bad=0 checks=0
here=$(cd "$(dirname "$0")/../.." && pwd)
unset CUDA_VISIBLE_DEVICES
. "$here/tests/optimised.sh"

# scratch DIR: goes on there, in an empty folder
scratch() { rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit 1; }

fail() {
  echo "FAIL: $1"
  tail -20 out 2>/dev/null
  bad=1
}

# same FILE FILE
same() { checks=$((checks + 1)); cmp -s "$1" "$2" || fail "$1 and $2 differ"; }

# need_nvrtc WHAT [LEVEL]: ends the script where there is no NVRTC, loudly; that is an error where GC_NO_SKIP is set. LEVEL:
# see has_nvrtc
need_nvrtc() {
  has_nvrtc "${2-}" && return
  echo "NOT TESTED: $1: there is no NVRTC"
  [ "$bad" -eq 0 ] && [ -z "${GC_NO_SKIP-}" ] && exit 77
  exit 1
}

# compile OPTIONS…
compile() { "$gc" "$@" >out 2>&1 || fail "gc $*"; }

finish() {
  [ "$bad" -eq 0 ] && echo "passed$([ "$checks" -gt 0 ] && echo ": $checks checks")"
  exit "$bad"
}
