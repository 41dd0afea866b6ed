entry f(x : f32[4, 8]) {
  y = torch.nn.functional.relu(x)
  z = nn.Linear(8, 16)
  s = np.sum(x).item()
  l = jax.lax.scan(f, x, x)
  m = scan(f, x, x)
  return y
}
