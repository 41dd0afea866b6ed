# RUN: %gc %s -o %t 2>&1 | FileCheck-14 %s
# RUN: %gc %s -D N=8 -o %t 2>&1 | wc -c | grep -qx 0
# RUN: %gc %s --emit=plan -o %t.json 2>&1 | wc -c | grep -qx 0
# RUN: %gc %s -march=x86-64-v3 -o %t 2>&1 | wc -c | grep -qx 0
# What no run has memory for is said as the program is compiled, if it is compiled for this machine.
let N = 1000000000
entry long(x : f32[n <= N, 4096]) { return y = sum(x, -1) }
entry short(x : f32[n <= 8, 4096]) { return y = sum(x, -1) }
entry static(x : f32[N, 4096]) { return y = sum(x, -1) }
# CHECK: command_memory.g:[[# @LINE - 3]]:7: note: entry 'long' takes 16,3{{[0-9,]+}} bytes of memory to run, at any extents those of its bounds, and {{this machine|the control group of this process}} has {{[0-9,]+}}
# CHECK-NOT: short
# CHECK: note: entry 'static' takes 16,{{[0-9,]+}} bytes of memory to run, and {{this machine|the control group of this process}} has {{[0-9,]+}}
# CHECK: hint: a smaller batch or bound takes less (-D), and so do --memory-limit=SIZE and --precision=bf16; another machine may have more
# CHECK-NOT: hint
