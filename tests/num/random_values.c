/* Random types, and values of them: found in the pool, or made.
   Contract: see random_gen.h. Shapes are small, with size 1, primes and rank 0 among them; operands
   that a maker lacks are constants, inputs, params, broadcasts, ramps, random numbers. */
#include "random_gen.h"

#include <math.h>

uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

int64_t random_below(uint64_t *state, int64_t n) {
  return n > 0 ? (int64_t)(random_next(state) % (uint64_t)n) : 0;
}

/* ---- types ---- */

Dtype gen_float(Gen *g) {
  if (g->o.doubles) return DT_F64;
  if (g->o.narrow && chance(g, 30)) return chance(g, 50) ? DT_F16 : DT_BF16;
  return g->o.narrow && chance(g, 10) ? DT_F64 : DT_F32;
}

Dtype gen_int(Gen *g) {
  if (g->o.narrow && chance(g, 40)) return (Dtype[]){DT_U8, DT_I8, DT_I64, DT_I64}[below(g, 4)];
  return DT_I32;
}

int64_t gen_dim(Gen *g) {
  static const int64_t dims[] = {1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17};
  return dims[below(g, sizeof dims / sizeof dims[0])];
}

const Type *gen_type(Gen *g, Dtype dt) {
  int64_t dim[MAX_RANK], numel = 1;
  int rank = (int)below(g, MAX_RANK + 1);
  for (int i = 0; i < rank; i++) {
    dim[i] = gen_dim(g);
    if (numel * dim[i] > g->o.numel) dim[i] = 1;
    numel *= dim[i];
  }
  return type_get(g->c, dt, rank, dim);
}

/* ---- making and finding values ---- */

ValueId gen_const_value(Gen *g, const Type *t) {
  static const double values[] = {0, 1, -1, 2, 0.5, 3, -0.25, 1.5};
  double v = values[below(g, sizeof values / sizeof values[0])];
  if (t->dtype == DT_U8 || t->dtype == DT_BOOL) v = fabs(v);
  return build_const(g->b, t, v);
}

ValueId gen_load(Gen *g, int global) {
  Block *here = g->b->b; /* a load stands before all loops */
  builder_at(g->b, g->e->body);
  if (g->loaded[global] == NO_ID) g->loaded[global] = build_load(g->b, global);
  builder_at(g->b, here);
  return g->loaded[global];
}

static ValueId param(Gen *g, const Type *t) {
  for (uint32_t i = 0; i < g->m->globals.n; i++)
    if (g->m->globals.at[i].type == t && g->m->globals.at[i].kind != GLOBAL_HYPER && chance(g, 60))
      return gen_load(g, (int)i);
  if (g->m->globals.n == sizeof g->loaded / sizeof g->loaded[0]) return gen_const_value(g, t);
  bool trained = dtype_is_float(t->dtype) && chance(g, 70);
  Global p = {.kind = trained ? GLOBAL_PARAM : GLOBAL_STATE, .type = t};
  p.path = intern_printf(g->c, "net.%s%u", trained ? "w" : "s", g->m->globals.n);
  return gen_load(g, module_add_global(g->m, p));
}

/* A new value of this type, of whatever origin. */
ValueId gen_make(Gen *g, const Type *t) {
  int64_t how = below(g, 10);
  if (how < 3)
    return keep(g, entry_add_input(g->e, intern_printf(g->c, "x%u", g->e->body->args.n), t));
  if (how < 6 && t->dtype != DT_BOOL) return keep(g, param(g, t));
  if (how == 6 && t->rank > 0 && t->dtype != DT_BOOL)
    return build(g->b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = below(g, t->rank)}},
                 t);
  if (how == 7 && dtype_is_float(t->dtype) && !g->o.smooth) {
    const char *key = intern_printf(g->c, "key%d", (int)below(g, 4));
    OpKind k = chance(g, 50) ? OP_RANDOM_UNIFORM : OP_RANDOM_NORMAL;
    ValueId place = chance(g, 60) ? gen_place(g) : NO_ID;
    Attr attr[MAX_ATTRS] = {[AT_KEY] = {.str = key}, [AT_DRAW] = {.i = below(g, 2)}};
    return build(g->b, k, &place, place != NO_ID, attr, t);
  }
  return gen_const_value(g, t);
}

static bool is_wanted(Dtype dt, Want w) {
  switch (w) {
  case FLOATS: return dtype_is_float(dt);
  case INTS: return dtype_is_int(dt);
  case BOOLS: return dt == DT_BOOL;
  case NUMBERS: return dt != DT_BOOL;
  case ANY: break;
  }
  return true;
}

/* A value of the pool, newer ones more often; where none fits, a new one. */
ValueId gen_pick(Gen *g, Want w) {
  if (w == ANY && g->o.smooth && chance(g, 80)) w = FLOATS;
  for (int tries = 0; tries < 12 && g->pool.n; tries++) {
    int64_t n = g->pool.n, i = chance(g, 60) ? n - 1 - below(g, n < 6 ? n : 6) : below(g, n);
    if (is_wanted(value_type(g->e, g->pool.at[i])->dtype, w)) return g->pool.at[i];
  }
  Dtype dt = w == INTS ? gen_int(g) : w == BOOLS ? DT_BOOL : gen_float(g);
  return gen_make(g, gen_type(g, dt));
}

/* Another value of exactly this type: from the pool, a broadcast of one of it, or a new one. */
ValueId gen_mate(Gen *g, const Type *t) {
  if (chance(g, 25)) return gen_const_value(g, t);
  uint32_t n = g->pool.n, from = (uint32_t)below(g, n);
  for (uint32_t i = 0; i < n; i++) {
    ValueId v = g->pool.at[(from + i) % n];
    const Type *u = type_of(g, v);
    if (u == t) return v;
    if (u->dtype == t->dtype && u->rank <= t->rank && type_broadcast(g->c, u, t) == t &&
        chance(g, 60))
      return build(g->b, OP_BROADCAST, &v, 1, NULL, t);
  }
  return gen_make(g, t);
}

int gen_axes(Gen *g, int rank, int64_t *axes) {
  int n = 0;
  for (int i = 0; i < rank; i++)
    if (chance(g, 50)) axes[n++] = i;
  if (n == 0 && rank > 0) axes[n++] = below(g, rank);
  return n;
}

/* Ids below n, of this shape. */
ValueId gen_ids_below(Gen *g, ValueId like, int64_t n) {
  return build2(g->b, OP_MOD, like, build_const_int(g->b, type_of(g, like), n));
}

ValueId gen_place(Gen *g) {
  ValueId i = g->counter;
  if (i == NO_ID) return NO_ID;
  const Type *t = type_of(g, i);
  if (chance(g, 50)) i = build2(g->b, OP_MUL, i, build_const_int(g->b, t, 1 + below(g, 3)));
  ValueId shift = build_const_int(g->b, t, below(g, 4));
  if (chance(g, 50))
    i = chance(g, 70) ? build2(g->b, OP_ADD, i, shift) : build2(g->b, OP_SUB, shift, i);
  return i;
}
