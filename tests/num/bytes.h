/* Elements of tensors as they lie in memory, for tests that look at a program's bytes. A runtime's
   GcDtype has the numbers of Dtype. */
#ifndef GC_TESTS_NUM_BYTES_H
#define GC_TESTS_NUM_BYTES_H
#include "ir/eval/interp.h"

Scalar scalar_read(const unsigned char *p, Dtype dt);
/* s is representable: interpreters rounded it. */
void scalar_write(unsigned char *p, Dtype dt, Scalar s);
#endif
