/* Offsets of parameters and states in their region, and the slack behind the end of every region.
   Contract: offsets are the same for all entries of a module. Fails after a diagnostic if a size
   overflows. */
#include "passes/plan/plan_impl.h"

uint64_t plan_slack(const Target *t) {
  uint64_t slack = 0;
  return checked_align((uint64_t)t->slack, (uint64_t)t->align, &slack) ? slack : 0;
}

/* A large one that the program's own weights have lies at the same place in a page as there: the
   runtime can map the pages of what is read row by row. */
static uint64_t gap_before(const Global *x, uint64_t bytes, uint64_t at, uint64_t align) {
  enum { PAGE = 4096, LARGE = 1 << 20 };
  if (!x->weights_at || x->weights_at % align || bytes < LARGE) return 0;
  return (x->weights_at - at) % PAGE;
}

GlobalsPlan plan_globals(const Module *m, int align) {
  GlobalsPlan g = {.offset = ARENA_ARRAY(m->arena, uint64_t, m->globals.n + 1)};
  uint64_t hypers = 0, bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *x = &m->globals.at[i];
    if (x->kind == GLOBAL_HYPER) {
      g.offset[i] = hypers;
      hypers += HYPER_BYTES;
      continue;
    }
    if (!layout_bytes(x->type, x->layout, &bytes) ||
        !checked_add(g.bytes, gap_before(x, bytes, g.bytes, (uint64_t)align), &g.offset[i]) ||
        !checked_add(g.offset[i], bytes, &g.bytes) ||
        !checked_align(g.bytes, (uint64_t)align, &g.bytes)) {
      diag(m->ctx, SEV_ERROR, x->loc, "the parameters and states need more than 2^64 bytes");
      g.bytes = UINT64_MAX;
      return g;
    }
  }
  return g;
}

static void find_stores(const Entry *e, const Block *b, bool *stored) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_STORE) stored[op->attr[AT_GLOBAL].i] = true;
    for (int k = 0; k < op->nblocks; k++) find_stores(e, op->blocks[k], stored);
  }
}

uint64_t plan_unwritten(const Entry *e) {
  const Module *m = e->module;
  bool *stored = ARENA_ARRAY(m->arena, bool, m->globals.n + 1);
  uint64_t all = 0, bytes;
  find_stores(e, e->body, stored);
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    bool held = g->kind == GLOBAL_PARAM || g->kind == GLOBAL_STATE;
    if (held && !stored[i] && layout_bytes(g->type, g->layout, &bytes)) all += bytes;
  }
  return all;
}

/* The op reads rows of its operand k that data choose, and nothing else of it. */
static bool reads_rows(const Entry *e, const Op *op, int k) {
  if (op->kind == OP_GATHER) return k == 0;
  if (op->kind != OP_KERNEL) return false;
  const Block *b = op->blocks[0];
  bool rows = true;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *x = op_at(e, b->ops.at[i]);
    for (int j = 0; j < x->noperands; j++)
      rows &= x->operands[j] != b->args.at[k] || reads_rows(e, x, j);
  }
  return rows;
}

typedef struct Reads { /* by value id: the global that it is, -1: none; by global: how it is used */
  int *global;
  bool *rows, *whole;
} Reads;

static void find_reads(Reads *r, const Entry *e, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_LOAD) r->global[op->results[0]] = (int)op->attr[AT_GLOBAL].i;
    if (op->kind == OP_STORE) r->whole[op->attr[AT_GLOBAL].i] = true;
    for (int k = 0; k < op->noperands; k++) {
      int g = r->global[op->operands[k]];
      if (g >= 0) (reads_rows(e, op, k) ? r->rows : r->whole)[g] = true;
    }
    for (int k = 0; op->kind != OP_KERNEL && k < op->nblocks; k++) find_reads(r, e, op->blocks[k]);
  }
}

bool *plan_read_by_rows(const Module *m) {
  Reads r = {.rows = ARENA_ARRAY(m->arena, bool, m->globals.n + 1),
             .whole = ARENA_ARRAY(m->arena, bool, m->globals.n + 1)};
  for (uint32_t i = 0; i <= m->entries.n; i++) {
    const Entry *e = i < m->entries.n ? m->entries.at[i] : m->gather;
    if (!e) continue;
    r.global = ARENA_ARRAY(m->arena, int, e->values.n + 1);
    for (uint32_t v = 0; v < e->values.n; v++) r.global[v] = -1;
    find_reads(&r, e, e->body);
  }
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const char *master = m->globals.at[i].master;
    if (master) r.whole[module_find_global(m, master)] = true; /* the copy is made of all of it */
    r.rows[i] &= !r.whole[i];
  }
  return r.rows;
}

typedef struct Draws { /* what may be made of random numbers */
  const Entry *init;
  bool *value, *global; /* by value id, by global */
} Draws;

/* of: what the block's ops are given is random. Whether any of them is. */
static bool find_draws(Draws *d, const Block *b, bool of) {
  bool any = false;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(d->init, b->ops.at[i]);
    bool load = op->kind == OP_LOAD, store = op->kind == OP_STORE;
    bool random = of || op->kind == OP_RANDOM_UNIFORM || op->kind == OP_RANDOM_NORMAL ||
                  op->kind == OP_DROPOUT || (load && d->global[op->attr[AT_GLOBAL].i]);
    for (int k = 0; k < op->noperands; k++) random |= d->value[op->operands[k]];
    for (int k = 0; k < op->nblocks; k++) random |= find_draws(d, op->blocks[k], random);
    for (int k = 0; k < op->nresults; k++) d->value[op->results[k]] = random;
    if (store) d->global[op->attr[AT_GLOBAL].i] |= random;
    any |= random;
  }
  return any;
}

bool *plan_random(const Module *m) {
  Draws d = {.init = m->init, .global = ARENA_ARRAY(m->arena, bool, m->globals.n + 1)};
  if (!m->init) return d.global;
  d.value = ARENA_ARRAY(m->arena, bool, m->init->values.n + 1);
  find_draws(&d, m->init->body, false);
  return d.global;
}

typedef struct Uses { /* the kinds of globals that are made of something: bits 1 << GlobalKind */
  const Entry *init;
  unsigned char *op, *value, *global; /* by id */
} Uses;

/* From the last op to the first. of: the kinds that are made of the block's ops. */
static unsigned char find_uses(Uses *u, const Block *b, unsigned char of) {
  const Module *m = u->init->module;
  unsigned char any = 0;
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *op = op_at(u->init, b->ops.at[i]);
    int g = op->kind == OP_LOAD || op->kind == OP_STORE ? (int)op->attr[AT_GLOBAL].i : -1;
    unsigned kinds = of;
    for (int k = 0; k < op->nresults; k++) kinds |= u->value[op->results[k]];
    if (op->kind == OP_STORE) kinds |= 1U << m->globals.at[g].kind | u->global[g];
    for (int k = 0; k < op->nblocks; k++)
      kinds |= find_uses(u, op->blocks[k], (unsigned char)kinds);
    if (op->kind == OP_LOAD) u->global[g] |= (unsigned char)kinds;
    for (int k = 0; k < op->noperands; k++) u->value[op->operands[k]] |= (unsigned char)kinds;
    u->op[op->id] |= (unsigned char)kinds;
    any |= (unsigned char)kinds;
  }
  return any;
}

const unsigned char *plan_init_uses(const Module *m) {
  const Entry *e = m->init;
  Uses u = {.init = e,
            .op = ARENA_ARRAY(m->arena, unsigned char, e->ops.n + 1),
            .value = ARENA_ARRAY(m->arena, unsigned char, e->values.n + 1),
            .global = ARENA_ARRAY(m->arena, unsigned char, m->globals.n + 1)};
  find_uses(&u, e->body, 0);
  return u.op;
}
