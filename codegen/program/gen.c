/* What the kernels of a program need, which printer a group has, and how an index that is out of
   range is reported; see gen.h. */
#include "codegen/program/extent.h"

#include <string.h>

static void need(Gen *g, const char *text, bool long_to_compile) {
  uint32_t at = 0;
  while (at < g->helpers.n && strcmp(g->helpers.at[at].text, text) != 0) at++;
  if (at == g->helpers.n) vec_push(g->a, &g->helpers, (Helper){text, long_to_compile, false});
  for (uint32_t i = 0; i < g->needed.n; i++)
    if (g->needed.at[i] == at) return;
  vec_push(g->a, &g->needed, at);
}

void gen_helper(Gen *g, const char *text) { need(g, text, false); }
void gen_long_helper(Gen *g, const char *text) { need(g, text, true); }

void gen_use(const Gen *g, const Kernel *k, const char *body) {
  sections_use(g->library, body);
  for (uint32_t i = 0; i < k->helpers.n; i++) {
    Helper *h = &g->helpers.at[k->helpers.at[i]];
    if (!h->used) sections_use(g->library, h->text);
    h->used = true;
  }
}

void gen_print_definitions(const Gen *g, Text *x) {
  sections_print(g->library, x);
  for (uint32_t i = 0; i < g->helpers.n; i++) {
    if (g->helpers.at[i].used) text_add(x, "%s\n", g->helpers.at[i].text);
    g->helpers.at[i].used = false;
  }
}

static PrintGroup *printer_of(const GroupPrinters *p, const Group *gr) {
  switch (gr->form) {
  case FORM_MAP: return p->map;
  case FORM_ROWS: return p->rows;
  case FORM_COLS:
  case FORM_REDUCE: return p->reduce;
  case FORM_MATMUL: return p->matmul;
  case FORM_WINDOW: return p->window;
  case FORM_NONE: return NULL;
  case FORM_ATTENTION: return p->attention;
  case FORM_UPDATE: return p->update;
  case FORM_SINGLE: break;
  }
  OpKind kind = gr->op->kind;
  if (kind == OP_FIRST_ROW || kind == OP_RANK) return p->collective;
  if (kind == OP_RANDOM_UNIFORM || kind == OP_RANDOM_NORMAL) return p->random;
  switch ((int)op_info[kind].cls) {
  case CLASS_COMPOSITE: return p->composite;
  case CLASS_ORDER: return p->order;
  case CLASS_INDEX: return p->index;
  case CLASS_COLLECTIVE: return p->collective;
  default: return p->move;
  }
}

void gen_print_group(Gen *g, const Group *gr) {
  g->parts = group_parts(g->a, gr);
  PrintGroup *print = printer_of(g->print, gr);
  if (print) print(g, gr);
  for (uint32_t k = 0; k < g->out.n; k++)
    for (uint32_t i = 0; i < g->needed.n; i++)
      vec_push(g->a, &g->out.at[k]->helpers, g->needed.at[i]);
  g->needed.n = 0;
}

bool gen_can_fuse(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  (void)e;
  return op->kind != OP_GATHER_GRAD && op->kind != OP_CONCAT && op->kind != OP_PAD &&
         op->kind != OP_DYNAMIC_UPDATE;
}

const char *gen_constant(const Gen *g, Dtype dt, Attr value) {
  return g->print->marks_constants ? constant_scalar(g->a, dt, value)
                                   : scalar_literal(g->a, dt, value);
}

const char *gen_number(const Gen *g, const char *type, uint64_t bits, const char *literal) {
  return g->print->marks_constants ? constant_mark(g->a, type, bits, literal) : literal;
}

/* The number of a row of GcCheckSite. Equal rows are one, so that kernels can be. */
static uint32_t site_of(Gen *g, const char *row) {
  for (uint32_t i = 0; i < g->sites.n; i++)
    if (strcmp(g->sites.at[i], row) == 0) return i;
  vec_push(g->a, &g->sites, row);
  return g->sites.n - 1;
}

/* The op takes elements by their numbers: no data is wrong where a run has fewer. */
static bool is_counted(const Group *gr, const Op *op) {
  if (op->kind != OP_GATHER || op != gr->root) return false;
  const Op *ids = value_def(gr->e, gr->in[group_arg(gr, op->operands[1])]);
  return ids && ids->kind == OP_IOTA;
}

const char *gen_fault_below(Gen *g, const Group *gr, const Op *op, const char *what, const char *at,
                            const char *value, const char *limit) {
  Arena *a = g->a;
  const IndexTrace *t = &g->uses->trace[op->id];
  const char *loc = text_quoted(a, op->loc.line ? loc_str(g->ctx, op->loc) : "");
  const char *row = arena_printf(a, "{%s, \"%s\"", loc, is_counted(gr, op) ? "" : what);
  if (t->input >= 0 && t->input < (int)entry_inputs(gr->e))
    row = arena_printf(a, "%s, %s, %s, %lld, %lld, %lld, %lld", row,
                       text_quoted(a, value_at(gr->e, gr->e->body->args.at[t->input])->name),
                       t->exact ? "true" : "false", (long long)t->first, (long long)t->step,
                       (long long)t->run, (long long)t->count);
  const uint32_t site = site_of(g, arena_printf(a, "%s}", row));
  return arena_printf(a, "%s%s, %s, %s, %s);", g->fault,
                      gen_number(g, "i32", site, arena_printf(a, "%u", site)), at, value, limit);
}

const char *gen_fault(Gen *g, const Group *gr, const Op *op, const char *what, const char *at,
                      const char *value, int64_t limit) {
  return gen_fault_below(g, gr, op, what, at, value, arena_printf(g->a, "%lld", (long long)limit));
}
