# args: --pack --timeout=-1
# exit: 2
let N = 3
