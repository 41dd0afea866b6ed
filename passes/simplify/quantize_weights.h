/* What the pass quantize-weights knows of params: which it quantizes (quantize_choice.c), and what
   becomes of entries (quantize_weights.c). */
#ifndef GC_PASSES_QUANTIZE_WEIGHTS_H
#define GC_PASSES_QUANTIZE_WEIGHTS_H
#include "passes/manager/pass_list.h"
#include "passes/simplify/quantize_errors.h"
#include "passes/simplify/quantize_inputs.h"

enum { GROUP = 32 };

typedef struct Weight {
  const char *why; /* it stays */
  bool used[2];    /* as the right side of a product, by the axis that is its depth */
  bool gathered;   /* rows of it */
  bool outside;    /* of loops is a product */
  bool quantized;
  int axis, scale; /* scale: its global */
  int input_scale; /* of what products multiply it by: a global; 0: they have none */
  ValueId loaded;  /* by the entry at hand */
  const Type *type;
  Loc loc;
} Weight;

typedef struct Quantize {
  PassRun *r;
  Weight *w; /* by global */
  int *to;   /* by global: its new index, -1: it is left out */
  int bits;
  int activations;            /* bits of these, which are quantized, too; 0: they are not */
  const char **without;       /* paths below which params stay floats, NULL behind the last one */
  bool measures;              /* errors, of params that stay floats */
  bool calibrates, is_static; /* scales of activations: they are found, or applied */
  QuantizeErrors errors;
  InputScales inputs;
} Quantize;

/* The global that a value is loaded from, or -1. */
int quantize_loaded(const Entry *e, ValueId v);
/* Finds out which globals are quantized, and remarks why others are not. */
void quantize_choose(Quantize *q);
/* Scales of activations belong to the param. */
bool quantize_has_inputs(const Quantize *q, const Weight *w);
/* The names of a param's integers and scales. */
const char *quantize_integers_path(const Quantize *q, const char *path);
const char *quantize_scales_path(const Quantize *q, const char *path);
/* The paths of "net.fc2+*.attn", NULL behind the last one. */
const char **quantize_paths(Arena *a, const char *list);
#endif
