/* Helpers of the shape rules of convolutions and pools. */
#ifndef GC_IR_OP_WINDOW_RULE_H
#define GC_IR_OP_WINDOW_RULE_H
#include "ir/op/op.h"
#include "ir/op/window.h"

/* The attribute is a list of n numbers from `min` on. */
bool window_lists(const ShapeIn *in, int slot, const char *what, int n, int64_t min);
/* The axis of the result along rows (i = 0) or columns of x, as type_get takes it, and a->out; 0
   after the reason. */
int64_t window_axis(const ShapeIn *in, int i, const Type *x, WindowAxis *a);
#endif
