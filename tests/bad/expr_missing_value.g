let a = 3 +
let b = 2 *
let c = not
