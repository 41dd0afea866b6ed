/* Layout: weights that are right operands of products or filters of convolutions lie in the panels
   that the target's loops read. All values that are element-wise connected lie so with them:
   gradients, moments, updates. Values between convolutions are the business of images.c, padded
   rows that of padded_rows.c.
   Contract: a global has one layout in all entries. A value stays row-major unless only products,
   convolutions, element-wise work and sums of everything touch it. `init` computes element-wise
   functions of random numbers and constants in the global's layout, so that they are made in the
   global's own bytes. It computes the rest in row-major order, converted by a copy at the store.
   Method: union-find over globals and values. A class takes the layout that some product or
   convolution asks for if no other asks for another, and no other op reads or makes one of its
   values. Products that read a global transposed ask for panels of its rows; they pack whatever
   else it lies in, so a class that a product makes, or reads as it is, does not become such. Rows
   of panels of integers are interleaved if products of integers read them and, but for gathers,
   nothing else does. */
#include "passes/fuse/kernel_form.h"
#include "passes/layout/layout_impl.h"

typedef struct Class {
  uint32_t parent;
  const Layout *want;   /* of a product that reads it as its right operand, of a convolution */
  const Layout *turned; /* of a product that reads it transposed */
  bool stored;          /* a global is among them: it is turned once, and read by every run */
  bool as_is;           /* a product makes it, or reads it as it is: neither is of turned panels */
  bool plain;           /* something needs it row-major */
  bool interleaved;     /* a product of integers reads it with rows interleaved */
  bool apart;           /* something needs rows one after the other */
} Class;

typedef struct Layouts {
  PassRun *r;
  Module *m;
  uint32_t *base; /* first node of each entry; globals come first */
  Class *node;
} Layouts;

static uint32_t find(Layouts *l, uint32_t x) {
  while (l->node[x].parent != x) {
    l->node[x].parent = l->node[l->node[x].parent].parent;
    x = l->node[x].parent;
  }
  return x;
}

static void want(Layouts *l, uint32_t x, const Layout *layout) {
  Class *c = &l->node[find(l, x)];
  if (!layout) return;
  if (c->want && c->want != layout) c->plain = true;
  c->want = layout;
}

static void unite(Layouts *l, uint32_t a, uint32_t b) {
  a = find(l, a);
  b = find(l, b);
  if (a == b) return;
  l->node[b].parent = a;
  l->node[a].plain |= l->node[b].plain;
  l->node[a].stored |= l->node[b].stored;
  l->node[a].as_is |= l->node[b].as_is;
  l->node[a].interleaved |= l->node[b].interleaved;
  l->node[a].apart |= l->node[b].apart;
  if (l->node[b].turned) l->node[a].turned = l->node[b].turned;
  want(l, a, l->node[b].want);
}

static void constrain_plain(Layouts *l, uint32_t x) { l->node[find(l, x)].plain = true; }

/* The panels of nr columns of a right operand, as layout_weight; 0: none. */
static const Layout *layout_matrix(Ctx *c, int nr, const Type *t, int columns) {
  static const int64_t turned[] = {1, 0};
  if (!nr || t->rank != 2 || t->dim[columns] < nr) return NULL;
  int64_t padded = (t->dim[columns] + nr - 1) / nr * nr;
  if (padded - t->dim[columns] > t->dim[columns] / 4) return NULL;
  return columns ? layout_panels(c, nr) : layout_get(c, turned, 2, nr);
}

const Layout *layout_weight(Ctx *c, const Target *target, const Type *t, int columns) {
  return layout_matrix(c, target && target->panel ? target->panel(target, t->dtype) : 0, t,
                       columns);
}

static const Layout *panels_of(const Layouts *l, const Type *t) {
  return layout_weight(l->m->ctx, l->r->opt->target, t, 1);
}

static bool whole_panels(const Layouts *l, const Type *t) {
  const Layout *panels = panels_of(l, t);
  return panels && t->dim[1] % panels->nr == 0;
}

/* ---- what an op asks of its values ---- */

static void element(Layouts *l, uint32_t base, const Op *op) {
  for (int i = 0; i < op->noperands; i++) unite(l, base + op->results[0], base + op->operands[i]);
}

static void look(Layouts *l, uint32_t base, const Entry *e, const Op *op, bool is_init);

static void look_block(Layouts *l, uint32_t base, const Entry *e, const Block *b, bool is_init) {
  for (uint32_t i = 0; i < b->ops.n; i++) look(l, base, e, op_at(e, b->ops.at[i]), is_init);
}

static void kernel(Layouts *l, uint32_t base, const Entry *e, const Op *op, bool is_init) {
  const Block *b = op->blocks[0];
  for (int i = 0; i < op->noperands; i++) unite(l, base + op->operands[i], base + b->args.at[i]);
  const Op *yield = op_at(e, b->ops.at[b->ops.n - 1]);
  for (int i = 0; i < op->nresults; i++) unite(l, base + op->results[i], base + yield->operands[i]);
  look_block(l, base, e, b, is_init);
}

/* A carry lies alike before, in and after the loop; what is stacked or sliced is row-major. */
static void scan(Layouts *l, uint32_t base, const Entry *e, const Op *op, bool is_init) {
  const Block *b = op->blocks[0];
  const Op *yield = op_at(e, b->ops.at[b->ops.n - 1]);
  int carries = scan_carries(op);
  constrain_plain(l, base + b->args.at[0]);
  for (int i = 0; i < op->noperands; i++) {
    uint32_t x = base + op->operands[i], arg = base + b->args.at[i + 1];
    if (i < carries) unite(l, x, arg);
    if (i >= carries) constrain_plain(l, x), constrain_plain(l, arg);
  }
  for (int i = 0; i < op->nresults; i++) {
    uint32_t y = base + op->results[i], next = base + yield->operands[i];
    if (i < carries) unite(l, base + b->args.at[i + 1], next), unite(l, y, next);
    if (i >= carries) constrain_plain(l, y), constrain_plain(l, next);
  }
  look_block(l, base, e, b, is_init);
}

/* The filter of an input's gradient is copied in any case. */
static void convolution(Layouts *l, uint32_t base, const Entry *e, const Op *op) {
  bool by_filter = op->kind == OP_CONV_FILTER_GRAD;
  constrain_plain(l, base + op->operands[0]);
  constrain_plain(l, base + (by_filter ? op->operands[1] : op->results[0]));
  if (op->kind != OP_CONV_INPUT_GRAD)
    want(l, base + (by_filter ? op->results[0] : op->operands[1]),
         layout_filter(l->m->ctx, l->r->opt->target, e, op, false));
  if (op_accumulator(op) >= 0)
    unite(l, base + op->operands[op_accumulator(op)], base + op->results[0]);
}

static void product(Layouts *l, uint32_t base, const Entry *e, const Op *op) {
  const Type *b = value_type(e, op->operands[1]);
  uint32_t x = base + op->operands[1];
  constrain_plain(l, base + op->operands[0]);
  l->node[find(l, base + op->results[0])].as_is = true;
  if (b->rank != 2) return;
  if (op->attr[AT_TB].i)
    l->node[find(l, x)].turned = layout_weight(l->m->ctx, l->r->opt->target, b, 0);
  else
    l->node[find(l, x)].as_is = true, want(l, x, panels_of(l, b));
}

/* Matrices lie in panels of the dtype that they are multiplied in. Of integers alone, rows may be
   interleaved that no group ends within. */
static void quantized_product(Layouts *l, uint32_t base, const Entry *e, const Op *op) {
  const Target *t = l->r->opt->target;
  const int nr = t && t->panel ? t->panel(t, value_type(e, op->results[0])->dtype) : 0;
  const int scale = op->noperands - 1;
  for (int i = 0; i < scale; i++)
    if (i != 1) constrain_plain(l, base + op->operands[i]);
  for (int i = 1; i <= scale; i += scale - 1)
    want(l, base + op->operands[i],
         layout_matrix(l->m->ctx, nr, value_type(e, op->operands[i]), !op->attr[AT_AXIS].i));
  unite(l, base + op->operands[1], base + op->operands[scale]);
  Class *class = &l->node[find(l, base + op->operands[1])];
  /* eight of the depth are read at a time: so many halves of bytes are in a word */
  if (op->kind == OP_SCALED_MATMUL && t && t->interleaved && op->attr[AT_GROUP].i % 8 == 0)
    class->interleaved = true;
  else
    class->apart = true;
}

/* The loop of a sum of all elements, as a norm is made of, finds rows of panels in order. */
static void sum(Layouts *l, uint32_t base, const Entry *e, const Op *op) {
  const Ints *axes = op->attr[AT_AXES].ints;
  const Type *t = value_type(e, op->operands[0]);
  if ((axes ? axes->n : 0) != t->rank || !whole_panels(l, t))
    constrain_plain(l, base + op->operands[0]);
  if (op_accumulator(op) >= 0) constrain_plain(l, base + op->operands[op_accumulator(op)]);
  constrain_plain(l, base + op->results[0]);
}

/* What a load gives or a store takes. For init and gather the layouts of globals are decided
   already; tails of panels are not for its numbers. */
static void as_global(Layouts *l, uint32_t x, const Op *op, bool is_init) {
  uint32_t index = (uint32_t)op->attr[AT_GLOBAL].i;
  const Global *g = &l->m->globals.at[index];
  const Layout *to = g->layout;
  if (!is_init && op->kind == OP_STORE) l->node[find(l, x)].apart = true;
  if (!is_init)
    unite(l, index, x);
  else if (to && to->interleaved)
    want(l, x, to);
  else if (to && to->nr && g->type->dim[layout_axis(to, g->type->rank - 1)] % to->nr == 0)
    want(l, x, to);
  else
    constrain_plain(l, x);
}

/* Those that read or make values whose rows are interleaved, or that only hand them on. */
static bool may_interleave(const Op *op) {
  switch ((int)op->kind) {
  case OP_LOAD:
  case OP_STORE:
  case OP_KERNEL:
  case OP_SCAN:
  case OP_YIELD:
  case OP_GATHER:
  case OP_ALL_REDUCE:
  case OP_COLLECTIVE_BROADCAST:
  case OP_SCALED_MATMUL: return true;
  }
  return false;
}

static void constrain_apart(Layouts *l, uint32_t base, const Op *op) {
  for (int i = 0; i < op->noperands; i++) l->node[find(l, base + op->operands[i])].apart = true;
  for (int i = 0; i < op->nresults; i++) l->node[find(l, base + op->results[i])].apart = true;
}

static void look(Layouts *l, uint32_t base, const Entry *e, const Op *op, bool is_init) {
  if (!may_interleave(op)) constrain_apart(l, base, op);
  switch ((int)op->kind) {
  case OP_LOAD: as_global(l, base + op->results[0], op, is_init); return;
  case OP_STORE: as_global(l, base + op->operands[0], op, is_init); return;
  case OP_RANDOM_UNIFORM:
  case OP_RANDOM_NORMAL:
    if (!is_init) constrain_plain(l, base + op->results[0]);
    if (op->noperands) constrain_plain(l, base + op->operands[0]);
    return;
  case OP_CONST:
  case OP_YIELD: return;
  case OP_KERNEL: kernel(l, base, e, op, is_init); return;
  case OP_SCAN: scan(l, base, e, op, is_init); return;
  case OP_MATMUL: product(l, base, e, op); return;
  case OP_QUANTIZED_MATMUL:
  case OP_SCALED_MATMUL: quantized_product(l, base, e, op); return;
  case OP_GATHER: /* rows are read out of panels */
    if (op->attr[AT_BATCH].i || value_type(e, op->operands[0])->rank != 2) break;
    constrain_plain(l, base + op->operands[1]);
    constrain_plain(l, base + op->results[0]);
    return;
  case OP_CONV:
  case OP_CONV_INPUT_GRAD:
  case OP_CONV_FILTER_GRAD:
    if (!layout_is_fast(l->r->opt->target, e, op)) break;
    convolution(l, base, e, op);
    return;
  case OP_BROADCAST: /* of a scalar: any layout; else the other axes must be where they are */
    if (value_type(e, op->operands[0])->numel != 1) constrain_plain(l, base + op->results[0]);
    constrain_plain(l, base + op->operands[0]);
    return;
  case OP_SUM: sum(l, base, e, op); return;
  case OP_CONVERT: /* panels are of one dtype */
    if (panels_of(l, value_type(e, op->operands[0])) == panels_of(l, value_type(e, op->results[0])))
      break;
    constrain_plain(l, base + op->operands[0]);
    constrain_plain(l, base + op->results[0]);
    return;
  default: break;
  }
  if (op->kind == OP_ALL_REDUCE ||
      op->kind ==
          OP_COLLECTIVE_BROADCAST) { /* the storage of all ranks is combined, whatever its order */
    for (int i = 0; i < op->noperands; i++) unite(l, base + op->results[i], base + op->operands[i]);
    return;
  }
  if (op_info[op->kind].cls == CLASS_ELEMENT && !(op_info[op->kind].flags & OPF_POSITION)) {
    element(l, base, op);
    return;
  }
  for (int i = 0; i < op->noperands; i++) constrain_plain(l, base + op->operands[i]);
  for (int i = 0; i < op->nresults; i++) constrain_plain(l, base + op->results[i]);
}

/* ---- setting ---- */

/* Scales lie in the panels of the integers that they belong to, as rows of their own. */
static const Layout *decided(Layouts *l, uint32_t x, const Type *t) {
  const Class *c = &l->node[find(l, x)];
  if (c->plain) return NULL;
  const Layout *to = c->want || c->as_is || !c->stored ? c->want : c->turned;
  if (to && to->interleaved && c->apart) return NULL; /* in init and gather: it is copied */
  if (to && c->interleaved && !c->apart && dtype_is_byte(t->dtype))
    return layout_interleaved(l->m->ctx, to, l->r->opt->target->interleaved);
  return to;
}

static void set_values(Layouts *l, uint32_t base, Entry *e) {
  for (ValueId v = 0; v < e->values.n; v++) {
    value_at(e, v)->layout = decided(l, base + v, value_type(e, v));
    l->r->changes += value_at(e, v)->layout != NULL;
  }
}

/* In init and gather: what is stored is in the global's layout, or is a constant that can be made
   so; else it is copied. */
static void init_store(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Module *m = old->module;
  const Layout *to = op->kind == OP_STORE ? m->globals.at[op->attr[AT_GLOBAL].i].layout : NULL;
  const Op *def = to ? value_def(old, op->operands[0]) : NULL;
  if (!to || value_at(old, op->operands[0])->layout == to) {
    build_copy(b, old, op, map);
    return;
  }
  ValueId v = map[op->operands[0]];
  const Type *t = value_type(old, op->operands[0]);
  bool is_const = def && def->kind == OP_CONST && !to->interleaved;
  Op *made = is_const ? build_op(b, OP_CONST, NULL, 0, def->attr, &t, 1)
                      : build_op(b, OP_COPY, &v, 1, NULL, &t, 1);
  value_at(b->e, made->results[0])->layout = to;
  build_op(b, OP_STORE, made->results, 1, op->attr, NULL, 0);
  (void)data;
}

static void lay_out_init(Layouts *l, Entry *e) {
  Layouts init = {.r = l->r, .m = l->m, .node = ARENA_ARRAY(l->r->scratch, Class, e->values.n + 1)};
  for (uint32_t i = 0; i < e->values.n; i++) init.node[i].parent = i;
  look_block(&init, 0, e, e->body, true);
  set_values(&init, 0, e);
  entry_rebuild(e, init_store, NULL, false, true);
}

bool pass_layout(PassRun *r) {
  Layouts l = {.r = r, .m = r->m};
  Module *m = r->m;
  l.base = ARENA_ARRAY(r->scratch, uint32_t, m->entries.n + 1);
  uint32_t n = m->globals.n;
  for (uint32_t k = 0; k < m->entries.n; k++) {
    l.base[k] = n;
    n += m->entries.at[k]->values.n;
  }
  l.node = ARENA_ARRAY(r->scratch, Class, n + 1);
  for (uint32_t i = 0; i < n; i++) l.node[i] = (Class){.parent = i, .stored = i < m->globals.n};
  for (uint32_t k = 0; k < m->entries.n; k++) {
    Entry *e = m->entries.at[k];
    for (uint32_t i = 0; i < e->body->args.n; i++)
      constrain_plain(&l, l.base[k] + e->body->args.at[i]);
    look_block(&l, l.base[k], e, e->body, false);
  }
  bool any = false;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    Global *g = &m->globals.at[i];
    g->layout = decided(&l, i, g->type);
    any |= g->layout != NULL;
  }
  for (uint32_t k = 0; k < m->entries.n; k++) set_values(&l, l.base[k], m->entries.at[k]);
  for (uint32_t k = 0; k < m->entries.n; k++) layout_images(r, m->entries.at[k]);
  for (uint32_t k = 0; k < m->entries.n; k++) layout_transposed_weights(r, m->entries.at[k]);
  for (uint32_t k = 0; k < m->entries.n; k++) layout_padded_rows(r, m->entries.at[k]);
  for (uint32_t k = m->entries.n; any && pass_entry(m, k); k++) lay_out_init(&l, pass_entry(m, k));
  return true;
}
