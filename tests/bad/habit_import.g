import nn
let a = 3
