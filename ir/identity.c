/* The identity of a training program, a hash (FNV-1a) of the globals' paths and types and, for
   every training entry, of its name, inputs and ops with their attributes; that of its initial
   values; and the hashes of types and ops that they are built from. Contract: computed before any
   pass. Source locations, names of values, defaults of hypers and entries that do not train do not
   change it. */
#include "ir.h"
#include "ir/support/hash.h"

static uint64_t add_int(uint64_t h, int64_t v) { return hash_bytes(h, &v, sizeof v); }

static uint64_t add_text(uint64_t h, const char *s) {
  return s ? hash_bytes(h, s, strlen(s) + 1) : add_int(h, -1);
}

uint64_t type_identity(uint64_t h, const Type *t) {
  h = add_int(add_int(h, t->dtype), t->rank);
  h = hash_bytes(h, t->dim, sizeof *t->dim * (size_t)t->rank);
  for (int i = 0; i < t->rank; i++)
    if (type_extent(t, i)) h = add_text(add_int(h, i), t->extent[i]->name);
  return h;
}

static uint64_t add_attrs(uint64_t h, const Op *op) {
  for (int i = 0; i < MAX_ATTRS; i++) {
    AttrKind kind = op_info[op->kind].attr[i].kind;
    if (kind == ATTR_STR) {
      h = add_text(h, op->attr[i].str);
    } else if (kind == ATTR_INTS) {
      const Ints *x = op->attr[i].ints;
      h = add_int(h, x ? (int64_t)x->n : -1);
      if (x) h = hash_bytes(h, x->at, sizeof *x->at * (size_t)x->n);
    } else if (kind != ATTR_NONE) {
      h = add_int(h, op->attr[i].i);
    }
  }
  return h;
}

uint64_t op_identity(uint64_t h, const Op *op) {
  return add_attrs(add_text(h, op_info[op->kind].name), op);
}

static uint64_t add_block(uint64_t h, const Entry *e, const Block *b) {
  h = add_int(h, b->args.n);
  for (uint32_t i = 0; i < b->args.n; i++) h = type_identity(h, value_type(e, b->args.at[i]));
  h = add_int(h, b->ops.n);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    h = add_text(h, op_info[op->kind].name);
    for (int k = 0; k < op->noperands; k++) h = add_int(h, op->operands[k]);
    for (int k = 0; k < op->nresults; k++) h = type_identity(h, value_type(e, op->results[k]));
    h = add_attrs(h, op);
    for (int k = 0; k < op->nblocks; k++) h = add_block(h, e, op->blocks[k]);
  }
  return h;
}

static uint64_t add_table(uint64_t h, const Global *g) {
  return g->table ? hash_bytes(h, g->table, sizeof *g->table * (size_t)g->type->numel) : h;
}

void module_identify(Module *m) {
  uint64_t h = HASH_START;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    h = add_text(h, m->globals.at[i].path);
    h = add_table(type_identity(h, m->globals.at[i].type), &m->globals.at[i]);
  }
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    if (e->training) h = add_block(add_text(h, e->name), e, e->body);
  }
  m->identity = h;
  m->initial = m->init ? add_block(HASH_START, m->init, m->init->body) : 0;
  for (uint32_t i = 0; i < m->globals.n; i++) m->initial = add_table(m->initial, &m->globals.at[i]);
}
