# args: --emit=ir --passes=
# exit: 0
hyper lr = 0.1
hyper scale = 2
hyper rate = 1
def unused(x) { return rate * x }
entry f(x : f32[8]) { return y = scale * x }
