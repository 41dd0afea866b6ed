# args: -D N=-3
# exit: 1
# What -D gives stands nowhere in the file.
let N = 3
entry f(x : f32[2, N]) { return y = x }
