# RUN: mkdir -p %t.dir && cd %t.dir && cp %s check.g && CC=nothing %gc check.g --check >out.txt 2>&1 && test ! -s out.txt
# RUN: cd %t.dir && not-14 %gc check.g -D n=2 --check >out.txt 2>&1 && FileCheck-14 %s <out.txt && test "$(ls)" = "$(printf 'check.g\nout.txt')"
# RUN: cd %t.dir && for o in --emit=lib --save-temps --dump-plan --remarks --print-schedules --stats --memory-report --memory-curve --time-passes --print-liveness --print-after=all --print-changed; do (%gc check.g --check $o; echo $?) 2>&1; done >refused.txt; test "$(grep -c 'only: leave out --' refused.txt)" = 12 && test "$(grep -cx 2 refused.txt)" = 12
# What is wrong is said, without a C compiler, and nothing is made.
# CHECK: check.g:[[#@LINE+3]]:{{.*}}error: '@' cannot multiply
let n = 3
entry e(x : f32[4, 3], w : f32[n, 2]) {
  return y = x @ w
}
