# RUN: %gc -O2 --emit=c %s -o - | FileCheck-14 %s
# A value may be the table and the ids, or the rows and the ids, of one op: it is one argument.
entry f(x : i32[5]) { return y = gather(x, x) }
# CHECK: void k0_gather
# CHECK: const int64_t id = (int64_t)in0[i];
# CHECK: (const char *)in0 + id
