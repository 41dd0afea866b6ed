# args: --check --memory-limit=1M
# exit: 2
let N = 3
