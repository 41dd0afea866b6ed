# args: --passes=autodiff,order,liveness,inplace,share --memory-limit=1M
# exit: 2
let N = 3
