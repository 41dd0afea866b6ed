/* Narrow states: a state of f32 that entries read rounded to a half precision alone, as attention
   reads a cache of keys and values, is kept in that dtype: it is rounded once, when it is written,
   and takes half the bytes.
   Contract: runs behind precision. Bits of results stay, since rounding commutes with the ops that
   a narrowed state may pass: dynamic_update between its load and its store. Every other reader
   converts it, all of them to one dtype; one that does not, as a loop that carries it, keeps the
   state as it is. Files of weights and checkpoints have the narrowed dtype; loading converts. */
#include "passes/autodiff/narrow.h"
#include "passes/manager/pass_list.h"

typedef struct NarrowStates {
  PassRun *r;
  Dtype *dtype; /* by global: that its readers convert it to; DTYPES: it has had none */
  bool *wide;   /* by global: one of them reads it as it is */
  int *of;      /* by old value of the entry at hand: the state that it is, updated; -1: none */
  int *uses;    /* ... how often it is read */
} NarrowStates;

static bool is_narrowed(const NarrowStates *s, int g) {
  return g >= 0 && s->dtype[g] != DTYPES && !s->wide[g];
}

/* The state that an op of the entry's body passes on; -1: none. */
static int passes_on(const NarrowStates *s, const Op *op) {
  if (op->kind == OP_DYNAMIC_UPDATE) return s->of[op->operands[0]];
  if (op->kind != OP_LOAD) return -1;
  const int g = (int)op->attr[AT_GLOBAL].i;
  const Global *x = &s->r->m->globals.at[g];
  return x->kind == GLOBAL_STATE && x->type->dtype == DT_F32 ? g : -1;
}

static void look_reader(NarrowStates *s, const Entry *e, const Op *op, int operand, int g) {
  if (op->kind == OP_DYNAMIC_UPDATE && operand == 0 && !op->parent->op) return;
  if (op->kind == OP_STORE && op->attr[AT_GLOBAL].i == g) return;
  const Dtype to = op->kind == OP_CONVERT ? value_type(e, op->results[0])->dtype : DTYPES;
  const bool half = op->kind == OP_CONVERT && dtype_is_half(to);
  if (half && (s->dtype[g] == DTYPES || s->dtype[g] == to))
    s->dtype[g] = to;
  else
    s->wide[g] = true;
}

static void look_block(NarrowStates *s, const Entry *e, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++)
      if (s->of[op->operands[k]] >= 0) look_reader(s, e, op, k, s->of[op->operands[k]]);
    if (op->nresults == 1 && b == e->body) s->of[op->results[0]] = passes_on(s, op);
    for (int k = 0; k < op->nblocks; k++) look_block(s, e, op->blocks[k]);
  }
}

static int *states_of(NarrowStates *s, const Entry *e) {
  s->of = ARENA_ARRAY(s->r->scratch, int, e->values.n + 1);
  for (uint32_t v = 0; v < e->values.n; v++) s->of[v] = -1;
  look_block(s, e, e->body);
  return s->of;
}

static int *uses_of(const NarrowStates *s, const Entry *e) {
  int *uses = ARENA_ARRAY(s->r->scratch, int, e->values.n + 1);
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++) uses[op_at(e, i)->operands[k]]++;
  return uses;
}

/* An old value, rounded: of views and concatenations that nothing else reads, their operands are,
   so that what computes these rounds them. */
static ValueId narrowed(const NarrowStates *s, Builder *b, const Entry *old, ValueId v,
                        const ValueId *map, Dtype to) {
  const Op *def = value_def(old, v);
  const bool moved = def && (is_view(def) || def->kind == OP_CONCAT) && s->uses[v] == 1;
  if (!moved || value_type(old, v)->dtype != DT_F32) return build_convert(b, map[v], to);
  ValueId *x = ARENA_ARRAY(b->m->arena, ValueId, def->noperands + 1);
  for (int i = 0; i < def->noperands; i++) x[i] = narrowed(s, b, old, def->operands[i], map, to);
  return build(b, def->kind, x, def->noperands, def->attr,
               type_with_dtype(b->m->ctx, value_type(old, v), to));
}

static void each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const NarrowStates *s = data;
  const int g = op->nresults == 1 ? s->of[op->results[0]] : -1;
  const int read = op->kind == OP_CONVERT ? s->of[op->operands[0]] : -1;
  const int stored = op->kind == OP_STORE ? (int)op->attr[AT_GLOBAL].i : -1;
  builder_like(b, op);
  if (is_narrowed(s, read)) {
    map[op->results[0]] = map[op->operands[0]];
  } else if (is_narrowed(s, stored)) { /* what is narrow already is not converted again */
    build_store(b, stored, build_convert(b, map[op->operands[0]], s->dtype[stored]));
  } else if (is_narrowed(s, g)) {
    ValueId in[3] = {NO_ID};
    if (op->kind == OP_DYNAMIC_UPDATE)
      for (int i = 0; i < 3; i++)
        in[i] =
            i == 1 ? narrowed(s, b, old, op->operands[i], map, s->dtype[g]) : map[op->operands[i]];
    b->name = value_at(old, op->results[0])->name;
    map[op->results[0]] =
        op->kind == OP_LOAD ? build_load(b, g) : build(b, op->kind, in, 3, op->attr, NULL);
  } else {
    build_copy(b, old, op, map);
  }
}

bool pass_narrow_states(PassRun *r) {
  Module *m = r->m;
  const uint32_t n = m->globals.n;
  NarrowStates s = {r, ARENA_ARRAY(r->scratch, Dtype, n + 1), ARENA_ARRAY(r->scratch, bool, n + 1),
                    NULL, NULL};
  int **of = ARENA_ARRAY(r->scratch, int *, module_entries(m) + 1);
  Entry *e;
  for (uint32_t g = 0; g < n; g++) s.dtype[g] = DTYPES;
  for (uint32_t k = 0; (e = pass_entry(m, k)); k++) of[k] = states_of(&s, e);
  for (uint32_t g = 0; g < n; g++) {
    if (!is_narrowed(&s, (int)g)) continue;
    m->globals.at[g].type = type_with_dtype(m->ctx, m->globals.at[g].type, s.dtype[g]);
    r->changes++;
  }
  for (uint32_t k = 0; r->changes && (e = pass_entry(m, k)); k++) {
    s.of = of[k];
    s.uses = uses_of(&s, e);
    entry_rebuild(e, each, &s, false, true);
  }
  return true;
}
