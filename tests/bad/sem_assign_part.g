entry write() {
  state cache : f32[4, 8] = zeros()
  state at : i32 = zeros()
  cache[at] := ones([8])
  at := at + 1
  return at
}
