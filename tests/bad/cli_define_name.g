# args: -D N=abc --emit=ir
# exit: 2
let N = 3
entry f(x : f32[N]) { return y = x }
