#!/bin/sh
# A model as a C library: its header in C and C++, its functions against the executable form of the same
# model bit for bit, what goes wrong, names that nobody should choose, and Python without a package.
. "$(dirname "$0")/common.sh"
unoptimised
cc=${CC:-cc}
cat >net.g <<'END'
let N = 16
hyper lr = 0.01
hyper by : i32 = 1
hyper turned = true
def net(x : f32[n, 12]) { return linear(relu(linear(x, 33) as fc1), 5) as fc2 }
entry train(x : f32[N, 12], y : i32[N]) {
  z = net(x)
  loss = mean(xent(z, y))
  minimize loss with adamw(lr)
  return loss, hit = mean(argmax(z) == y)
}
entry predict(x : f32[1, 12]) {
  z = net(x)
  return class = argmax(z), p = softmax(z)
}
entry noise(scale : f32) { return z = scale * normal(shape = [7]) }
entry count() {
  state n : i64[] = zeros()
  n := n + by
  return n
}
entry flip(b : bool[4]) {
  state kept : bool[4] = full([4], false)
  kept := b
  return b = kept != turned
}
END
run 0 "$gc" net.g -o net
run 0 "$gc" net.g --emit=lib
[ -s libnet.so ] && [ -s net.h ] || fail 'no libnet.so and net.h beside the source'

# ---- libc and libm alone; nothing but the model's functions comes out ----
libraries=$(ldd ./libnet.so | sed -E 's/^[[:space:]]*([^ ]+).*/\1/; s#.*/##' | grep -vE '^(linux-vdso|linux-gate|ld-linux)' | sort | tr '\n' ' ')
checks=$((checks + 1))
case $libraries in
'libc.so.6 libm.so.6 ' | 'libc.so.6 ') ;;
*) fail "the library needs $libraries" ;;
esac
exported=$(nm -D --defined-only libnet.so | awk '{ print $3 }' | grep -v '^net_')
[ -z "$exported" ] || fail "the library exports $exported"

# ---- C and C++ ----
run 0 "$cc" -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -O1 -I. "$here/tests/e2e/lib.c" -o use -L. -lnet -Wl,-rpath,"$PWD" -pthread -lm
echo '#include "net.h"' >header.c
run 0 "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only header.c
if command -v g++ >/dev/null; then
  printf '#include "net.h"\nint main() { net *m = net_open(1, 1); net_close(m); return !m; }\n' >header.cc
  run 0 g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror header.cc -o cpp -L. -lnet -Wl,-rpath,"$PWD"
  run 0 ./cpp
else
  not_tested 'the header as C++: g++ is missing'
fi

# ---- the same bits as the executable ----
run 0 ./use
cat out.txt
run 0 ./net train --x x.npy --y y.npy --steps 12 --no-shuffle --seed 7 --save exe.safetensors --quiet
same exe.safetensors lib.safetensors 'weights after 12 steps'
run 0 ./net predict --x 'x.npy[0:1]' --load lib.safetensors --p p.npy --quiet
tail -c 20 p.npy >exe.bin
same exe.bin p.bin 'predictions'
run 0 ./net noise --scale one.npy --seed 7 --z z.npy --quiet
tail -c 28 z.npy >exe.bin
same exe.bin z.bin 'random numbers'

./net count --steps 2 --by -2147483648 >out.txt 2>err.txt
[ -s err.txt ] && fail 'an entry without params speaks of them'
holds out.txt 'n = -4294967296'
./net count --help >out.txt
holds out.txt '--by N                     hyper (default 1)'
grep -q -- '--turned' out.txt && fail 'the help lists a hyper that the entry does not read'
./net count --steps 1 --turned false >out.txt 2>err.txt
holds err.txt "note: --turned changes nothing: 'count' does not read it"
./net flip --help >out.txt
holds out.txt '--turned true|false        hyper (default true)'
./net info count >out.txt
holds out.txt '--by                     1  i32'
says 2 '--by needs a whole number from -2147483648 to 2147483647, not 2147483648' ./net count --by 2147483648
says 2 '--by needs a whole number from -2147483648 to 2147483647, not 1.5' ./net count --by 1.5
says 2 '--turned needs true or false, not 1' ./net count --turned 1

# ---- no allocation by a call ----
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  for steps in 2 60; do
    run 0 strace -f -o "trace$steps" -e trace=mmap,mremap,brk,munmap,clone,clone3 ./use $steps
    grep -cE '(mmap|mremap|brk|munmap|clone3?)\(' "trace$steps" >"calls$steps"
  done
  same calls2 calls60 'calls for memory and threads'
else
  not_tested 'allocation by a call: strace is missing or not allowed'
fi

# ---- names ----
cat >'sem.g' <<'END'
let N = 2
hyper int = 1
entry load(linux : f32[N], m : f32[N], class : f32, sem : f32[N], int_ : f32[N], out : f32[N]) { return m = m + linux, new = sem * class + int_ + out }
entry open(t : f32[N]) { return load_count = t, out = t * int }
entry close_entry(x : f32[N]) { return x }
entry close(x : f32[N]) { return x = 2 * x }
entry set_int(f : f16[N], b : bf16[N], w : f64[N], k : u8[N], l : i64[N]) { return f, b, w, k, l }
entry t(std : f32[N]) { return std, true_ = std }
entry slide(x : f32[1, 1, h <= 8, N]) { return y = max_pool(x, [3, 1], stride = 1) }
END
run 0 "$gc" sem.g --emit=lib
holds sem.h 'int h /* 3 to 8 */'
holds sem.h 'sem_model_load_entry('
holds sem.h 'float *m_in /* [2], m */'
holds sem.h 'float class_in /* class */'
holds sem.h '*sem_model_open(int threads'
cp sem.g strlcpy.g # which this machine's libc may lack
run 0 "$gc" strlcpy.g --emit=lib
holds strlcpy.h '*strlcpy_model_open(int threads'
for name in exp 3d-net class 'odd name' size_t main; do
  cp sem.g "$name.g"
  run 0 "$gc" "$name.g" --emit=lib -o "lib$name.so"
  { echo '#include <math.h>'; echo '#include <semaphore.h>'; echo "#include \"$name.h\""; echo 'int main(void) { return 0; }'; } >names.c
  run 0 "$cc" -std=gnu17 -Wall -Wextra -Werror -I. names.c -o names "lib$name.so"
  command -v g++ >/dev/null && run 0 g++ -x c++ -Wall -Wextra -Werror -I. -fsyntax-only names.c
done

# ---- two models in one program, and the same one under two names ----
run 0 "$gc" net.g --emit=lib -D N=1 -o libnet1.so
cat >two.c <<'END'
#include "net.h"
#include "net1.h"
int main(void) {
  net *a = net_open(1, 1);
  net1 *b = net1_open(1, 1);
  float x[12] = {1}, p[5], q[5];
  bool ok = a && b && net_predict(a, x, NULL, p) && net1_predict(b, x, NULL, q) && p[3] == q[3];
  net_close(a);
  net1_close(b);
  return !ok;
}
END
sed -i '1i #include <stddef.h>' two.c
run 0 "$cc" -Wall -Wextra -Werror -I. two.c -o two -L. -lnet -lnet1 -Wl,-rpath,"$PWD"
run 0 ./two

# ---- builds of others: pkg-config and CMake find what was movedgether ----
mkdir moved build
cat >user.c <<'END'
#include "net.h"
int main(void) {
  net *m = net_open(1, 1);
  net_close(m);
  return !m;
}
END
for name in net 'odd name' 3d-net; do mv "lib$name.so" "$name.h" "$name.pc" "${name}Config.cmake" moved; done
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH="$PWD/moved" pkg-config --cflags --libs net) || fail 'pkg-config does not find net'
  (cd build && eval "\"\$cc\" -Werror ../user.c -o pc $flags" && ./pc) || fail "a program by pkg-config: $flags"
else
  not_tested 'a library by pkg-config, which is missing'
fi
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(user NONE)
foreach(name net "odd name" 3d-net)
  find_package("${name}" REQUIRED)
  find_package("${name}" REQUIRED) # by another part of the same build
  string(REPLACE " " "_" target "${name}")
  get_target_property(file ${target}::${target} IMPORTED_LOCATION)
  get_target_property(folder ${target}::${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT EXISTS "${file}" OR NOT EXISTS "${folder}/${name}.h")
    message(FATAL_ERROR "not there: ${file}, ${folder}/${name}.h")
  endif()
endforeach()
END
run 0 cmake -S . -B build -DCMAKE_PREFIX_PATH="$PWD/moved" -G 'Unix Makefiles'
cp 'moved/libnet.so' 'moved/net.h' .

# ---- what is refused leaves everything as it was ----
mkdir -p own taken/net.so.d
echo '/* mine */' >own/net.h
says 2 'the header would replace own/net.h, which gc did not write' "$gc" net.g --emit=lib -o own/libnet.so
[ "$(cat own/net.h)" = '/* mine */' ] && [ "$(ls own)" = net.h ] || fail 'the header of somebody else was touched'
says 2 'libNAME.so' "$gc" net.g --emit=lib -o net.dll
says 2 'libNAME.so' "$gc" net.g --emit=lib -o lib.so/.so
says 3 'cannot write' "$gc" net.g --emit=lib -o missing/libnet.so
mkdir -p full/net.h
says 2 'the header would be full/net.h, which is a directory' "$gc" net.g --emit=lib -o full/libnet.so
[ "$(ls full)" = net.h ] || fail 'half a library was left behind'
rmdir full/net.h
echo 'prefix=/usr' >full/net.pc
says 2 'the file for pkg-config would replace full/net.pc, which gc did not write' "$gc" net.g --emit=lib -o full/libnet.so

# ---- Python, with nothing installed ----
if command -v python3 >/dev/null; then
  cat >use.py <<'END'
import ctypes
net = ctypes.CDLL("./libnet.so")
net.net_open.restype = ctypes.c_void_p
net.net_open.argtypes = [ctypes.c_int, ctypes.c_uint64]
net.net_error.restype = ctypes.c_char_p
net.net_error.argtypes = [ctypes.c_void_p]
for name in "load predict close".split():
    getattr(net, "net_" + name).restype = ctypes.c_bool
m = net.net_open(0, 7)
assert m, net.net_error(None)
m = ctypes.c_void_p(m)
assert not net.net_load(m, b"nothing.safetensors") and b"nothing.safetensors" in net.net_error(m)
assert net.net_load(m, b"lib.safetensors"), net.net_error(m)
row = open("x.npy", "rb").read()[128:128 + 48]
x, p, digit = (ctypes.c_float * 12).from_buffer_copy(row), (ctypes.c_float * 5)(), (ctypes.c_int32 * 1)()
assert net.net_predict(m, x, digit, p)
assert bytes(p) == open("p.bin", "rb").read()
assert digit[0] == max(range(5), key=lambda i: p[i])
net.net_close(m)
END
  run 0 python3 use.py
else
  not_tested 'the library from Python: python3 is missing'
fi
finish
