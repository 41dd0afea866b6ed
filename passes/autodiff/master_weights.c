/* Master weights: a param of f32 that products read in a half precision has a copy in that dtype,
   which lies beside it, so that no run converts what has not changed.
   Contract: runs behind precision. Entries that convert a param `w` load its copy, `w.bf16`. What
   stores the param stores the copy too, converted, which fuses into the update; so does init. The
   runtime converts what it loads from a file, which has the param alone. Only training and loading
   change a param, so the copy always has its bits.
   A matrix whose rows a target pads when it converts them (padded_rows.c) has no copy, whatever the
   target: a program has the same params for all of them.
   Source: Micikevicius et al. 2018, "Mixed Precision Training", section 3.1. */
#include "passes/manager/pass_list.h"

typedef struct Masters {
  PassRun *r;
  Dtype *dtype;    /* by global: of its copy; its own: it has none */
  int *copy;       /* by global: the copy; -1: none */
  ValueId *loaded; /* by global: the copy's value in the entry at hand */
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
    if (x->kind == GLOBAL_PARAM && !x->master && !x->quantized && s->dtype[g] == x->type->dtype &&
        !padded_row(to, PADDED_ROW_BYTES))
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

bool pass_master_weights(PassRun *r) {
  Module *m = r->m;
  uint32_t n = m->globals.n;
  Masters s = {r, ARENA_ARRAY(r->scratch, Dtype, n + 1), ARENA_ARRAY(r->scratch, int, n + 1),
               ARENA_ARRAY(r->scratch, ValueId, n + 1)};
  Entry *e;
  for (uint32_t g = 0; g < n; g++) s.dtype[g] = m->globals.at[g].type->dtype, s.copy[g] = -1;
  for (uint32_t k = 0; k < m->entries.n; k++) find_converted(&s, m->entries.at[k]);
  for (uint32_t g = 0; g < n; g++)
    if (s.dtype[g] != m->globals.at[g].type->dtype) add_copy(&s, g);
  for (uint32_t k = 0; r->changes && (e = pass_entry(m, k)); k++)
    entry_rebuild(e, each, &s, false, true);
  return true;
}
