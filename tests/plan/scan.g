# RUN: %gc %s -O1 -march=x86-64-v3 --emit=ir | FileCheck-14 %s
# RUN: %gc %s -O1 -march=x86-64-v3 --dump-plan -D T=700 --emit=plan -o /dev/null | FileCheck-14 %s --check-prefix=LONG
# RUN: %gc %s -O1 -march=x86-64-v3 --memory=none --emit=ir | FileCheck-14 %s --check-prefix=NONE
# RUN: %gc %s -O1 -march=x86-64-v3 --remarks=inplace --emit=plan -o /dev/null 2>&1 | FileCheck-14 %s --check-prefix=COUNTER
# A loop's body is planned once, with what is around it: the next carry is computed in the carry's
# bytes, what the body needs is shared by all iterations, and nothing depends on their number.
let T = 7
entry last(h : f32[4, 16], w : f32[16, 16]) {
  scan i in 0..T { h = tanh(h @ w) }
  return h
}
# CHECK-LABEL: entry last
# CHECK: %h.1 = scan %h {trips = 7, carries = 1}
# CHECK-SAME: %h.2 ws+0x0 live 0..1 in place of %h.1
# CHECK: matmul %h.2, %w {{.*}}; ws+0x100 live
# CHECK: %h.3 = tanh {{.*}}; ws+0x0 live 2..3 in place of %h.2
# LONG-LABEL: entry last
# LONG: arena (optimal)                    576
# LONG-LABEL: entry all
# LONG: arena (optimal)                179,776

# What is stacked is computed in its slice of the stack.
entry all(h : f32[4, 16], w : f32[16, 16]) {
  y = scan i in 0..T {
    h = tanh(h @ w)
    yield h * 2
  }
  return y
}
# CHECK-LABEL: entry all
# CHECK: %y = scan %h
# CHECK: %h.3 = tanh {{.*}} in place of %h.2
# CHECK: mul %h.3, {{.*}}; ws+0x0+256k0 live 4..5 in place of %y
# NONE-LABEL: entry last
# NONE: scan %h
# NONE: tanh
# NONE-NOT: in place
# NONE: yield

# Nothing is in place of the induction variable.
entry ramp(x : f32[16]) {
  scan i in 0..T { x = x * f32(i) }
  return x
}
# COUNTER: remark: convert not in place: %i is a loop's counter [inplace-missed]
