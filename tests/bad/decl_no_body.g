def f(x)
let a = 3
