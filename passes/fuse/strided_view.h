/* Where the elements of a view lie in the value that it is a view of: an offset, and a stride for
   each axis, through reshapes, transposes and slices; and where a value is stored that only such
   ops and a concatenation read. Contract: pure functions of the IR. Lengths are in elements. */
#ifndef GC_PASSES_STRIDED_VIEW_H
#define GC_PASSES_STRIDED_VIEW_H
#include "passes/fuse/kernel_form.h"

typedef struct StridedView {
  ValueId of;
  int64_t offset;        /* of the first element */
  const int64_t *stride; /* by axis of the view; 0 where the extent is 1 */
} StridedView;

/* Of a value that views make, one of the other, of ops that `may` be among them; `of` is what none
   makes. A reshape that joins axes which do not lie one behind the other ends the way: it makes
   `of` then. */
typedef bool MayView(const void *data, const Op *op);
StridedView strided_source(Arena *a, const Entry *e, MayView *may, const void *data, ValueId v);
/* Where an op's result v is stored, whose only reader is the first of these ops, that of its result
   the second …: `of` is the result of the last one. False: it does not lie in strides there. */
bool strided_target(Arena *a, const Entry *e, ValueId v, const Op *const *readers, int n,
                    StridedView *out);
/* The last axis lies as it would in a value of its own, and rows begin at multiples of what that
   grants, so that copies are as wide. */
bool strided_in_rows(const Entry *e, ValueId v, const StridedView *view);

/* Of attention and its gradient: the readers of a result that store it where they want it, from
   its transpose on; none: 0. At most three, in the arena. `only` gives the only reader of a value,
   or NULL. */
typedef const Op *OnlyReader(const void *data, ValueId v);
int strided_readers(Arena *a, const Entry *e, ValueId v, OnlyReader *only, const void *data,
                    const Op **readers);
#endif
