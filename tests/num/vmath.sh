#!/bin/sh
# gc's elementary functions give the same bits whatever compiles them: gcc and clang, -O2 and -O3, and
# every instruction set this machine runs; at the level full each set at both.   vmath.sh SOURCE_DIR SCRATCH
set -u
source=$1 scratch=$2
mkdir -p "$scratch" && cd "$scratch" || exit 1
first="" failures=0 tried=0
points=$((1 << 18))
[ "${GC_TEST_LEVEL-}" = full ] && points=$((1 << 20))
clang=$(command -v clang-16 || command -v clang-14 || command -v clang)
[ -n "$clang" ] || echo "NOT TESTED: the functions compiled by clang: there is none here"
levels='-O2 -march=x86-64/-O3 -march=x86-64-v3/-O3 -march=x86-64-v4/-O2 -march=native'
[ "${GC_TEST_LEVEL-}" = full ] && levels="$levels/-O3 -march=x86-64/-O2 -march=x86-64-v3/-O2 -march=x86-64-v4/-O3 -march=native"
[ "$(uname -m)" = x86_64 ] || levels='-O2 -march=native/-O3 -march=native'
for cc in gcc $clang; do
  IFS=/
  for flags in $levels; do
    unset IFS
    case "$flags" in
      *v3) grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo || continue ;;
      *v4)
        grep -qw avx512vl /proc/cpuinfo || {
          echo "NOT TESTED: the functions with AVX-512, compiled by $cc: this processor lacks it"
          continue
        }
        ;;
    esac
    # shellcheck disable=SC2086
    if ! $cc -std=gnu17 $flags -ffp-contract=off -fno-math-errno -fno-trapping-math -w -DPOINTS=$points -I"$source" "$source/tests/num/vmath.c" -o vmath -lm; then
      echo "FAILED: $cc $flags does not compile it"
      failures=$((failures + 1))
      continue
    fi
    out=$(./vmath) || { failures=$((failures + 1)); echo "FAILED: $cc $flags:"; }
    tried=$((tried + 1))
    echo "$cc $flags: $out"
    hash=$(printf '%s\n' "$out" | tail -1)
    [ -n "$first" ] || first=$hash
    [ "$hash" = "$first" ] || { failures=$((failures + 1)); echo "FAILED: other bits than before"; }
  done
done
echo "$tried ways to compile, $failures failures"
[ "$failures" = 0 ] && [ "$tried" -ge 2 ]
