/* Shared by the printers of attention for GPUs: places of heads, of blocks and of masks. */
#ifndef GC_CODEGEN_GPU_ATTENTION_H
#define GC_CODEGEN_GPU_ATTENTION_H
#include "codegen/gpu/gpu.h"
#include "codegen/print/attention.h"

/* Declares the head h and the first row, i0 or j0, of block `at`. */
void cuda_attention_block(Text *x, const Attention *a, bool keys, const char *at, int64_t rows,
                          int64_t blocks);
/* Declares where rows lie: Rows. */
void cuda_attention_rows(Text *x, const Attention *a);
/* Declares `params`, with the mask of the head. */
void cuda_attention_params(Gen *g, Text *x, const Attention *a, const char *head);
/* Blocks of heads behind those of this run leave, and of rows; row: NULL where they stay. */
void cuda_leave_behind(Gen *g, Text *x, const Attention *a, int operand, const char *row);
/* Where the head begins: in what has a number a query, and in result k. */
const char *cuda_of_queries(Gen *g, const Attention *a, const char *name, const char *head);
const char *cuda_attention_result(Gen *g, const Attention *a, int k, const char *head);
/* ... and in queries, keys and values: i is 0, 1, 2. */
const char *cuda_attention_operand(Gen *g, const Attention *a, int i, const char *head);
/* The mask of the g-th head from `first` on, a function of g. */
const char *cuda_masks(Gen *g, const Attention *a, const char *first);

/* A run decides how many queries or keys there are. */
bool cuda_lengths_vary(const Attention *a);
/* Queries or keys of a head in this run: i is 0, 1. */
const char *cuda_attention_length(Gen *g, const Attention *a, int i);
/* Attention of few queries, in launches of its own; false where it is not split. `when`: each run
   decides, by the condition that becomes *when; NULL: none does. */
bool cuda_attention_split(Gen *g, const Attention *a, const char **when);

/* The code for sm_90a, where the heads are for it; keys: of the launch by keys and values. */
void cuda_attention_sm90a(Gen *g, Kernel *k, const Attention *a, bool keys);
/* Tensor maps have room for how its operands lie. */
bool cuda_attention_has_maps(Gen *g, const Attention *a);
#endif
