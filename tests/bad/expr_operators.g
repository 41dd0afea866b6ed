let a = 3 +* 4
let b = +3
let c = a <> b
