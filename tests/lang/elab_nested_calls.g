# Statements nested in each of many functions that call one another: refused with a message, whatever the stack.
# RUN: awk 'BEGIN { for (d = 0; d < 40; d++) { print "def g" d "(x) {"; print "  y = x"; for (i = 0; i < 900; i++) print "if true {"; print "y = " (d ? "g" (d - 1) "(x)" : "x + 1"); for (i = 0; i < 900; i++) print "}"; print "  return y"; print "}" } print "entry e(x : f32[2]) { return y = g39(x) }" }' > %t.g
# RUN: not-14 %gc %t.g --emit=ir -o /dev/null 2>&1 | FileCheck-14 %s
# CHECK: error: statements, expressions and calls are nested more than 4000 deep
