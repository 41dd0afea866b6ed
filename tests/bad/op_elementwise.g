# one wrong use of each: integers where floats are needed, bools, texts, lists, too many values
entry f(x : f32[3], n : i32[3], b : bool[3]) {
  y = expm1(n)
  y = log(n)
  y = log1p(b)
  y = log2(n)
  y = sqrt(n)
  y = rsqrt(n)
  y = cos(n)
  y = tanh(b)
  y = sigmoid(n)
  y = erf(n)
  y = abs(b)
  y = sign("minus")
  y = floor("x")
  y = ceil(b)
  y = round(x, 2)
  y = relu([x, x])
  y = exp()
  y = sin(z = x)
  return y
}
