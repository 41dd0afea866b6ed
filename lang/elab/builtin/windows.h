/* Windows of images that slide along bounded axes; see bounded_windows.c. */
#ifndef GC_LANG_ELAB_WINDOWS_H
#define GC_LANG_ELAB_WINDOWS_H
#include "lang/elab/builtin/builtin.h"

typedef struct BoundedWindows {
  int axes;            /* behind the channels: 1 or 2 */
  const int64_t *more; /* by axis: of a transposed convolution, what it adds at the end; or NULL */
  int64_t axis[2];     /* of the result, as type_get takes it; 0: as the op says */
} BoundedWindows;

/* Pads the image along its bounded axes, which are static then; false after an error. k: conv,
   conv_input_grad for a transposed one, or a pool, with its attributes. */
bool windows_to_bound(BuiltinCall *s, OpKind k, Val *x, const Type *filters, const Attr *attr,
                      BoundedWindows *b);
/* What a run has of the op's result. */
Val windows_of_run(BuiltinCall *s, Val y, const BoundedWindows *b);
#endif
