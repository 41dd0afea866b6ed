#!/bin/sh
# Compiling in several processes and with the cache of compiled kernels: the program is the same.
. "$(dirname "$0")/common.sh"
export XDG_CACHE_HOME="$scratch/cache"
mkdir temporary
export TMPDIR="$scratch/temporary"

# 6 layers, no two of them equal: several files
{
  echo 'entry train(x : f32[40, 300]) {'
  previous=x
  for i in $(seq 6); do
    echo "  y$i = tanh((linear($previous, $((100 + i))) as l$i) * $i.5)"
    previous=y$i
  done
  echo "  loss = mean($previous ** 2)"
  echo '  minimize loss with adamw(1e-3 / (1 + 0.5 * f32(step)))'
  echo '  return loss'
  echo '}'
} >many.g
export CC="$here/tests/cc-O0"
# and what one file is enough for
printf 'entry f(x : f32[64]) {\n  return y = tanh(x) * 2\n}\n' >one.g

counted() { sed -n 's/^gc: \([0-9]*\) of \([0-9]*\) files were compiled before$/\1 \2/p' out.txt; }

# ---- any number of jobs ----
for jobs in 1 3 256; do
  run 0 "$gc" many.g -o many.$jobs --jobs=$jobs --no-cache -v
  same many.1 many.$jobs "with $jobs jobs"
done
set -- $(counted)
[ "$1" = 0 ] || fail "--no-cache took $1 files from the cache"
files=$2
[ "$files" -gt 2 ] || fail "only $files files: nothing was compiled at the same time"
[ -e cache ] && fail '--no-cache has made a cache'
for jobs in 0 257 two ''; do says 2 '--jobs' "$gc" many.g -o none --jobs=$jobs; done

# ---- once and again ----
run 0 "$gc" many.g -o first -v
[ "$(counted)" = "0 $files" ] || fail "an empty cache: $(counted)"
run 0 "$gc" many.g -o again -v
[ "$(counted)" = "$files $files" ] || fail "a second compilation compiled something: $(counted)"
same many.1 first 'what fills the cache'
same many.1 again 'what comes from the cache'

# ---- on a terminal it says how far it is, in a line of which nothing is left; elsewhere nothing ----
cat >terminal.py <<'END'
import os, pty, re, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
said = b""
try:
    while piece := os.read(terminal, 4096):
        said += piece
except OSError:  # nobody has the other end any more
    pass
code, files = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), int(sys.argv[1])
counts = re.fullmatch(rb"((?:\rgc: compiling kernels: \d+ of \d+ files\x1b\[K)*)\r\x1b\[K", said)
want = [(i, files) for i in range(files)]
if code or not counts or [tuple(map(int, m)) for m in re.findall(rb"(\d+) of (\d+)", counts[1])] != want:
    sys.exit(f"exit code {code}: {said!r}")
END
checks=$((checks + 1))
python3 terminal.py $files "$gc" many.g -o terminal --jobs=1 --no-cache || fail 'the line of a terminal'
same many.1 terminal 'on a terminal'
run 0 "$gc" many.g -o silent --no-cache
[ -s out.txt ] && fail "progress in a file: $(cat out.txt)"

# ---- a build without the library that programs link ----
mkdir -p bare/bin bare/lib/gc && cp "$gc" bare/bin/gc && cp "$(dirname "$gc")"/../lib/gc/*.h bare/lib/gc
says 3 "cannot read gc's runtime" bare/bin/gc one.g -o none
holds out.txt "hint: the target gcrt of gc's build makes it: cmake --build BUILD --target gcrt"
cp "$(dirname "$gc")/../lib/gc/libgcrt.a" bare/lib/gc
says 3 'libgctokens.a' bare/bin/gc one.g -o none --tokens
holds out.txt '--target gctokens'

# ---- another schedule: the kernel that computes the rate, and the tables ----
sed 's/0\.5 \*/0.25 */' many.g >other.g; cmp -s many.g other.g && fail 'nothing was edited'
run 0 "$gc" other.g -o other -v
set -- $(counted)
[ "$1" -ge $((files - 2)) ] && [ "$1" -lt "$2" ] || fail "another schedule: $1 of $2 files were compiled before"
run 0 "$gc" other.g -o fresh --no-cache
same other fresh 'after an edit'

# ---- another option, another compiler, another runtime: compiled anew ----
run 0 "$gc" one.g -o one -v
run 0 "$gc" one.g -o level -O0 -v
[ "$(counted | cut -d' ' -f1)" = 0 ] || fail "-O0 takes what -O2 made: $(counted)"
cp "$CC" other_cc
run 0 env CC=./other_cc "$gc" one.g -o level -v
[ "$(counted | cut -d' ' -f1)" = 0 ] || fail "another compiler takes what another made: $(counted)"

# ---- a damaged cache ----
for file in cache/gc/*; do printf x >>"$file"; done
run 0 "$gc" many.g -o damaged -v
[ "$(counted | cut -d' ' -f1)" = 0 ] || fail "damaged entries were taken: $(counted)"
same many.1 damaged 'a damaged cache'
run 0 "$gc" many.g -o mended -v
[ "$(counted)" = "$files $files" ] || fail "damaged entries were not replaced: $(counted)"

# ---- several at once, on an empty cache; none that can be made ----
rm -rf cache
for i in 1 2; do "$gc" many.g -o at_once$i 2>at_once$i.txt & done
wait
for i in 1 2; do same many.1 at_once$i 'one of two at once'; done
run 0 "$gc" one.g -o one
run 0 env XDG_CACHE_HOME=/proc/nowhere "$gc" one.g -o without
same one without 'without a cache'
run 0 env -u XDG_CACHE_HOME -u HOME "$gc" one.g -o without
same one without 'without a home'

# ---- CC is several words ----
run 0 env CC=" $CC  -g0 " "$gc" one.g -o words --no-cache
same one words 'CC of several words'
says 3 "no C compiler: 'no-such-word cc' cannot be run" env CC='no-such-word cc' "$gc" many.g -o none

absent temporary/*
# ---- a compiler that rejects what gc wrote: the module that it was made of is kept, with its constants, and reads back ----
printf '#!/bin/sh\ncase " $* " in *" -c "*) exit 1 ;; esac\nexec cc "$@"\n' >rejects && chmod +x rejects
cat >constant.g <<'END'
let N = 2
entry f(x : f32[N]) { return y = x * 2 }
END
run 70 env CC=./rejects "$gc" constant.g -D N=3 -o constant --no-cache
again=$(sed -n 's/^gc:   gc .*-x ir //p' out.txt)
holds "${again:-out.txt}" 'f32[3]'
run 0 "$gc" -x ir "$again" -o again
absent constant

finish
