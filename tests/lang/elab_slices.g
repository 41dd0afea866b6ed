# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# numpy's slices; a negative step is a slice that is reversed; a place drops its axis.
entry f(x : i32[6, 5]) {
  return a = x[1:5:2], b = x[-1], c = x[::-2, 1:], d = x[..., 2:100], e = x[5, 4]
}

# CHECK:      entry f(%x : i32[6,5])
# CHECK-NEXT:   %a = slice %x {starts = [1, 0], steps = [2, 1]} : i32[2,5]
# CHECK-NEXT:   %2 = slice %x {starts = [5, 0], steps = [1, 1]} : i32[1,5]
# CHECK-NEXT:   %b = reshape %2 : i32[5]
# CHECK-NEXT:   %4 = slice %x {starts = [1, 1], steps = [2, 1]} : i32[3,4]
# CHECK-NEXT:   %c = reverse %4 {axes = [0]} : i32[3,4]
# CHECK-NEXT:   %d = slice %x {starts = [0, 2], steps = [1, 1]} : i32[6,3]
# CHECK-NEXT:   %7 = slice %x {starts = [5, 4], steps = [1, 1]} : i32[1,1]
# CHECK-NEXT:   %e = reshape %7 : i32[]
# CHECK-NEXT:   return %a, %b, %c, %d, %e {names = "a,b,c,d,e"}
