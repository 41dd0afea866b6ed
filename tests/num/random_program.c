/* Makes random programs: a pool of values, and makers that take some and put one more in; losses
   with their gradients, and loops around other makers. Contract: see random_program.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "random_gen.h"

/* ---- structure ---- */

/* Defined in the block at hand or around it. */
static bool in_sight(Gen *g, ValueId v) {
  const Block *of = value_block(g->e, v), *b = g->b->b;
  while (b != of && b->op) b = b->op->parent;
  return b == of;
}

/* The same op once more, for those who merge. */
static bool repeat(Gen *g) {
  if (g->e->ops.n == 0) return false;
  const Op *op = op_at(g->e, (OpId)below(g, g->e->ops.n));
  if (op->nresults != 1 || op->nblocks || op->kind == OP_LOAD || op->kind == OP_GRAD) return false;
  for (int i = 0; i < op->noperands; i++)
    if (!in_sight(g, op->operands[i])) return false;
  keep(g, build(g->b, op->kind, op->operands, op->noperands, op->attr,
                value_type(g->e, op->results[0])));
  return true;
}

static bool stop(Gen *g) {
  if (g->o.smooth) return false;
  keep(g, build1(g->b, OP_STOP_GRADIENT, gen_pick(g, ANY)));
  return true;
}

static bool leaf(Gen *g) {
  if (g->m->globals.n && g->m->globals.at[0].kind == GLOBAL_HYPER && chance(g, 20)) {
    keep(g, gen_load(g, 0));
    return true;
  }
  Dtype dt = chance(g, g->o.smooth ? 85 : 60) ? gen_float(g) : chance(g, 70) ? gen_int(g) : DT_BOOL;
  ValueId v = gen_make(g, gen_type(g, dt));
  keep(g, v);
  return true;
}

static void output(Gen *g, ValueId v, const char *name) {
  if (g->nout == MAX_OUTPUTS) return;
  g->out[g->nout] = v;
  g->name[g->nout++] = name;
}

static bool is_source(Gen *g, ValueId v) {
  const Op *def = value_def(g->e, v);
  return !def || def->kind == OP_LOAD;
}

/* A scalar that stays small. */
static ValueId part_of_loss(Gen *g, ValueId v) {
  const int64_t axes[MAX_RANK + 2] = {0, 1, 2, 3, 4, 5};
  if (type_of(g, v)->numel > 1 || !g->o.smooth) v = build1(g->b, OP_TANH, v);
  int rank = type_of(g, v)->rank;
  return rank ? build_reduce(g->b, OP_SUM, v, axes, rank) : v;
}

/* The gradients of x[0] by the n values behind it. */
static void ask(Gen *g, const ValueId *x, const Type *const *types, int n) {
  const Op *op = build_op(g->b, OP_GRAD, x, n + 1, NULL, types, n);
  int k = g->nloss++;
  output(g, x[0], intern_printf(g->c, "loss%d", k));
  for (int i = 0; i < n; i++) {
    ValueId d = op->results[i];
    const Op *def = value_def(g->e, x[i + 1]);
    if (!def)
      output(g, d, intern_printf(g->c, "d%d_in%u", k, value_at(g->e, x[i + 1])->index));
    else if (def->kind == OP_LOAD)
      output(g, d, intern_printf(g->c, "d%d_g%d", k, (int)def->attr[AT_GLOBAL].i));
    else
      output(g, d, intern_printf(g->c, "d%d_v%d", k, i));
    keep(g, d);
  }
}

/* A loss and its gradients by inputs, params, and values on the way. */
static bool gradient(Gen *g) {
  enum { MOST = 5 };
  if (!g->o.grads || g->nloss == 3 || g->loops) return false;
  ValueId v = part_of_loss(g, gen_pick(g, FLOATS)), x[MOST + 1];
  for (int i = 0; i < 2; i++) { /* several branches of the program in one loss */
    ValueId u = part_of_loss(g, gen_pick(g, FLOATS));
    if (type_of(g, u) == type_of(g, v)) v = build2(g->b, OP_ADD, v, u);
  }
  x[0] = v;
  const Type *types[MOST];
  int n = 0;
  for (uint32_t tries = 0; tries < 40 && n < MOST; tries++) {
    ValueId p = g->pool.at[below(g, g->pool.n)];
    if (!dtype_is_float(type_of(g, p)->dtype) || (!is_source(g, p) && chance(g, 80))) continue;
    types[n++] = type_of(g, p);
    x[n] = p;
  }
  if (n == 0) return false;
  ask(g, x, types, n);
  keep(g, v);
  return true;
}

static void one_op(Gen *g);

static const Type *stack_type(Gen *g, const Type *row, int64_t trips) {
  int64_t dim[MAX_RANK + 3] = {trips};
  for (int i = 0; i < row->rank; i++) dim[i + 1] = row->dim[i];
  return type_get(g->c, row->dtype, row->rank + 1, dim);
}

/* Row i + k or k - i of a value from outside, where i is the counter: rows that are all there. */
static void row_by_counter(Gen *g, int64_t trips) {
  for (int tries = 0; tries < 8; tries++) {
    ValueId x = gen_pick(g, ANY), i = g->counter;
    const Type *t = type_of(g, x);
    if (t->rank == 0 || t->dim[0] < trips) continue;
    bool back = chance(g, 30);
    int64_t most = t->dim[0] - trips, k = below(g, most + 1) + (back ? trips - 1 : 0);
    ValueId shift = build_const_int(g->b, type_of(g, i), k);
    if (back || k) i = back ? build2(g->b, OP_SUB, shift, i) : build2(g->b, OP_ADD, i, shift);
    keep(g, build2(g->b, OP_GATHER, x, i));
    return;
  }
}

/* A loop: its body takes from the pool what is outside, its carries, and slices. */
static bool loop(Gen *g) {
  enum { MOST = 3, DEEPEST = 2 };
  if (g->loops == DEEPEST) return false;
  int64_t trips = 1 + below(g, g->o.trips);
  int carries = (int)below(g, MOST + 1), n = carries, results = 0;
  ValueId x[2 * MOST], y[2 * MOST];
  const Type *types[2 * MOST];
  for (int i = 0; i < carries; i++) types[i] = type_of(g, x[i] = gen_pick(g, ANY));
  for (int i = (int)below(g, MOST); i > 0; i--) {
    const Type *t = stack_type(g, type_of(g, gen_pick(g, ANY)), trips);
    if (fits(g, t) && t->rank <= MAX_RANK + 1) x[n++] = gen_mate(g, t);
  }
  Block *body = ARENA_NEW(g->m->arena, Block), *outer = g->b->b;
  Op holder = {.parent = outer, .blocks = &body, .nblocks = 1}; /* until the results are known */
  body->op = &holder;
  uint32_t pool = g->pool.n;
  ValueId i32 = block_add_arg(g->e, body, (Value){.type = type_scalar(g->c, DT_I32)});
  for (int i = 0; i < n; i++) {
    const Type *t = type_of(g, x[i]);
    if (i >= carries) t = type_get(g->c, t->dtype, t->rank - 1, t->dim + 1);
    keep(g, block_add_arg(g->e, body, (Value){.type = t}));
  }
  if (chance(g, 40)) keep(g, i32);
  builder_at(g->b, body);
  ValueId around = g->counter;
  g->counter = i32;
  g->loops++;
  if (chance(g, 40)) row_by_counter(g, trips);
  for (int64_t k = 1 + below(g, 7); k > 0; k--) one_op(g);
  for (; results < carries; results++) {
    y[results] = gen_mate(g, types[results]);
    if (g->o.smooth && dtype_is_float(types[results]->dtype))
      y[results] = build1(g->b, OP_TANH, y[results]);
  }
  for (int i = (int)below(g, MOST) + (carries == 0); i > 0; i--) {
    const Type *t = stack_type(g, type_of(g, y[results] = gen_pick(g, ANY)), trips);
    if (fits(g, t) && t->rank <= MAX_RANK) types[results++] = t;
  }
  build_op(g->b, OP_YIELD, y, results, NULL, NULL, 0);
  g->loops--;
  g->counter = around;
  builder_at(g->b, outer);
  g->pool.n = pool;
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = trips},
                          [AT_CARRIES] = {.i = carries},
                          [AT_REVERSE] = {.i = chance(g, 30)}};
  Op *scan = build_op(g->b, OP_SCAN, x, n, attr, types, results);
  scan->blocks[0] = body;
  body->op = scan;
  for (int i = 0; i < results; i++) keep(g, scan->results[i]);
  return true;
}

/* Globals that were loaded and are not stored yet get other values; so many in a hundred do not. */
static void some_stores(Gen *g, int left_out) {
  for (uint32_t i = 0; g->o.stores && i < g->m->globals.n; i++) {
    const Global *p = &g->m->globals.at[i];
    if (g->loaded[i] == NO_ID || g->stored[i] || p->kind == GLOBAL_HYPER || chance(g, left_out))
      continue;
    build_store(g->b, (int)i, gen_mate(g, p->type));
    g->stored[i] = g->e->training = true;
  }
}

/* Attention, and the gradients of a loss of it by what it reads. */
static void attention(Gen *g) {
  maker_attend(g);
  ValueId y = g->pool.at[g->pool.n - 1], x[4] = {part_of_loss(g, y)};
  const Type *types[3];
  for (int i = 0; i < 3; i++) types[i] = type_of(g, x[i + 1] = value_def(g->e, y)->operands[i]);
  if (g->o.grads && g->nloss < 3) ask(g, x, types, 3);
}

/* A loop, states that are stored before its backward pass, and the gradients, by what goes in, of a
   loss of what comes out. */
static void recurrence(Gen *g) {
  enum { MOST = 6 };
  uint32_t before = g->pool.n;
  loop(g);
  const Op *scan = op_at(g->e, g->b->b->ops.at[g->b->b->ops.n - 1]);
  some_stores(g, 60);
  ValueId x[MOST + 1] = {NO_ID};
  const Type *types[MOST];
  int n = 0;
  for (uint32_t i = before; i < g->pool.n; i++) {
    ValueId y = g->pool.at[i];
    if (!dtype_is_float(type_of(g, y)->dtype)) continue;
    y = build_convert(g->b, part_of_loss(g, y), DT_F32);
    x[0] = x[0] == NO_ID ? y : build2(g->b, OP_ADD, x[0], y);
  }
  for (int i = 0; i < scan->noperands && n < MOST; i++) {
    types[n] = type_of(g, scan->operands[i]);
    if (dtype_is_float(types[n]->dtype)) x[++n] = scan->operands[i];
  }
  if (n && x[0] != NO_ID && g->nloss < 3) ask(g, x, types, n);
}

static const struct {
  Maker *make;
  int weight;
} makers[] = {{maker_element, 40},
              {maker_convert, 5},
              {maker_reshape, 5},
              {maker_transpose, 5},
              {maker_broadcast, 6},
              {maker_slice, 5},
              {maker_reverse, 3},
              {maker_pad, 4},
              {maker_concat, 4},
              {maker_reduce, 10},
              {maker_arg, 2},
              {maker_matmul, 8},
              {maker_gather, 4},
              {maker_scatter, 2},
              {maker_one_hot, 2},
              {maker_conv, 5},
              {maker_pool, 4},
              {maker_norm, 4},
              {maker_rows, 7},
              {repeat, 5},
              {stop, 2},
              {leaf, 3},
              {gradient, 5},
              {loop, 4},
              {maker_drop, 2},
              {maker_attend, 4},
              {maker_order, 4},
              {maker_update, 2}};

static void one_op(Gen *g) {
  int total = 0;
  for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) total += makers[i].weight;
  int64_t at = below(g, total);
  size_t i = 0;
  while (at >= makers[i].weight) at -= makers[i++].weight;
  if (chance(g, 30)) g->b->scope = intern_printf(g->c, "net.fc%d", (int)below(g, 3));
  uint32_t before = g->pool.n;
  makers[i].make(g);
  if (g->pool.n == before || !chance(g, 30)) return;
  Value *v = value_at(g->e, g->pool.at[g->pool.n - 1]);
  if (!v->name) v->name = intern_printf(g->c, "v%d", (int)below(g, 30));
}

/* Values that are read once together, and then one after the other: each is held until its turn, or
   recomputed. */
static void read_late(Gen *g) {
  const Type *scalar = type_scalar(g->c, gen_float(g));
  ValueId *late = ARENA_ARRAY(g->m->arena, ValueId, g->o.late), s = gen_const_value(g, scalar);
  for (int n = 0; n < g->o.late; n++) {
    ValueId v = NO_ID;
    for (int tries = 0; tries < 8 && v == NO_ID; tries++) {
      v = gen_pick(g, FLOATS);
      if (is_source(g, v) || type_of(g, v)->numel < g->o.numel / 4) v = NO_ID;
    }
    if (v == NO_ID) v = build1(g->b, OP_TANH, gen_make(g, gen_type(g, gen_float(g))));
    late[n] = v;
    s = build2(g->b, OP_ADD, s, build_convert(g->b, part_of_loss(g, v), scalar->dtype));
  }
  for (int n = 0; n < g->o.late; n++) {
    const Type *t = type_of(g, late[n]);
    s = build_broadcast(g->b, build_convert(g->b, s, t->dtype), t);
    s = part_of_loss(g, build2(g->b, OP_MUL, late[n], s));
  }
  output(g, s, "late");
}

static void random_entry(Gen *g, int index) {
  g->e = entry_new(g->m, intern_printf(g->c, "e%d", index), (Loc){0});
  vec_push(g->m->arena, &g->m->entries, g->e);
  g->b = builder_new(g->e, g->e->body);
  g->b->fold = false;
  g->pool.n = 0;
  g->nout = g->nloss = 0;
  g->counter = NO_ID;
  memset(g->loaded, 0xff, sizeof g->loaded);
  memset(g->stored, 0, sizeof g->stored);
  int n = g->o.ops ? g->o.ops : 5 + (int)below(g, 36);
  for (int i = 0; i < 3; i++) leaf(g);
  for (int i = 0; g->o.recurrent && i < 2; i++) recurrence(g);
  for (int i = 0; g->o.attends && i < 2; i++) attention(g);
  for (int i = 0; i < n; i++) one_op(g);
  if (g->o.grads && g->nloss == 0) gradient(g);
  if (g->o.late) read_late(g);
  int returned = 1 + (int)below(g, 4);
  for (int i = 0; i < returned; i++) output(g, gen_pick(g, ANY), intern_printf(g->c, "o%d", i));
  some_stores(g, 40);
  build_return(g->b, g->out, g->name, g->nout);
}

/* Every global gets its first value. */
static void random_init(Gen *g) {
  if (g->m->globals.n == 0) return;
  g->e = g->m->init = entry_new(g->m, "init", (Loc){0});
  g->b = builder_new(g->e, g->e->body);
  g->b->fold = false;
  for (uint32_t i = 0; i < g->m->globals.n; i++) {
    const Global *p = &g->m->globals.at[i];
    if (p->kind == GLOBAL_HYPER) continue;
    ValueId v;
    if (dtype_is_float(p->type->dtype))
      v = build(g->b, OP_RANDOM_NORMAL, NULL, 0, (Attr[MAX_ATTRS]){[AT_KEY] = {.str = p->path}},
                p->type);
    else
      v = gen_const_value(g, p->type);
    build_store(g->b, (int)i, v);
  }
  build_return(g->b, NULL, NULL, 0);
}

Module *random_program(Ctx *c, uint64_t seed, RandomOptions o) {
  if (!o.numel) o.numel = 120;
  if (!o.entries) o.entries = 1;
  if (!o.trips) o.trips = 4;
  Gen g = {.c = c, .o = o, .rng = seed * 2 + 1, .m = module_new(c, "random.g")};
  if (chance(&g, 50) && !o.doubles) {
    Global lr = {.kind = GLOBAL_HYPER, .path = intern(c, "lr"), .type = type_scalar(c, DT_F32)};
    lr.value = 0.5;
    module_add_global(g.m, lr);
  }
  for (int i = 0; i < o.entries; i++) random_entry(&g, i);
  random_init(&g);
  return g.m;
}

Tensor *random_inputs(Arena *a, const Entry *e, uint64_t seed) {
  uint64_t rng = seed ^ UINT64_C(0x5bd1e995);
  Tensor *in = ARENA_ARRAY(a, Tensor, e->body->args.n + 1);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    in[i] = (Tensor){.type = t, .at = ARENA_ARRAY(a, Scalar, t->numel)};
    for (int64_t k = 0; k < t->numel; k++) {
      Scalar s;
      if (dtype_is_float(t->dtype))
        s.f = (double)(random_below(&rng, 4001) - 2000) / 1000.0;
      else
        s.i = random_below(&rng, 100) - (t->dtype == DT_U8 || t->dtype == DT_BOOL ? 0 : 50);
      in[i].at[k] = scalar_round(s, t->dtype, INTERP_DTYPE);
    }
  }
  return in;
}

uint64_t random_least(const char *refusals) {
  static const char before[] = "the minimum found is "; /* "… 1,216 bytes" */
  uint64_t most = 0;
  for (const char *s = refusals; (s = strstr(s, before));) {
    uint64_t bytes = 0;
    for (s += sizeof before - 1; isdigit((unsigned char)*s) || *s == ','; s++)
      if (*s != ',') bytes = 10 * bytes + (uint64_t)(*s - '0');
    if (bytes > most) most = bytes;
  }
  return most;
}

bool random_refused(const char *errors) {
  int n = 0, refusals = 0;
  for (const char *s = errors; (s = strstr(s, "error: ")); n++) s++;
  for (const char *s = errors; (s = strstr(s, "not fit into ")); refusals++) s++;
  return n > 0 && n == refusals && random_least(errors) > 0;
}
