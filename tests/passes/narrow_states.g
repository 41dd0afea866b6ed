# --precision=bf16: a state that entries read in bf16 alone is kept so.
# RUN: %gc %s --passes="autodiff{saved=bf16},precision{products=bf16},narrow-states,fold,cse,dce" --verify-each --emit=ir | FileCheck-14 %s
# RUN: %gc %s --precision=tf32 --emit=ir | FileCheck-14 --check-prefix=TF32 %s

def remember(x : [8, 4], at) {
  transient state rows : f32[16, 8] = full([16, 8], 0.1)
  rows := dynamic_update(rows, transpose(x, [1, 0]), at)
  return rows
}

entry read(x : f32[8, 4], y : f32[3, 16], at : i32[]) { return z = y @ (remember(x, at) as cache) }

# what is written is rounded by what computes it, behind a concatenation too
entry turn(x : f32[8, 2], y : f32[3, 16]) {
  transient state turned : f32[16, 8] = zeros()
  turned := dynamic_update(turned, transpose(concat([tanh(x), x * 2], axis = 1), [1, 0]), 4)
  return z = y @ turned
}

# a write alone
entry forget() {
  unused = remember(zeros([8, 4]), 3) as cache
  return n = i32(full([], 4))
}

# read in f32, too, and carried by a loop
entry both(x : f32[8, 4], y : f32[3, 16]) {
  state kept : f32[16, 8] = zeros()
  state carried : f32[8, 8] = zeros()
  kept := dynamic_update(kept, transpose(x, [1, 0]), 2)
  scan i in 0..3 { carried := carried + 1 }
  return a = y @ kept, b = max(kept), c = y[:, :8] @ carried
}

# CHECK: state @cache.rows : bf16[16,8] transient
# CHECK: state @kept : f32[16,8]
# CHECK: state @carried : f32[8,8]
# CHECK-LABEL: init
# CHECK: %[[INIT:[a-z0-9.]+]] = const {value = 0.1{{.*}}} : bf16[16,8]
# CHECK: store @cache.rows, %[[INIT]]

# CHECK-LABEL: entry read
# CHECK: %[[OLD:[a-z0-9.]+]] = load @cache.rows : bf16[16,8]
# CHECK: %[[LOW:[a-z0-9.]+]] = convert %x : bf16[8,4]
# CHECK: %[[NEW:[a-z0-9.]+]] = transpose %[[LOW]] {{.*}} : bf16[4,8]
# CHECK: %[[ROWS:[a-z0-9.]+]] = dynamic_update %[[OLD]], %[[NEW]], %at : bf16[16,8]
# CHECK: matmul {{.*}}, %[[ROWS]] {wide = 1} : f32[3,8]
# CHECK: store @cache.rows, %[[ROWS]]

# CHECK-LABEL: entry turn
# CHECK: tanh
# CHECK: convert {{.*}} : bf16[8,2]
# CHECK-NEXT: convert {{.*}} : bf16[8,2]
# CHECK: concat {{.*}} : bf16[8,4]
# CHECK-NEXT: transpose {{.*}} : bf16[4,8]
# CHECK-NEXT: dynamic_update {{.*}} : bf16[16,8]

# CHECK-LABEL: entry forget
# CHECK: dynamic_update {{.*}} : bf16[16,8]

# TF32: state @cache.rows : f32[16,8] transient
