#!/bin/sh
# Every instruction set that a C compiler may use of its own accord is one that programs check at their start: for
# each -march that the compilers here know, codegen/cpu/features.def names each macro that it defines.
#   features.sh FEATURES.def SCRATCH
set -eu
list=$1
mkdir -p "$2" && cd "$2"
sed -nE 's/^[A-Z0-9_]+\("([A-Z0-9_]+)".*/\1/p' "$list" | sort -u >listed
failures=0 tried=0
macros() { # COMPILER MARCH
  "$1" -march="$2" -dM -E -x c /dev/null 2>/dev/null | sed -nE "s/#define ($pattern) .*/\\1/p" | sort -u
}
check() { # COMPILER MARCH
  tried=$((tried + 1))
  macros "$1" "$2" >defined
  if comm -23 defined base | comm -23 - listed | grep . >new; then
    echo "FAILED: $1 -march=$2 defines what features.def does not name: $(tr '\n' ' ' <new)"
    failures=$((failures + 1))
  fi
}
for cc in gcc clang-14 clang-16 aarch64-linux-gnu-gcc; do
  command -v $cc >/dev/null || continue
  [ "${GC_TEST_LEVEL-}" = full ] || [ $cc != clang-14 ] || ! command -v clang-16 >/dev/null || continue
  case $($cc -dumpmachine) in
  x86_64*) base=x86-64 extensions='' pattern='__[A-Z][A-Z0-9_]*__' ;;
  aarch64*) base=armv8-a pattern='__ARM_FEATURE_[A-Z0-9_]+'
    extensions='armv9-a+sve2-aes+sve2-bitperm+sve2-sha3+sve2-sm4+memtag+tme+rng armv8.6-a+sve+f32mm+f64mm+sha3+sm4+fp16fml' ;;
  *) continue ;;
  esac
  macros $cc $base >base
  # what numbers and the system are, not instructions
  printf '%s\n' __BIGGEST_ALIGNMENT__ __FLT_EVAL_METHOD__ __FLT_EVAL_METHOD_TS_18661_3__ >>base
  [ $base = armv8-a ] || macros $cc sapphirerapids | grep '^__FLT16_' >>base || :
  sort -u base -o base
  marches=$($cc -march=none -E -x c /dev/null 2>&1 | sed -n 's/.*valid [^:]*are: //p' | tr ',' ' ')
  [ "$(echo "$marches" | wc -w)" -gt 5 ] || { echo "FAILED: $cc lists no -march"; failures=$((failures + 1)); }
  for march in $marches $extensions; do check $cc "$march"; done
done
echo "$tried processors, $failures failures"
[ $tried -gt 0 ] && [ $failures = 0 ]
