# args: --emit=ir --passes=
# exit: 0
# The net that is used is not the one that is trained: scores calls it from within, at another path.
let n = 4
def net(x : [n, 6]) { return x |> linear(8) as hidden |> relu |> linear(3) as out }
def scores(x) { return softmax(net(x)) }
entry train(x : f32[n, 6], y : i32[n]) {
  minimize mean(xent(net(x), y)) with sgd(0.1)
}
entry test(x : f32[n, 6]) { return scores(x) }
# frozen on purpose: no warning
entry tune(x : f32[n, 6], y : i32[n]) {
  kept = stop_gradient(net(x) as frozen)
  minimize mean(xent(linear(kept, 3) as head, y)) with sgd(0.1)
}
entry again(x : f32[n, 6]) { return net(x) as frozen }
