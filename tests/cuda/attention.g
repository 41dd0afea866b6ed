# attention, norms and dropout: each with its gradients; uneven blocks, shared heads, masks, all dtypes
entry causal(q : f32[1, 2, 70, 20], k : f32[1, 2, 70, 20], v : f32[1, 2, 70, 33], w : f32[1, 2, 70, 33]) {
  y = attention(q, k, v, causal = true)
  dq, dk, dv = grad(sum(y * w), [q, k, v])
  return y, dq, dk, dv
}
entry masked(q : f32[1, 4, 5, 64], k : f32[1, 2, 70, 64], w : f32[1, 4, 5, 64], m : f32[4, 1, 70]) {
  y = attention(q, k, k, mask = m > 0)
  dq, dk = grad(sum(y * w), [q, k])
  return y, dq, dk
}
entry double(q : f64[40, 7], k : f64[33, 7], v : f64[33, 7], w : f64[40, 7]) {
  y = attention(q, k, v)
  dq, dk, dv = grad(sum(y * w), [q, k, v])
  return y, dq, dk, dv
}
entry half(q : f32[1, 40, 8]) {
  h = f16(q)
  y = attention(h, h, h, causal = true)
  return y = f32(y), dq = f32(grad(sum(f32(y)), h))
}
# heads enough for blocks of 64 queries, and of 32
entry many(q : f32[3, 15, 70, 4], k : f32[3, 5, 70, 4], v : f32[3, 5, 70, 6], w : f32[3, 15, 70, 6]) {
  y = attention(q, k, v, causal = true)
  dq, dk = grad(sum(y * w), [q, k])
  return y, dq, dk
}
entry some(q : f32[1, 45, 40, 8], k : f32[1, 45, 70, 8], v : f32[1, 45, 70, 5], w : f32[1, 45, 40, 5]) {
  y = attention(q, k, v)
  dq, dv = grad(sum(y * w), [q, v])
  return y, dq, dv
}
# few queries of many keys
entry few(q : f32[1, 1, 1, 20], k : f32[1, 1, 1100, 20], v : f32[1, 1, 1100, 33]) { return y = attention(q, k, v) }
entry wide(q : f32[1, 2, 3, 2, 24], k : f32[1, 2, 1, 1030, 24], v : f32[1, 2, 1, 1030, 67], u : f32[1, 2, 1, 1030, 72]) {
  return y = attention(q, k, v), z = attention(q, k, u)
}
entry grouped(q : f32[1, 2, 2, 258], k : f32[1, 1, 140, 258], m : f32[2, 140]) {
  h = bf16(k)
  return y = attention(q, k, k, mask = m > 0), z = f32(attention(bf16(q[:, :, :1]), h, h))
}
entry norms(x : f32[7, 100], w : f32[7, 100]) {
  y = layer_norm(x)
  z = rms_norm(x)
  return y, z, dy = grad(sum(y * w), x), dz = grad(sum(z * w), x)
}
entry train(x : f32[9, 33]) {
  param a : f32[33] = ones()
  y = dropout(x * a, 0.25)
  minimize sum(y * y) with sgd(0.1)
  return y
}
