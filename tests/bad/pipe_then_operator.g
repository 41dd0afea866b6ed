def f(x) {
  return x |> relu + 1
}
