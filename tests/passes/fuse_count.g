# RUN: %gc -march=x86-64-v3 --passes="$(%gc --list-passes | sed -n 's/^-O2  guard,//p')" --emit=c %s -o - | grep -oE '"(known|bounded)", .*_steps, [0-9]+' | FileCheck-14 %s
# Each group counts the rows of a run itself: the gradient of a mean stands behind the product, and the mean of a norm
# of batches is that of its variance, as in the entry whose number of rows is known.
# CHECK: "known", {{.*}} [[N:[0-9]+]]
# CHECK: "bounded", {{.*}} [[N]]
def net(x) {
  h = relu(bn(conv(x, 8, 3) as c) as b)
  return linear(flatten(h), 20) as out
}
def cost(y, t) { return mean(relu(y) - y * t + log1p(exp(-abs(y)))) }
entry known(x : f32[24, 2, 6, 6], t : f32[24, 20]) {
  loss = cost(net(x), t)
  minimize loss with sgd(0.1)
  return loss
}
entry bounded(x : f32[n <= 24, 2, 6, 6], t : f32[n, 20]) {
  loss = cost(net(x), t)
  minimize loss with sgd(0.1)
  return loss
}
