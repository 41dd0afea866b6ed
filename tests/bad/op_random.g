# random numbers and gradients
entry f(x : f32[3], s : i32[]) {
  y = uniform(a = "0", shape = [3])
  y = uniform(b = [1], shape = [3])
  y = uniform()
  y = normal(mean = "0", shape = [3])
  y = normal(std = [1], shape = [3])
  y = normal(shape = [s])
  y = bernoulli("half", shape = [3])
  y = bernoulli(1.5, shape = [3])
  y = bernoulli(0.5)
  y = bernoulli(x, shape = [3, 0])
  return y
}
entry g(x : f32[3], n : i32[3]) {
  y = grad(x, x)
  y = grad(sum(x), n)
  y = grad(sum(x), 3)
  y = grad(sum(x), [])
  y = grad(3, x)
  return y
}
