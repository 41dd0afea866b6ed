# Statistics that a layer keeps of another dtype than the images.
def net(x) { return x |> conv(8, 3) |> bn }
entry kept(x : bf16[2, 3, 8, 8]) {
  with bf16(params()) { y = net(x) }
  return y
}
