/* Images made in blocks: their choice, and how the program is built anew. See image_tiles.c. */
#ifndef GC_PASSES_BLOCKS_IMPL_H
#define GC_PASSES_BLOCKS_IMPL_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

enum { BLOCK_IMAGES, BLOCK_CHANNELS, BLOCK_AXES }; /* the axes of [N, C, H, W] that are cut */

typedef struct Blocks {
  Arena *a;
  const Entry *e;
  uint64_t min;    /* bytes of a tensor that is worth it */
  uint32_t *at;    /* by op: its place in the body */
  bool *gone;      /* by value: it is made in blocks, and never whole */
  uint8_t *asked;  /* by value that is gone: bits of the axes by which it is */
  uint32_t *first; /* by value that is gone: place of the first op that is there and needs it */
  uint32_t *until; /* the same of what is convolved for it; UINT32_MAX: nothing is */
} Blocks;

/* Every element comes from its own image and channel of each operand. */
bool blocks_is_apart(const Op *op);
/* The axis by which an op that is there can take this operand block by block; -1: by none. */
int blocks_axis(const Op *op, int operand);
int64_t blocks_count(const Type *t, int axis);
/* Builds the entry with blocks in place of what is gone. */
void blocks_build(Blocks *b, Entry *e);
#endif
