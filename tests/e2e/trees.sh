#!/bin/sh
# Training with trees of params against the same by hand, bit for bit: averaged weights, a target network, no decay
# for norms, the gradients' norm, f16 with a loss scale and skipped steps, an adapter of low rank, an optimizer that
# calls another one. Each entry trains the nets a and b, which begin with the same numbers, and counts the weights
# that differ: a with trees, b by hand.
. "$(dirname "$0")/common.sh"
unoptimised
cat >t.g <<'END'
let N = 8
hyper lr = 0.05
def wave(shape : shape) { return 0.4 * sin(1.7 * reshape(f32(iota(prod(shape))), shape) + 1) }
def layers(x, g, w1, w2) { return tanh(rms_norm(x @ w1) * g) @ w2 }
def weights() {
  param g : f32[6] = ones()
  param w1 : f32[5, 6] = wave()
  param w2 : f32[6, 3] = wave()
  return g, w1, w2
}
def net(x) {
  param g : f32[6] = ones()
  param w1 : f32[5, 6] = wave()
  param w2 : f32[6, 3] = wave()
  return layers(x, g, w1, w2)
}
def averages(rate = 0) {
  param g : f32[6] = ones()
  param w1 : f32[5, 6] = wave()
  param w2 : f32[6, 3] = wave()
  state mg : f32[6] = g
  state m1 : f32[5, 6] = w1
  state m2 : f32[6, 3] = w2
  if rate > 0 {
    mg := (1 - rate) * mg + rate * g
    m1 := (1 - rate) * m1 + rate * w1
    m2 := (1 - rate) * m2 + rate * w2
  }
  return mg, m1, m2
}
def differ(x, y) { return sum(i32(x != y)) }
def unlike() {
  p, q = params("a"), params("b")
  return differ(p["a.g"], q["b.g"]) + differ(p["a.w1"], q["b.w1"]) + differ(p["a.w2"], q["b.w2"])
}
def data() { return normal(shape = [N, 5]), normal(shape = [N, 3]) }
state ema = like params("a")

entry averaged() {
  x, y = data()
  with ema { p = net(x) as a }
  mg, m1, m2 = averages() as b
  return loss = mse(p, y), unlike = differ(p, layers(x, mg, m1, m2)), moved = differ(p, net(x) as a)
}
entry average() {
  x, y = data()
  loss = mse(net(x) as a, y)
  minimize loss with sgd(lr, momentum = 0.9)
  ema := (1 - 0.1) * ema + 0.1 * params("a")
  with ema { p = net(x) as a }
  by_hand = mse(net(x) as b, y)
  minimize by_hand with sgd(lr, momentum = 0.9)
  mg, m1, m2 = averages(0.1) as b shared
  return loss, unlike = unlike() + differ(p, layers(x, mg, m1, m2))
}
entry target() {
  x, y = data()
  with ema { t = net(x + 0.1) as a }
  loss = mse(net(x) as a, stop_gradient(t) + y)
  minimize loss with sgd(lr)
  ema := (1 - 0.05) * ema + 0.05 * params("a")
  mg, m1, m2 = averages() as b
  by_hand = mse(net(x) as b shared, stop_gradient(layers(x + 0.1, mg, m1, m2)) + y)
  minimize by_hand with sgd(lr)
  ng, n1, n2 = averages(0.05) as b shared
  return loss, unlike = unlike() + differ(t, layers(x + 0.1, mg, m1, m2))
}
entry groups() {
  x, y = data()
  loss = mse(net(x) as a, y)
  minimize loss with adamw(lr, decay = 0.5) if rank(p) > 1, adamw(lr, decay = 0)
  by_hand = mse(net(x) as b, y)
  minimize by_hand with adamw(lr, decay = 0.5, only = ["b.w1", "b.w2"])
  minimize by_hand with adamw(lr, decay = 0, only = "b.g")
  return loss, unlike = unlike()
}
entry norms() {
  x, y = data()
  loss = mse(net(x) as a, y)
  gradient = grad(loss, params("a"))
  size = norm(gradient)
  update params("a") with sgd(lr), by = gradient * min(0.5 / (size + 1e-6), 1)
  by_hand = mse(net(x) as b, y)
  g, w1, w2 = weights() as b shared
  dg, d1, d2 = grad(by_hand, [g, w1, w2])
  minimize by_hand with sgd(lr), clip = 0.5
  return size, unlike = unlike() + i32(size != sqrt(sum(dg * dg) + sum(d1 * d1) + sum(d2 * d2)))
}
def skipping(p, g, lr, ok) {                  # momentum that nothing of a skipped step gets into
  state m : f32[shape(p)] = zeros()
  next = 0.9 * m + g
  m := where(ok, next, m)
  p := where(ok, p - lr * next, p)
}
entry halves() {
  state scale : f32[] = const(32768)
  state steps : i64[] = zeros()
  x, y = data()
  with f16(params("a")) { p = net(f16(x)) as a }
  loss = mse(f32(p), y)
  g = grad(loss * scale, params("a")) / scale
  ok = finite(g)
  update params("a") with sgd(lr, momentum = 0.9), by = g, if = ok
  wg, w1, w2 = weights() as b
  by_hand = mse(f32(layers(f16(x), f16(wg), f16(w1), f16(w2))), y)
  dg, d1, d2 = grad(by_hand * scale, [wg, w1, w2])
  fine = sum(not isfinite(dg)) + sum(not isfinite(d1)) + sum(not isfinite(d2)) == 0
  update params("b") with skipping(lr, fine), by = grad(by_hand * scale, params("b")) / scale, if = fine
  steps := where(fine, steps + 1, steps)
  scale := where(fine, scale * 2, scale / 4)
  return loss, scale, skipped = i32(not ok), unlike = unlike() + i32(steps != step + i64(fine)) + i32(ok != fine)
}
def adapted(x) {
  g, w1, w2 = weights() as base
  scope low {
    param down : f32[5, 2] = wave()
    param up : f32[2, 6] = zeros()
  }
  return layers(x, stop_gradient(g), stop_gradient(w1) + down @ up, stop_gradient(w2))
}
entry adapter() {
  x, y = data()
  loss = mse(adapted(x) as c, y)
  low = params("c.low")
  update low with adam(lr), by = grad(loss, low)
  by_hand = mse(adapted(x) as d, y)
  minimize by_hand with adam(lr)
  p, q = params("c"), params("d")
  return loss, unlike = differ(p["c.low.down"], q["d.low.down"]) + differ(p["c.low.up"], q["d.low.up"]) +
                        differ(p["c.base.w1"], wave([5, 6]))
}
def half(p, g, lr) { adamw(p, g, lr / 2, decay = 0) }
entry wrapped() {
  x, y = data()
  loss = mse(net(x) as a, y)
  minimize loss with half(lr)
  by_hand = mse(net(x) as b, y)
  minimize by_hand with adamw(lr / 2, decay = 0)
  return loss, unlike = unlike()
}
END
run 0 "$gc" t.g -o t
for entry in average target groups norms halves adapter wrapped; do
  run 0 ./t $entry --steps 20 --save $entry.safetensors
  holds out.txt ' unlike 0'
done
run 0 ./t halves --steps 20
grep -q ' skipped 0 ' out.txt && fail 'no step was skipped'
run 0 ./t averaged --load average.safetensors
holds out.txt 'unlike = 0'
grep -q 'moved = 0' out.txt && fail 'the average is the last weights'

# weights of a net that has no averages yet: --load says that these are not what it read
cat >plain.g <<'END'
def net(x) { return linear(x, 2) as fc }
entry train(x : f32[2, 3]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
{ cat plain.g; echo 'state ema = like params("net")'; echo 'entry apply(x : f32[1, 3]) { with ema { y = net(x) }; return y }'; } >averaged.g
sed -i 's/^  return loss/  ema := 0.9 * ema + 0.1 * params("net")\n&/' averaged.g
run 0 "$gc" plain.g -o plain
run 0 "$gc" averaged.g -o averaged
run 0 ./plain train --steps 0 --save plain.safetensors
run 0 ./averaged train --steps 0 --load plain.safetensors --save all.safetensors
holds out.txt 'note: plain.safetensors: has no ema.net.fc.w and others: initial values stay'
run 0 ./averaged train --steps 0 --load all.safetensors --save again.safetensors
grep -q 'initial values' out.txt && fail 'the averages were read'
finish
