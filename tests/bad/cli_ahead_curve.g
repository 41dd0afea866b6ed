# args: --ahead=yes --memory-curve
# exit: 2
let N = 3
