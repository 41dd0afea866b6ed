/* What an entry's integer inputs index; see tables.h.
   Contract: a limit never refuses data that the program would take; what it does not see the
   kernels report while they run.
   The walk carries, for every value that is made of inputs by moving them alone, which element of
   which input stands at each position: the interpreter's own views, run on positions instead of
   numbers. */
#include "codegen/tables.h"

#include "ir/interp.h"

enum {
  COUNT = 1, /* the number of a loop's iteration, and no position */
  VARIES = 2 /* another one in each iteration */
};

typedef struct Walk {
  EvalCtx c;         /* value: positions, for what has them */
  int64_t *limit;    /* by position; INT64_MAX: none */
  unsigned char *is; /* by value: COUNT, VARIES */
} Walk;

/* The operand whose elements are indices into so many places, or -1. */
static int index_operand(const Entry *e, const Op *op, int64_t *places) {
  const Type *t = op->noperands ? value_type(e, op->operands[op->kind == OP_XENT_GRAD]) : NULL;
  switch ((int)op->kind) {
  case OP_GATHER: *places = t->dim[op->attr[AT_BATCH].i]; return 1;
  case OP_GATHER_GRAD: *places = op->attr[AT_DEPTH].i; return 1;
  case OP_DYNAMIC_UPDATE:
    *places =
        t->dim[op->attr[AT_AXIS].i] - value_type(e, op->operands[1])->dim[op->attr[AT_AXIS].i] + 1;
    return 2;
  case OP_XENT: *places = t->dim[t->rank - 1]; return 1;
  case OP_XENT_GRAD: *places = t->dim[t->rank - 1]; return 2;
  default: return -1;
  }
}

/* Every element of the result is one of operand 0's, the same number. */
static bool only_moves(const Walk *w, const Op *op) {
  const Entry *e = w->c.e;
  const Type *from, *to;
  switch ((int)op->kind) {
  case OP_RESHAPE:
  case OP_TRANSPOSE:
  case OP_BROADCAST:
  case OP_SLICE:
  case OP_REVERSE:
  case OP_COPY: return true;
  case OP_GATHER: return w->is[op->operands[1]] & COUNT; /* x[i] in a loop over i */
  case OP_CONVERT:
    from = value_type(e, op->operands[0]), to = value_type(e, op->results[0]);
    return dtype_is_int(to->dtype) && dtype_size(to->dtype) >= dtype_size(from->dtype);
  default: return false;
  }
}

static void walk(Walk *w, const Block *b);

/* Each iteration sees its slice of the stacked inputs; what it carries is of no input's making. */
static void walk_scan(Walk *w, const Op *op) {
  const Block *inner = op->blocks[0];
  ValueId count = inner->args.at[0];
  w->is[count] = COUNT | VARIES;
  w->c.value[count] =
      (Tensor){.type = value_type(w->c.e, count), .at = ARENA_NEW(w->c.scratch, Scalar)};
  for (int64_t trip = 0; trip < op->attr[AT_TRIPS].i; trip++) {
    w->c.value[count].at[0].i = trip;
    for (int k = (int)op->attr[AT_CARRIES].i; k < op->noperands; k++) {
      ValueId slice = inner->args.at[1 + k];
      const Tensor *all = &w->c.value[op->operands[k]];
      const Type *t = value_type(w->c.e, slice);
      if (all->type) w->c.value[slice] = (Tensor){.type = t, .at = all->at + trip * t->numel};
      w->is[slice] = VARIES;
    }
    walk(w, inner);
  }
}

static void walk_kernel(Walk *w, const Op *op) {
  const Block *inner = op->blocks[0];
  Tensor *value = w->c.value;
  for (int i = 0; i < op->noperands; i++) {
    value[inner->args.at[i]] = value[op->operands[i]];
    w->is[inner->args.at[i]] = w->is[op->operands[i]];
  }
  walk(w, inner);
  const Op *yield = op_at(w->c.e, inner->ops.at[inner->ops.n - 1]);
  for (int i = 0; i < op->nresults; i++) {
    value[op->results[i]] = value[yield->operands[i]];
    w->is[op->results[i]] = w->is[yield->operands[i]];
  }
}

static void walk(Walk *w, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->c.e, b->ops.at[i]);
    Tensor *value = w->c.value;
    int64_t places = 0;
    int k = index_operand(w->c.e, op, &places);
    const Tensor *ids =
        k >= 0 && !(w->is[op->operands[k]] & COUNT) ? &value[op->operands[k]] : NULL;
    for (int64_t j = 0; ids && ids->type && j < ids->type->numel; j++)
      if (places < w->limit[ids->at[j].i]) w->limit[ids->at[j].i] = places;
    if (op->kind == OP_KERNEL) walk_kernel(w, op);
    if (op->kind == OP_SCAN) walk_scan(w, op);
    if (!only_moves(w, op) || !value[op->operands[0]].type || w->is[op->operands[0]] & COUNT)
      continue;
    unsigned varies = 0;
    for (int j = 0; j < op->noperands; j++) varies |= w->is[op->operands[j]] & VARIES;
    if (!varies && value[op->results[0]].type) continue; /* it stands in a loop */
    w->is[op->results[0]] = (unsigned char)varies;
    if (op->kind == OP_CONVERT) /* it would round a position as it does a number */
      value[op->results[0]] = value[op->operands[0]];
    else
      op_info[op->kind].eval(&w->c, op);
  }
}

/* The least limit that all elements have; 0 where one has none, or the dtype has no number beyond.
 */
static int64_t common_limit(const int64_t *limit, const Type *t) {
  int64_t all = 0;
  for (int64_t i = 0; i < t->numel; i++) all = limit[i] > all ? limit[i] : all;
  return all == INT64_MAX || (t->dtype == DT_U8 && all > UINT8_MAX) ? 0 : all;
}

void input_limits(const Entry *e, int64_t *out) {
  Arena *a = arena_new();
  Interp it = {.m = e->module, .arena = a, .mode = INTERP_F64};
  Walk w = {.c = {.it = &it, .e = e, .scratch = a}};
  w.c.value = ARENA_ARRAY(a, Tensor, e->values.n + 1);
  w.is = ARENA_ARRAY(a, unsigned char, e->values.n + 1);
  int64_t n = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    if (!dtype_is_int(t->dtype)) continue;
    Tensor *x = &w.c.value[e->body->args.at[i]];
    *x = (Tensor){.type = t, .at = ARENA_ARRAY(a, Scalar, t->numel + 1)};
    for (int64_t j = 0; j < t->numel; j++) x->at[j].i = n++;
  }
  w.limit = ARENA_ARRAY(a, int64_t, n + 1);
  for (int64_t i = 0; i < n; i++) w.limit[i] = INT64_MAX;
  walk(&w, e->body);
  n = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    out[i] = 0;
    if (!dtype_is_int(t->dtype)) continue;
    out[i] = common_limit(w.limit + n, t);
    n += t->numel;
  }
  arena_free(a);
}
