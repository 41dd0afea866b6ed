/* Padded rows: an operand of a product on the target's matrix units whose rows end at odd places
   (50,257 halves) can only be copied element by element. Where each row begins at a multiple of the
   target's bytes, copies are as wide as elsewhere.
   Contract: runs after the other layouts, on one entry. Only values that element-wise work or work
   on rows makes, and that nothing but products reads, by themselves or reshaped; the padding is at
   most a 32nd of a row, is neither written nor read, and there is none under a byte limit.
   Method: union-find over values and their reshapes; a class is padded if products read it and no
   other op does. */
#include "passes/fuse/kernel_form.h"
#include "passes/layout/layout_impl.h"

#include <limits.h>

typedef struct PaddedRows {
  PassRun *r;
  Entry *e;
  ValueId *parent;
  bool *wanted, *plain; /* by root: a product reads it; it must stay as it is */
} PaddedRows;

static ValueId find_class(PaddedRows *p, ValueId v) {
  while (p->parent[v] != v) v = p->parent[v] = p->parent[p->parent[v]];
  return v;
}

static void unite(PaddedRows *p, ValueId a, ValueId b) {
  a = find_class(p, a);
  b = find_class(p, b);
  if (a == b) return;
  p->parent[b] = a;
  p->wanted[a] |= p->wanted[b];
  p->plain[a] |= p->plain[b];
}

static void set_plain(PaddedRows *p, ValueId v) { p->plain[find_class(p, v)] = true; }

static bool on_matrix_units(const Entry *e, const Op *op) {
  return op->kind == OP_MATMUL &&
         (dtype_is_half(value_type(e, op->operands[0])->dtype) || op->attr[AT_TF32].i);
}

/* An argument of a kernel that its product reads and nothing else in it does. */
static bool is_product_operand(const Entry *e, const Block *b, ValueId arg) {
  bool read = false;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++) {
      if (op->operands[k] != arg) continue;
      if (!on_matrix_units(e, op)) return false;
      read = true;
    }
  }
  return read;
}

static void look_operands(PaddedRows *p, const Op *op) {
  const Entry *e = p->e;
  const Type *y = op->nresults ? value_type(e, op->results[0]) : NULL;
  for (int i = 0; i < op->noperands; i++) {
    ValueId v = op->operands[i];
    if (op->kind == OP_RESHAPE && type_same_rows(value_type(e, v), y))
      unite(p, v, op->results[0]);
    else if (on_matrix_units(e, op) ||
             (op->kind == OP_KERNEL &&
              is_product_operand(e, op->blocks[0], op->blocks[0]->args.at[i])))
      p->wanted[find_class(p, v)] = true;
    else
      set_plain(p, v);
  }
}

static void look_results(PaddedRows *p, const Op *op) {
  if (op->kind == OP_RESHAPE &&
      type_same_rows(value_type(p->e, op->operands[0]), value_type(p->e, op->results[0])))
    return;
  bool element = op->kind == OP_KERNEL || op_info[op->kind].cls == CLASS_ELEMENT ||
                 op_info[op->kind].cls == CLASS_ROWS;
  const Group *g = element ? group_of(p->r->scratch, p->e, op) : NULL;
  for (int i = 0; i < op->nresults; i++) {
    const Type *t = value_type(p->e, op->results[i]);
    if (!g || (g->form != FORM_MAP && g->form != FORM_ROWS) || !type_same_dims(t, g->domain))
      set_plain(p, op->results[i]);
  }
}

/* NULL: rows begin where they should, or lie otherwise, or would be padded with too much. */
static const Layout *padded(const PaddedRows *p, const Value *v) {
  const Type *t = v->type;
  if (v->layout || t->rank < 2 || t->numel == 0) return NULL;
  int64_t to = padded_row(t, p->r->opt->target->row_bytes);
  return to && to <= INT_MAX ? layout_panels(p->r->m->ctx, (int)to) : NULL;
}

static void set_layouts(PaddedRows *p) {
  for (ValueId v = 0; v < p->e->values.n; v++) {
    ValueId c = find_class(p, v);
    if (!p->wanted[c] || p->plain[c]) continue;
    const Layout *l = padded(p, value_at(p->e, v));
    if (l) value_at(p->e, v)->layout = l, p->r->changes++;
  }
  const Block *body = p->e->body;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(p->e, body->ops.at[i]);
    for (int k = 0; op->kind == OP_KERNEL && k < op->noperands; k++)
      value_at(p->e, op->blocks[0]->args.at[k])->layout = value_at(p->e, op->operands[k])->layout;
  }
}

void layout_padded_rows(PassRun *r, Entry *e) {
  const Target *t = r->opt->target;
  if (!t || !t->row_bytes || r->opt->limit.bytes || r->opt->limit.share > 0) return;
  uint32_t n = e->values.n + 1;
  PaddedRows p = {.r = r,
                  .e = e,
                  .parent = ARENA_ARRAY(r->scratch, ValueId, n),
                  .wanted = ARENA_ARRAY(r->scratch, bool, n),
                  .plain = ARENA_ARRAY(r->scratch, bool, n)};
  for (ValueId v = 0; v < n; v++) p.parent[v] = v;
  for (uint32_t i = 0; i < e->body->args.n; i++) set_plain(&p, e->body->args.at[i]);
  for (OpId i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->parent == e->body) {
      look_operands(&p, op);
      look_results(&p, op);
    } else if (!op->parent->op || op->parent->op->kind != OP_KERNEL) { /* in a loop */
      for (int k = 0; k < op->noperands; k++) set_plain(&p, op->operands[k]);
      for (int k = 0; k < op->nresults; k++) set_plain(&p, op->results[k]);
    }
  }
  set_layouts(&p);
}
