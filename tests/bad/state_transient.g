entry run(x : f32[4]) {
  transient state seen : f32[4] = zeros()
  seen := seen + x
  return seen
}
entry other() {
  state seen : f32[4] = zeros()
  return seen
}
