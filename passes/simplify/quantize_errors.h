/* Measures what quantization changes in the results of products: outputs of an entry in place of
   its own. See quantize_errors.c. */
#ifndef GC_PASSES_QUANTIZE_ERRORS_H
#define GC_PASSES_QUANTIZE_ERRORS_H
#include "ir/ir.h"

typedef struct QuantizeErrors {
  Arena *arena; /* of the lists */
  VEC(ValueId) value;
  VEC(const char *) name;
} QuantizeErrors;

/* An output error.PATH: of the rows of `exact`, which a product with the param of this path makes,
   and of `rounded`, which it makes of integers. */
void errors_add(QuantizeErrors *x, Builder *b, const char *path, ValueId exact, ValueId rounded);
/* Ends the entry with these outputs, and empties the lists; false: there are none. */
bool errors_return(QuantizeErrors *x, Builder *b);
#endif
