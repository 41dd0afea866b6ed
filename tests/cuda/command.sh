#!/bin/sh
# command.sh GC FAKE ROOT: the command's part of the CUDA target: what it writes, and what it says where NVRTC or an
# architecture is missing; FAKE is the folder of a driver, so that this machine has a GPU. Exit code 77
# and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 fake=$2 root=$3
. "$(dirname "$0")/common.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
# says CODE TEXT COMMAND…: the exit code, and that the message holds the text
says() {
  want=$1 text=$2
  shift 2
  "$@" >out 2>err
  code=$?
  [ "$code" -eq "$want" ] || fail "$*: exit code $code, not $want"
  grep -qF -e "$text" err || fail "$*: the message lacks '$text': $(cat err)"
}

cat >very_own.g <<'END'
let N = 8                       # a_comment_of_mine
entry my_entry(my_input : f32[N, N], my_label : u8[N]) {
  param my_weight : f32[N, N] = normal(1)
  my_value = my_input @ my_weight
  return my_loss = mean(xent(my_value, my_label))
}
END

# the source holds nothing of the user's, and compiling twice gives the same bytes
"$gc" very_own.g --emit=cuda -o a.cu || fail "--emit=cuda"
"$gc" very_own.g --emit=cuda -o b.cu
cmp -s a.cu b.cu || fail "two sources differ"
grep -qE 'my_|very_own|a_comment' a.cu && fail "the user's names are in the CUDA source"
grep -q '#include' a.cu && fail "the CUDA source includes files"

"$gc" very_own.g --emit=c | grep -q cuda && fail "the CPU's source speaks of CUDA"

# native: the targets that `info` of an executable made without --target names
native() {
  rm -f own
  env "$@" "$gc" very_own.g -o own 2>err || fail "without --target, $*: $(cat err)"
  ./own info | sed -n 's/.*compiled by gc [^ ]* for \(.*cpu\).*/\1/p'
}
gpu="LD_LIBRARY_PATH=$fake FAKECUDA_CC=9.0"
# shellcheck disable=SC2086
{
  [ "$(native LD_LIBRARY_PATH=)" = cpu ] || fail "no GPU: not for the CPU"
  [ "$(native $gpu FAKECUDA_DEVICES=0)" = cpu ] || fail "a driver without devices: not for the CPU"
  [ -s err ] && fail "no GPU, but something is said: $(cat err)"
  [ "$(native $gpu GC_NVRTC="$dir")" = cpu ] || fail "a GPU, no NVRTC: not for the CPU"
  grep -q "note: no NVRTC was found, so the program will not use this machine's GPU" err ||
    fail "a GPU, no NVRTC: $(cat err)"
  [ "$(grep -c . err)" -eq 2 ] || fail "a GPU, no NVRTC: not said once: $(cat err)"
}
env GC_NVRTC="$dir" "$gc" --version | grep -q '^targets: cpu; for cuda install' || fail "--version without NVRTC"

says 2 'for one architecture' "$gc" very_own.g --emit=cubin -o x
says 2 'name it with -o' "$gc" very_own.g --emit=cubin --arch=sm_80
says 2 'a cubin is for one GPU: --arch=sm_80, not compute_80' "$gc" very_own.g --emit=cubin --arch=compute_80 -o x
says 2 "not 'sm80'" "$gc" very_own.g --emit=ptx --arch=sm80
says 2 'given twice' "$gc" very_own.g --target=cuda --arch=sm_80,sm_80
says 2 '--arch is for --target=cuda' "$gc" very_own.g --arch=sm_80
says 2 'for --target=cuda, not cpu' "$gc" very_own.g --emit=ptx --target=cpu
says 3 'set GC_NVRTC to the directory' env GC_NVRTC="$dir" "$gc" very_own.g --emit=lib --target=cuda -o libnone.so
{ [ -e libnone.so ] || [ -e none.h ]; } && fail "half a library is left where NVRTC is missing"
says 3 'set GC_NVRTC to the directory' env GC_NVRTC="$dir" "$gc" very_own.g --emit=ptx -o none.ptx
[ -e none.ptx ] && fail "a file is left where NVRTC is missing"
says 3 'set GC_NVRTC to the directory' env GC_NVRTC="$dir" "$gc" very_own.g --target=cuda -o none
[ -e none ] && fail "an executable is left where NVRTC is missing"

# a compiler that dies, or never comes to an end, takes nothing with it
made() { # FOLDER BODY: a library that is NVRTC but for what compiling does
  mkdir "$1"
  printf '%s\n' '#include <stdlib.h>' '#include <unistd.h>' 'int nvrtcVersion(int *a, int *b) { return *a = *b = 0; }' \
    'int nvrtcGetNumSupportedArchs(int *n) { return 1; }' "int nvrtcCompileProgram(void) { $2 }" \
    'int nvrtcCreateProgram(void) { return 0; }' >"$1/nvrtc.c"
  grep -o '"nvrtc[A-Za-z]*"' "$root/codegen/gpu/cuda/nvrtc_load.c" | tr -d '"' | sort -u |
    while read -r name; do grep -q "$name(" "$1/nvrtc.c" || echo "int $name(void) { return 0; }"; done >>"$1/nvrtc.c"
  "${CC:-cc}" -w -shared -fPIC "$1/nvrtc.c" -o "$1/libnvrtc.so.12" || fail "a library that is $1"
}
made broken 'abort();'
says 3 'it ended by signal 6' env GC_NVRTC="$dir/broken" "$gc" very_own.g --target=cuda,cpu -o none
made asleep 'for (;;) pause();'
made busy 'for (;;);'
for kind in asleep busy; do
  says 3 'it took ' env GC_NVRTC="$dir/$kind" GC_NVRTC_SECONDS=1 "$gc" very_own.g --target=cuda,cpu --arch=sm_80 -o none
  grep -q 'set GC_NVRTC_SECONDS' err || fail "$kind: no remedy: $(cat err)"
done
made hungry 'return malloc(9ull << 30) ? 0 : (abort(), 1);' # within addresses of 8 GiB
grep -q __asan_init "$gc" || # whose shadow takes terabytes of addresses: it has no limit
  says 3 'it ended by signal 6' env GC_NVRTC="$dir/hungry" "$gc" very_own.g --target=cuda,cpu --arch=sm_80 -o none
says 3 "GC_NVRTC_SECONDS=soon is no number of seconds" env GC_NVRTC_SECONDS=soon "$gc" very_own.g --target=cuda -o none
[ -e none ] && fail "an executable is left where NVRTC dies"

# where NVRTC is looked for, in this order: GC_NVRTC, toolkits, the loader's path, and wheels: of VIRTUAL_ENV, then of
# the home folder; each of them one that says another version
place() { # FOLDER VERSION
  mkdir -p "$1" && sed "s/return \*a = \*b = 0;/*a = $2; return *b = 0;/" broken/nvrtc.c >place.c &&
    "${CC:-cc}" -w -shared -fPIC place.c -o "$1/libnvrtc.so.12" || fail "a library in $1"
}
wheel=lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib
place named 1; place toolkit/lib64 2; place loader 3; place "venv/$wheel" 4; place "home/.local/$wheel" 5
# found WANT SETUP ENVIRONMENT…: what --version names in a folder /usr/local of its own
cat >found.sh <<'END'
mount -t tmpfs none /usr/local && eval "$1" && shift && exec env -u GC_NVRTC -u VIRTUAL_ENV -u LD_LIBRARY_PATH HOME=/ "$@"
END
found() {
  want=$1 setup=$2
  shift 2
  unshare -rm sh found.sh "$setup" "$@" "$gc" --version >out 2>&1
  grep -qF -e "$want" out || fail "with $setup $*: not $want: $(cat out)"
}
if unshare -rm sh -c 'mount -t tmpfs none /usr/local' 2>err; then
  toolkit='mkdir /usr/local/cuda-12.9 && cp -r toolkit/lib64 /usr/local/cuda-12.9'
  wheels="VIRTUAL_ENV=$dir/venv HOME=$dir/home"
  # shellcheck disable=SC2086
  {
    found '(NVRTC 1.0)' "$toolkit" GC_NVRTC="$dir/named" LD_LIBRARY_PATH="$dir/loader" $wheels
    found '(NVRTC 2.0)' "$toolkit" LD_LIBRARY_PATH="$dir/loader" $wheels
    found '(NVRTC 3.0)' : LD_LIBRARY_PATH="$dir/loader" $wheels
    found '(NVRTC 4.0)' : $wheels
    found '(NVRTC 5.0)' : HOME="$dir/home"
    found 'targets: cpu; for cuda install the CUDA toolkit' : HOME="$dir"
  }
  unshare -rm sh found.sh : "$gc" very_own.g --target=cuda -o none >out 2>&1
  [ $? -eq 3 ] && grep -q 'no CUDA compiler: NVRTC was not found; install the CUDA toolkit, or the wheel' out ||
    fail "no NVRTC anywhere: $(cat out)"
else
  echo "NOT TESTED: where NVRTC is looked for: $(cat err)"
fi

need_nvrtc 'the command on kernels for a GPU'
"$gc" very_own.g --emit=ptx -o a.ptx || fail "--emit=ptx"
# shellcheck disable=SC2086
[ "$(native $gpu)" = 'cuda, cpu' ] || fail "a GPU and NVRTC: not for both"
"$gc" --version | grep -q '^targets: cpu, cuda (NVRTC ' || fail "--version"
"$gc" very_own.g --emit=ptx -o b.ptx
cmp -s a.ptx b.ptx || fail "two texts of PTX differ"
grep -q '^.target sm_80' a.ptx || fail "PTX is not for sm_80"
says 3 'does not know sm_10' "$gc" very_own.g --emit=cubin --arch=sm_10 -o x

# compiled before: the cache answers, unless it is damaged or not asked
images() { # WANT OPTIONS…: PTX for one architecture is the same, and so many images came from the cache
  want=$1
  shift
  env XDG_CACHE_HOME="$dir" "$gc" very_own.g --emit=ptx -v -o kept.ptx "$@" 2>err || fail "--emit=ptx $*: $(cat err)"
  cmp -s a.ptx kept.ptx || fail "other PTX with a cache that gives $want images ($*)"
  grep -qx "gc: $want of 1 images were compiled before" err || fail "not $want images came from the cache ($*): $(cat err)"
}
rm -rf gc
images 0
images 1
images 0 --no-cache
for file in gc/*; do printf x >>"$file"; done
images 0
env XDG_CACHE_HOME="$dir" "$gc" very_own.g --emit=ptx --arch=sm_90 -v -o kept.ptx 2>err
grep -q '^gc: 0 of 1 images' err || fail "another architecture comes from the cache: $(cat err)"

# a user's options, behind gc's own; what they make is another entry of the cache
images 1
env XDG_CACHE_HOME="$dir" GC_NVRTC_OPTIONS='  --generate-line-info --maxrregcount=40 ' "$gc" very_own.g --emit=ptx -v -o lines.ptx 2>err
grep -q '^gc: 0 of 1 images' err || fail "GC_NVRTC_OPTIONS: $(cat err)"
{ grep -q '\.loc' lines.ptx && ! grep -q '\.loc' a.ptx; } || fail 'no line numbers by GC_NVRTC_OPTIONS'
images 1
says 3 'error: NVRTC rejects the generated source for compute_80 with GC_NVRTC_OPTIONS=--no-such' \
  env GC_NVRTC_OPTIONS=--no-such "$gc" very_own.g --emit=ptx -o none.ptx
[ -e none.ptx ] && fail 'a file is left where NVRTC takes no such option'
"$gc" very_own.g --emit=cubin --arch=sm_90a --stats -o a.cubin 2>stats || fail "--emit=cubin"
grep -qE '^ +k0 +[0-9]+ +[0-9]+ +0 +0 ' stats || fail "--stats does not say what kernels take"
# the pipelines of products on tensor cores are shared memory, too: 4 stages of 64 bytes of 32 rows and 32 columns
echo 'entry f(x : f16[40, 40], w : f16[40, 48]) { return y = x @ w }' >pipeline.g
"$gc" pipeline.g --emit=cubin --arch=sm_80 --stats -o a.cubin 2>stats || fail "--stats of a product on tensor cores"
grep -qE '^ +k0 +[0-9]+ +16384 +0 +0 +128$' stats || fail "--stats does not count the pipeline: $(cat stats)"
cat >few.g <<'END'
entry few(a : f32[9, 13], b : f32[1, 13], u : f32[9, 1]) { return y = u + a @ b' }
END
"$gc" few.g --emit=cubin --arch=sm_80 --stats -o a.cubin 2>stats || fail "--stats of a small product"
grep -qE '^ +k0 +[0-9]+ +6912 +0 +0 +64$' stats || fail "a product of one block spills: $(cat stats)"
# the last part of a depth is no branch for each of its steps, which takes NVRTC seconds
echo 'entry thin(x : f32[3, 70], w : f32[70, 12]) { return y = x @ w }' >thin.g
"$gc" thin.g --emit=ptx --arch=sm_80 -o thin.ptx || fail "a product of few rows"
[ "$(grep -c 'bra' thin.ptx)" -lt 32 ] || fail "a product of few rows has $(grep -c 'bra' thin.ptx) branches"
"$gc" very_own.g --target=cuda,cpu --arch=sm_80 -o a 2>err || fail "an executable for both: $(cat err)"
"$gc" very_own.g --target=cuda,cpu --arch=sm_80 -o b 2>err
cmp -s a b || fail "two executables differ"
"$gc" very_own.g --target=cuda,cpu --arch=compute_80 -o b 2>err || fail "an executable with PTX alone: $(cat err)"
grep -q 'Generated by NVIDIA NVVM' b || fail "--arch=compute_80: no PTX is in the executable"
[ "$(wc -c <b)" -lt "$(wc -c <a)" ] || fail "PTX alone is no smaller than with a cubin"
finish
