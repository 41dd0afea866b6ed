# RUN: %gc --emit=ast %s | FileCheck-14 %s
# A file is read once, by whatever path, relative to the file that uses it; cycles end.

# CHECK: let a = 1
# CHECK-NEXT: let b = 2
# CHECK-NEXT: let c = 3
# CHECK-NOT: let
use "used/a.g"
use "used/b.g"
use "./used/../used/a.g"
let c = 3
use "use_once.g"
