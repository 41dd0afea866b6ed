# args: --passes=autodiff,cheap-remat,shared-stacks,order,liveness,inplace,share --memory-limit=1M
# exit: 2
let N = 3
