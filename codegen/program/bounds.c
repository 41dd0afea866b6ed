/* What an entry's inputs index; see bounds.h.
   Contract: a limit never refuses data that the program would take. Kernels report what this
   analysis does not see, and a report is traced to an input only if its index comes from no other
   input. Method: abstract interpretation. For every value derived from one input the walk carries
   which element of the input stands at each position: the interpreter's own views, run on positions
   instead of elements. Constants are computed, since rows are taken by them: the iteration's, or,
   in a loop that runs in blocks, a table's. Only values that indices derive from are followed.
   Entries of more than MOST_ELEMENTS elements are not analysed. */
#include "codegen/program/bounds.h"

#include "ir/eval/interp.h"

enum {
  COUNT = 1,    /* the number of a loop's iteration, and no position */
  VARIES = 2,   /* another one in each iteration */
  COMPUTED = 4, /* its numbers are not the input's, but each is made of the element named */
  FIXED = 8,    /* of no data: constants, and what is made of them and of numbers of iterations */
  WANTED = 16   /* an index is made of it */
};

/* Elements of inputs and of what is made of them, in all iterations: tens of megabytes, and a tenth
   of a second. */
enum { MOST_ELEMENTS = 1 << 22 };

enum { NOWHERE = -1 }; /* an element that comes from several, or from no input */

typedef struct Walk {
  EvalCtx c;         /* value: positions, for what has them; inputs stand one behind the other.
                        The numbers themselves of what is fixed */
  int64_t *limit;    /* by position; INT64_MAX: none */
  unsigned char *is; /* by value */
  InputUses *uses;
  int64_t **rows; /* by op: of its index's elements; NULL: not met yet, or of several inputs */
  int64_t left;   /* of MOST_ELEMENTS; negative: the walk is given up */
} Walk;

/* Before so many elements are looked at: false where they are too many. */
static bool afford(Walk *w, int64_t elements) {
  w->left = w->left < elements ? -1 : w->left - elements;
  return w->left >= 0;
}

/* The operand whose elements are indices into so many places, or -1. */
static int index_operand(const Entry *e, const Op *op, int64_t *places) {
  const Type *t = op->noperands ? value_type(e, op->operands[op->kind == OP_XENT_GRAD]) : NULL;
  switch ((int)op->kind) {
  case OP_GATHER: *places = t->dim[op->attr[AT_BATCH].i]; return 1;
  case OP_GATHER_GRAD: *places = op->attr[AT_ROWS].i; return 1;
  case OP_DYNAMIC_UPDATE: {
    int axis = (int)op->attr[AT_AXIS].i;
    const Type *part = value_type(e, op->operands[1]);
    /* a part may have one element in a run: the kernel knows how many, and looks again */
    *places = t->dim[axis] - (type_extent(part, axis) ? 1 : part->dim[axis]) + 1;
    return 2;
  }
  case OP_XENT: *places = t->dim[t->rank - 1]; return 1;
  case OP_XENT_GRAD: *places = t->dim[t->rank - 1]; return 2;
  default: return -1;
  }
}

static bool is_fixed(const Walk *w, ValueId v) { return (w->is[v] & (COUNT | FIXED)) != 0; }

/* Every element of the result is one of operand 0's, the same number. */
static bool only_moves(const Walk *w, const Op *op) {
  const Entry *e = w->c.e;
  const Type *from, *to;
  switch ((int)op->kind) {
  case OP_RESHAPE:
    return !reshape_moves(value_type(e, op->operands[0]), value_type(e, op->results[0]));
  case OP_TRANSPOSE:
  case OP_BROADCAST:
  case OP_SLICE:
  case OP_REVERSE:
  case OP_COPY: return true;
  case OP_GATHER: /* x[i] in a loop over i */
    return is_fixed(w, op->operands[1]) && w->c.value[op->operands[1]].type;
  case OP_CONVERT:
    from = value_type(e, op->operands[0]), to = value_type(e, op->results[0]);
    return dtype_is_int(to->dtype) && dtype_size(to->dtype) >= dtype_size(from->dtype);
  default: return false;
  }
}

/* ---- what indices are made of ---- */

static void want(Walk *w, const Block *b) {
  const Entry *e = w->c.e;
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *op = op_at(e, b->ops.at[i]);
    int64_t places;
    int ids = index_operand(e, op, &places);
    if (ids >= 0) w->is[op->operands[ids]] |= WANTED;
    bool wanted = false;
    for (int k = 0; k < op->nresults; k++) wanted |= (w->is[op->results[k]] & WANTED) != 0;
    if (op->nblocks) {
      const Block *inner = op->blocks[0];
      const Op *yield = op_at(e, inner->ops.at[inner->ops.n - 1]);
      for (int k = 0; op->kind == OP_KERNEL && k < op->nresults; k++)
        w->is[yield->operands[k]] |= w->is[op->results[k]] & WANTED;
      want(w, inner);
      int first = op->kind == OP_SCAN; /* behind the number of the iteration */
      for (int k = 0; k < op->noperands; k++)
        w->is[op->operands[k]] |= w->is[inner->args.at[k + first]] & WANTED;
    } else if (wanted) {
      for (int k = 0; k < op->noperands; k++) w->is[op->operands[k]] |= WANTED;
    }
  }
}

/* ---- where each element comes from ---- */

/* The input at a position, and its row. */
static int input_at(const Walk *w, int64_t at, int64_t *row) {
  const Block *body = w->c.e->body;
  for (uint32_t i = 0; i < body->args.n; i++) {
    const Tensor *x = &w->c.value[body->args.at[i]];
    if (!x->type || at < x->at[0].i || at >= x->at[0].i + x->type->numel) continue;
    *row = (at - x->at[0].i) / (x->type->rank ? x->type->numel / x->type->dim[0] : 1);
    return (int)i;
  }
  return NOWHERE;
}

/* The element that a number made of these two comes from. */
static int64_t common_origin(const Walk *w, int64_t a, int64_t b) {
  int64_t row_a = 0, row_b = 0;
  if (a == b || a == NOWHERE || b == NOWHERE) return a == b ? a : NOWHERE;
  return input_at(w, a, &row_a) == input_at(w, b, &row_b) && row_a == row_b ? a : NOWHERE;
}

/* An id without a row, which the kernel reports when it runs, leaves nothing known. */
static void evaluate(Walk *w, const Op *op) {
  if (!afford(w, value_type(w->c.e, op->results[0])->numel)) return;
  op_info[op->kind].eval(&w->c, op);
  if (!w->c.it->why[0]) return;
  w->c.it->why[0] = 0;
  w->c.value[op->results[0]] = (Tensor){0};
}

/* Numbers made of such as no data is in; false where data is. */
static bool compute_fixed(Walk *w, const Op *op) {
  OpClass cls = op_info[op->kind].cls;
  bool leaf = op->kind == OP_CONST || op->kind == OP_IOTA;
  if (!leaf && cls != CLASS_VIEW && cls != CLASS_ELEMENT && op->kind != OP_GATHER) return false;
  unsigned is = FIXED;
  bool known = !dtype_is_float(value_type(w->c.e, op->results[0])->dtype);
  for (int k = 0; k < op->noperands; k++) {
    if (!is_fixed(w, op->operands[k])) return false;
    is |= w->is[op->operands[k]] & VARIES;
    known &= w->c.value[op->operands[k]].type != NULL;
  }
  w->is[op->results[0]] |= (unsigned char)is;
  if (known) evaluate(w, op);
  return true;
}

/* Numbers made element by element, each of one element of an input. */
static void compute(Walk *w, const Op *op) {
  const Type *t = value_type(w->c.e, op->results[0]);
  Tensor *out = &w->c.value[op->results[0]];
  unsigned varies = 0;
  int first = -1;
  for (int k = 0; k < op->noperands; k++) {
    const Tensor *x = &w->c.value[op->operands[k]];
    varies |= w->is[op->operands[k]] & VARIES;
    if (is_fixed(w, op->operands[k])) continue;
    if (!x->type || (x->type->numel != t->numel && x->type->numel != 1)) return;
    if (first < 0) first = k;
  }
  if (!afford(w, t->numel)) return;
  w->is[op->results[0]] |= (unsigned char)(varies | COMPUTED);
  *out = (Tensor){.type = t, .at = ARENA_ARRAY(w->c.scratch, Scalar, t->numel + 1)};
  for (int64_t i = 0; i < t->numel; i++)
    for (int k = first; k < op->noperands; k++) {
      const Tensor *x = &w->c.value[op->operands[k]];
      if (is_fixed(w, op->operands[k])) continue;
      int64_t from = x->at[x->type->numel == 1 ? 0 : i].i;
      out->at[i].i = k == first ? from : common_origin(w, out->at[i].i, from);
    }
}

static void move(Walk *w, const Op *op) {
  ValueId x = op->operands[0], y = op->results[0];
  unsigned is = w->is[x] & (COMPUTED | VARIES);
  for (int k = 0; k < op->noperands; k++) is |= w->is[op->operands[k]] & VARIES;
  w->is[y] |= (unsigned char)is;
  if (!w->c.value[x].type) return;
  if (op->kind == OP_CONVERT) /* it would round a position as it does a number */
    w->c.value[y] = (Tensor){.type = value_type(w->c.e, y), .at = w->c.value[x].at};
  else
    evaluate(w, op);
}

/* ---- what is indexed ---- */

/* In a loop the elements of an index may come from other rows in each iteration. */
static void trace(Walk *w, const Op *op, const Tensor *ids, bool exact) {
  IndexTrace *to = &w->uses->trace[op->id];
  int64_t *rows = w->rows[op->id], row = 0;
  bool again = rows != NULL;
  if (!again) {
    rows = w->rows[op->id] = ARENA_ARRAY(w->c.scratch, int64_t, ids->type->numel + 1);
    *to = (IndexTrace){.input = ids->type->numel ? input_at(w, ids->at[0].i, &row) : NOWHERE,
                       .exact = exact};
  }
  for (int64_t i = 0; i < ids->type->numel; i++) {
    if (to->input < 0 || input_at(w, ids->at[i].i, &row) != to->input) {
      to->input = NOWHERE;
      return;
    }
    rows[i] = again && rows[i] != row ? NOWHERE : row;
  }
}

/* Rows as a rule of the element: each of them `run` times, `count` of them, and again. */
static void find_rule(IndexTrace *to, const int64_t *rows, int64_t n) {
  int64_t run = 1, step = 0, count = 1;
  while (run < n && rows[run] == rows[0]) run++;
  if (run < n) step = rows[run] - rows[0];
  while (count * run < n && rows[count * run] == rows[0] + count * step) count++;
  to->first = rows[0], to->step = step, to->run = run, to->count = count;
  for (int64_t i = 0; i < n; i++)
    if (rows[i] < 0 || rows[i] != to->first + i / run % count * step) to->run = 0;
}

static void use(Walk *w, const Op *op) {
  int64_t places = 0;
  int k = index_operand(w->c.e, op, &places);
  if (k < 0 || is_fixed(w, op->operands[k])) return;
  const Tensor *ids = &w->c.value[op->operands[k]];
  bool exact = !(w->is[op->operands[k]] & COMPUTED);
  if (!ids->type || !afford(w, ids->type->numel)) return;
  trace(w, op, ids, exact);
  for (int64_t j = 0; exact && j < ids->type->numel; j++)
    if (places < w->limit[ids->at[j].i]) w->limit[ids->at[j].i] = places;
}

static void walk(Walk *w, const Block *b);

/* Each iteration sees its slice of the stacked inputs; what it carries is of no input's making. */
static void walk_scan(Walk *w, const Op *op) {
  const Block *inner = op->blocks[0];
  ValueId count = inner->args.at[0];
  w->is[count] |= COUNT | VARIES;
  w->c.value[count] =
      (Tensor){.type = value_type(w->c.e, count), .at = ARENA_NEW(w->c.scratch, Scalar)};
  for (int64_t trip = 0; trip < scan_trips(op) && afford(w, 1); trip++) {
    w->c.value[count].at[0].i = trip;
    for (int k = scan_carries(op); k < op->noperands; k++) {
      ValueId slice = inner->args.at[1 + k];
      const Tensor *all = &w->c.value[op->operands[k]];
      const Type *t = value_type(w->c.e, slice);
      if (all->type) w->c.value[slice] = (Tensor){.type = t, .at = all->at + trip * t->numel};
      w->is[slice] |= (unsigned char)(VARIES | (w->is[op->operands[k]] & (COMPUTED | FIXED)));
    }
    walk(w, inner);
  }
}

static void walk_kernel(Walk *w, const Op *op) {
  const Block *inner = op->blocks[0];
  Tensor *value = w->c.value;
  for (int i = 0; i < op->noperands; i++) {
    value[inner->args.at[i]] = value[op->operands[i]];
    w->is[inner->args.at[i]] |= w->is[op->operands[i]];
  }
  walk(w, inner);
  const Op *yield = op_at(w->c.e, inner->ops.at[inner->ops.n - 1]);
  for (int i = 0; i < op->nresults; i++) {
    value[op->results[i]] = value[yield->operands[i]];
    w->is[op->results[i]] |= w->is[yield->operands[i]];
  }
}

static void walk(Walk *w, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n && w->left >= 0; i++) {
    const Op *op = op_at(w->c.e, b->ops.at[i]);
    use(w, op);
    if (op->kind == OP_KERNEL) walk_kernel(w, op);
    if (op->kind == OP_SCAN) walk_scan(w, op);
    if (op->nblocks || op->nresults != 1 || !(w->is[op->results[0]] & WANTED)) continue;
    /* what does not change stands in a loop */
    bool known = w->c.value[op->results[0]].type || (w->is[op->results[0]] & FIXED);
    if (known && !(w->is[op->results[0]] & VARIES)) continue;
    if (compute_fixed(w, op)) continue;
    if (only_moves(w, op))
      move(w, op);
    else if (op_info[op->kind].cls == CLASS_ELEMENT)
      compute(w, op);
  }
}

/* The least limit that an element has in all rows; 0 where one has none, or the dtype has no number
   beyond. */
static int64_t common_limit(const int64_t *limit, const Type *t, int64_t rows, int64_t stride) {
  int64_t all = 0;
  for (int64_t r = 0; r < rows; r++) all = limit[r * stride] > all ? limit[r * stride] : all;
  int64_t most = t->dtype == DT_U8 ? UINT8_MAX : t->dtype == DT_I8 ? INT8_MAX : INT64_MAX - 1;
  return all > most ? 0 : all;
}

static InputLimits limits_of(Arena *a, const int64_t *limit, const Type *t) {
  InputLimits l = {0};
  int64_t rows = t->rank ? t->dim[0] : 1, per = t->numel / (rows ? rows : 1);
  bool any = false;
  for (int64_t i = 0; i < per; i++) {
    int64_t one = common_limit(limit + i, t, rows, per);
    any |= one != 0;
    if (l.n && l.at[l.n - 1].limit == one)
      l.at[l.n - 1].count++;
    else
      vec_push(a, &l, (InputLimit){1, one});
  }
  if (!any) l.n = 0;
  return l;
}

InputUses *input_uses(Arena *out, const Entry *e) {
  Arena *a = arena_new();
  Interp it = {.m = e->module, .arena = a, .mode = INTERP_F64};
  InputUses *uses = ARENA_NEW(out, InputUses);
  Walk w = {.c = {.it = &it, .e = e, .scratch = a}, .uses = uses, .left = MOST_ELEMENTS};
  w.c.value = ARENA_ARRAY(a, Tensor, e->values.n + 1);
  w.is = ARENA_ARRAY(a, unsigned char, e->values.n + 1);
  w.rows = ARENA_ARRAY(a, int64_t *, e->ops.n + 1);
  uses->limits = ARENA_ARRAY(out, InputLimits, e->body->args.n + 1);
  uses->trace = ARENA_ARRAY(out, IndexTrace, e->ops.n + 1);
  for (uint32_t i = 0; i < e->ops.n; i++) uses->trace[i].input = NOWHERE;
  want(&w, e->body);
  int64_t n = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    if (!(w.is[e->body->args.at[i]] & WANTED) || !afford(&w, t->numel)) continue;
    Tensor *x = &w.c.value[e->body->args.at[i]];
    *x = (Tensor){.type = t, .at = ARENA_ARRAY(a, Scalar, t->numel + 1)};
    for (int64_t j = 0; j < t->numel; j++) x->at[j].i = n++;
  }
  w.limit = ARENA_ARRAY(a, int64_t, n + 1);
  for (int64_t i = 0; i < n; i++) w.limit[i] = INT64_MAX;
  walk(&w, e->body);
  if (w.left < 0) { /* what is known of some iterations says nothing of the others */
    for (uint32_t i = 0; i < e->ops.n; i++) uses->trace[i].input = NOWHERE;
    arena_free(a);
    return uses;
  }
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Tensor *x = &w.c.value[e->body->args.at[i]];
    if (x->type && x->type->numel && dtype_is_int(x->type->dtype))
      uses->limits[i] = limits_of(out, w.limit + x->at[0].i, x->type);
  }
  for (uint32_t i = 0; i < e->ops.n; i++)
    if (w.rows[i] && uses->trace[i].input >= 0) {
      int64_t places;
      const Op *op = op_at(e, i);
      ValueId ids = op->operands[index_operand(e, op, &places)];
      find_rule(&uses->trace[i], w.rows[i], value_type(e, ids)->numel);
    }
  arena_free(a);
  return uses;
}
