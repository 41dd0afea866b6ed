/* What the makers of random programs share: a pool of values, and how to find or make operands.
   Contract: see random_program.h. A maker that finds no fitting operands leaves the pool as it is
   and returns false. */
#ifndef GC_TESTS_RANDOM_GEN_H
#define GC_TESTS_RANDOM_GEN_H
#include "random_program.h"

enum { MAX_RANK = 4, MAX_OUTPUTS = 64 };

typedef struct Gen {
  Ctx *c;
  Module *m;
  Entry *e;
  Builder *b;
  RandomOptions o;
  uint64_t rng;
  VEC(ValueId) pool;
  ValueId loaded[64]; /* by global; NO_ID: not loaded in this entry */
  bool stored[64];
  ValueId out[MAX_OUTPUTS];
  const char *name[MAX_OUTPUTS];
  int nout, nloss;
  int loops;       /* whose bodies are being made */
  ValueId counter; /* of the innermost; NO_ID outside of all */
} Gen;

typedef enum Want { ANY, FLOATS, INTS, BOOLS, NUMBERS } Want;

static inline int64_t below(Gen *g, int64_t n) { return random_below(&g->rng, n); }
static inline bool chance(Gen *g, int percent) { return below(g, 100) < percent; }
static inline const Type *type_of(Gen *g, ValueId v) { return value_type(g->e, v); }
static inline bool fits(Gen *g, const Type *t) { return t && t->numel <= g->o.numel; }
static inline const Ints *ints(Gen *g, const int64_t *at, int n) {
  return intern_ints(g->c, at, n);
}
static inline ValueId keep(Gen *g, ValueId v) {
  vec_push(g->m->arena, &g->pool, v);
  return v;
}

/* ---- random_values.c ---- */
Dtype gen_float(Gen *g);
Dtype gen_int(Gen *g);
int64_t gen_dim(Gen *g);
const Type *gen_type(Gen *g, Dtype dt);
ValueId gen_const_value(Gen *g, const Type *t);
ValueId gen_load(Gen *g, int global);
ValueId gen_make(Gen *g, const Type *t); /* a new value of this type, of whatever origin */
ValueId gen_pick(Gen *g, Want w);        /* a value of the pool, else a new one */
ValueId gen_mate(Gen *g, const Type *t); /* another value of exactly this type */
int gen_axes(Gen *g, int rank, int64_t *axes);
ValueId gen_ids_below(Gen *g, ValueId like, int64_t n); /* ids below n, of this shape */
ValueId gen_place(Gen *g); /* in a loop: an i32[] that only its counter changes; else NO_ID */

/* ---- random_makers.c, random_shapes.c ---- */
typedef bool Maker(Gen *g);
Maker maker_element, maker_convert, maker_reduce, maker_arg, maker_matmul, maker_gather,
    maker_scatter, maker_one_hot, maker_rows, maker_drop, maker_attend, maker_order, maker_update;
Maker maker_reshape, maker_transpose, maker_broadcast, maker_slice, maker_reverse, maker_pad,
    maker_concat, maker_conv, maker_pool, maker_norm;
#endif
