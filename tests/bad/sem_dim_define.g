# args: -D N=0
let N = 4
entry f(x : f32[N, 2], y : f32[N]) { return a = x + 1, b = reshape(y, [N, 1]) }
entry g(x : f32[N, N]) { return y = x }
