# Which C compiler the programs of a script are compiled by; its optimiser takes most of a test's time. A script sets
# `here`, the folder of the sources, and reads this. On one commit in six, or in N, a script still has gcc and all of
# its optimiser, and so have all at the level full; on others it has clang, see cc-O0.

# unoptimised [N [TURN]]: none of it: of scripts that compare bits and figures
unoptimised() { is_optimised "$(basename "$0")" "${1:-6}" "${2:-1}" || export CC="$here/tests/cc-O0"; }

# lightly_optimised [N]: -O1: of scripts whose programs train for long
lightly_optimised() { is_optimised "$(basename "$0")" "${1:-6}" || export CC="$here/tests/cc-O1"; }

# has_nvrtc [LEVEL]: whether gc has one. With a level a script whose C compiler optimises less has such an NVRTC, too, if it
# is new enough for the option: mid where much is compiled and run for a few steps, min for tensor cores, as the
# interpreter takes long over loops that are not unrolled
has_nvrtc() {
  nvrtc=$("$gc" --version | sed -n 's/^targets: cpu, cuda (NVRTC \([0-9]*\).*/\1/p')
  case ${1:+${CC-}} in
  */tests/cc-O[01]) [ "${nvrtc:-0}" -ge 13 ] && export GC_NVRTC_OPTIONS="--Ofast-compile=$1" ;;
  esac
  [ -n "$nvrtc" ]
}

# is_optimised NAME [N [TURN]]: whether this is the commit in six, or in N. The turn chooses who has it in runs with fixed
# seeds alone: scripts that compile quickly
is_optimised() { [ "${GC_TEST_LEVEL-}" = full ] || { [ -n "${GC_TEST_SEED-}" ] && is_drawn "$1" "${2:-6}" "${3:-1}"; }; }

# is_drawn NAME N [TURN]: whether this run of the tests takes a case of which it takes one in N; others on each commit,
# and all at the level full
is_drawn() {
  [ "${GC_TEST_LEVEL-}" = full ] && return
  turn=$((${GC_TEST_SEED:-0} / 10000 + ${3:-0} + $(echo "$1" | cksum | cut -d' ' -f1)))
  [ $((turn % $2)) = 0 ]
}
