# args: -D tall=1 -D n=2.5 -D wide=0
# exit: 1
let tall = true
let wide = false
let n = 3
entry f(x : f32[2, 3, 4]) {
  y = 2 * x if tall else x
  if wide or dim(x, 0) > 3 { y = -x }
  return y, t = mha(x, 2, causal = wide) as attn, z = zeros([n])
}
