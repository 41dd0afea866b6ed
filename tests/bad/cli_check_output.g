# args: --check -o out
# exit: 2
entry e(x : f32[3]) { return y = x }
