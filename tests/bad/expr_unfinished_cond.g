let a = 1 if 2
let b = 1 if 2 else
