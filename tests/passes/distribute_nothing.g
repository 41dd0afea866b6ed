# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=4}" --emit=ir 2>&1 >/dev/null | FileCheck-14 %s
# RUN: %gc %s --data-parallel=mpi --ranks=4 --emit=c -march=x86-64-v3 2>&1 | FileCheck-14 --check-prefixes=CHECK,CODE %s

# Rows that are returned are every rank's, and so is a batch that is no multiple of the ranks: nothing is split, which is said
# once. The program has the number of its ranks all the same.
# CHECK: distribute_nothing.g:[[#@LINE+3]]:7: warning: no entry is split among the 4 ranks: each of them runs every entry whole
# CHECK: hint: leave out --data-parallel; an entry is split if it trains, or if its batch is a multiple of 4 and it returns no rows
# CHECK-NOT: warning:
entry predict(x : f32[n <= 8, 4]) { return y = linear(x, 3) as net }
entry test(x : f32[6, 4]) { return loss = mean(linear(x, 3) as net) }
# CODE: const GcProgram gc_program = {{.*}}
# CODE: .ranks = 4,
