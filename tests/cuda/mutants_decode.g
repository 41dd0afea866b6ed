# Planted errors in what thread blocks tell each other that share the keys of few queries: see mutants.c.
entry few(q : f32[1, 2, 2, 1, 32], k : f32[1, 2, 1, 250, 32], v : f32[1, 2, 1, 250, 40]) { return y = attention(q, k, v) }
