# args: --memory-limit=1M --memory-report
# exit: 2
let N = 3
