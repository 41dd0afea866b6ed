def f(q, k) {
  return einsum('ij,jk->ik', q, k)
}
