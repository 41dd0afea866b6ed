# An update of AdamW alone, for a goal of goals.def: 97 million parameters in tensors of several sizes. Gradients are inputs, so no
# kernel but those of the update has work.
def term(dy, dims) {
  param p : f32[dims] = zeros()
  return sum(p * dy)
}
entry update(a : f32[50257, 768], b : f32[8192, 4096], c : f32[4096, 4096], d : f32[4096, 1024], e : f32[1000, 4096], f : f32[11008]) {
  l = term(a, [50257, 768]) as a + term(b, [8192, 4096]) as b + term(c, [4096, 4096]) as c + term(d, [4096, 1024]) as d
  minimize l + term(e, [1000, 4096]) as e + term(f, [11008]) as f with adamw(1e-3, decay = 0.1)
  return step
}
