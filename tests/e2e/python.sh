#!/bin/sh
# A model as a Python module, and as a wheel: its results against the executable form bit for bit, arrays that are taken and refused,
# names that Python reserves, extents by the shapes of the inputs, and what goes wrong.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
let N = 16
hyper lr = 0.01
def net(x : f32[n, 12]) { return linear(relu(linear(x, 33) as fc1), 5) as fc2 }
entry train(x : f32[N, 12], y : i32[N]) {
  z = net(x)
  loss = mean(xent(z, y))
  minimize loss with adamw(lr)
  return loss, hit = mean(argmax(z) == y)
}
entry predict(x : f32[rows <= 8, 12]) {
  z = net(x)
  return class = argmax(z), p = softmax(z)
}
END
cat >odd.g <<'END'
hyper property = 0.5
entry score(x : f32[n <= 8, 3], scale : f32, k : i32, on : bool) { return sum = sum(x, [1]) * scale, k = k + 1, off = not on }
entry steps(e : f32[n + 1 <= 9, 3], x : f32[n, 3]) { return longer = e, d = x[1:] - x[:-1], wide = pad(x, [1, 0], [1, 0]), twice = split(concat([x, x]), 2)[0], last = sum(x[1:]) }
entry beyond(e : f32[n + 1 <= 9, 3]) { return d = e[1:] }
entry halves(b : bf16[2], f : f16[2], s : f16) { return b = b * 2, f = f * s, s }
entry load(lambda : f32[2], self : f32[2], class : u8[2]) { return value = lambda + self + property, class, total = sum(lambda) }
entry Score(x : f32[2]) { return x }
entry counts(x : i64[2, 3]) { return x = x + 1 }
entry bytes_of(b : i8[3], s : i8) { return b = -b, s = -s }
entry rows(x : f32[rows <= 900, 100]) { return y = 2 * x }
entry slide(x : f32[1, 1, h <= 8, 2]) { return y = max_pool(x, [3, 1], stride = 1) }
entry tick() {
  state t : i64[] = zeros()
  t := t + 1
  return t
}
entry silent(x : f32) {
  state kept : f32[] = zeros()
  kept := x
}
hyper times : i32 = 3
hyper on = true
entry hypers(x : i32) { return y = where(on, x * times, x) }
END
run 0 "$gc" net.g -o net
run 0 "$gc" net.g --emit=python
[ -s libnet.so ] && [ -s net.py ] && [ ! -e net.h ] || fail 'not libnet.so and net.py beside the source'
run 0 "$gc" odd.g --emit=python

if python3 -c 'import numpy' 2>/dev/null; then
  cat >use.py <<'END'
import copy
import pickle
import threading
from pathlib import Path

import numpy as np

import net
import odd

# ---- the bits of the executable ----
x, y = np.load("x.npy"), np.load("y.npy").astype(np.int32)
with net.Model(threads=2, seed=7) as m:
    assert m.lr == np.float32(0.01) and m.threads <= 2 and m.device == "cpu" and m.bytes > 0
    rows = len(x) // 16 * 16
    for step in range(12):
        at = step * 16 % rows
        r = m.train(x[at:at + 16], y[at:at + 16])
    assert r._fields == ("loss", "hit") and isinstance(r.loss, float)
    m.save(Path("python.safetensors"))
    np.save("p.npy", m.predict(x[:5]).p)
    assert m.predict(x=x[:8]).class_out.shape == (8,)
    threads = [threading.Thread(target=m.predict, args=(x[:3],)) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]


def refused(kind, text, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as e:
        assert text in str(e), f"{e}, not {text}"
    else:
        raise AssertionError(f"no error: {text}")


class Other:
    """An array of a library with DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


# ---- what is taken ----
m = odd.Model(1)
a = np.arange(12, dtype=np.float32).reshape(4, 3)
for same in (a, a.tolist(), Other(a), np.asfortranarray(a), np.repeat(a, 2, 0)[::2]):
    r = m.score(same, 2, np.int64(3), on=True)
    assert r.sum.tolist() == [6, 24, 42, 60] and r.k == 4 and r.off is False
assert m.counts([[1, 2, 3]] * 2).x.tolist() == [[2, 3, 4]] * 2
r = m.bytes_of(np.array([1, -2, 127], np.int8), -128)
assert r.b.tolist() == [-1, 2, -127] and r.s == -128
h = m.halves(np.array([0x3f80, 0x4000], np.uint16), np.array([1, 2], np.float16), 2)
assert h.b.view(np.uint16).tolist() == [0x4000, 0x4080] and h.f.tolist() == [2, 4] and h.s == 2
assert m.tick().t == 1 and m.tick().t == 2
m.save("s.safetensors")
m.reset()
assert m.tick().t == 1
m.load("s.safetensors")
assert m.tick().t == 3
assert m.silent(1.5) is None

# ---- names ----
assert m.property_hyper == 0.5
m.property_hyper = 2
r = m.load_entry([1, 2], [3, 4], [5, 6])
assert r.value_out.tolist() == [6, 8] and r.class_out.tolist() == [5, 6] and r.total == 3
assert m.Score([1, 2])._fields == ("x",) and odd.Score is not odd.Score_result

# ---- all but some rows of a run, and some more ----
for n in 8, 3, 1:
    rows = np.arange(3 * n, dtype=np.float32).reshape(n, 3) ** 2
    longer = np.concatenate([rows, rows[:1]])
    r = m.steps(longer, rows)
    assert np.array_equal(r.longer, longer)
    n == 1 or refused(ValueError, "x is float32", m.steps, longer, rows[1:])
    assert np.array_equal(r.d, rows[1:] - rows[:-1]) and np.array_equal(r.wide, np.pad(rows, ((1, 1), (0, 0))))
    assert np.array_equal(r.twice, rows)
    assert r.last == rows[1:].sum() and not np.signbit(r.last)  # of no elements 0
refused(ValueError, "e is float32 [0, 3], not float32 [n + 1, 3]", m.beyond, a[:0])

# ---- memory of a large result is taken again once nobody refers to it ----
full = [np.full((n, 100), n, np.float32) for n in (600, 900, 500, 700)]
kept = m.rows(full[0]).y
part = m.rows(full[1]).y[3:5].T
other = m.rows(full[2]).y
assert (kept == 1200).all() and (part == 1800).all() and (other == 1000).all()
at = kept.ctypes.data
del kept
again = m.rows(full[3]).y
assert again.ctypes.data == at and (again == 1400).all() and (part == 1800).all() and (other == 1000).all()

# ---- hypers by their dtype ----
assert m.times == 3 and m.on is True and m.hypers(2).y == 6
m.times, m.on = -7, True
assert m.hypers(2).y == -14
m.on = False
assert m.on is False and m.hypers(2).y == 2
for value, given in (1.5, "1.5 (float)"), ("2", "'2' (str)"), (None, "None (NoneType)"):
    refused(TypeError, f"times is {given}; an int is expected", setattr, m, "times", value)
    refused(TypeError, f"threads is {given}; an int is expected", odd.Model, threads=value)
    refused(TypeError, f"seed is {given}; an int is expected", m.reset, value)
for beyond in 2**31, -2**31 - 1, 2**40 + 5:
    refused(ValueError, f"times is {beyond}; an int from -2147483648 to 2147483647 is expected", setattr, m, "times", beyond)
refused(ValueError, "threads is 4294967296; an int from", odd.Model, 2**32)
for seed in -1, 2**64:
    refused(ValueError, f"seed is {seed}; an int from 0 to 18446744073709551615 is expected", odd.Model, seed=seed)
    refused(ValueError, f"seed is {seed}; an int from 0", m.reset, seed)
refused(TypeError, "property_hyper is 'a' (str); a float is expected", setattr, m, "property_hyper", "a")
refused(TypeError, "property_hyper is array([1., 2.]) (ndarray); a float is expected", setattr, m, "property_hyper", np.ones(2) * [1, 2])
refused(ValueError, "property_hyper is 1e+300; a float from -3.40", setattr, m, "property_hyper", 1e300)
for value in "nan", "inf", "-inf":
    refused(ValueError, f"property_hyper is {value}; a finite number is expected", setattr, m, "property_hyper", float(value))
refused(TypeError, "property_hyper is 1000", setattr, m, "property_hyper", 10**400)
refused(TypeError, "on is 'yes' (str); a bool is expected", setattr, m, "on", "yes")
refused(TypeError, "device is 1 (int); a str as 'cpu' or 'cuda:0', or None, is expected", odd.Model, device=1)
m.property_hyper = np.float64(0.5)
m.property_hyper, m.on = 2, np.bool_(False)
refused(AttributeError, "tims", setattr, m, "tims", 1)
for copied in copy.copy, copy.deepcopy, pickle.dumps:
    refused(TypeError, "a model cannot be copied or pickled", copied, m)
m.times = -2**31
assert m.times == -2**31

# ---- what is refused ----
refused(TypeError, "x is float64 [4, 3], not float32 [n, 3]; convert it first", m.score, a.astype(np.float64), 1, 1, True)
refused(TypeError, "k is 1.5 (float), not int32", m.score, a, 1, 1.5, True)
refused(TypeError, f"k is {2**40 + 5} (int), not int32", m.score, a, 1, 2**40 + 5, True)
refused(TypeError, "on is 1 (int), not bool", m.score, a, 1, 1, 1)
refused(TypeError, "class_in is [300, 1] (list), not uint8 [2]", m.load_entry, [1, 2], [3, 4], [300, 1])
refused(TypeError, "x is None (NoneType), not float32 [n, 3]", m.score, None, 1, 1, True)
refused(TypeError, "x is no array: setting an array element with a sequence.", m.score, [[1, 2], [3]], 1, 1, True)
refused(ValueError, "x is float32 [4, 2], not float32 [n, 3]", m.score, a[:, :2], 1, 1, True)
refused(odd.Error, "n is 9, which is not in 1 to 8", m.score, np.ones((9, 3), np.float32), 1, 1, True)
refused(odd.Error, "n is 0, which is not in 1 to 8", m.score, a[:0], 1, 1, True)
refused(odd.Error, "h is 2, which is not in 3 to 8", m.slide, np.ones((1, 1, 2, 2), np.float32))
assert "h is 3 to 8, by the shapes" in odd.Model.slide.__doc__
refused(odd.Error, "none.safetensors", m.load, "none.safetensors")
refused(odd.Error, "-1 threads", odd.Model, threads=-1)
refused(odd.Error, "cuda:9", odd.Model, device="cuda:9")
m.close()
m.close()
refused(odd.Error, "the model is closed", m.tick)
END
  cat >data.py <<'END'
import numpy as np

g = np.random.default_rng(1)
np.save("x.npy", g.standard_normal((48, 12), np.float32))
np.save("y.npy", g.integers(0, 5, 48, np.int32))
END
  run 0 python3 data.py
  run 0 python3 use.py
  run 0 ./net train --x x.npy --y y.npy --steps 12 --no-shuffle --seed 7 --save exe.safetensors --quiet
  same exe.safetensors python.safetensors 'weights after 12 steps'
  run 0 ./net predict --x 'x.npy[0:5]' --load exe.safetensors --p exe.npy --quiet
  tail -c 100 exe.npy >exe.bin
  tail -c 100 p.npy >p.bin
  same exe.bin p.bin predictions

  # ---- the wheel: the same module, installed ----
  run 0 "$gc" net.g --emit=wheel
  wheel=$(ls net-1.0-py3-none-*.whl)
  cp "$wheel" first.whl
  run 0 "$gc" net.g --emit=wheel -o "$wheel"
  same first.whl "$wheel" 'a wheel that is made anew'
  mkdir site
  cat >wheel.py <<'END'
import sys
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib import metadata

wheel, site = sys.argv[1:]
with zipfile.ZipFile(wheel) as z:
    assert z.testzip() is None
    record = dict(line.split(",", 1) for line in z.read("net-1.0.dist-info/RECORD").decode().splitlines())
    assert sorted(record) == sorted(z.namelist()), record
    for name, said in record.items():
        data = z.read(name)
        found = "sha256=" + urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=")
        assert said == ("," if name.endswith("/RECORD") else f"{found},{len(data)}"), name
    z.extractall(site)
d, = metadata.distributions(path=[site])
assert (d.metadata["Name"], d.version, d.requires) == ("net", "1.0", ["numpy>=1.22"])
assert f"Tag: {wheel[len('net-1.0-'):-len('.whl')]}\n" in d.read_text("WHEEL")
END
  run 0 python3 wheel.py "$wheel" site
  if python3 -m pip --version >out.txt 2>&1; then # what installs wheels takes it, too
    rm -r site
    run 0 python3 -m pip install -q --disable-pip-version-check --no-index --no-deps --target site "$wheel"
  else
    not_tested 'the wheel in an installer: python3 has no pip'
  fi
  mkdir elsewhere && cp x.npy elsewhere
  cat >elsewhere/use.py <<'END'
import numpy as np

import net

with net.Model() as m:
    m.load("../exe.safetensors")
    assert net.__file__.endswith("site/net/__init__.py")
    np.save("../wheel.npy", m.predict(np.load("x.npy")[:5]).p)
END
  (cd elsewhere && PYTHONPATH=../site python3 use.py) || fail 'the module of the wheel'
  same p.npy wheel.npy 'predictions of the wheel'
else
  not_tested 'the module in Python: python3 with numpy is missing'
fi

# ---- where it goes ----
for name in net.whl net-1.0.whl net-1.x-py3-none-linux_x86_64.whl class-1.0-py3-none-linux_x86_64.whl 3d-1.0-py3-none-linux_x86_64.whl net-1.0-py3-none-any.whl; do
  says 2 'a wheel is named NAME-VERSION-py3-none-PLATFORM.whl' "$gc" net.g --emit=wheel -o $name
  absent $name
done
says 2 "is the name of a wheel for manylinux_2_36_riscv64, but the code is for" "$gc" net.g --emit=wheel -o net-1.0-py3-none-manylinux_2_36_riscv64.whl
absent net-1.0-py3-none-manylinux_2_36_riscv64.whl
says 2 'save-temps has no place in a wheel' "$gc" net.g --emit=wheel --save-temps
printf 'PK\003\004 of somebody else' >net-2.0-py3-none-linux_x86_64.whl
says 2 'the output would replace net-2.0-py3-none-linux_x86_64.whl, which gc did not write' "$gc" net.g --emit=wheel -o net-2.0-py3-none-linux_x86_64.whl
cp net.g 3d.g
says 2 'a Python module is named NAME.py' "$gc" 3d.g --emit=python
for name in class numpy ctypes; do
  says 2 "keyword or module that it needs; not $name.py" "$gc" net.g --emit=python -o $name.py
  absent $name.py
done
says 2 'not libnet.so: name it with -o' "$gc" net.g --emit=python -o libnet.so
mkdir -p own dir/net.py
echo 'mine = 1' >own/net.py
says 2 'the module would replace own/net.py, which gc did not write' "$gc" net.g --emit=python -o own/net.py
[ "$(ls own)" = net.py ] && [ "$(cat own/net.py)" = 'mine = 1' ] || fail 'the module of somebody else was touched'
says 2 'the module would be dir/net.py, which is a directory' "$gc" net.g --emit=python -o dir/net.py
run 0 "$gc" 3d.g --emit=python -o own/solid.py
[ "$(ls own | tr '\n' ' ')" = 'libsolid.so net.py solid.py ' ] || fail 'not libsolid.so and solid.py'
finish
