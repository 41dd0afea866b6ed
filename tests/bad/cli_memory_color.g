# args: --memory=color
# exit: 2
let N = 3
