# RUN: %gc --memory-limit=57% --remarks=remat %s -march=x86-64-v3 --emit=ir -o %t.ir 2> %t.txt
# RUN: FileCheck-14 %s < %t.ir
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# RUN: %gc --memory-curve -march=x86-64-v3 --emit=plan -o /dev/null %s | FileCheck-14 %s --check-prefix=CURVE
# A loop keeps its carries at the beginning of every block but the last one, and the backward pass runs each
# block again, with its stacks. T has no divisor. Rows come and go by their number in the whole loop.
let T = 13
entry train(x : f32[T, 8, 16], t : f32[T, 8, 16]) {
  h, c = zeros([8, 16]), zeros([8, 16])
  y = scan i in 0..T {
    h, c = lstm(x[i], h, c) as l
    yield h
  }
  loss = mse(y, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry train
# CHECK: %[[N:[0-9]+]] = reshape {{.*}} : i32[[[BLOCKS:[0-9]+]],[[BLOCK:[0-9]+]]]
# CHECK: = scan {{.*}}, %[[N]] {trips = [[BLOCKS]], carries = 3}
# CHECK: copy {{.*}} : f32[8,16]
# CHECK: copy {{.*}} : f32[8,16]
# CHECK: scan {{.*}} {trips = [[BLOCK]], carries = 3} : f32[8,16], f32[8,16], f32[13,8,16]
# CHECK: gather %x,
# CHECK: dynamic_update {{.*}} : f32[13,8,16] {{.*}} in place of
# CHECK: %h{{.*}}, %c{{.*}}, %y, {{.*}} = scan {{.*}} {trips = {{[0-9]+}}, carries = 3}
# CHECK: scan {{.*}} {trips = {{[0-9]+}}, carries = 5, reverse = 1}
# CHECK: %d.l.wx, %d.l.wh, %d.l.b = scan {{.*}} {trips = [[BLOCKS]], carries = 5, reverse = 1}
# CHECK: scan {{.*}} {trips = [[BLOCK]], carries = 2} : {{.*}} backward
# CHECK: scan {{.*}} {trips = [[BLOCK]], carries = 5, reverse = 1} : {{.*}} backward
# WHY: remat_scan.g:10:{{[0-9]+}}: remark: {{[0-9]+}} of 13 iterations of scan are recomputed before their backward pass, {{[2-9]}} at a time: {{[0-9,]+}} bytes are stacked in part [remat]
# CURVE: 100.0         0.00        0.00        0.00
# CURVE-NEXT: 99.2         0.00        0.00        0.00
# CURVE-NEXT: {{[78][0-9].[0-9] +[1-9][0-9]?.[0-9]+ .* -$}}
# CURVE: {{[56][0-9].[0-9] +[23][0-9].[0-9]+ .* -$}}
