entry one(x : f32[4, 8]) {
  minimize mean(linear(x, 3) as fc) with sgd(1e-3, onyl = "fc.w")
}
entry two(x : f32[4, 8]) {
  minimize mean(linear(x, 3) as fc) with sgd(1e-3, acumulate = 4)
}
