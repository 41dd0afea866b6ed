# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A net that is called within with alone: its params are f32, its ops f16.
def net(x) { return linear(relu(x |> conv(2, 1) as c1 |> flatten), 3) as fc }
entry train(x : f16[2, 1, 2, 2]) {
  with f16(params("net")) { p = net(x) }
  loss = mean(f32(p))
  minimize loss with sgd(0.1)
  return loss
}

# CHECK:      param @net.c1.w : f32[2,1,1,1]
# CHECK-NEXT: param @net.c1.b : f32[2]
# CHECK-NEXT: param @net.fc.w : f32[8,3]
# CHECK-NEXT: param @net.fc.b : f32[3]

# CHECK:      entry train
# CHECK:        conv {{.*}} : f16[2,2,2,2]
# CHECK:        matmul {{.*}} : f16[2,3]
# CHECK:        grad %loss, {{.*}} : f32[2], f32[2,1,1,1], f32[3], f32[8,3]
# CHECK:        store @net.fc.w
