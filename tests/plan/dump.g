# RUN: %gc -O1 --dump-plan=csv %s > %t.csv
# RUN: FileCheck-14 %s --check-prefix=CSV < %t.csv
# RUN: %gc --pack %t.csv 2>&1 >/dev/null | FileCheck-14 %s --check-prefix=PACK
# RUN: %gc -O1 --remarks=share --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s --check-prefix=SHARE
# RUN: %gc --emit=plan %s -o %t.json
# RUN: %gc --dump-plan=json %s | diff - %t.json
# The forms of a plan: rows that the packer reads, remarks, and the same JSON from both options.
entry step(x : f32[64, 100]) {
  param w1 : f32[100, 80] = zeros()
  param w2 : f32[80, 10] = zeros()
  loss = sum(softmax(sigmoid(x @ w1) @ w2) ** 2)
  return dw1 = grad(loss, w1), dx = grad(loss, x)
}
# CSV: {{^}}id,lower,upper,size,offset{{$}}
# CSV-NEXT: {{^}}step/%{{[^,]+}},0,{{[0-9]+}},20480,0{{$}}
# CSV: {{^}}step/%dx,{{[0-9]+}},{{[0-9]+}},25600,{{[0-9]+}}{{$}}
# PACK: buffers in {{[0-9,]+}} bytes: optimal
# SHARE: dump.g:{{[0-9]+:[0-9]+}}: remark: %dx shares bytes of %{{.*}} (25,600 at 0x{{[0-9a-f]+}}) [share]
