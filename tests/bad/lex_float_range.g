let a = 1e999
let b = 1e-999
