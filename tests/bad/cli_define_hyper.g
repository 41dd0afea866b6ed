# args: -D lr=3
# exit: 2
hyper lr = 0.1
entry f(x : f32[2]) { return y = x * lr }
