/* Expressions of element-wise ops and of keys of random numbers, from the op table's texts. */
#ifndef GC_CODEGEN_EXPR_H
#define GC_CODEGEN_EXPR_H
#include "codegen/program/gen.h"

/* The key of a random op as an expression; place: the text of its place in a loop, or NULL. */
const char *random_key_text(const Gen *g, Attr key, Attr draw, const char *place);
/* Text of an element-wise op on operand texts (names or literals); types in are the operands'.
   f16 and bf16 results are rounded: f16_round(…). */
const char *scalar_expr(Gen *g, const Entry *e, const Op *op, const char *const *operand);
#endif
