# args: --memory-curve train
# exit: 2
entry train(x : f32[4]) { return y = x }
