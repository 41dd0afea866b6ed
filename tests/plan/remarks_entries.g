# In a program of several entries each remark stands below the name of its entry.
# RUN: %gc %s -O1 -march=x86-64-v3 --remarks=inplace --emit=plan -o /dev/null 2>&1 | FileCheck-14 %s
# RUN: %gc %S/remarks.g -O1 -march=x86-64-v3 --remarks=inplace --emit=plan -o /dev/null 2>&1 | not-14 grep -q '^entry'
# CHECK:      entry first:
# CHECK-NEXT: remarks_entries.g:11:23: remark: matmul not in place
# CHECK:      entry second:
# CHECK-NEXT: remarks_entries.g:13:55: remark: matmul not in place
# CHECK:      initialisation:
# CHECK-NEXT: remarks_entries.g:13:{{.*}}remark:

def net(x) { return x @ x }
entry first(x : f32[8, 8]) { return y = exp(net(x)) }
entry second(x : f32[8, 8]) { return y = sum(x) + sum(linear(x, 3) as fc) }
