hyper nesterov = true
hyper topk : i32 = 2
entry f(x : f32[3]) {
  if nesterov { x = x + 1 }
  for i in 0..topk { x = x * 2 }
  return y = x * topk, z = x[0:topk]
}
