/* Values in fewer bits: what autodiff and the pass precision share. A value is narrowed once,
   behind the views that lead to it, and readers that compute in f32 convert back, which fuses into
   them. */
#ifndef GC_PASSES_PRECISION_H
#define GC_PASSES_PRECISION_H
#include "passes/passes.h"

typedef enum Precision { PRECISION_F32, PRECISION_TF32, PRECISION_BF16 } Precision;

/* The precision behind a key of the pass; false after a diagnostic. F32 where the key is missing.
 */
bool precision_arg(const PassRun *r, const char *key, Precision *out);

/* A rebuild in which the backward pass reads what the forward pass left in fewer bits. */
typedef struct Saved Saved;
/* In the arena given; of products for this target. */
Saved *saved_new(Arena *a, const Entry *e, Precision p, const Target *t);
/* In place of build_copy, for every op in order. */
void saved_copy(Saved *s, Builder *b, const Entry *old, const Op *op, ValueId *map);
int64_t saved_count(const Saved *s); /* values narrowed so far */
#endif
