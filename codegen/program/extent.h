/* Texts of counts that may depend on an extent known at run time: a number, or made of the names
   that kernel_args declares: `extent0`, …, in the order of the entry's inputs, and `part0`, …, of
   axes of which a kernel sees a part. A part may have no element. */
#ifndef GC_CODEGEN_EXTENT_H
#define GC_CODEGEN_EXTENT_H
#include "codegen/program/gen.h"

/* A factor: the run-time value of the extent. */
const char *extent_name(Gen *g, const Entry *e, const Extent *x);
/* Factors: of a count that is n at the bound; of all elements along axes [from, to). */
const char *count_text(Gen *g, const Entry *e, int64_t n, const Extent *x);
const char *dims_text(Gen *g, const Entry *e, const Type *t, int from, int to);
bool dims_bounded(const Type *t, int from, int to);
bool text_is_number(const char *count); /* it depends on no extent */
/* Where element number `at` (a factor) of axes [from, to) lies, in elements of them at the bounds:
   `at` itself where what is bounded is outermost. A factor. */
const char *place_text(Gen *g, const Entry *e, const Type *t, int from, int to, const char *at);
/* The last number of so many, which count is. */
const char *text_last(Arena *a, const char *count);
/* x times y; n over `by`, rounded up. Factors of factors. */
const char *text_product(Arena *a, const char *x, const char *y);
const char *text_ceil_div(Arena *a, const char *n, int64_t by);
/* n / by of two factors, where `by` is known at run time: by its reciprocal, which is computed in
   front of a loop. Exact below 2^50: n + 1/2 is half of 1 / by from any multiple. */
const char *text_quotient(Arena *a, const char *n, const char *by);
/* Elements from the first one on that hold all of a run: those of the outermost axis, if that alone
   is bounded, else as many as at the bound. */
const char *prefix_text(Gen *g, const Entry *e, const Type *t);
const char *prefix_axes_text(Gen *g, const Entry *e, const Type *t, int to); /* along [0, to) */
/* Elements of a run do not come first, as prefix_text counts them: others lie between them. */
bool type_is_mixed(const Type *t);
/* An input whose elements lie side by side in a run, whatever its bounds: its strides are those of
   the run. Bounded inputs do that nothing but pads read, as a cache that is made longer, if the
   target's pads can. */
bool input_is_compact(const Target *t, const Entry *e, ValueId v);
/* The stride of an axis in elements, a factor: at the bounds, or that of a run. */
const char *stride_text(Gen *g, const Entry *e, const Type *t, int axis, bool of_run);
/* A condition: element `at` (a factor) of a t, counted at the bounds, is one of the run; NULL: all
   are. */
const char *inside_text(Gen *g, const Entry *e, const Type *t, const char *at);
/* A run may have no element: an axis is a part. */
bool type_may_be_empty(const Type *t);
/* Something in the group depends on an extent. */
bool group_is_bounded(const Group *gr);
/* The parts of axes that its types have, in the order of their first use: `part0`, … */
ExtentList group_parts(Arena *a, const Group *gr);
/* `const long extent0 = env->extents[0];` of each that the group depends on; of a target that names
   the type of its positions, by its function env_extent. Then its parts: which part it is comes
   with an argument, so that one kernel serves all parts of an axis. */
void extent_declare(Gen *g, Text *head, const Kernel *k, const Group *gr);
#endif
