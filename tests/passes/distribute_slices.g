# RUN: for f in %S/../../docs/examples/*.g; do \
# RUN:   %gc $f --passes="autodiff,distribute{ranks=2,shard=optimizer}" --verify-each --emit=ir >/dev/null || exit 1; done
# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=2,shard=optimizer},fold,cse,dce" --emit=ir 2>&1 | FileCheck-14 %s

# Every example has optimizers in slices, those whose gradients a loop sums included. A program without globals has no
# state to slice, nor code that sets it.
# CHECK: warning: --shard changes nothing: no optimizer has state to divide among 2 ranks
# CHECK-NOT: init
# CHECK: entry norm(%x : f32[4,4]) ranks 2
# CHECK: all_reduce
entry norm(x : f32[8, 4]) { return y = sum(x * x) }
