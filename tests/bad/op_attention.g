# attention and einsum
entry f(q : f32[2, 3, 4, 8], k : f32[2, 3, 5, 8], b : bool[4, 4], n : i32[4, 5]) {
  y = attention(q, k, k, causal = 1)
  y = attention(q, k, k, scale = q)
  y = attention(q, k, k, mask = b)
  y = attention(q, k, k, mask = n)
  y = attention(q, k, k[:, :, 0:4])
  y = attention(q, k[:, :, :, 0:7], k)
  y = attention(q, k[0], k[0])
  y = attention(q[0, 0, 0], k[0, 0, 0], k[0, 0, 0])
  y = attention(f16(q), k, k)
  y = einsum("bhtd->", k, q)
  y = einsum("bhtd,bhsd->bhts", q)
  y = einsum("bhtd,bhsd->bhts", q, q[0])
  y = einsum("bhtt->bh", q)
  y = einsum("bhtd->bhx", q)
  y = einsum(q, "bhtd->bh")
  y = einsum("b..d->bd", q)
  return y
}
