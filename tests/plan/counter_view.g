# RUN: %gc %s -O0 --emit=ir | FileCheck-14 %s
# RUN: %gc %s -O1 --dump-plan | grep -q '^  %4 .*counts+0x0+4k0'
# A view of a loop's counter lies where the counter does, however deep in other loops it is read; what
# an inner loop stacks behind it moves with the inner loop alone.
entry f(x : f32[16]) {
  h = x
  scan i in 0..3 {
    rows = scan j in 0..2 {
      y = x + f32(reshape(i, [1]))
      yield y
    }
    h = h + rows[0]
  }
  return h
}
# CHECK: reshape %i : i32[1] {{.*}} counts+0x0+4k0 live
# CHECK: %y = add {{.*}} ws+0x{{[0-9a-f]+}}+64k1 live
