# args: --memory-limit=101%
# exit: 2
let N = 3
