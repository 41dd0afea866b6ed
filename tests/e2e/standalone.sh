#!/bin/sh
# What a generated program is made of: libc and libm alone, no allocation once it runs, the same bytes
# from every compilation; weights and outputs that numpy and safetensors read.
. "$(dirname "$0")/common.sh"
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -o mnist
run 0 "$gc" "$here/docs/examples/chars.g" -O2 -o chars

# ---- libraries ----
for program in mnist chars; do
  libraries=$(ldd ./$program | sed -E 's/^[[:space:]]*([^ ]+).*/\1/; s#.*/##' | grep -vE '^(linux-vdso|linux-gate|ld-linux)' | sort | tr '\n' ' ')
  checks=$((checks + 1))
  [ "$libraries" = 'libc.so.6 libm.so.6 ' ] || fail "$program needs $libraries"
done

# ---- the same bytes again, from another folder and under another name ----
mkdir -p elsewhere/deeper
cp "$here/docs/examples/mnist.g" elsewhere/deeper/mnist.g
run 0 "$gc" "$here/docs/examples/mnist.g" -O2 -o again
same mnist again 'compiled twice'
run 0 env -C elsewhere/deeper "$gc" "$here/docs/examples/mnist.g" -O2 -o there
same mnist elsewhere/deeper/there 'compiled in another folder'

# ---- no allocation after start-up ----
# The calls that give a process memory are as many in a long run as in a short one.
head -c 20016 "$here/docs/examples/chars.g" >text.txt
while [ "$(wc -c <text.txt)" -lt 20016 ]; do cat text.txt text.txt >more.txt && head -c 20016 more.txt >text.txt; done
rows="--context text.txt~1[0:20000] --next text.txt+16~1[0:20000]"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  for attempt in 1 2 3; do # a start may have one more, of the C library, if its threads meet
    for steps in 2 60; do
      run 0 strace -f -o "trace$steps" -e trace=mmap,mremap,brk,munmap ./chars train $rows --steps $steps --threads 2 --quiet
      grep -cE '(mmap|mremap|brk|munmap)\(' "trace$steps" >"calls$steps"
    done
    cmp -s calls2 calls60 && break
  done
  echo "calls for memory: $(cat calls2) in 2 steps, $(cat calls60) in 60"
  same calls2 calls60 'calls for memory'
else
  not_tested 'allocation after start-up: strace is missing or not allowed'
fi

# ---- another linker, which does not put a symbol that is nowhere at address 0 ----
if command -v ld.gold >/dev/null; then
  printf '#!/bin/sh\nexec gcc -fuse-ld=gold "$@"\n' >by_gold && chmod +x by_gold
  run 0 env CC="$PWD/by_gold" "$gc" "$here/docs/examples/chars.g" -O0 -o gold
  run 0 ./gold train $rows --steps 1 --quiet
else
  not_tested 'a program that is linked by gold: ld.gold is missing'
fi

# ---- other readers ----
run 0 ./chars train $rows --steps 2 --save w.safetensors --quiet
run 0 ./chars validate $rows --load w.safetensors --loss loss.npy --quiet
if python3 -c 'import numpy, safetensors' 2>/dev/null; then
  cat >read.py <<'END'
import numpy as np
from safetensors.numpy import load_file
w = load_file("w.safetensors")
assert w["net.fc1.w"].shape == (512, 512) and w["net.fc1.w"].dtype == np.float32, w["net.fc1.w"]
assert all(np.isfinite(v).all() for v in w.values() if v.dtype.kind == "f")
loss = np.load("loss.npy")
assert loss.dtype == np.float32 and np.isfinite(loss).all(), loss
END
  run 0 python3 read.py
else
  not_tested 'other readers: numpy and safetensors are not installed'
fi
finish
