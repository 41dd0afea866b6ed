def late(...more, x) { return x }
entry h(x : flots) { return x }
entry k(x : f32[2], ...y : f32[2]) { return x }
