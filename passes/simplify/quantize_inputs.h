/* Scales of activations that were found beforehand, by calibration: one for each group of a
   product's depth, the same for all rows. See quantize_inputs.c. */
#ifndef GC_PASSES_QUANTIZE_INPUTS_H
#define GC_PASSES_QUANTIZE_INPUTS_H
#include "ir/ir.h"

typedef struct InputScales {
  Arena *arena; /* of the lists */
  VEC(int) global;
  VEC(ValueId) value;
} InputScales;

/* bf16, one for each of a depth; those of a group are equal. */
const Type *input_scale_type(Ctx *c, int64_t depth);
/* Stores the initial value, NaN: of what was not calibrated. */
void input_scales_initial(Builder *b, int global);
/* Notes what a product reads, x [rows, depth], for the scales that are this global. */
void input_scales_add(InputScales *s, Builder *b, int global, ValueId x, int64_t group);
/* Ends the calls of an entry: stores the larger of what was noted and what was there before. */
void input_scales_store(InputScales *s, Builder *b);
/* The integers of x by the loaded scales, and the scales of the groups of its rows. */
void input_scales_apply(Builder *b, ValueId x, ValueId scales, int64_t group, ValueId *integers,
                        ValueId *of_rows);
#endif
