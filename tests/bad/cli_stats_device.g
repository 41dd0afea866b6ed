# args: --stats=time:h1000
# exit: 2
let N = 3
