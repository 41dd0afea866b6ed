let a = 1
use "a.g"
