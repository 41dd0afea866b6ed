/* The form of a kernel, from its members alone.
   Contract: pure functions of the IR; fuse asks before it builds a group, targets ask when they
   print. A reduction over the last axes is a ROWS, over all others a COLS or REDUCE; a matmul
   decides all. */
#include "passes/fuse/kernel_form.h"

const char *form_name(Form f) {
  static const char *const name[] = {"none",   "map",    "rows",      "cols",   "reduce",
                                     "matmul", "window", "attention", "update", "single"};
  return name[f];
}

int group_arg(const Group *g, ValueId v) {
  for (int i = 0; i < g->nin; i++)
    if (g->arg[i] == v) return i;
  return -1;
}

/* ---- views as maps ---- */

const Axis *axes_identity(Arena *a, const Type *t) {
  Axis *m = ARENA_ARRAY(a, Axis, t->rank + 1);
  for (int i = 0; i < t->rank; i++)
    m[i] = t->dim[i] == 1 ? (Axis){.coord = -1} : (Axis){.coord = i, .step = 1};
  return m;
}

/* Reshapes that only add and drop axes of extent 1 are maps, too. */
static bool squeeze(const Type *from, const Type *to, const Axis *map, Axis *out) {
  int k = 0;
  if (!type_same_elements(from, to)) return false;
  for (int i = 0; i < from->rank; i++) {
    out[i] = (Axis){.coord = -1};
    if (from->dim[i] == 1) continue;
    while (k < to->rank && to->dim[k] == 1) k++;
    if (k == to->rank || to->dim[k] != from->dim[i]) return false;
    out[i] = map[k++];
  }
  return true;
}

const Axis *axes_through(Arena *a, const Entry *e, const Op *op, const Axis *map) {
  if (op_info[op->kind].cls != CLASS_VIEW && op->kind != OP_STOP_GRADIENT) return NULL;
  const Type *from = value_type(e, op->operands[0]), *to = value_type(e, op->results[0]);
  Axis *out = ARENA_ARRAY(a, Axis, from->rank + 1);
  switch ((int)op->kind) {
  case OP_COPY:
  case OP_STOP_GRADIENT: return map;
  case OP_RESHAPE: return squeeze(from, to, map, out) ? out : NULL;
  case OP_BROADCAST:
    for (int i = 0; i < from->rank; i++)
      out[i] = from->dim[i] == 1 ? (Axis){.coord = -1} : map[to->rank - from->rank + i];
    return out;
  case OP_TRANSPOSE:
    for (int i = 0; i < to->rank; i++) out[op->attr[AT_PERM].ints->at[i]] = map[i];
    return out;
  case OP_SLICE:
    for (int i = 0; i < from->rank; i++) {
      int64_t start = op->attr[AT_STARTS].ints->at[i], step = op->attr[AT_STEPS].ints->at[i];
      out[i] = (Axis){map[i].coord, start + step * map[i].start, step * map[i].step};
    }
    return out;
  case OP_REVERSE:
    if (from->rank) memcpy(out, map, sizeof *out * (size_t)from->rank);
    for (int k = 0; op->attr[AT_AXES].ints && k < op->attr[AT_AXES].ints->n; k++) {
      int64_t i = op->attr[AT_AXES].ints->at[k];
      out[i] = (Axis){map[i].coord, from->dim[i] - 1 - map[i].start, -map[i].step};
    }
    return out;
  default: return NULL;
  }
}

bool op_is_widening(const Entry *e, const Op *op) {
  if (op->kind != OP_CONVERT || value_type(e, op->results[0])->dtype != DT_F32) return false;
  return dtype_is_half(value_type(e, op->operands[0])->dtype);
}

/* ---- reductions ---- */

bool op_reads_memory(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return c == CLASS_CONTRACT || c == CLASS_WINDOW;
}

bool op_is_reduction(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return c == CLASS_REDUCE || c == CLASS_ROWS;
}

/* Operand of a row op or reduction whose shape is the full one. */
int op_full_operand(const Op *op) { return op->kind == OP_XENT_GRAD ? 1 : 0; }

int axes_before(const Type *t, const Ints *axes) {
  int n = axes ? axes->n : 0, last = t->rank;
  for (int i = n - 1; i >= 0; i--) { /* axes of extent 1 cost nothing on either side */
    while (last > 0 && last - 1 != axes->at[i] && t->dim[last - 1] == 1) last--;
    if (axes->at[i] != last - 1) return -1;
    last--;
  }
  return last;
}

int op_outer_axes(const Entry *e, const Op *op) {
  const Type *t = value_type(e, op->operands[op_full_operand(op)]);
  if (op_info[op->kind].cls == CLASS_ROWS) return t->rank - 1;
  if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN)
    return op->attr[AT_AXIS].i == t->rank - 1 ? t->rank - 1 : -1;
  return axes_before(t, op->attr[AT_AXES].ints);
}

bool group_sums_images(const Group *g) {
  const Op *op = g->root;
  if (g->form != FORM_ROWS || op->kind != OP_SUM || op_accumulator(op) >= 0) return false;
  const Type *t = value_type(g->e, op->operands[0]), *sum = value_type(g->e, op->results[0]);
  const Ints *axes = op->attr[AT_AXES].ints;
  if (t->rank != 4 || !axes || axes->n != 2 || axes->at[0] != 2 || axes->at[1] != 3) return false;
  if (!dtype_is_float(t->dtype) || dtype_is_half(t->dtype)) return false;
  if (type_extent(t, 2) || type_extent(t, 3) || t->numel == sum->numel) return false;
  if (group_arg(g, op->operands[0]) < 0) return false;
  for (int i = 0; i < g->nops; i++) {
    if (g->ops[i] != op && op_is_reduction(g->ops[i])) return false;
    if (value_type(g->e, g->ops[i]->results[0])->numel > sum->numel) return false;
  }
  return true;
}

static bool is_rows_of_ranks(const Entry *e, const Op *op) {
  const Op *def = op->kind == OP_ALL_REDUCE ? value_def(e, op->operands[0]) : NULL;
  return def && def->kind == OP_EXTENT && op->noperands == 1;
}

/* ops: how many may still be looked at; ranks: also of the rows that all ranks have. */
static bool is_count(const Entry *e, const Op *op, int *ops, bool ranks) {
  const OpInfo *info = &op_info[op->kind];
  if (op->kind == OP_CONST || op->kind == OP_EXTENT) return true;
  if (ranks && is_rows_of_ranks(e, op)) return true;
  if ((*ops)-- <= 0 || info->cls != CLASS_ELEMENT || info->flags & OPF_POSITION) return false;
  for (int i = 0; i < op->noperands; i++) {
    const Op *def = value_def(e, op->operands[i]);
    if (!def || !is_count(e, def, ops, ranks)) return false;
  }
  return value_type(e, op->results[0])->rank == 0;
}

enum { COUNT_OPS = 24 }; /* a mean's scale has ten */

bool op_is_count(const Entry *e, const Op *op) {
  int ops = COUNT_OPS;
  return op->noperands && is_count(e, op, &ops, false);
}

bool op_is_count_of_ranks(const Entry *e, const Op *op) {
  int ops = COUNT_OPS;
  return op->noperands && is_count(e, op, &ops, true);
}

static Form form_of(const Group *g) {
  const Entry *e = g->e;
  const Op *op = g->op;
  switch ((int)op->kind) {
  case OP_LOAD:
  case OP_RETURN:
  case OP_YIELD:
  case OP_SCAN:
  case OP_STOP_GRADIENT:
  case OP_GRAD: return FORM_NONE;
  case OP_STORE:
  case OP_RESHAPE:
  case OP_COPY:
  case OP_CONCAT:
  case OP_PAD:
  case OP_DYNAMIC_UPDATE:
  case OP_CUMSUM:
  case OP_ARGSORT:
  case OP_QUANTIZE_SCALE:
  case OP_QUANTIZE:
  case OP_GATHER:
  case OP_GATHER_GRAD:
  case OP_ALL_REDUCE:
  case OP_REDUCE_SCATTER:
  case OP_ALL_GATHER:
  case OP_COLLECTIVE_BROADCAST:
  case OP_FIRST_ROW:
  case OP_RANK:
  case OP_NMS:
  case OP_ONE_HOT: return FORM_SINGLE;
  case OP_RANDOM_UNIFORM:
  case OP_RANDOM_NORMAL: return FORM_SINGLE;
  default: break;
  }
  if (!g->root) return FORM_MAP;
  if (op_info[g->root->kind].cls == CLASS_CONTRACT) return FORM_MATMUL;
  if (op_reads_memory(g->root)) return FORM_WINDOW;
  if (op_info[g->root->kind].cls == CLASS_ATTENTION) return FORM_ATTENTION;
  if (g->root->kind == OP_DYNAMIC_UPDATE) return FORM_UPDATE;
  int outer = op_outer_axes(e, g->root);
  if (outer >= 0) return FORM_ROWS;
  const Ints *axes = g->root->attr[AT_AXES].ints;
  bool arg = g->root->kind == OP_ARGMAX || g->root->kind == OP_ARGMIN;
  bool leading = !arg && axes->at[axes->n - 1] == axes->n - 1;
  return leading ? FORM_COLS : FORM_REDUCE;
}

/* The shape that members behind a reshape of the product have; NULL: all have the product's own. */
static const Type *reshaped(const Group *g) {
  const Type *own = value_type(g->e, g->root->results[0]);
  for (int i = 0; i < g->nops; i++) {
    const Op *op = g->ops[i];
    if (op_info[op->kind].cls != CLASS_ELEMENT || op_is_widening(g->e, op)) continue;
    if (op_is_count(g->e, op)) continue;
    const Type *t = value_type(g->e, op->results[0]);
    if (!type_same_dims(t, own)) return t;
  }
  return NULL;
}

/* The shape of what is written, before the reshapes in front of it. */
static const Type *update_domain(const Group *g) {
  ValueId v = g->root->operands[1];
  const Op *def = value_def(g->e, v);
  while (def && def->kind == OP_RESHAPE && group_arg(g, v) < 0) {
    v = def->operands[0];
    def = group_arg(g, v) < 0 ? value_def(g->e, v) : NULL;
  }
  return value_type(g->e, v);
}

Group *group_of(Arena *a, const Entry *e, const Op *op) {
  Group *g = ARENA_NEW(a, Group);
  g->e = e;
  g->op = op;
  g->nin = op->noperands;
  g->nout = op->nresults;
  g->in = op->operands;
  g->out = op->results;
  if (op->kind == OP_KERNEL) {
    const Block *b = op->blocks[0];
    g->nops = (int)b->ops.n - 1;
    const Op **ops = ARENA_ARRAY(a, const Op *, b->ops.n);
    for (int i = 0; i < g->nops; i++) ops[i] = op_at(e, b->ops.at[i]);
    g->ops = ops;
    g->arg = b->args.at;
    g->yield = op_at(e, b->ops.at[b->ops.n - 1])->operands;
  } else {
    const Op **ops = ARENA_ARRAY(a, const Op *, 1);
    ops[0] = op;
    g->ops = ops;
    g->nops = 1;
    g->arg = op->operands;
    g->yield = op->results;
  }
  for (int i = 0; i < g->nops; i++) {
    const Op *o = g->ops[i];
    bool decides = op_reads_memory(o) || op_info[o->kind].cls == CLASS_ATTENTION ||
                   o->kind == OP_DYNAMIC_UPDATE;
    if (decides || (op_is_reduction(o) && !g->root)) g->root = o;
  }
  g->form = form_of(g);
  if (g->form == FORM_NONE) {
    g->nops = 0;
    return g;
  }
  if (g->form == FORM_SINGLE) g->root = op;
  if (g->root && (g->form == FORM_MATMUL || g->form == FORM_WINDOW))
    g->domain = value_type(e, g->root->results[0]);
  else if (g->form == FORM_UPDATE)
    g->domain = update_domain(g);
  else if (g->root && g->form != FORM_SINGLE && g->form != FORM_ATTENTION)
    g->domain = value_type(e, g->root->operands[op_full_operand(g->root)]);
  else if (g->nout)
    g->domain = value_type(e, g->yield[0]);
  else
    g->domain = value_type(e, g->arg[0]);
  const Type *other = g->form == FORM_MATMUL ? reshaped(g) : NULL;
  if (other) {
    g->matrix = g->domain;
    g->domain = other;
  }
  return g;
}
