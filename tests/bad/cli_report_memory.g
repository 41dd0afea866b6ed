# args: --memory=none --memory-report
# exit: 2
let N = 3
