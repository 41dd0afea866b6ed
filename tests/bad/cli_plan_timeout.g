# args: --plan-timeout=soon
# exit: 2
let N = 3
