# RUN: %gc -march=x86-64-v3 %s -o %t && %t f --threads 3 | FileCheck-14 %s
# RUN: %gc -march=x86-64-v3 --print-schedules %s | FileCheck-14 %s --check-prefix=UNITS
# Threads share the bytes of rows that replace others of the outermost axis, where the result lies over the tensor and
# where it does not, and of tensors that are joined along that axis.
# CHECK: wrong = 0
# UNITS-DAG: dynamic_update dynamic_update elements units=135
# UNITS-DAG: concat concat elements units=404
entry f() {
  x = normal(shape = [9, 41, 70])
  y = normal(shape = [3, 41, 70])
  at = i32(floor(uniform(5, 5.9, shape = [])))
  z = dynamic_update(x, y, at)
  over = dynamic_update(exp(x), y, at)
  return wrong = sum(i32(z != concat([x[:5], y, x[8:]]))) + sum(i32(over != concat([exp(x[:5]), y, exp(x[8:])])))
}
