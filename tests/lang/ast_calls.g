# RUN: %gc --emit=ast %s | FileCheck-14 %s
# Calls, pipes, instance names and indices.

def f(x, l) {
  # CHECK: y = f(x, 1, k = 2)
  y = f(x, 1, k = 2,)
  # CHECK-NEXT: y = h(g(f(x), 1))
  y = x |> f |> g(1) |> h()
  # CHECK-NEXT: y = (g((f(x) as a), 2) as b[l][(l + 1)])
  y = x |> f as a |> g(2) as b[l][l + 1]
  # CHECK-NEXT: y = (f(x) as a)[0]
  y = (f(x) as a)[0]
  # CHECK-NEXT: y = f(x)[0]'
  y = x |> f[0]'
  # CHECK-NEXT: y = f32(x)
  y = x |> f32
  # CHECK-NEXT: y = iota(3, f32)
  y = iota(3, f32)
  # CHECK-NEXT: y = x[:, 0:3, l, ::2, (-1), ..., 1:, :(-1)]
  y = x[:, 0:3, l, ::2, -1, ..., 1:, :-1]
  # CHECK-NEXT: y = x[0][1]
  y = x[0,][1]
  # CHECK-NEXT: y = einsum("ij,jk->ik", x, x)
  y = einsum("ij,jk->ik", x, x)
  # CHECK-NEXT: y = concat([x, []], axis = (-1))
  y = concat([x, [],], axis = -1)
  # CHECK-NEXT: update(x)
  update(x)
  # CHECK-NEXT: (update(x) as u)
  x |> update as u
  return y
}
