# Very many errors cost time for each, not for each line before it: a table given as a program ends at once.
# RUN: awk 'BEGIN { for (i = 0; i < 1000000; i++) print "= 1" }' > %t.g
# RUN: not-14 %gc %t.g --emit=ir -o /dev/null 2>&1 | FileCheck-14 %s
# CHECK: error: too many errors, the rest is not shown
