let a = [1,,2]
let b = [1 2]
let c = f(,)
