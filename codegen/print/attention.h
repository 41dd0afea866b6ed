/* What the printers of attention share: extents, blocks, and where the mask of a head lies.
   Contract: the blocks depend on the shapes and the dtype alone, and so do the sums: of the scores
   one chain of fma over the depth, of the weights lanes and their tree within a block, of the
   results a chain over a block's keys, blocks in their order. */
#ifndef GC_CODEGEN_ATTENTION_H
#define GC_CODEGEN_ATTENTION_H
#include "codegen/program/gen.h"
#include "codegen/schedule/attention.h"
#include "passes/fuse/strided_view.h"

typedef struct Attention {
  const Group *gr;
  const Op *op;
  bool grad, causal, masked;
  Dtype dt, compute;
  const char *T; /* "f32": what is computed in */
  double scale;
  int64_t heads, group;              /* of queries; how many of them share the keys of one head */
  int64_t t, s, d, e;                /* queries, keys, their length, that of values */
  AttentionShape shape;              /* the same, for its schedule */
  int64_t block;                     /* queries and keys of a block, a power of two */
  bool long_heads;                   /* blocks are too large for a stack, or for registers */
  int dy, q, k, v, lse, delta, mask; /* arguments of the kernel; -1: none */
  /* Where queries, keys, values and dy lie in their arguments, and the results in those of the
     kernel; results[0..2]: their numbers */
  StridedView q_at, k_at, v_at, dy_at, result_at[3];
  int result[3];
} Attention;

Attention attention_of(Arena *arena, const Group *gr);

/* ---- places ---- */

/* An axis of heads, or several that lie as one. */
typedef struct HeadAxis {
  int64_t inner, extent, stride; /* heads of the axes inside; elements */
  bool last;                     /* outermost */
} HeadAxis;

/* By the strides of the axes before the rows, the innermost first. In the arena. */
HeadAxis *attention_head_axes(Gen *g, const Type *t, const StridedView *at, int *n);
/* "h / 12 % 4": where a head is along the axis. */
const char *attention_head_index(Gen *g, const HeadAxis *axis, const char *head);
/* " + (int64_t)(h) / 12 * 49152 + (int64_t)(h) % 12 * 64": where the head begins in what its rows
   lie in. */
const char *attention_head_offset(Gen *g, const Type *t, const StridedView *at, const char *head);
/* From row to row. */
int64_t attention_row_stride(const Type *t, const StridedView *at);
/* It is the value itself, row by row. */
bool attention_is_whole(const Type *t, const StridedView *at);

/* Where the row `row` of head `h` begins in the mask, and the step from key to key. */
const char *attention_mask_row(Gen *g, const Attention *a, const char *h, const char *row);
int attention_mask_step(const Attention *a);
int attention_mask_pitch(const Attention *a); /* from row to row */
/* The scale, a literal of the type that is computed in. */
const char *attention_scale(Gen *g, const Attention *a);
#endif
