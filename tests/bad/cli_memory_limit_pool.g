# args: --memory-limit=1M --memory=pool
# exit: 2
let N = 3
