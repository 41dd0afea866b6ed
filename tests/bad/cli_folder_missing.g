# args: -o nowhere/at/all
# exit: 3
entry f(x : f32[4]) { return y = x }
