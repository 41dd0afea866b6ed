# A program may have the prelude's name: what is wrong with an argument is shown where it stands.
entry f(x : f32[8]) {
  return y = linear(
    true, 3)
}
