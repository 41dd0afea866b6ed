import nn
from layers import net
let a = 3
