# RUN: ulimit -s 1024 && %gc %s --emit=ir -o /dev/null --passes=fold,hoist,cse,dce,autodiff,dce
# Chains of 40,000 and 60,000 ops in the body of a loop: the first goes before the loop, the second the
# backward pass computes again. No walk over them may need a stack as deep as they are long.
entry f(x : f32[4], w : f32[4], s : f32[2, 4]) {
  h = w
  scan i in 0..2 {
    a = s[i] * 0.5
    b = x
    for k in 0..20000 { b = tanh(b + x) }
    for k in 0..60000 { a = a + s[i] }
    h = h * a * b
  }
  return y = grad(sum(h), w)
}
# The gradient of a loop in a loop: the inner one gets a stack for the backward pass of the outer one.
entry nested(x : f32[3], w : f32[3]) {
  h = x
  scan i in 0..2 {
    scan j in 0..3 { h = tanh(h * w) }
    h = h * h
  }
  return y = grad(sum(h), w)
}
