let N
let M 3
let = 3
