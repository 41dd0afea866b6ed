# RUN: %gc --emit=ast %s | FileCheck-14 %s
# How operators bind, loosest first; the printer puts every operation in parentheses.

def f(a, b, c, d) {
  # CHECK: x = (a + (b * c))
  x = a + b * c
  # CHECK-NEXT: x = ((a - b) - c)
  x = a - b - c
  # CHECK-NEXT: x = (a ** (b ** c))
  x = a ** b ** c
  # CHECK-NEXT: x = (-(a ** (-b)))
  x = -a ** -b
  # CHECK-NEXT: x = ((-a) * b)
  x = -a * b
  # CHECK-NEXT: x = ((a @ b') / c[0])
  x = a @ b' / c[0]
  # CHECK-NEXT: x = (a' @ b)
  x = a' @ b
  # CHECK-NEXT: x = ((a % b) == (c + d))
  x = a % b == c + d
  # CHECK-NEXT: x = ((not (a < b)) or ((c >= d) and (a != d)))
  x = not a < b or c >= d and a != d
  # CHECK-NEXT: x = (a if b else (c if d else a))
  x = a if b else c if d else a
  # CHECK-NEXT: x = (a if (b or c) else d)
  x = a if b or c else d
  # CHECK-NEXT: x = relu((a if b else c))
  x = a if b else c |> relu
  # CHECK-NEXT: x = f32(a)[1]
  x = f32(a)[1]
  return x
}
