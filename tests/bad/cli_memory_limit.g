# args: --memory-limit=lots
# exit: 2
let N = 3
