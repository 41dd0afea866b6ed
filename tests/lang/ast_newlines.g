# RUN: %gc --emit=ast %s | FileCheck-14 %s
# Where a newline ends a statement and where it does not; ";" ends one, too.

# CHECK: let a = [1, 2, 3]
let a = [1, 2,
  3
]
# CHECK-NEXT: let b = (1 + (2 * 3))
let b = 1 +

  # a comment between
  2 *
  3
# CHECK-NEXT: let c = 1
# CHECK-NEXT: let d = 2
;let c = 1 ;; let d = 2;
# CHECK-NEXT: let e =
let e =
  3

def f(x,
      y = 2) {
  # CHECK: y = g(f(x))
  y = x
    |> f   # the next line goes on, this one ends without an operator

    |> g
  # CHECK-NEXT: if (x < 1) {
  # CHECK-NEXT: y = 1
  # CHECK-NEXT: } else {
  # CHECK-NEXT: if (x < 2) {
  # CHECK-NEXT: y = 2
  # CHECK-NEXT: } else {
  # CHECK-NEXT: y = 3
  if x < 1 { y = 1 }
  else if x <
     2 { y = 2
  }

  else {
    y = 3 }
  # CHECK: z = (1 if x else 2)
  z = 1 if x
      else 2
  # CHECK-NEXT: s = scan i in 0 .. y {
  # CHECK-NEXT: h = (h + 1)
  # CHECK-NEXT: yield h
  s =
    scan i in 0..y { h = h + 1
                     yield h }
  # CHECK: return y, z
  return y,
    z
}
