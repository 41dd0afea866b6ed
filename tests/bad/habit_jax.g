# as JAX and tinygrad write it
entry f(x : f32[8, 16], w : f32[8, 4]) {
  a = x.at[0].set(1.0)
  b = random.normal(key, [8, 16])
  c = jnp.where(x > 0, x, 0)
  d = grad(loss)(x)
  e = x.reshape(-1, 4)
  g = x.relu().realize()
  h = Tensor.zeros(3)
  for k in sizes { x = x * k }
  return y = x.dtype
}
