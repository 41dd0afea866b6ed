# RUN: %gc %s --emit=ir --passes= | FileCheck-14 %s
# The draws of a loop are numbered as if it were unrolled: those of an iteration times the number of
# the iteration, for each path and each loop around.
def noisy(x) { return x + normal(shape = shape(x)) + uniform(shape = shape(x)) }
entry f(x : f32[3]) {
  x = x + normal(shape = [3])
  scan i in 2..5 {
    x = x + uniform(shape = [3])
    scan j in 0..4 { x = noisy(noisy(x) as a) }
  }
  param w : f32[3] = ones()
  scan i in 0..5 { w := dropout(w, 0.5) }
  minimize sum(w) with sgd(0.1)
  return x + normal(shape = [3])
}
# CHECK: random_normal {key = "#"} : f32[3]
# CHECK: scan {{.*}}{trips = 3, carries = 1} : f32[3] {{.*}}(%i : i32[]
# CHECK:   [[EIGHT:%.*]] = const {value = 8} : i32[]
# CHECK:   [[OUTER:%.*]] = mul %i, [[EIGHT]] : i32[]
# CHECK:   random_uniform %i {key = "#", draw = 1} : f32[3]
# CHECK:   scan {{.*}}{trips = 4, carries = 1} : f32[3] {{.*}}(%j : i32[]
# CHECK:     [[INNER:%.*]] = mul %j,
# CHECK:     [[PLACE:%.*]] = add [[INNER]], [[OUTER]] : i32[]
# CHECK:     random_normal [[PLACE]] {key = "a#"} : f32[3] "a"
# CHECK:     random_uniform [[PLACE]] {key = "a#", draw = 1} : f32[3] "a"
# CHECK:     random_normal {{.*}} {key = "noisy#"} : f32[3] "noisy"
# CHECK:   [[ALL:%.*]] = broadcast %i{{.*}} : i32[3]
# CHECK:   dropout {{.*}}, [[ALL]] {key = "#", draw = 4, keep = 0.5} : f32[3]
# CHECK: random_normal {key = "#", draw = 9} : f32[3]
