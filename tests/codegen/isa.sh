#!/bin/sh
# Every form of kernel compiles without a warning for every instruction set, whatever this machine has: gcc
# and, where there is one, clang. forms.c runs what this machine can. But at the level full AVX-512, which fewest
# machines run, is compiled on each commit, and of the other ways one.
#   isa.sh GC FILE.g RUNTIME_DIR SCRATCH
set -u
gc=$1 file=$2 runtime=$3
rm -rf "$4" && mkdir -p "$4" && cd "$4" || exit 1
if [ "$(uname -m)" != x86_64 ]; then
  echo "NOT TESTED: code for x86-64, AVX2 and AVX-512: this machine is a $(uname -m)"
  exit 77
fi
clang=$(command -v clang-16 || command -v clang-14 || command -v clang)
[ -n "$clang" ] || echo "NOT TESTED: the kernels compiled by clang: there is none here"
grep -qw avx512f /proc/cpuinfo ||
  echo "NOT TESTED: kernels with AVX-512, beyond that they compile: this processor lacks it"

# A kernel may have names that it does not need, and NaN is what differs from itself.
quiet='-Wno-unused -Wno-unused-parameter -Wno-missing-field-initializers -Wno-tautological-compare -Wno-pass-failed'
failures=0 ways=0 turn=$((${GC_TEST_SEED:-0} / 10000 % 3))
[ "${GC_TEST_LEVEL-}" = full ] && turn=full
for cc in gcc $clang; do
  for march in x86-64 x86-64-v3 x86-64-v4; do
    # the optimiser, which warns of more, sees what forms.c does not compile, or what clang makes, on a commit in three
    case $turn-${cc##*/}-$march in
    full-*) level=-O2 ;;
    1-gcc-x86-64-v4 | 2-clang*-x86-64-v3) level=-O1 ;;
    0-gcc-x86-64 | 1-gcc-x86-64-v3 | [02]-gcc-x86-64-v4) level=-O0 ;;
    *) continue ;;
    esac
    ways=$((ways + 1))
    CC=$cc "$gc" "$file" -march=$march --emit=c -o forms.c || { failures=$((failures + 1)); continue; }
    # shellcheck disable=SC2086
    if ! $cc -std=gnu17 $level -march=$march -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv \
      -fno-strict-aliasing -Wall -Wextra -Werror $quiet -I"$runtime" -c forms.c -o forms.o 2>err; then
      failures=$((failures + 1))
      echo "FAILED: $cc -march=$march:"
      head -40 err
    fi
    case $march in # the code is what was asked for, not a fallback
    x86-64) registers='%xmm' other='%[yz]mm' ;;
    x86-64-v3) registers='%ymm' other='%zmm' ;;
    x86-64-v4) registers='%zmm' other='%no' ;;
    esac
    objdump -d forms.o >code 2>err || { echo "FAILED: objdump: $(cat err)"; failures=$((failures + 1)); }
    grep -q "$registers" code || { echo "FAILED: $cc -march=$march: no $registers"; failures=$((failures + 1)); }
    grep -q "$other" code && { echo "FAILED: $cc -march=$march: $other is used"; failures=$((failures + 1)); }
  done
done

# ---- an epilogue of a panel's 16 columns becomes vectors of each row ----
echo 'entry e(x : f32[64, 32], r : f32[64, 16]) { return y = linear(x, 16) as a + r }' >narrow.g
"$gc" narrow.g -O2 -march=x86-64-v3 --emit=c -o narrow.c &&
  gcc -std=gnu17 -O3 -march=x86-64-v3 -ffp-contract=off -w -I"$runtime" -S narrow.c -o narrow.s 2>err || {
  failures=$((failures + 1))
  echo "FAILED: an epilogue of 16 columns: $(cat err)"
}
grep -q shufps narrow.s && { echo "FAILED: columns of an epilogue are gathered by shuffles"; failures=$((failures + 1)); }

# ---- quantized matrices, for which the compilers name instructions in two ways ----
echo 'entry e(x : f32[16, 256]) { return y = linear(relu(linear(x, 128) as a), 192) as b }' >quantized.g
for weights in ${clang:+q8 q4 w8a8 w4a16}; do
  for march in x86-64-v3 x86-64-v4 icelake-server; do
    ways=$((ways + 1))
    CC=$clang "$gc" quantized.g --weights=$weights -O2 -march=$march --emit=c -o quantized.c &&
      $clang -std=gnu17 -march=$march -w -I"$runtime" -fsyntax-only quantized.c 2>err || {
      failures=$((failures + 1))
      echo "FAILED: $clang -march=$march, $weights:"
      head -40 err
    }
  done
done
echo "$ways ways to compile, $failures failures"
[ "$failures" = 0 ]
