/* Hypers in the tables: their rows, and which of them an entry does without. Contract: as
 * tables.h's. */
#include "codegen/program/tables.h"

static void hyper_row(Tables *p, const Global *g, const char *before) {
  Dtype dt = g->type->dtype;
  Attr value = dtype_is_float(dt) ? (Attr){.f = g->value} : (Attr){.i = (int64_t)g->value};
  text_add(&p->text, "%s{%s, %s, %s}", before, text_quoted(p->g->a, g->path), dtype_enum(dt),
           scalar_literal(p->g->a, dt, value));
}

void hypers_table(Tables *p) {
  const Module *m = p->g->m;
  int n = 0;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    if (m->globals.at[i].kind != GLOBAL_HYPER) continue;
    if (!n) text_add(&p->text, "static const GcHyper hypers[] = {");
    hyper_row(p, &m->globals.at[i], n++ ? ", " : "");
  }
  if (n) text_add(&p->text, "};\n");
  p->nhypers = n;
}

static void find_loads(const Entry *e, const Block *b, bool *loaded) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_LOAD) loaded[op->attr[AT_GLOBAL].i] = true;
    for (int k = 0; k < op->nblocks; k++) find_loads(e, op->blocks[k], loaded);
  }
}

void hypers_unread(Tables *p, const Entry *e, const char *id, Text *row) {
  const Module *m = p->g->m;
  bool *loaded = ARENA_ARRAY(p->g->a, bool, m->globals.n + 1), all = true;
  find_loads(e, e->body, loaded);
  if (e->ahead) find_loads(e->ahead, e->ahead->body, loaded);
  if (m->init) find_loads(m->init, m->init->body, loaded);
  for (uint32_t i = 0; i < m->globals.n; i++)
    all &= loaded[i] || m->globals.at[i].kind != GLOBAL_HYPER;
  if (all) return;
  text_add(&p->text, "static const bool %s_unread[] = {", id);
  for (uint32_t i = 0, n = 0; i < m->globals.n; i++)
    if (m->globals.at[i].kind == GLOBAL_HYPER)
      text_add(&p->text, "%s%s", n++ ? ", " : "", loaded[i] ? "false" : "true");
  text_add(&p->text, "};\n");
  text_add(row, ",\n   .unread = %s_unread", id);
}
