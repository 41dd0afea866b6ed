/* Results of one way of running a program against those of another. */
#ifndef GC_TESTS_NUM_COMPARE_H
#define GC_TESTS_NUM_COMPARE_H
#include "ir/eval/interp.h"

typedef bool ScalarSame(Scalar x, Scalar y, Dtype dt);
ScalarSame scalar_same;  /* bit for bit, but for the bits of a NaN */
ScalarSame scalar_close; /* the same in every dtype but f64: there to 1e-12, relative, or absolute
                            below 1; its functions are each C library's own */
ScalarSame scalar_near;  /* within the rounding of sums of up to 200,000 numbers */

/* 1 after saying how many elements differ, and the first of them; else 0. */
int tensor_compare(const char *what, const char *name, const Tensor *want, const Tensor *got,
                   ScalarSame *same);
/* The same for sums in another order, whose operands are rounded: elements differ by no more than
   `part` of their size, as a root of the mean of squares over the tensor; infinities and NaN are
   the same; whole numbers are not compared. */
int tensor_compare_size(const char *what, const char *name, const Tensor *want, const Tensor *got,
                        double part);
#endif
