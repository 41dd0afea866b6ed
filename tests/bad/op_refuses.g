# A function refuses its arguments, also in the prelude.
def halved(x, by = 2) { return x / by if by != 0 else error("'by' of halved must not be 0") }
entry f(x : f32[2, 3], images : f16[1, 2, 4, 4]) {
  a = halved(x, by = 0)
  b = resize(images, [8, 8], mode = "bicubic")
  c = cross_entropy(x, softmax(x), ignore = 0)
  d = type_as(x, "f16")
  e = type_as(true, x)
  g = type_as(0.5, i32(x))
  h = error(x)
  i = resize(images, [8, 8, 8])
  return x
}
