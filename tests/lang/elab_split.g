# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A number of parts, or the extents of all parts in a list, of which there may be one.
entry f(x : f32[6, 4]) {
  halves, parts, whole = split(x, 2), split(x, [1, 5]), split(x, [6])
  return a = halves[1], b = parts[1], c = whole[0], n = full([1], len(whole))
}

# CHECK:      %{{.*}} = slice %x {starts = [3, 0], steps = [1, 1]} : f32[3,4]
# CHECK:      %{{.*}} = slice %x {starts = [1, 0], steps = [1, 1]} : f32[5,4]
# CHECK:      [[N:%.*]] = const {value = 1} : i32[1]
# CHECK:      return %{{.*}}, %{{.*}}, %x, [[N]] {names = "a,b,c,n"}
