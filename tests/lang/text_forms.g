# RUN: printf '\357\273\277let a = 1\r\nlet b = 2\r\n' > %t.g
# RUN: %gc --emit=ast %t.g | FileCheck-14 %s
# RUN: printf 'let a = 1\nlet b = 2' > %t.g
# RUN: %gc --emit=ast %t.g | FileCheck-14 %s
# RUN: printf '# nothing but a comment' > %t.g
# RUN: %gc --emit=ast %t.g -o %t.out
# RUN: grep -c . %t.out | grep -qx 1
# RUN: grep -q '^# Parsed by gc ' %t.out
# A byte order mark, CRLF, and a last line without a newline are no mistakes; an empty program is one
# only where something is to be made of it.

# CHECK: let a = 1
# CHECK-NEXT: let b = 2
