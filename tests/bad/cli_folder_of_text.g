# args: --emit=ir -o nowhere/f.ir
# exit: 3
entry f(x : f32[4]) { return y = x }
