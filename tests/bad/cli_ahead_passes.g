# args: --ahead=yes --passes=autodiff,order
# exit: 2
let N = 3
