/* A product on the CPU as its printer has decided it (matmul.c), and what is packed for it
 * (product.c). */
#ifndef GC_CODEGEN_CPU_PRODUCT_H
#define GC_CODEGEN_CPU_PRODUCT_H
#include "codegen/program/kernel.h"

enum {
  DEPTH = SUM_CHAIN, /* of one chain */
  A_STRIDE = 8       /* of packed rows of A: the tallest tile */
};

typedef struct Product {
  int64_t batch, m, n, k;
  bool ta, tb;
  Dtype dt;      /* that the tile computes in */
  const char *T; /* "f32" */
  int a, b;      /* inputs of the group */
  int nr;        /* columns of a panel of the loop, and of B's or C's layout where they have one */
  bool b_panels; /* B is stored in panels */
  bool pack;     /* a panel of B is packed before use */
  bool keep;     /* ... by the first tile that meets it, as it reads B */
  bool pack_a; /* A^T is packed tile by tile: as it lies, a tile would take a cache line for each of
                  its short rows, and these in few sets */
  bool chains; /* each chain goes through all of B before the next: C itself keeps the sums, and
                  what the chain reads of A stays near */
  bool converted; /* operands are stored in another dtype, `in` */
  Dtype in;
  int64_t chain; /* depth of a chain: the last one may be shorter */
  int addend;    /* input that the product is added to, as it lies, and nothing else is done; -1 */
  bool epilogue; /* more than the product, or a result that is not stored as it is computed */
  bool partial;  /* epilogue, and the depth needs several chains */
  int64_t group; /* panels that a tile of A meets, one after the other */
  int64_t np;    /* panels */
  int64_t tiles; /* row tiles: `low` of `rows`, then of rows + 1 */
  int64_t rows, low;
  int64_t block;    /* tiles of a block of A */
  int64_t prefetch; /* rows of the next panel that a tile prefetches, 0: none */
  enum { BY_BATCH, BY_PANEL, BY_ROWS, SERIAL } split;
  int64_t units;
  uint64_t flops;
} Product;

static inline int64_t packed_depth(const Product *p) { return p->chains ? p->chain : p->k; }

static inline int64_t tallest(const Product *p) { return p->rows + (p->low < p->tiles); }

static inline const Value *product_value(const Group *g, ValueId v) { return value_at(g->e, v); }

/* Texts within a kernel. Packs columns of B^T, or converts B, from panel g0 to g1 for chain k0. */
void product_pack(Gen *g, const Group *gr, Text *x, const Product *p);
void product_convert(Gen *g, Text *x, const Product *p);
/* Packs, or converts, the rows of A that tiles i0 to i1 have. */
void product_pack_a(Gen *g, Text *x, const Product *p);
void product_convert_a(Gen *g, Text *x, const Product *p);
/* Declares `rows` and `m`, the first one, of tile i. */
void product_tile_rows(Text *x, const Product *p);
/* Declares `prefetch`: rows of the next panel that the tile prefetches, or NULL. */
void product_prefetch(Gen *g, const Group *gr, Text *x, const Product *p);
#endif
