# Parts that keep every bit, of a multiple of 1,024 rows here, are found for any batch that is one, whether
# or not the numbers of parts below take fewer bytes; and a batch without small divisors costs no time.
# RUN: %gc %S/../bench/limits/chain.g -D N=7168 --memory-limit=50% --remarks=remat --emit=ir -o %t.ir 2>&1 | FileCheck-14 %s --check-prefix=SEVEN
# RUN: %gc %S/../bench/limits/chain.g -D N=16384 --memory-limit=50% --remarks=remat --emit=ir -o %t.ir 2>&1 | FileCheck-14 %s --check-prefix=SIXTEEN
# RUN: not-14 %gc %s --memory-limit=50% -o %t 2>&1 | FileCheck-14 %s --check-prefix=PRIME
# SEVEN: the batch of 7168 is done in 7 parts of 1024
# SIXTEEN: the batch of 16384 is done in 4 parts of 4096
# PRIME: error: {{.*}} does not fit
entry go(x : u8[1000000000039]) { return y = sum(f32(x) * 2.0 + 1.0) }
