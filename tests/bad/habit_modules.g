entry f(x : f32[4, 8]) {
  y = torch.nn.functional.relu(x)
  z = nn.Linear(8, 16)
  s = np.sum(x).item()
  l = jax.lax.scan(f, x, x)
  m = scan(f, x, x)
  self.fc = nn.Conv2d(3, 16, 3)
  optimizer.step()
  hs.append(x)
  d = x.to(device)
  i = Embedding(100, 16)(x)
  return y
}
