# RUN: not-14 %gc -O2 -march=x86-64-v3 --memory-limit=50% --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s
# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=50% --remarks=remat --emit=plan -o /dev/null -D N=33 %s 2>&1 | FileCheck-14 --check-prefix=PARTS %s
# A bounded batch is done in equal parts of two rows or more, which a prime number of rows does not have.
let N = 31
entry predict(x : f32[n <= N, 32]) {
  return y = linear(relu(linear(x, 512) as a), 2) as b
}
# CHECK: microbatch_prime.g:[[# @LINE - 3]]:7: remark: the batch of n <= 31 is whole: a bounded one is done in equal parts of two rows or more, and 31 rows have none [remat-missed]
# PARTS: remark: the batch of 33 is done in {{3|11}} parts
