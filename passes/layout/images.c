/* Layout of images: for a target that asks for it, values between convolutions, pools and the
   element-wise work around them lie in order [N, H, W, C]. The channels of a pixel are then side by
   side, whatever the program says. Convolutions read filters in the layout of their inner loops.
   Contract: runs after weights have their layouts (layout.c), on one entry. The carries of
   a loop without stacks lie alike in it and behind it; other carries, slices, stacks, and what the
   body reads from outside, are as they were. An operand in another layout than an op demands is
   copied before the op, once for all its readers in the block. Element-wise kernels and reductions
   of columns read any order of axes, so they convert for nothing if an image comes in or leaves.
   Method: union-find over the values of rank 4 that an op may leave in any order; a class that a
   convolution reads or writes takes the images' order. */
#include "ir/op/window.h"
#include "passes/fuse/kernel_form.h"
#include "passes/layout/layout_impl.h"

/* How an op wants an operand, or leaves a result. */
typedef enum LayoutConstraint {
  WANTS_ANY,     /* in any order of axes */
  WANTS_DEFAULT, /* as it was before this pass: row-major, or in the panels of a weight */
  WANTS_SAME,    /* all operands and the result in one order */
  WANTS_CARRY,   /* as the loop's body takes this carry */
  WANTS_NHWC,    /* the images' order */
  WANTS_HWIO,    /* filters by output, for conv and conv_filter_grad */
  WANTS_HWOI,    /* filters by input channel, for conv_input_grad */
  CONSTRAINTS
} LayoutConstraint;

typedef struct Images {
  PassRun *r;
  const Entry *e; /* while it is rebuilt: as it was */
  const Target *t;
  const Layout *image;
  const Op **op; /* of the body and of the bodies of its loops, in order */
  uint32_t ops;
  const Group **group; /* by such an op */
  bool *sums;          /* by such an op: it sums images, whose order is as it comes */
  ValueId *parent;
  bool *wanted;                     /* by root: a convolution reads or writes it */
  bool *fixed;                      /* by value: no order to choose */
  const Layout **made;              /* by value: as its op leaves it */
  ValueId *copy[CONSTRAINTS];       /* by value: its copy in another layout, once it is made */
  const Block **place[CONSTRAINTS]; /* by value: the block of that copy, as it was */
} Images;

static const Type *type_at(const Images *m, ValueId v) { return value_type(m->e, v); }

static ValueId find_class(Images *m, ValueId v) {
  while (m->parent[v] != v) v = m->parent[v] = m->parent[m->parent[v]];
  return v;
}

static void unite(Images *m, ValueId a, ValueId b) {
  if (m->fixed[a] || m->fixed[b]) return;
  a = find_class(m, a);
  b = find_class(m, b);
  if (a == b) return;
  m->parent[b] = a;
  m->wanted[a] |= m->wanted[b];
}

/* ---- what ops ask ---- */

static bool is_conv(const Op *op) {
  return op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD || op->kind == OP_CONV_FILTER_GRAD;
}

static bool in_kernel(const Op *op) { return op->parent->op && op->parent->op->kind == OP_KERNEL; }

static bool in_loop(const Entry *e, const Op *op) {
  return (in_kernel(op) ? op->parent->op->parent : op->parent) != e->body;
}

bool layout_is_fast(const Target *t, const Entry *e, const Op *op) {
  if (!is_conv(op) || !t || !t->filter_panel) return false;
  Dtype dt = value_type(e, op->results[0])->dtype;
  if (op->attr[AT_ROUND_FILTERS].i) return false;
  if (conv_multiplies_halves(t, e, op)) return true;
  return value_type(e, op->operands[0])->dtype == dt && !dtype_is_half(dt) &&
         t->filter_panel(t, dt, 1) >= 0;
}

static bool is_fast(const Images *m, const Op *op) { return layout_is_fast(m->t, m->e, op); }

static LayoutConstraint ask_window(const Images *m, const Group *g, ValueId arg) {
  const Op *op = g->root;
  for (int i = 0; i < op->noperands; i++) {
    if (op->operands[i] != arg) continue;
    if (!is_conv(op)) return WANTS_SAME;
    if (!is_fast(m, op)) return WANTS_DEFAULT;
    if (i == 0 || (op->kind == OP_CONV_FILTER_GRAD && i == 1)) return WANTS_NHWC;
    return op->kind == OP_CONV_INPUT_GRAD ? WANTS_HWOI : WANTS_HWIO;
  }
  return WANTS_ANY;
}

static bool is_moved(const Op *op) {
  return op->kind == OP_CONCAT || op->kind == OP_PAD || op->kind == OP_DYNAMIC_UPDATE;
}

/* Pixel by pixel: so many as a row's sum has in one chunk. More are summed row by row, and would
   have a cache line for each. */
static bool sums_pixels(const Images *m, const Group *g) {
  if (!group_sums_images(g)) return false;
  const Type *t = type_at(m, g->root->operands[0]);
  return t->dim[2] * t->dim[3] <= SUM_ROW;
}

/* The carry that a loop takes by its operand i, or that the end of its body gives the next
   iteration by it; NO_ID: it is none. */
static ValueId carry_of(const Op *op, int i) {
  const Op *loop = op->kind == OP_SCAN ? op : op->kind == OP_YIELD ? op->parent->op : NULL;
  if (!loop || loop->kind != OP_SCAN || i >= scan_carries(loop)) return NO_ID;
  return loop->blocks[0]->args.at[i + 1];
}

static LayoutConstraint ask_operand(const Images *m, const Op *op, int i) {
  const Group *g = m->group[op->id];
  if (carry_of(op, i) != NO_ID) return WANTS_CARRY;
  if (op->nblocks && op->kind != OP_KERNEL) return WANTS_DEFAULT;
  switch (g->form) {
  case FORM_MAP:
  case FORM_COLS:
  case FORM_REDUCE: return WANTS_ANY;
  case FORM_WINDOW: return ask_window(m, g, g->arg[i]);
  case FORM_SINGLE:
    if (is_moved(op)) return type_at(m, op->operands[i])->rank == 4 ? WANTS_SAME : WANTS_DEFAULT;
    return op->kind == OP_COPY ? WANTS_ANY : WANTS_DEFAULT;
  case FORM_ROWS:
    if (m->sums[op->id] && g->arg[i] == g->root->operands[0]) return WANTS_ANY;
    break;
  case FORM_NONE:
  case FORM_ATTENTION:
  case FORM_UPDATE:
  case FORM_MATMUL: break;
  }
  return WANTS_DEFAULT;
}

static LayoutConstraint ask_result(const Images *m, const Op *op, int i) {
  const Group *g = m->group[op->id];
  if (op->kind == OP_SCAN && carry_of(op, i) != NO_ID) return WANTS_ANY;
  if (op->nblocks && op->kind != OP_KERNEL) return WANTS_DEFAULT;
  if (g->form == FORM_MAP) return WANTS_ANY;
  if (g->form == FORM_SINGLE && (is_moved(op) || op->kind == OP_COPY)) return WANTS_ANY;
  if (g->form != FORM_WINDOW) return WANTS_DEFAULT;
  if (!is_conv(g->root)) return WANTS_ANY;
  if (!is_fast(m, g->root)) return WANTS_DEFAULT;
  if (g->yield[i] != g->root->results[0]) return WANTS_ANY;
  return g->root->kind == OP_CONV_FILTER_GRAD ? WANTS_HWIO : WANTS_NHWC;
}

static const int64_t by_output[] = {2, 3, 1, 0}, by_input[] = {2, 3, 0, 1};

const Layout *layout_filter(Ctx *c, const Target *t, const Entry *e, const Op *op, bool back) {
  ConvGeom g = conv_geom(e, op);
  int64_t columns = back ? g.gin : g.gout;
  int nr = g.groups == 1 ? t->filter_panel(t, g.f->dtype, columns) : 0;
  return layout_get(c, back ? by_input : by_output, 4, nr);
}

/* The same as a fast convolution reads them: transformed, if Winograd's method computes it, which
   each run decides of bounded images. Numbers that were rounded are multiplied directly, as
   processors that multiply halves do it, and so are integers, whose sums are exact then. In a loop
   each iteration would transform the filters anew. */
static const Layout *layout_of_operand(const Images *m, const Op *op, bool back) {
  const Target *t = m->t;
  Ctx *c = m->r->m->ctx;
  bool plain = op->kind == OP_CONV_FILTER_GRAD || op->attr[AT_TF32_OPERANDS].i ||
               type_at(m, op->operands[0])->dtype != DT_F32 ||
               layout_multiplies_integers(m->e, op) || in_loop(m->e, op);
  ConvGeom g = conv_geom(m->e, op);
  int nr = plain || !t->winograd_panel ? 0 : t->winograd_panel(t, &g, back);
  if (!nr) return layout_filter(c, t, m->e, op, back);
  const Type *image = NULL;
  if (type_extent(g.x, 2) || type_extent(g.x, 3))
    image = type_get(c, DT_F32, 2, (const int64_t[]){type_axis(g.x, 2), type_axis(g.x, 3)});
  return layout_winograd(c, back ? by_input : by_output, nr, image,
                         (const int64_t[]){g.h.lo, g.h.hi, g.w.lo, g.w.hi});
}

/* ---- classes ---- */

static void look_inside(Images *m, const Op *op) {
  if (op_info[op->kind].cls == CLASS_ELEMENT)
    for (int i = 0; i < op->noperands; i++) unite(m, op->results[0], op->operands[i]);
  bool moves = op->kind == OP_SLICE || op->kind == OP_REVERSE || op->kind == OP_BROADCAST ||
               op->kind == OP_COPY || is_moved(op) || op_info[op->kind].cls == CLASS_WINDOW;
  for (int i = 0; moves && !is_conv(op) && i < op->noperands; i++)
    if (type_at(m, op->operands[i])->rank == 4) unite(m, op->results[0], op->operands[i]);
  if (!is_fast(m, op)) return;
  const ValueId image[3] = {op->operands[0],
                            op->kind == OP_CONV_FILTER_GRAD ? op->operands[1] : op->operands[0],
                            op->kind == OP_CONV_FILTER_GRAD ? op->operands[0] : op->results[0]};
  for (int i = 0; i < 3; i++)
    if (!m->fixed[image[i]]) m->wanted[find_class(m, image[i])] = true;
}

static bool is_flexible(const Images *m, const Op *op) {
  Form f = m->group[op->id]->form;
  return f == FORM_MAP || f == FORM_COLS || f == FORM_REDUCE || f == FORM_WINDOW ||
         f == FORM_ATTENTION || f == FORM_SINGLE;
}

/* A carry lies alike in the loop and behind it; what it begins as is copied if it does not. */
static void look_carries(Images *m, const Op *op) {
  for (int i = 0; i < op->noperands && carry_of(op, i) != NO_ID; i++) {
    unite(m, op->operands[i], carry_of(op, i));
    if (op->kind == OP_SCAN) unite(m, op->results[i], carry_of(op, i));
  }
}

static void look(Images *m, const Op *op) {
  look_carries(m, op);
  if (!is_flexible(m, op)) return;
  const Group *g = m->group[op->id];
  if (op->kind == OP_KERNEL) {
    for (int i = 0; i < g->nin; i++) unite(m, g->in[i], g->arg[i]);
    for (int i = 0; i < g->nout; i++) unite(m, g->out[i], g->yield[i]);
  }
  for (int i = 0; i < g->nops; i++) look_inside(m, g->ops[i]);
}

/* Nothing to choose: another rank, a weight in panels, or the same bytes in both orders. */
static bool is_settled(const Images *m, ValueId v) {
  const Value *x = value_at(m->e, v);
  return x->type->rank != 4 || x->layout || layout_same(x->type, NULL, m->image);
}

/* Values that are read by nothing but ops that want them plain, and made by an element-wise kernel:
   it can store them so at once. */
static bool *find_loose(Images *m) {
  bool *unconstrained = ARENA_ARRAY(m->r->scratch, bool, m->e->values.n);
  for (uint32_t i = 0; i < m->ops; i++) {
    const Op *op = m->op[i];
    for (int k = 0; k < op->noperands; k++)
      unconstrained[op->operands[k]] |= ask_operand(m, op, k) != WANTS_DEFAULT;
  }
  return unconstrained;
}

/* A loop's number and slices, and what a body reads from outside of it, are as they were; so is
   what the entry takes. So are the carries of a loop that stacks: where a backward pass reads the
   stacks, remat keeps carries in their place, and stacks are row-major. */
static void fix_block(Images *m, const Block *b) {
  const int carries = b->op && b->op->nresults == scan_carries(b->op) ? b->op->nresults : 0;
  for (int i = 0; i < (int)b->args.n; i++)
    if (i == 0 || i > carries) m->fixed[b->args.at[i]] = true;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(m->e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++)
      if (value_block(m->e, op->operands[k]) != b) m->fixed[op->operands[k]] = true;
    if (op->kind == OP_SCAN) fix_block(m, op->blocks[0]);
  }
}

static void fix(Images *m) {
  const bool *unconstrained = find_loose(m);
  for (ValueId v = 0; v < m->e->values.n; v++) m->fixed[v] = is_settled(m, v);
  fix_block(m, m->e->body);
  for (uint32_t i = 0; i < m->ops; i++) {
    const Op *op = m->op[i];
    const Group *g = m->group[op->id];
    for (int k = 0; k < op->nresults; k++) {
      bool plain = g->form == FORM_MAP && !unconstrained[op->results[k]];
      if (ask_result(m, op, k) == WANTS_DEFAULT || plain) m->fixed[op->results[k]] = true;
    }
    for (int k = 0; op->kind == OP_SCAN && k < scan_carries(op); k++) {
      bool *inside = &m->fixed[carry_of(op, k)], *behind = &m->fixed[op->results[k]];
      *inside = *behind = *inside || *behind;
    }
    if (op->kind != OP_KERNEL) continue;
    for (int k = 0; k < g->nin; k++) m->fixed[g->arg[k]] |= m->fixed[g->in[k]];
    for (int k = 0; k < g->nout; k++) m->fixed[g->yield[k]] |= m->fixed[g->out[k]];
  }
}

/* ---- setting ---- */

/* The layout that an operand must have, in its place among the op's operands. */
static const Layout *needed(const Images *m, const Op *op, int i, LayoutConstraint *ask) {
  const Value *x = value_at(m->e, op->operands[i]);
  const Layout *want = x->layout;
  const Group *g = m->group[op->id];
  *ask = ask_operand(m, op, i);
  switch (*ask) {
  case WANTS_DEFAULT: want = want == m->image ? NULL : want; break;
  case WANTS_SAME: want = m->made[op->results[0]]; break;
  case WANTS_CARRY: want = value_at(m->e, carry_of(op, i))->layout; break;
  case WANTS_NHWC: want = m->image; break;
  case WANTS_HWIO:
  case WANTS_HWOI: want = layout_of_operand(m, g->root, *ask == WANTS_HWOI); break;
  case WANTS_ANY:
  case CONSTRAINTS: break;
  }
  return layout_same(x->type, x->layout, want) ? x->layout : want;
}

static void set(Images *m) {
  for (ValueId v = 0; v < m->e->values.n; v++) {
    if (!m->fixed[v] && m->wanted[find_class(m, v)]) {
      value_at(m->e, v)->layout = m->image;
      m->r->changes++;
    }
    m->made[v] = value_at(m->e, v)->layout;
  }
  for (uint32_t i = 0; i < m->ops; i++) {
    const Op *op = m->op[i];
    const Group *g = m->group[op->id];
    for (int k = 0; k < op->nresults; k++) {
      const Value *y = value_at(m->e, op->results[k]);
      LayoutConstraint ask = ask_result(m, op, k);
      const Layout *l = y->layout;
      if (ask == WANTS_HWIO) l = layout_filter(m->r->m->ctx, m->t, m->e, g->root, false);
      if (ask == WANTS_NHWC) l = m->image;
      if (!layout_same(y->type, l, y->layout)) m->made[op->results[k]] = l;
      if (op->kind == OP_KERNEL) value_at(m->e, g->yield[k])->layout = m->made[op->results[k]];
    }
    for (int k = 0; op->kind == OP_KERNEL && k < op->noperands; k++) {
      LayoutConstraint ask;
      value_at(m->e, g->arg[k])->layout = needed(m, op, k, &ask);
    }
  }
}

/* ---- copies ---- */

static ValueId copy_to(Builder *b, ValueId v, const Layout *l) {
  const Value from = *value_at(b->e, v);
  Op *made = build_op(b, OP_COPY, &v, 1, NULL, &from.type, 1);
  Value *to = value_at(b->e, made->results[0]);
  to->layout = l;
  if (!l || !l->winograd) to->name = from.name;
  return made->results[0];
}

static void layout_images_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Images *m = data;
  m->e = old;
  if (in_kernel(op)) { /* it has what it needs */
    build_copy(b, old, op, map);
    return;
  }
  ValueId *saved = ARENA_ARRAY(m->r->scratch, ValueId, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++) saved[i] = map[op->operands[i]];
  for (int i = 0; i < op->noperands; i++) {
    ValueId v = op->operands[i];
    LayoutConstraint ask;
    const Layout *l = needed(m, op, i, &ask);
    if (l == value_at(old, v)->layout) continue;
    /* a filter has a copy for each convolution that reads it so: it is soon recomputed, and would
       be held from one to the next */
    bool filter = ask == WANTS_HWIO || ask == WANTS_HWOI;
    if (ask == WANTS_SAME) ask = l ? WANTS_NHWC : WANTS_DEFAULT;
    ValueId *known = &m->copy[ask][v];
    if (filter || *known == NO_ID || m->place[ask][v] != op->parent ||
        value_at(b->e, *known)->layout != l)
      *known = copy_to(b, saved[i], l), m->place[ask][v] = op->parent;
    map[v] = *known;
    m->r->changes++;
  }
  build_copy(b, old, op, map);
  for (int i = 0; i < op->noperands; i++) map[op->operands[i]] = saved[i];
  for (int i = 0; i < op->nresults; i++) {
    ValueId v = op->results[i];
    const Layout *made = m->made[v], *l = value_at(old, v)->layout;
    if (made == l) continue;
    value_at(b->e, map[v])->layout = made;
    map[v] = copy_to(b, map[v], l);
    m->r->changes++;
  }
}

static void collect(Images *m, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(m->e, b->ops.at[i]);
    m->op[m->ops++] = op;
    if (op->kind == OP_SCAN) collect(m, op->blocks[0]);
  }
}

void layout_images(PassRun *r, Entry *e) {
  static const int64_t order[] = {0, 2, 3, 1};
  Images m = {.r = r, .e = e, .t = r->opt->target};
  Arena *a = r->scratch;
  uint32_t n = e->values.n;
  bool any = false;
  for (uint32_t i = 0; i < e->ops.n && !any; i++) any = layout_is_fast(m.t, e, op_at(e, i));
  if (!any) return;
  m.image = layout_get(r->m->ctx, order, 4, 0);
  m.op = ARENA_ARRAY(a, const Op *, e->ops.n);
  m.group = ARENA_ARRAY(a, const Group *, e->ops.n);
  m.sums = ARENA_ARRAY(a, bool, e->ops.n);
  m.parent = ARENA_ARRAY(a, ValueId, n);
  m.wanted = ARENA_ARRAY(a, bool, n);
  m.fixed = ARENA_ARRAY(a, bool, n);
  m.made = ARENA_ARRAY(a, const Layout *, n);
  for (int k = 0; k < CONSTRAINTS; k++) {
    m.copy[k] = ARENA_ARRAY(a, ValueId, n);
    m.place[k] = ARENA_ARRAY(a, const Block *, n);
    for (ValueId v = 0; v < n; v++) m.copy[k][v] = NO_ID;
  }
  for (ValueId v = 0; v < n; v++) m.parent[v] = v;
  collect(&m, e->body);
  for (uint32_t i = 0; i < m.ops; i++) {
    const Op *op = m.op[i];
    m.group[op->id] = group_of(a, e, op);
    m.sums[op->id] = sums_pixels(&m, m.group[op->id]);
  }
  fix(&m);
  for (uint32_t i = 0; i < m.ops; i++) look(&m, m.op[i]);
  set(&m);
  entry_rebuild(e, layout_images_op, &m, false, false);
}
