let a = ()
let b = (1, 2)
