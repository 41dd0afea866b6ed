/* Ops that write a part of a value: a dynamic_update, and a kernel that computes what it writes. */
#ifndef GC_IR_UPDATE_H
#define GC_IR_UPDATE_H
#include "ir/ir.h"

/* The dynamic_update that the op is, or that is the last one in it, a kernel; NULL: there is none.
 */
const Op *op_update(const Entry *e, const Op *op);
/* The operand whose elements such an op keeps, but for a part; -1: it is none. */
int op_updated(const Entry *e, const Op *op);
#endif
