/* What the printers of a product share: its schedule (codegen/schedule/product.c), the loops
   (matmul.c), what a thread has of them (product_units.c), a tile (product_tile.c), and what is
   packed for it (product.c, quantized.c). */
#ifndef GC_CODEGEN_CPU_PRODUCT_H
#define GC_CODEGEN_CPU_PRODUCT_H
#include "codegen/program/gen.h"
#include "codegen/schedule/product.h"

typedef struct Product {
  ProductSchedule s;
  Arena *arena;
  /* names within the kernel, or what they would be where a loop has one iteration: the product of
     the batch; the first of a chain's depth, and how many; first and end of tiles and of panels;
     and of all panels of the thread */
  const char *bt, *k0, *depth, *i0, *i1, *g0, *g1, *panel0, *panel1;
  /* counts at run time: products of the batch, rows, depth, tiles of rows; bounded: that of rows or
     depth is known only then, and strides are those at the bound */
  const char *batch, *m, *k, *tiles;
  bool bounded_m, bounded_k;
  bool varies;   /* tiles of rows are counted at run time, `tiles` of `step` rows >> 32 */
  const char *T; /* "f32": what the tile computes in */
  const char *a_type, *b_type; /* of packed numbers; pairs are i32 */
  int a, b;                    /* inputs of the group */
  int scale, scaled; /* of a quantized B: the input with scales, -1: none; rows that share one */
  int a_scale;       /* of a quantized A, likewise */
  bool interleaved;  /* rows of a quantized B are, in words of four that a column has */
  bool deep;         /* of one row: all chains of a panel before the next panel */
  int addend; /* input that the product is added to, as it lies, and nothing else is done; -1 */
} Product;

/* The operand is stored transposed, whatever its panels. */
static inline bool product_ta(const Op *mm) { return mm->kind == OP_MATMUL && mm->attr[AT_TA].i; }
static inline bool product_tb(const Op *mm) {
  return mm->kind == OP_MATMUL ? mm->attr[AT_TB].i : mm->attr[AT_AXIS].i;
}
static inline const Value *product_value(const Group *g, ValueId v) { return value_at(g->e, v); }

/* What a thread has. `tiles` of rows, if their number depends on that of threads or rows: tile i
   begins with row i * step >> 32. Its units u0 to u1; and the loop over these, part by part: tiles
   tile0 to tile1 of panels panel0 to panel1 of product bt. What it touches, for the barriers. */
void product_count_tiles(Gen *g, Kernel *k, const Product *p);
void product_units(Gen *g, Kernel *k, const Product *p);
void product_parts(Gen *g, Text *x, Product *p);
void product_declare_slices(Kernel *k, const Group *gr, const Product *p);
/* A tile of `width` columns of panel q. */
void product_tile(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width);
/* What a run of one row does first: most panels, several at a time. p: the others remain. */
void product_row_streams(Gen *g, const Group *gr, Text *x, Product *p);
/* The product of a run of one row whose chains are all of a panel before the next panel. */
Product product_of_deep_row(const Product *p);
/* The loop over chains, if there are several. */
void product_chain_loop(Text *x, const Product *p);
/* Elements of a packed row of B or A: the depth, or its pairs. */
const char *product_steps_text(const Product *p);
/* Texts within a kernel. Packs columns of B^T, or converts B, from panel g0 to g1 for chain k0. */
void product_pack(Gen *g, const Group *gr, Text *x, const Product *p);
void product_convert(Gen *g, Text *x, const Product *p);
/* Packs a quantized B as numbers, likewise; or as words of integers, and its scales. In
   quantized.c. */
void product_pack_quantized(Gen *g, Text *x, const Product *p);
/* The tile that reads a quantized B, and the text of its first argument of B and its last one,
   which are panel q's integers and scales from depth k0 on. */
const char *product_quantized_tile(Gen *g, const Product *p, int64_t rows, int64_t width);
void product_quantized_panel(Text *x, const Product *p);
/* Packs `rows` rows of integers of A from m on, row r of which goes to row `row` of packed_a. */
void product_integer_rows(Gen *g, Text *x, const Product *p, const char *row);
/* Packs, or converts, the rows of A that tiles i0 to i1 have. */
void product_pack_a(Gen *g, Text *x, const Product *p);
void product_convert_a(Gen *g, Text *x, const Product *p);
/* ... or those of the tile at hand, row r of which goes to row `row` of packed_a. */
void product_convert_rows(Gen *g, Text *x, const Product *p, const char *row);
/* Where tile i of a block has its packed rows of A, if rows are packed tile by tile. */
const char *product_packed_tile(const Product *p);
/* Declares `rows` and `m`, the first one, of tile i. */
void product_tile_rows(Text *x, const Product *p);
/* The first row of a tile. */
const char *product_row(const Product *p, const char *tile);
/* What a tile is told of the rows that it prefetches: the first one or NULL, their stride, and of
   how many rows of the depth each is one. Declares variables for it. */
const char *product_prefetch(Gen *g, const Group *gr, Text *x, const Product *p);
#endif
