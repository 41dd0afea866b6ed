# args: --batch_size=3
# exit: 2
let N = 3
