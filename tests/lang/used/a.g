use "b.g"
let b = 2
use "a.g"
