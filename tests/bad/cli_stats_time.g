# args: --stats=time --target=cpu
# exit: 2
entry step(x : f32[4]) {
  return y = x + 1
}
