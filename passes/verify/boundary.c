/* The state before the first step and after the last, for the checker of a plan: contents of
   inputs, hypers and globals. */
#include "passes/verify/verify_impl.h"

static const char *name_of(const Check *c, ValueId v) { return value_str(c->e, v); }

static void fill_inputs(Check *c) {
  for (int r = 0; r < PLAN_REGIONS; r++) memory_init(&c->region[r], c->a);
  for (uint32_t i = 0; i < c->e->body->args.n; i++) {
    ValueId v = c->e->body->args.at[i];
    const Place *x = &c->p->place[v];
    c->defined[v] = true;
    if (!verify_value(c, NULL, v)) continue;
    if (x->region != PLAN_INPUTS)
      verify_fail(c, NULL, "the input %s lies elsewhere", name_of(c, v));
    memory_write(&c->region[x->region], x->offset, x->bytes, CONTENT, v);
    for (uint32_t k = 0; k < i; k++)
      if (verify_overlap(verify_range(c, v), verify_range(c, c->e->body->args.at[k])))
        verify_fail(c, NULL, "the inputs %s and %s overlap", name_of(c, c->e->body->args.at[k]),
                    name_of(c, v));
  }
}

static void check_load(Check *c, const Op *op) {
  int g = (int)op->attr[AT_GLOBAL].i;
  ValueId v = op->results[0];
  const Place *x = &c->p->place[v];
  PlanRegion want = c->e->module->globals.at[g].kind == GLOBAL_HYPER ? PLAN_HYPERS : PLAN_GLOBALS;
  c->defined[v] = true;
  if (!verify_value(c, op, v)) return;
  if (x->region != want || x->offset != c->globals.offset[g] || x->global != g)
    verify_fail(c, op, "%s is not at the place of @%s", name_of(c, v),
                c->e->module->globals.at[g].path);
}

static PlanRegion region_of(const Global *x) {
  return x->kind == GLOBAL_HYPER ? PLAN_HYPERS : PLAN_GLOBALS;
}

/* Loads name the value at entry, wherever they stand: their bytes are filled before the first step.
   The entry may leave a global alone, which another one reads. */
static void fill_globals(Check *c) {
  const Block *b = c->e->body;
  const Module *m = c->e->module;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *x = &m->globals.at[i];
    uint64_t bytes;
    c->initial[i] = c->e->values.n + i;
    if (layout_bytes(x->type, x->layout, &bytes))
      memory_write(&c->region[region_of(x)], c->globals.offset[i], bytes, CONTENT, c->initial[i]);
  }
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind != OP_LOAD) continue;
    ValueId v = op->results[0];
    check_load(c, op);
    if (c->failed) return;
    const Place *x = &c->p->place[v];
    c->initial[op->attr[AT_GLOBAL].i] = v;
    memory_write(&c->region[x->region], x->offset, x->bytes, CONTENT, v);
  }
}

static void check_globals_apart(Check *c) {
  const Module *m = c->e->module;
  uint64_t end = 0, hypers = 0, bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) { /* they are laid out in order */
    uint64_t at = c->globals.offset[i];
    bool hyper = m->globals.at[i].kind == GLOBAL_HYPER;
    if (!layout_bytes(m->globals.at[i].type, m->globals.at[i].layout, &bytes)) continue;
    if (at < (hyper ? hypers : end) || (!hyper && at % (uint64_t)c->target->align))
      verify_fail(c, NULL, "@%s overlaps another global or is not aligned", m->globals.at[i].path);
    *(hyper ? &hypers : &end) = at + bytes;
  }
  c->size[PLAN_GLOBALS] = c->globals.bytes;
  c->size[PLAN_HYPERS] = hypers;
  if (end > c->globals.bytes) verify_fail(c, NULL, "the region of globals is too small");
}

/* A value of a global's bytes may be of no other global, and only a store may change one. */
static void check_global_writes(Check *c) {
  bool *stored = ARENA_ARRAY(c->a, bool, c->e->module->globals.n + 1);
  for (int s = 0; s < c->p->nsteps; s++)
    if (c->p->steps[s]->kind == OP_STORE) stored[c->p->steps[s]->attr[AT_GLOBAL].i] = true;
  for (int s = 0; s < c->p->nsteps; s++)
    for (int k = 0; k < c->p->steps[s]->nresults; k++) {
      ValueId v = c->p->steps[s]->results[k];
      const Place *x = &c->p->place[v];
      if (x->region != PLAN_GLOBALS || verify_moves_nothing(c, c->p->steps[s])) continue;
      if (x->global < 0 || x->global >= (int)c->e->module->globals.n || !stored[x->global] ||
          x->offset != c->globals.offset[x->global]) {
        verify_fail(c, c->p->steps[s], "%s lies in the bytes of a global that nobody stores",
                    name_of(c, v));
        continue;
      }
      const Global *g = &c->e->module->globals.at[x->global];
      uint64_t bytes;
      if (!layout_bytes(g->type, g->layout, &bytes) ||
          verify_range_in(x, c->p->steps[s]->parent).bytes > bytes)
        verify_fail(c, c->p->steps[s], "%s has more bytes than @%s, in which it lies",
                    name_of(c, v), g->path);
    }
}

void verify_begin(Check *c) {
  check_globals_apart(c);
  if (c->failed) return;
  fill_inputs(c);
  if (!c->failed) fill_globals(c);
  if (!c->failed) check_global_writes(c);
}

void verify_end(Check *c, const Op *ret) {
  const Block *b = c->e->body;
  const Cell *other;
  ValueId *stored = ARENA_ARRAY(c->a, ValueId, c->e->module->globals.n);
  for (uint32_t i = 0; i < c->e->module->globals.n; i++) stored[i] = NO_ID;
  for (int i = 0; i < ret->noperands; i++) verify_read(c, ret, ret->operands[i], c->p->nsteps);
  for (uint32_t i = 0; i < b->args.n; i++) {
    const Place *x = &c->p->place[b->args.at[i]];
    if (!memory_holds(&c->region[x->region], x->offset, x->bytes, b->args.at[i], 0, &other))
      verify_fail(c, NULL, "the input %s is overwritten", name_of(c, b->args.at[i]));
  }
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_STORE) stored[op->attr[AT_GLOBAL].i] = op->operands[0];
  }
  for (uint32_t g = 0; g < c->e->module->globals.n; g++) {
    const Global *x = &c->e->module->globals.at[g];
    ValueId want = stored[g] == NO_ID ? c->initial[g] : verify_copied(c, stored[g]);
    uint64_t bytes;
    if (!layout_bytes(x->type, x->layout, &bytes) ||
        memory_holds(&c->region[region_of(x)], c->globals.offset[g], bytes, want, 0, &other))
      continue;
    if (want == c->e->values.n + g)
      verify_fail(c, NULL, "@%s is overwritten, and nobody stores it", x->path);
    else
      verify_fail(c, NULL, "@%s does not hold %s at the end", x->path, name_of(c, want));
  }
}
