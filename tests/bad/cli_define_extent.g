# args: --check -D h=48
# exit: 2
entry f(x : f32[n <= 8, 2 * h <= 64]) { return y = sum(x) }
