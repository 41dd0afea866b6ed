use "used/wrong.g"
let b = 3 4
