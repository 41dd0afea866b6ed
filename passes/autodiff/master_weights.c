/* Master weights: a param of f32 that products read in a half precision has a copy in that dtype,
   which lies beside it, so that no run converts what has not changed.
   Contract: runs behind precision. Entries that convert a param `w` load its copy, `w.bf16`. What
   stores the param stores the copy too, converted, which fuses into the update; so does init. The
   runtime converts what it loads from a file, which has the param alone. Only training and loading
   change a param, so the copy always has its bits.
   Of a param of which each rank has a slice the copy is of all slices (sliced_params.c), and slices
   are converted before they are gathered if nothing reads the param but such conversions.
   A matrix whose rows a target pads when it converts them (padded_rows.c) has no copy, whatever the
   target: a program has the same params for all of them.
   Source: Micikevicius et al. 2018, "Mixed Precision Training", section 3.1. */
#include "passes/manager/pass_list.h"

typedef struct Masters {
  PassRun *r;
  Dtype *dtype;    /* by global: of its copy; its own: it has none */
  int *copy;       /* by global: the copy; -1: none */
  ValueId *loaded; /* by global: the copy's value in the entry at hand */
  Dtype *narrow;   /* by global: its slices are gathered in this dtype; its own: as they are */
} Masters;

/* The global that the op converts to another precision as it is loaded; -1: it does not. */
static int converted(const Entry *e, const Op *op) {
  const Op *def = op->kind == OP_CONVERT ? value_def(e, op->operands[0]) : NULL;
  if (!def || def->kind != OP_LOAD) return -1;
  const Type *to = value_type(e, op->results[0]), *from = value_type(e, op->operands[0]);
  bool half = dtype_is_half(to->dtype) && dtype_is_float(from->dtype) && to->bytes < from->bytes;
  return half ? (int)def->attr[AT_GLOBAL].i : -1;
}

/* Of two dtypes that entries want the first has the copy. */
static void find_converted(Masters *s, const Entry *e) {
  const Module *m = s->r->m;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    int g = converted(e, op_at(e, i));
    if (g < 0) continue;
    const Global *x = &m->globals.at[g];
    const Type *to = value_type(e, op_at(e, i)->results[0]);
    if (x->kind == GLOBAL_PARAM && !x->master && !x->whole && !x->quantized &&
        s->dtype[g] == x->type->dtype && !padded_row(to, PADDED_ROW_BYTES))
      s->dtype[g] = to->dtype;
  }
}

static void add_copy(Masters *s, uint32_t g) {
  Module *m = s->r->m;
  Global copy = {.kind = GLOBAL_PARAM,
                 .master = m->globals.at[g].path,
                 .type = type_with_dtype(m->ctx, m->globals.at[g].type, s->dtype[g]),
                 .loc = m->globals.at[g].loc};
  copy.path = intern_printf(m->ctx, "%s.%s", copy.master, dtype_name(s->dtype[g]));
  if (module_find_global(m, copy.path) >= 0) return; /* the program has a param of that name */
  s->copy[g] = module_add_global(m, copy);
  s->r->changes++;
}

/* A loop reads what is loaded before it. A load that nothing reads is dropped. */
static void each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Masters *s = data;
  bool moves = op->kind == OP_LOAD || op->kind == OP_STORE;
  int g = moves ? (int)op->attr[AT_GLOBAL].i : converted(old, op), copy = g < 0 ? -1 : s->copy[g];
  if (copy >= 0 && !moves && value_type(old, op->results[0])->dtype == s->dtype[g]) {
    map[op->results[0]] = s->loaded[g];
    return;
  }
  build_copy(b, old, op, map);
  if (copy < 0 || !moves) return;
  builder_like(b, op);
  if (op->kind == OP_LOAD)
    s->loaded[g] = build_load(b, copy);
  else
    build_store(b, copy, build_convert(b, map[op->operands[0]], s->dtype[g]));
}

/* ---- params in slices ---- */

static int global_of_load(const Entry *e, ValueId v) {
  const Op *def = value_def(e, v);
  return def && def->kind == OP_LOAD ? (int)def->attr[AT_GLOBAL].i : -1;
}

/* The param in slices that the op gives all of: it gathers them, loads their copy, or has what
   another one gives in another shape. */
static int gives_whole(const Masters *s, const Entry *e, const Op *op, const int *whole) {
  const Module *m = s->r->m;
  if (op->kind == OP_LOAD) return global_gathered(m, (int)op->attr[AT_GLOBAL].i);
  if (op->kind == OP_RESHAPE) return whole[op->operands[0]];
  int g = op->kind == OP_ALL_GATHER ? global_of_load(e, op->operands[0]) : -1;
  return g >= 0 && m->globals.at[g].whole && m->globals.at[g].kind != GLOBAL_OPTIMIZER ? g : -1;
}

static void refuse(Masters *s, int g) { s->narrow[g] = DTYPES; }

/* All readers convert what is whole to one half precision, or store it in its copy. */
static void look_reader(Masters *s, const Entry *e, const Op *op, int g) {
  const Type *to = op->nresults == 1 ? value_type(e, op->results[0]) : NULL;
  Dtype own = s->r->m->globals.at[g].type->dtype;
  if (op->kind == OP_STORE && global_gathered(s->r->m, (int)op->attr[AT_GLOBAL].i) == g) return;
  if (op->kind == OP_RESHAPE) return;
  bool half = op->kind == OP_CONVERT && dtype_is_half(to->dtype) && own == DT_F32 &&
              !padded_row(to, PADDED_ROW_BYTES);
  if (!half || (s->narrow[g] != own && s->narrow[g] != to->dtype))
    refuse(s, g);
  else
    s->narrow[g] = to->dtype;
}

static void look_block(Masters *s, const Entry *e, const Block *b, int *whole) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++)
      if (whole[op->operands[k]] >= 0) look_reader(s, e, op, whole[op->operands[k]]);
    if (op->nresults == 1) whole[op->results[0]] = gives_whole(s, e, op, whole);
    for (int k = 0; k < op->nblocks; k++) look_block(s, e, op->blocks[k], whole);
  }
}

static int *wholes_of(Masters *s, const Entry *e, Arena *a) {
  int *whole = ARENA_ARRAY(a, int, e->values.n + 1);
  for (uint32_t v = 0; v < e->values.n; v++) whole[v] = -1;
  look_block(s, e, e->body, whole);
  return whole;
}

static const Type *in_dtype(const Builder *b, const Type *t, Dtype dt) {
  return type_with_dtype(b->m->ctx, t, dt);
}

typedef struct Narrowing {
  Masters *s;
  const int *whole; /* by old value */
} Narrowing;

static void narrow_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Narrowing *n = data;
  const int g = op->nresults == 1 ? n->whole[op->results[0]] : -1;
  const Dtype dt = g < 0 ? DTYPES : n->s->narrow[g];
  const bool narrow = dt < DTYPES && dt != b->m->globals.at[g].type->dtype;
  const int from = op->kind == OP_CONVERT ? n->whole[op->operands[0]] : -1;
  if (from >= 0 && n->s->narrow[from] == value_type(old, op->results[0])->dtype) {
    map[op->results[0]] = map[op->operands[0]];
    return;
  }
  if (!narrow || op->kind == OP_LOAD) { /* whose global has the dtype already */
    if (narrow)
      map[op->results[0]] = build_load(b, (int)op->attr[AT_GLOBAL].i);
    else
      build_copy(b, old, op, map);
    return;
  }
  const Type *t = in_dtype(b, value_type(old, op->results[0]), dt);
  builder_like(b, op);
  ValueId x = map[op->operands[0]];
  if (op->kind == OP_ALL_GATHER) x = build_convert(b, x, dt);
  b->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = build(b, op->kind, &x, 1, op->attr, t);
}

static void narrow_slices(Masters *s) {
  Module *m = s->r->m;
  Entry *e;
  bool any = false;
  for (uint32_t g = 0; g < m->globals.n; g++) s->narrow[g] = m->globals.at[g].type->dtype;
  for (uint32_t k = 0; (e = pass_entry(m, k)); k++) (void)wholes_of(s, e, s->r->scratch);
  for (uint32_t g = 0; g < m->globals.n; g++) {
    Global *x = &m->globals.at[g];
    const int of = global_gathered(m, (int)g);
    if (of < 0 || s->narrow[of] == DTYPES) continue;
    x->type = type_with_dtype(m->ctx, x->type, s->narrow[of]);
  }
  for (uint32_t g = 0; g < m->globals.n; g++)
    any |= s->narrow[g] < DTYPES && !m->globals.at[g].master &&
           s->narrow[g] != m->globals.at[g].type->dtype;
  for (uint32_t k = 0; any && (e = pass_entry(m, k)); k++) {
    Masters unused = *s; /* which keeps what has been decided */
    unused.narrow = ARENA_ARRAY(s->r->scratch, Dtype, m->globals.n + 1);
    Narrowing n = {s, wholes_of(&unused, e, s->r->scratch)};
    entry_rebuild(e, narrow_op, &n, false, true);
    s->r->changes++;
  }
}

/* ---- */

bool pass_master_weights(PassRun *r) {
  Module *m = r->m;
  uint32_t n = m->globals.n;
  Masters s = {r, ARENA_ARRAY(r->scratch, Dtype, n + 1), ARENA_ARRAY(r->scratch, int, n + 1),
               ARENA_ARRAY(r->scratch, ValueId, n + 1), ARENA_ARRAY(r->scratch, Dtype, n + 1)};
  Entry *e;
  narrow_slices(&s);
  for (uint32_t g = 0; g < n; g++) s.dtype[g] = m->globals.at[g].type->dtype, s.copy[g] = -1;
  for (uint32_t k = 0; k < m->entries.n; k++) find_converted(&s, m->entries.at[k]);
  for (uint32_t g = 0; g < n; g++)
    if (s.dtype[g] != m->globals.at[g].type->dtype) add_copy(&s, g);
  for (uint32_t k = 0; r->changes && (e = pass_entry(m, k)); k++)
    entry_rebuild(e, each, &s, false, true);
  return true;
}
