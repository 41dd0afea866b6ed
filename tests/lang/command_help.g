# RUN: %gc --help | FileCheck-14 %s
# RUN: %gc --help=options-md | FileCheck-14 %s --check-prefix=MD
# RUN: %gc --version | grep -E '^gc [0-9]+[.][0-9]+[.][0-9]+$'
# RUN: %gc --help=all | grep -c 'usage: gc'
# The help comes from the table of options: no row is missing, what is not built yet is not offered.

# CHECK: usage: gc [options] FILE.g
# CHECK: -o FILE
# CHECK: --emit=KIND
# CHECK-NEXT: KIND: exe
# CHECK-NOT: dot
# CHECK: -D NAME=V
# CHECK: -O0..3
# CHECK: --dump-plan[=FORM]
# CHECK: --pack
# CHECK: exit codes: 0 done

# MD: | `-o FILE` | write to FILE
# MD: | `--memory=HOW` | {{.*}}HOW: `none`, `inplace`, `pool`, `color`, `pack`
# MD: | `--streams=N` | {{.*}} |
