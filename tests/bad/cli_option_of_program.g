# args: --epochs=3
# exit: 2
let N = 3
