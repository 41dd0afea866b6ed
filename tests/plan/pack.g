# RUN: split-file-14 %s %t
# RUN: %gc --pack %t/five.csv 2> %t/said | FileCheck-14 %s --check-prefix=FIVE
# RUN: FileCheck-14 %s --check-prefix=SAID < %t/said
# RUN: %gc --pack %t/five.csv --capacity=12 -o %t/out.csv
# RUN: %gc --pack %t/out.csv | diff - %t/out.csv
# RUN: not-14 %gc --pack %t/five.csv --capacity=11 -o %t/none.csv 2>&1 | FileCheck-14 %s --check-prefix=LESS
# RUN: test ! -e %t/none.csv
# RUN: not-14 %gc --pack %t/bad.csv 2>&1 | FileCheck-14 %s --check-prefix=BAD
# RUN: not-14 %gc --pack %t/head.csv 2>&1 | FileCheck-14 %s --check-prefix=HEAD
# RUN: not-14 %gc --pack %t/empty.csv 2>&1 | FileCheck-14 %s --check-prefix=EMPTY
# RUN: not-14 %gc --pack %t/twice.csv 2>&1 | FileCheck-14 %s --check-prefix=TWICE
# RUN: not-14 %gc --pack %t/offsets.csv 2>&1 | FileCheck-14 %s --check-prefix=OFFSETS
# RUN: not-14 %gc --pack %t/quoted.csv 2>&1 | FileCheck-14 %s --check-prefix=QUOTED --implicit-check-not=fields,
# RUN: not-14 %gc --pack %t/quoted_head.csv 2>&1 | FileCheck-14 %s --check-prefix=QUOTED-HEAD --implicit-check-not=column
# RUN: printf '\357\273\277' | cat - %t/five.csv > %t/marked.csv
# RUN: %gc --pack %t/marked.csv | diff - %t/out.csv
# RUN: not-14 %gc --pack %t/five.csv -o %t/five.csv 2>&1 | FileCheck-14 %s --check-prefix=OVER
# RUN: not-14 %gc --pack %t/five.csv -o %t/none/out.csv > %t/unwritten 2>&1
# RUN: FileCheck-14 %s --check-prefix=UNWRITTEN --implicit-check-not=optimal < %t/unwritten
# RUN: %gc --pack %t/five.csv --timeout=1e-9 2> %t/late | tail -n +2 | sort > %t/rows
# RUN: test `wc -l < %t/rows` = 5
# RUN: ln -sf /dev/stdout %t/device
# RUN: %gc --pack %t/five.csv -o %t/device | diff - %t/out.csv
# RUN: test -L %t/device
# RUN: %gc --pack %t/five.csv -o - | diff - %t/out.csv
# FIVE: id,lower,upper,size,offset
# FIVE-NEXT: b1,0,3,4,
# SAID: 5 buffers in 12 bytes: optimal
# LESS: error: the buffers do not fit into 11 bytes: they need at least 12
# BAD: bad.csv:3:8: error: upper must be above lower: the buffer lives from 9 to before 3
# BAD: bad.csv:4:7: error: size must be above 0, not 0
# BAD: bad.csv:5:1: error: a row has 4 fields, not 3
# BAD: bad.csv:6:5: error: lower is not a whole number below 2^62: 'x'
# QUOTED: quoted.csv:2:1: error: quotes are not understood: write fields without quotes and without commas in them
# QUOTED: quoted.csv:3:6: error: quotes are not understood
# QUOTED-HEAD: quoted_head.csv:1:4: error: quotes are not understood
# TWICE: twice.csv:4:1: error: another row has the id 'b1' already
# OFFSETS: offsets.csv:1:28: error: column 'offset' is named twice
# OVER: error: the output would replace the input
# UNWRITTEN: error: cannot write {{.*}}/none/out.csv: No such file or directory
# HEAD: head.csv:1:4: error: column 'begin' is not known: they are id, lower, upper, size
# EMPTY: empty.csv:1:1: error: the file is empty: its first line is id,lower,upper,size

#--- five.csv
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
#--- bad.csv
id,lower,upper,size
b1,0,3,4
bb2,9, 3,4
b,3,9,0
c,3,9
b5, x,3,4
#--- twice.csv
id,lower,upper,size
b1,0,3,4
b2,0,3,4
b1,5,6,4
#--- offsets.csv
id,lower,upper,size,offset,offset
b1,0,3,4,0,0
#--- head.csv
id,begin,upper,size
b1,0,3,4
#--- empty.csv
#--- quoted.csv
id,lower,upper,size
"b,1",0,3,4
b2,0,"3",4
#--- quoted_head.csv
id,"lower",upper,size
b1,0,3,4
