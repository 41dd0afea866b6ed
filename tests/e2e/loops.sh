#!/bin/sh
# Loops that are recomputed for their backward passes: the bits of a net whose memory has no limit, with dropout in the
# body, for numbers of steps with and without divisors.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
hyper lr = 0.1
def loss_of(x : [t, n, d], y) {
  h, c = zeros([n, 16]), zeros([n, 16])
  hs = scan i in 0..t {
    h, c = lstm(dropout(x[i], 0.25), h, c) as l
    yield h
  }
  return mse(hs, y)
}
entry t12(x : f32[12, 32, 16], y : f32[12, 32, 16]) {
  loss = loss_of(x, y) as net
  minimize loss with sgd(lr)
  return loss
}
entry t13(x : f32[13, 32, 16], y : f32[13, 32, 16]) {
  loss = loss_of(x, y) as net
  minimize loss with sgd(lr)
  return loss
}
entry t50(x : f32[50, 12, 16], y : f32[50, 12, 16]) {
  loss = loss_of(x, y) as net
  minimize loss with sgd(lr)
  return loss
}
END
dims() { case $1 in t12) echo 12,32,16 ;; t13) echo 13,32,16 ;; t50) echo 50,12,16 ;; esac; }
for entry in t12 t13 t50; do
  "$mkdata" npy f32 "$(dims $entry)" 1 x_$entry.npy && "$mkdata" npy f32 "$(dims $entry)" 2 y_$entry.npy ||
    fail 'no data could be made'
done
for limit in 1G 160K; do
  run 0 "$gc" net.g -O2 --memory-limit=$limit --remarks=remat -o net_$limit
  cp out.txt remarks_$limit
  for entry in t12 t13 t50; do
    run 0 ./net_$limit $entry --x x_$entry.npy --y y_$entry.npy --steps 4 --seed 3 --poison --save w_${entry}_$limit.safetensors
    same w_${entry}_1G.safetensors w_${entry}_$limit.safetensors "$entry in $limit"
    [ $limit = 1G ] && continue
    arena=$(./net_$limit info $entry | sed -n 's/,//g; s/^ *arena *\([0-9]*\).*as planned.*/\1/p')
    at_most "$arena" $((${limit%K} * 1024)) "arena of $entry"
  done
done
for seed in 3 4; do
  run 0 ./net_160K t13 --x x_t13.npy --y y_t13.npy --steps 4 --seed $seed --save s$seed.safetensors
done
same s3.safetensors w_t13_1G.safetensors 'without poison'
cmp -s s3.safetensors s4.safetensors && fail 'dropout does not draw by the seed'
holds remarks_160K 'of 13 iterations of scan are recomputed'
# rows along any axis, by the counter, backwards, from the end, of what the loop changes, of u8 and i64, at several places at once: the bits
# of the loop unrolled, of rows that lie one behind the other, and without any pass; a place that is not there is found
cat >rows.g <<'END'
def net(x : [b, t, c, d], u : u8[b, t], z, h, j) {
  long = i64(u) * 3000000000
  LOOP i in 0..t {
    h = tanh(h * 0.5 + dynamic_slice(h, j + i - 1, 1, axis = 1) + reshape(x[:, i, :, 1] * x[:, t - 1 - i, 0:1, 2], [b, 1, c]))
    s = f32(u[:, i]) / 255 + f32(long[:, i] % 7) + z[:, :, i][0] + x[:, i, j, j] + x[1, i, 0, j] + z[:, :, i - 2][1] + x[:, -1 - i, 0, 1]
    h = h + reshape(s, [b, 1, 1]) * 0.01 + mean(dynamic_slice(x, j, 2, axis = 2))
  }
  return h + h[:, j, j][0]
}
entry f(x : f32[3, 5, 4, 6], u : u8[3, 5], z : f32[2, 3, 5], h : f32[3, 5, 4], j : i32[1]) {
  return y = net(x, u, z, h, j[0])
}
END
sed 's/LOOP/for/' rows.g >unrolled.g && sed -i 's/LOOP/scan/' rows.g
for input in f32:x:3,5,4,6 u8:u:3,5 f32:z:2,3,5 f32:h:3,5,4; do
  name=${input#*:}
  "$mkdata" npy "${input%%:*}" "${name#*:}" 1 "${name%:*}.npy" || fail 'no data could be made'
done
python3 - <<'END'
import struct
for name, value in ("j", 1), ("far", 4):
    head = b"{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }"
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    open(name + ".npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<i", value))
END
data="--x x.npy --u u.npy --z z.npy --h h.npy"
# shellcheck disable=SC2086 # the words of data are options
for way in rows-O0 rows-O1 rows-O2 unrolled-O0 unrolled-O2; do
  run 0 "$gc" "${way%-*}.g" "-${way#*-}" -o "$way"
  run 0 "./$way" f $data --j j.npy --y "$way.npy" --poison
  same rows-O0.npy "$way.npy" "$way"
  says 1 'far.npy' "./$way" f $data --j far.npy --y no.npy
done
# the profile counts what kernels of a loop compute and move in all iterations, those of loops in loops as well
cat >nested.g <<'END'
entry f(x : f32[7, 5, 16, 24], w : f32[24, 24], h : f32[16, 24]) {
  scan i in 0..7 { scan j in 0..5 { h = tanh(h @ w + x[i, j]) } }
  return sum(h @ w)
}
END
for input in x:7,5,16,24 w:24,24 h:16,24; do
  "$mkdata" npy f32 "${input#*:}" 1 "${input%%:*}.npy" || fail 'no data could be made'
done
run 0 "$gc" nested.g -O2 -o nested
run 0 ./nested f --x x.npy --w w.npy --h h.npy --threads 1 --profile nested.json
run 0 ./net_160K t12 --x x_t12.npy --y y_t12.npy --steps 1 --seed 3 --threads 1 --profile t12.json
cat >check.py <<'END'
import json, subprocess, sys
def of(file):
    return [e["args"] | {"name": e["name"]} for e in json.load(open(file))["traceEvents"] if e["ph"] == "X"]
for program, entry, file in ("nested", "f", "nested.json"), ("net_160K", "t12", "t12.json"):
    said = subprocess.run([f"./{program}", "info", entry], capture_output=True, text=True, check=True).stdout
    flops = next(int(line.split()[2].replace(",", "")) for line in said.splitlines() if line.endswith(" flops a run"))
    assert sum(e["flops"] for e in of(file)) == flops, (program, flops, of(file))
inner = [e for e in of("nested.json") if "matmul" in e["name"] and e["flops"] > 7 * 5 * 2 * 16 * 24 * 24]
assert len(inner) == 1, of("nested.json")
assert inner[0]["bytes"] == 7 * 5 * 4 * (3 * 16 * 24 + 24 * 24), inner
END
run 0 python3 check.py
finish
