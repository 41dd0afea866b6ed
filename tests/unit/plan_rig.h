/* Random entries to plan: elementary ops, kernels, views, loops if asked for, globals that are
   stored, values that are returned. Contract: the same for the same seed; every entry passes the
   verifier; no grads. */
#ifndef GC_TESTS_PLAN_RIG_H
#define GC_TESTS_PLAN_RIG_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct PlanRig {
  Ctx *c;
  Module *m;
  Entry *e;
  Builder *b;
  uint64_t random;
  bool loops;
  ValueId value[4096]; /* to choose operands from */
  int n;
} PlanRig;

static inline uint64_t rig_next(uint64_t *state, uint64_t n) {
  uint64_t x = (*state += 0x9E3779B97F4A7C15u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (x ^ (x >> 31)) % n;
}

static inline uint64_t rig_random(PlanRig *r, uint64_t n) { return rig_next(&r->random, n); }

/* Scratch for some ops, as a target may ask. */
static inline uint64_t rig_scratch(const Target *t, const Entry *e, const Op *op) {
  return op->kind == OP_MATMUL || op->kind == OP_SUM ? 100 : 0;
}

static const Target rig_target = {.name = "test", .align = 64, .scratch_bytes = rig_scratch};

static inline const Type *rig_matrix(PlanRig *r, int64_t rows, int64_t cols) {
  return type_get(r->c, DT_F32, 2, (int64_t[]){rows, cols});
}

static inline ValueId rig_pick(PlanRig *r) {
  return r->value[r->n - 1 - (int)rig_random(r, r->n < 12 ? (uint64_t)r->n : 12)];
}

/* A value of that type: one that is there, or a constant. */
static inline ValueId rig_pick_type(PlanRig *r, const Type *t) {
  for (int k = 0; k < 20; k++) {
    ValueId v = r->value[rig_random(r, (uint64_t)r->n)];
    if (value_type(r->e, v) == t) return v;
  }
  return build_const(r->b, t, 1.5);
}

static inline ValueId rig_add(PlanRig *r, ValueId v) {
  if (r->n < 4096) r->value[r->n++] = v;
  return v;
}

/* A kernel over x and y of one shape [M, N]: element-wise ops, a sum over rows that comes back, a
   sum over columns, or the transpose: all that the rule of in-place must tell apart. */
static inline void rig_kernel(PlanRig *r, ValueId x) {
  const Type *t = value_type(r->e, x);
  if (t->rank != 2) return;
  ValueId y = rig_pick_type(r, t), operands[2] = {x, y};
  bool two = rig_random(r, 2), rows = rig_random(r, 2), cols = rig_random(r, 4) == 0;
  bool turn = t->dim[0] == t->dim[1] && rig_random(r, 3) == 0;
  const Type *ct = type_get(r->c, t->dtype, 1, (int64_t[]){t->dim[1]});
  const Type *types[3] = {t, two ? t : ct, ct};
  int n = 1 + two + cols;
  Op *op = build_op(r->b, OP_KERNEL, operands, 2, NULL, types, n);
  Block *b = op->blocks[0], *outer = r->b->b;
  for (int i = 0; i < 2; i++) block_add_arg(r->e, b, (Value){.type = t});
  builder_at(r->b, b);
  ValueId p = b->args.at[0], q = b->args.at[1];
  ValueId s = rig_random(r, 2) ? build2(r->b, OP_ADD, p, q) : build1(r->b, OP_EXP, p);
  if (rows) {
    ValueId sum = build_reduce_keep(r->b, OP_SUM, s, (int64_t[]){1}, 1);
    s = build2(r->b, OP_MUL, s, build_broadcast(r->b, sum, t));
  }
  if (turn) s = build2(r->b, OP_ADD, build_transpose(r->b, s, (int64_t[]){1, 0}), q);
  ValueId out[3] = {build1(r->b, OP_TANH, s)};
  int k = 1;
  if (two) out[k++] = build2(r->b, OP_MUL, out[0], q);
  if (cols) out[k++] = build_reduce(r->b, OP_SUM, s, (int64_t[]){0}, 1);
  build_op(r->b, OP_YIELD, out, n, NULL, NULL, 0);
  builder_at(r->b, outer);
  for (int i = 0; i < n; i++) rig_add(r, op->results[i]);
}

/* The sum of all elements, in the shape t. */
static inline ValueId rig_spread(PlanRig *r, ValueId x, const Type *t) {
  static const int64_t axes[] = {0, 1, 2};
  return build_broadcast(r->b, build_reduce(r->b, OP_SUM, x, axes, value_type(r->e, x)->rank), t);
}

/* A loop over the rows of a matrix: x is carried, rows are stacked, and a value from outside is
   read in every iteration. Now and then the carry is read again after the next one is made. */
static inline void rig_loop(PlanRig *r, ValueId x) {
  const Type *t = value_type(r->e, x);
  ValueId xs = rig_pick(r), outside = rig_pick_type(r, t);
  const Type *all = value_type(r->e, xs);
  if (all->rank != 2 || t->rank > 2) return;
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = all->dim[0]},
                          [AT_CARRIES] = {.i = 1},
                          [AT_REVERSE] = {.i = (int64_t)rig_random(r, 2)}};
  Op *scan = build_op(r->b, OP_SCAN, (ValueId[]){x, xs}, 2, attr, (const Type *[]){t, all}, 2);
  Block *in = scan->blocks[0], *outer = r->b->b;
  const Type *row = type_get(r->c, all->dtype, 1, all->dim + 1);
  (void)block_add_arg(r->e, in, (Value){.type = type_scalar(r->c, DT_I32)});
  ValueId h = block_add_arg(r->e, in, (Value){.type = t});
  ValueId slice = block_add_arg(r->e, in, (Value){.type = row});
  builder_at(r->b, in);
  ValueId inner = build1(r->b, OP_EXP, build2(r->b, OP_ADD, h, rig_spread(r, slice, t)));
  ValueId next = build1(r->b, OP_TANH, build2(r->b, OP_MUL, inner, outside));
  ValueId of = rig_random(r, 3) ? inner : h;
  ValueId stacked = build2(r->b, OP_MUL, slice, rig_spread(r, of, row));
  build_op(r->b, OP_YIELD, (ValueId[]){next, stacked}, 2, NULL, NULL, 0);
  builder_at(r->b, outer);
  rig_add(r, scan->results[0]);
  rig_add(r, scan->results[1]);
}

static inline void rig_op(PlanRig *r) {
  ValueId x = rig_pick(r);
  const Type *t = value_type(r->e, x);
  if (r->loops && rig_random(r, 8) == 0) {
    rig_loop(r, x);
    return;
  }
  switch (rig_random(r, 12)) {
  case 0: rig_add(r, build1(r->b, OP_RELU, x)); return;
  case 1: rig_add(r, build1(r->b, OP_TANH, x)); return;
  case 2: rig_add(r, build2(r->b, OP_ADD, x, rig_pick_type(r, t))); return;
  case 3: rig_add(r, build2(r->b, OP_MUL, rig_pick_type(r, t), x)); return;
  case 4:
    if (t->rank == 2) rig_add(r, build_transpose(r->b, x, (int64_t[]){1, 0}));
    return;
  case 5: rig_add(r, build_reshape(r->b, x, type_get(r->c, t->dtype, 1, &t->numel))); return;
  case 6:
    if (t->rank == 1 && t->numel % 4 == 0)
      rig_add(r, build_reshape(r->b, x, rig_matrix(r, t->numel / 4, 4)));
    return;
  case 7:
    if (t->rank == 2)
      rig_add(r,
              build_matmul(r->b, x, rig_pick_type(r, rig_matrix(r, t->dim[1], 8)), false, false));
    return;
  case 8:
    if (t->rank == 2) rig_add(r, build1(r->b, OP_SOFTMAX, x));
    return;
  case 9:
    if (t->rank == 2) rig_add(r, build_reduce(r->b, OP_SUM, x, (int64_t[]){1}, 1));
    return;
  case 10: rig_add(r, build1(r->b, OP_COPY, x)); return;
  default: rig_kernel(r, x); return;
  }
}

/* Stores: of a computed value, of a load (swaps happen), or none. */
static inline void rig_stores(PlanRig *r, int globals) {
  ValueId v[8];
  for (int g = 0; g < globals; g++)
    v[g] = rig_random(r, 5) == 0 ? build_load(r->b, (int)rig_random(r, (uint64_t)globals))
                                 : rig_pick_type(r, r->m->globals.at[g].type);
  for (int g = 0; g < globals; g++)
    if (rig_random(r, 3) && value_type(r->e, v[g]) == r->m->globals.at[g].type)
      build_store(r->b, g, v[g]);
}

/* A new entry behind the module's others, to build in. */
static inline void rig_entry(PlanRig *r, const char *name) {
  r->e = entry_new(r->m, intern(r->c, name), (Loc){0});
  vec_push(r->m->arena, &r->m->entries, r->e);
  r->b = builder_new(r->e, r->e->body);
  r->b->fold = false;
}

static inline PlanRig rig_new_plan(uint64_t seed, int ops, bool loops) {
  PlanRig r = {.c = ctx_new(), .random = seed, .loops = loops};
  r.m = module_new(r.c, "random.g");
  rig_entry(&r, "e");
  int globals = (int)rig_random(&r, 5);
  for (int g = 0; g < globals; g++)
    module_add_global(r.m, (Global){.kind = g % 2 ? GLOBAL_STATE : GLOBAL_PARAM,
                                    .path = intern_printf(r.c, "g%d", g),
                                    .type = rig_matrix(&r, 8, rig_random(&r, 2) ? 8 : 4)});
  for (int i = 0; i < 1 + (int)rig_random(&r, 3); i++)
    rig_add(&r, entry_add_input(r.e, intern_printf(r.c, "in%d", i),
                                rig_matrix(&r, 1 + (int64_t)rig_random(&r, 9), 8)));
  for (int g = 0; g < globals; g++)
    if (rig_random(&r, 4)) rig_add(&r, build_load(r.b, g));
  for (int k = 0; k < ops; k++) rig_op(&r);
  rig_stores(&r, globals);
  ValueId out[4];
  const char *names[4] = {"o0", "o1", "o2", "o3"};
  int n = 1 + (int)rig_random(&r, 4);
  for (int i = 0; i < n; i++) out[i] = r.value[rig_random(&r, (uint64_t)r.n)];
  build_return(r.b, out, names, n);
  return r;
}

static inline void rig_free_plan(PlanRig *r) {
  module_free(r->m);
  ctx_free(r->c);
}

/* Runs one pass by its function. */
static inline bool rig_pass(PlanRig *r, bool (*pass)(PassRun *), const char *args,
                            const PassOptions *opt) {
  Arena *scratch = arena_new();
  PassRun run = {.m = r->m, .opt = opt, .scratch = scratch, .args = args};
  bool ok = pass(&run);
  arena_free(scratch);
  return ok;
}

static inline void rig_plan_streams(PlanRig *r, const char *memory, bool order, int streams) {
  PassOptions opt = {.target = &rig_target, .memory = memory, .streams = streams};
  if (order) assert_true(rig_pass(r, pass_order, "", &opt));
  assert_true(module_verify(r->m, "order"));
  assert_true(rig_pass(r, pass_liveness, "", &opt));
  assert_true(rig_pass(r, pass_inplace, "", &opt));
  assert_true(rig_pass(r, pass_streams, "", &opt));
  assert_true(module_verify(r->m, "streams"));
  assert_true(rig_pass(r, pass_share, "", &opt));
}

static inline void rig_plan(PlanRig *r, const char *memory, bool order) {
  rig_plan_streams(r, memory, order, 1);
}

/* A fault to plant: the value lies over another one, as if nobody needed that any more. */
static inline void rig_move(Place *x, const Place *to, uint64_t by) {
  x->region = to->region;
  x->offset = to->offset + by;
  x->stride = NULL;
  x->how = HOW_NEW;
  x->of = NO_ID;
}

/* What lives at one time lies apart. */
static inline void rig_valid_packing(const Buffers *b) {
  for (int i = 0; i < b->n; i++)
    for (int j = 0; j < i; j++) {
      const Buffer *x = &b->at[i], *y = &b->at[j];
      bool together = x->first <= y->last && y->first <= x->last;
      bool apart = x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset;
      assert_true(!together || apart);
    }
}
#endif
