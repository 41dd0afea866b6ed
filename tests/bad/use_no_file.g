use "nope.g"
use ""
use
