# what is asked of shapes and lists when compiling
entry f(x : f32[3, 4], n : i32[2]) {
  a = dim(x, 2)
  a = dim(x, n)
  a = dim(3, 0)
  a = shape(x, 0)
  a = len(x)
  a = len(3)
  a = list(x)
  a = known()
  a = known(x, n)
  return x
}
