# args: --watch=y,
# exit: 2
entry f(x : f32[2, 3]) { return y = x + 1 }
