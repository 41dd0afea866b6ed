/* What prints FlashAttention's results and its gradients share; see attention.c. */
#ifndef GC_CODEGEN_CPU_ATTENTION_H
#define GC_CODEGEN_CPU_ATTENTION_H
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"
#include "codegen/print/attention.h"

enum { BLOCK_ROWS = ATTENTION_ROWS };

typedef struct FlashPrinter {
  Gen *g;
  Kernel *k;
  Attention a;
  const VectorMachine *machine;
  AttentionSchedule s;
  bool half;                        /* blocks are converted when they are loaded */
  bool apart;                       /* ... or copied, as rows lie apart from each other */
  const char *rows, *keys, *blocks; /* texts: queries and keys of a head, blocks of its queries */
  bool bounded_rows, bounded_keys;  /* those are known only at run time */
} FlashPrinter;

/* Rows of an operand or a result, as they lie in an argument of the kernel: "in2", "out0". */
typedef struct FlashRows {
  const char *base;
  const Type *type;
  const StridedView *at;
} FlashRows;

/* Of six queries: scores q k^T, or the gradients dy v^T with respect to the weights. */
void flash_scores(FlashPrinter *p, Text *x, const char *q, const char *keys, const char *to,
                  int64_t width);
/* Of six queries: results, weights times values; or dq, the gradients of scores times keys. */
void flash_results(FlashPrinter *p, Text *x, const char *weights, const char *values,
                   const char *to, int64_t width, int64_t ldc, bool rescaled);
/* Of six keys: dv or dk, summed over the queries of the block to which one of the six is visible.
 */
void flash_key_gradients(FlashPrinter *p, Text *x, const char *weights, const char *from,
                         const char *to, int64_t width);
FlashRows flash_operand(const FlashPrinter *p, int operand, int arg, const StridedView *at);
FlashRows flash_result(const FlashPrinter *p, int k);
bool flash_is_whole(const FlashRows *r);
long long flash_row_stride(const FlashRows *r);
/* Text of where row `row` of the head begins: both are factors. */
const char *flash_row_at(const FlashPrinter *p, const FlashRows *r, const char *head,
                         const char *row);
/* Puts `rows` rows of `width` of the head from row `row` on together at `to`, converted, unless
   they are read in place. */
void flash_copy_block(FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                      const char *row, const char *rows, int64_t width);
/* Declares `name`: these rows in place, or at `to`. */
void flash_declare_block(const FlashPrinter *p, Text *x, const char *name, const char *to,
                         FlashRows r, const char *head, const char *row);
/* Both, in a block of their own. */
void flash_block(FlashPrinter *p, Text *x, const char *name, FlashRows r, const char *head,
                 const char *row, const char *rows, int64_t width);
void flash_buffer(FlashPrinter *p, Text *x, const char *name, int64_t n);
/* Packs `cols` rows of `from`, transposed, in panels. */
void flash_pack(FlashPrinter *p, Text *x, const char *from, const char *to, int64_t width);
void flash_open_row_panels(const FlashPrinter *p, Text *x, const char *from, const char *rows);
/* From a row of a query's sums to the next. */
int64_t flash_sums_width(const FlashPrinter *p);
/* Text of how many of the block's first `cols` keys come before those that the mask hides from all
   of `rows` queries from `row` on. */
const char *flash_seen_keys(const FlashPrinter *p, const char *row, const char *rows,
                            const char *cols);
/* Declares `visible`: the block's keys from there on are masked for the queries i0 + i to i0 + i +
   r. Queries that a mask hides all of them from are done with. */
void flash_declare_visible(const FlashPrinter *p, Text *x);
/* For each of the block's queries m, from row `row` of scores on: a loop over the keys c, which
   declares is_visible. Nothing is printed if all keys of all blocks are visible to all queries. */
bool flash_open_mask(FlashPrinter *p, Text *x, const char *row);
void flash_close_mask(Text *x);
/* Of all buffers of a unit in scratch; 0: they are the thread's own. */
uint64_t flash_unit_bytes(const FlashPrinter *p);
/* Gradients by the queries of half precision are added up in f32, where scratch begins. */
uint64_t flash_sums_bytes(const Attention *a);
/* Opens the loop over units, behind the thread's own buffers or before those in scratch. */
void flash_open_units(FlashPrinter *p, Text *x);
/* Declares the unit's rows of queries, of one head; or, where all queries of a head make one block,
   as those of a chat that writes token by token, of some heads that have common keys. */
void flash_declare_unit(const FlashPrinter *p, Text *x);
/* Opens the loop over the unit's heads h, which have a block of the sums each. */
void flash_open_heads(const FlashPrinter *p, Text *x);

/* ---- in tile registers (amx_attention.c) ---- */

/* Words of a row of `width` of bf16, in pairs, and columns of its sums: filled up to whole tiles.
 */
int64_t flash_pairs(int64_t width);
int64_t flash_wide(int64_t width);
/* Packs `rows` rows of the head from row `row` on: as rows of a left operand, as rows of a right
   one, or transposed, as its columns. */
void flash_amx_tiles(const FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                     const char *row, const char *rows, int64_t width);
void flash_amx_pairs(const FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                     const char *row, const char *rows, int64_t width);
void flash_amx_turned(const FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                      const char *row, const char *rows, int64_t width);
/* Of the r queries of a panel, as flash_scores; y times `rescale`, and weights times values; dq,
   whose rows are ldq apart. */
void flash_amx_scores(const FlashPrinter *p, Text *x, const char *q, const char *keys,
                      const char *to, int64_t width);
void flash_amx_results(const FlashPrinter *p, Text *x);
void flash_amx_query_gradients(const FlashPrinter *p, Text *x, const char *grads, long long ldq);
/* Of the r keys of a panel, as flash_key_gradients: of the block's weights, which are rounded and
   transposed first. */
void flash_amx_turn_weights(const FlashPrinter *p, Text *x, const char *from);
void flash_amx_key_gradients(const FlashPrinter *p, Text *x, const char *from, const char *to,
                             int64_t width);

/* attention_grad.c: the gradients, into the kernel */
void flash_gradients(FlashPrinter *p, Kernel *k);
#endif
