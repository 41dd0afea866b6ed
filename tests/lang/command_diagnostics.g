# RUN: (%gc --check --diagnostics=json %s || echo $?) 2>%t.json | grep -qx 1
# RUN: FileCheck-14 %s <%t.json
# RUN: python3 -c 'import json,sys; [json.loads(l) for l in sys.stdin]' <%t.json
# RUN: (%gc --check --diagnostics=json %t.none.g || echo $?) 2>&1 | grep -A1 '^{"severity":"error","message":"cannot read .*none.g: No such file or directory"}$' | grep -x 2
# RUN: printf 'entry \377\n' >%t.bytes.g && (%gc --check --diagnostics=json %t.bytes.g 2>&1 || true) | python3 -c 'import json,sys; [json.loads(l) for l in sys.stdin]'
# A tool reads one object a line; places are bytes from 1, and what belongs to an error follows it.
# CHECK: {"severity":"error","file":"{{.*}}command_diagnostics.g","line":[[#@LINE+5]],"column":16,"length":1,"message":"'@' cannot multiply f32[4,3] by f32[5,2]: 3 columns meet 5 rows"}
# CHECK-NEXT: {"severity":"note",{{.*}}"line":[[#@LINE+3]],"column":9,"length":1,"message":"left is f32[4,3], made here"}
# CHECK: {"severity":"error",{{.*}}"line":[[#@LINE+6]],"column":10,"length":4,"message":"unknown function 'rely'"}
# CHECK-NEXT: {"severity":"hint","message":"did you mean 'relu'?"}
entry e(x : f32[4, 3], w : f32[5, 2]) {
  return y = x @ w
}
entry f(x : f32[4]) {
  return rely(x)
}
