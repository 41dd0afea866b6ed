/* Placement rules: an op on operands that are replicated, sharded along the batch, slices or
   partial sums (the placements of DTensor and GSPMD: Xu et al., 2021), op by op. Contract: pure
   questions; every answer is right, since any placement can be made of any other (build.c), and
   costs what it communicates. An op that no rule knows takes and gives replicated values. */
#include "ir/op/op.h"
#include "passes/distribute/distribute_impl.h"

typedef struct Rule {
  const Distribution *d;
  const Op *op;
  const Placement *have;
  Placement *want, *get;
} Rule;

static const Placement replicated = {.kind = REPLICATED}, partial = {.kind = PARTIAL},
                       sliced = {.kind = SLICED};

/* The same rows along another axis. */
static Placement along(Placement p, int axis) { return (Placement){SHARDED, axis, p.outer, false}; }

static const Type *type_in(const Rule *r, int i) { return value_type(r->d->e, r->op->operands[i]); }
static const Type *type_out(const Rule *r, int i) { return value_type(r->d->e, r->op->results[i]); }

static bool is(const Rule *r, int i, PlacementKind kind) { return r->have[i].kind == kind; }

/* The first operand at such a placement; -1: none. */
static int first(const Rule *r, PlacementKind kind) {
  for (int i = 0; i < r->op->noperands; i++)
    if (is(r, i, kind)) return i;
  return -1;
}

static int count(const Rule *r, PlacementKind kind) {
  int n = 0;
  for (int i = 0; i < r->op->noperands; i++) n += is(r, i, kind);
  return n;
}

/* All operands, and all results. */
static void all(const Rule *r, Placement want, Placement get) {
  for (int i = 0; i < r->op->noperands; i++) r->want[i] = want;
  for (int i = 0; i < r->op->nresults; i++) r->get[i] = get;
}

/* Of one operand, which keeps its placement. */
static void keep(const Rule *r, Placement get) {
  r->want[0] = r->have[0];
  r->get[0] = get;
}

static bool lists(const Ints *axes, int axis) {
  for (int i = 0; i < ints_n(axes); i++)
    if (axes->at[i] == axis) return true;
  return false;
}

/* The batch is the outermost axis: positions of a rank are one run. */
static bool outermost(const Type *t, Placement p) {
  for (int i = 0; i < p.axis; i++)
    if (t->dim[i] != 1) return false;
  return p.outer == 1;
}

/* A sum over the ranks is no cheaper in front of the op than behind it. */
static bool stays_small(const Rule *r) {
  return type_out(r, 0)->numel <= type_in(r, first(r, PARTIAL))->numel;
}

/* ---- element-wise ---- */

/* f(x + y) = f(x) + f(y) in those operands that are partial. */
static bool is_linear(const Rule *r) {
  int n = count(r, PARTIAL);
  switch ((int)r->op->kind) {
  case OP_ADD:
  case OP_SUB: return n == 2;
  case OP_NEG: return n == 1;
  case OP_MUL: return n == 1;
  case OP_DIV: return n == 1 && is(r, 0, PARTIAL);
  case OP_CONVERT: { /* without rounding */
    Dtype from = type_in(r, 0)->dtype, to = type_out(r, 0)->dtype;
    return n == 1 && dtype_is_float(from) && dtype_is_float(to) &&
           dtype_size(from) < dtype_size(to);
  }
  default: return false;
  }
}

static void element(const Rule *r) {
  int s = placement_shared(r->d, r->op, r->have);
  bool position = op_info[r->op->kind].flags & OPF_POSITION;
  if (s == NOT_SHARED) return;
  if (first(r, SLICED) >= 0) {
    if (s < 0 && !position) all(r, sliced, sliced);
  } else if (s >= 0) {
    if (!position || outermost(type_in(r, s), r->have[s])) all(r, r->have[s], r->have[s]);
  } else if (is_linear(r)) {
    for (int i = 0; i < r->op->noperands; i++) r->want[i] = r->have[i];
    r->get[0] = partial;
  } else if (!position && r->d->update && r->d->update[r->op->results[0]]) {
    all(r, sliced, sliced);
  }
}

/* ---- views ---- */

static void view_of_shard(const Rule *r) {
  const Op *op = r->op;
  Placement p = r->have[0];
  switch ((int)op->kind) {
  case OP_COPY: keep(r, p); return;
  case OP_RESHAPE: {
    Placement get;
    if (placement_reshaped(r->d, type_in(r, 0), type_out(r, 0), p, &get)) keep(r, get);
    return;
  }
  case OP_TRANSPOSE:
    for (int i = 0; i < op->attr[AT_PERM].ints->n; i++)
      if (op->attr[AT_PERM].ints->at[i] == p.axis) keep(r, along(p, i));
    return;
  case OP_BROADCAST: keep(r, along(p, p.axis + type_out(r, 0)->rank - type_in(r, 0)->rank)); return;
  case OP_SLICE: /* all of the batch */
    if (type_in(r, 0)->dim[p.axis] == type_out(r, 0)->dim[p.axis]) keep(r, p);
    return;
  case OP_REVERSE:
    if (!lists(op->attr[AT_AXES].ints, p.axis)) keep(r, p);
    return;
  case OP_PAD:
    if (type_in(r, 0)->dim[p.axis] == type_out(r, 0)->dim[p.axis]) keep(r, p);
    return;
  default: return;
  }
}

static void concat(const Rule *r) {
  int s = first(r, SHARDED);
  if (s < 0 && count(r, PARTIAL) == r->op->noperands) all(r, partial, partial);
  if (s < 0 || r->have[s].axis == r->op->attr[AT_AXIS].i) return;
  for (int i = 0; i < r->op->noperands; i++)
    if (is(r, i, SHARDED) && !placement_same(r->have[i], r->have[s])) return;
  all(r, r->have[s], r->have[s]);
}

static void view(const Rule *r) {
  if (r->op->kind == OP_CONCAT)
    concat(r);
  else if (is(r, 0, SHARDED))
    view_of_shard(r);
  else if (is(r, 0, SLICED) && (r->op->kind == OP_RESHAPE || r->op->kind == OP_COPY))
    all(r, sliced, sliced);
  else if (is(r, 0, PARTIAL) && stays_small(r))
    all(r, partial, partial);
}

/* ---- reductions, products ---- */

static void reduce(const Rule *r) {
  const Op *op = r->op;
  bool arg = op->kind == OP_ARGMAX || op->kind == OP_ARGMIN;
  if (op->noperands != 1) return;
  if (is(r, 0, PARTIAL) && op->kind == OP_SUM) keep(r, partial);
  if (is(r, 0, SLICED) && op->kind == OP_SUM && type_out(r, 0)->rank == 0) keep(r, partial);
  if (!is(r, 0, SHARDED)) return;
  Placement p = r->have[0];
  const Ints *axes = arg ? NULL : op->attr[AT_AXES].ints;
  bool over = arg ? op->attr[AT_AXIS].i == p.axis : lists(axes, p.axis);
  if (over && op->kind != OP_SUM) return;
  int before = arg && op->attr[AT_AXIS].i < p.axis;
  for (int i = 0; i < ints_n(axes); i++) before += axes->at[i] < p.axis;
  keep(r, over ? partial : along(p, p.axis - before));
}

/* An axis of a product: of the operand, and of the result; -1: it is summed over. */
static int result_axis(int rank, bool t, int operand, int axis) {
  int rows = operand == 0 ? (t ? rank - 1 : rank - 2) : (t ? rank - 2 : rank - 1);
  if (axis < rank - 2) return axis;
  return axis != rows ? -1 : operand == 0 ? rank - 2 : rank - 1;
}

/* Of a quantized matrix, which is whole: rows of x, with the scales that x may have. */
static void quantized_product(const Rule *r) {
  const Placement p = r->have[0];
  const bool scaled = r->op->kind == OP_SCALED_MATMUL;
  if (!is(r, 0, SHARDED) || p.axis != 0) return;
  if (scaled && (!is(r, 2, SHARDED) || !placement_same(r->have[2], p))) return;
  r->want[0] = p;
  if (scaled) r->want[2] = p;
  r->get[0] = p;
}

static void product(const Rule *r) {
  if (r->op->noperands > 2) {
    quantized_product(r);
    return;
  }
  int rank = type_in(r, 0)->rank, s = first(r, SHARDED);
  bool t[2] = {r->op->attr[AT_TA].i != 0, r->op->attr[AT_TB].i != 0};
  if (s < 0) {
    if (count(r, PARTIAL) != 1 || !stays_small(r)) return;
    for (int i = 0; i < 2; i++) r->want[i] = r->have[i];
    r->get[0] = partial;
    return;
  }
  Placement p = r->have[s], other = replicated;
  int to = result_axis(rank, t[s], s, p.axis);
  if (p.axis < rank - 2)
    other = p;     /* a product of each row of the batch */
  else if (to < 0) /* the other operand's axis that is summed over */
    other = along(p, (s == 0 ? t[1] : !t[0]) ? rank - 1 : rank - 2);
  if (count(r, SHARDED) == 2 && !placement_same(r->have[1], other)) return;
  r->want[s] = p;
  r->want[1 - s] = other;
  r->get[0] = to < 0 ? partial : along(p, to);
}

/* ---- windows, attention, rows ---- */

static void window(const Rule *r) {
  int s = first(r, SHARDED);
  OpKind k = r->op->kind;
  if (s < 0 || r->have[s].axis != 0 || r->op->noperands > 2) return;
  bool filters = k == OP_CONV || k == OP_CONV_INPUT_GRAD;
  if (filters && s == 1) return;
  Placement p = r->have[s];
  for (int i = 0; i < r->op->noperands; i++) {
    if (is(r, i, SHARDED) && !placement_same(r->have[i], p)) return;
  }
  all(r, p, k == OP_CONV_FILTER_GRAD ? partial : p);
  if (filters) r->want[1] = replicated;
}

/* An axis in front of heads, rows and columns. A mask may be the same for all rows. */
static void attention(const Rule *r) {
  int s = first(r, SHARDED);
  if (s < 0) return;
  Placement p = r->have[s];
  const Type *q = type_in(r, r->op->kind == OP_ATTENTION_GRAD);
  if (p.axis >= q->rank - 3) return;
  for (int i = 0; i < r->op->noperands; i++)
    if (is(r, i, SHARDED) && !placement_same(r->have[i], p)) return;
  all(r, p, p);
  int last = r->op->noperands - 1;
  const Type *mask = type_in(r, last);
  if (mask->dtype == DT_BOOL && (mask->rank != q->rank || mask->dim[p.axis] != q->dim[p.axis]))
    r->want[last] = replicated;
}

/* All operands have the axes in front of the last one. */
static void rows(const Rule *r) {
  int s = first(r, SHARDED);
  if (s < 0) return;
  Placement p = r->have[s];
  int rank = 0;
  for (int i = 0; i < r->op->noperands; i++)
    if (type_in(r, i)->rank > rank) rank = type_in(r, i)->rank;
  if (p.axis >= rank - 1) return;
  for (int i = 0; i < r->op->noperands; i++)
    if (is(r, i, SHARDED) && !placement_same(r->have[i], p)) return;
  all(r, p, p);
}

/* ---- indices, order ---- */

/* Of each row of the table a rank has a part. */
static bool parts_of_rows(const Rule *r, int first_axis, int to) {
  Placement p = r->have[0];
  if (!is(r, 0, SHARDED) || is(r, 1, SHARDED) || p.axis < first_axis) return false;
  keep(r, along(p, to + p.axis - first_axis));
  return true;
}

static void gather(const Rule *r) {
  int batch = (int)r->op->attr[AT_BATCH].i;
  if (parts_of_rows(r, batch + 1, type_in(r, 1)->rank)) return;
  if (!is(r, 1, SHARDED) && !(batch && is(r, 0, SHARDED))) return;
  Placement p = is(r, 1, SHARDED) ? r->have[1] : r->have[0];
  bool tables = p.axis < batch; /* each row has a table of its own */
  if (!is(r, 1, SHARDED) && !tables) return;
  if (is(r, 0, SHARDED) && (!tables || !placement_same(r->have[0], p))) return;
  r->want[0] = tables ? p : replicated;
  r->want[1] = p;
  r->get[0] = p;
}

static void gather_grad(const Rule *r) {
  int s = first(r, SHARDED), batch = (int)r->op->attr[AT_BATCH].i;
  if (parts_of_rows(r, type_in(r, 1)->rank, batch + 1)) return;
  if (s < 0 || r->have[s].axis >= type_in(r, 1)->rank) return;
  if (count(r, SHARDED) == 2 && !placement_same(r->have[0], r->have[1])) return;
  Placement p = r->have[s];
  all(r, p, p.axis < batch ? p : partial);
}

/* Ops of their first `n` operands along one axis, with which rows of another one have nothing to
   do. */
static void beside_axis(const Rule *r, int n, int axis) {
  int s = first(r, SHARDED);
  if (s < 0 || r->have[s].axis == axis) return;
  const Placement p = r->have[s];
  for (int i = 0; i < n; i++)
    if (is(r, i, SHARDED) && !placement_same(r->have[i], p)) return;
  for (int i = 0; i < n; i++) r->want[i] = p;
  r->get[0] = p;
}

static void order(const Rule *r) {
  int axis = r->op->kind == OP_CUMSUM ? (int)r->op->attr[AT_AXIS].i : type_in(r, 0)->rank - 1;
  if (is(r, 0, SHARDED) && r->have[0].axis != axis) keep(r, r->have[0]);
}

static void rule_of_class(const Rule *r) {
  const Distribution *d = r->d;
  const Op *op = r->op;
  all(r, replicated, replicated);
  if (op_info[op->kind].cls == CLASS_GLOBAL && d->sliced && d->sliced[op->attr[AT_GLOBAL].i])
    all(r, sliced, sliced);
  if (!op->noperands || !op->nresults) return;
  switch ((int)op_info[op->kind].cls) {
  case CLASS_ELEMENT: element(r); return;
  case CLASS_VIEW: view(r); return;
  case CLASS_REDUCE: reduce(r); return;
  case CLASS_CONTRACT: product(r); return;
  case CLASS_WINDOW: window(r); return;
  case CLASS_ATTENTION: attention(r); return;
  case CLASS_ROWS: rows(r); return;
  case CLASS_ORDER: order(r); return;
  default: break;
  }
  if (op->kind == OP_GATHER) gather(r);
  if (op->kind == OP_GATHER_GRAD && op_accumulator(op) < 0) gather_grad(r);
  if (op->kind == OP_DYNAMIC_UPDATE) beside_axis(r, 2, (int)op->attr[AT_AXIS].i);
  if (op->kind == OP_QUANTIZE_SCALE || op->kind == OP_QUANTIZE)
    beside_axis(r, op->noperands, (int)op->attr[AT_AXIS].i);
  if (op->kind == OP_ONE_HOT && is(r, 0, SHARDED)) all(r, r->have[0], r->have[0]);
}

/* A sum of floats that each rank has a part of depends on how many there are: all of them make it
   whole, of gathered operands. */
static void keep_order(const Rule *r) {
  for (int i = 0; i < r->op->nresults; i++)
    if (r->get[i].kind == PARTIAL && dtype_is_float(type_out(r, i)->dtype)) {
      all(r, replicated, replicated);
      return;
    }
}

/* ---- each rank's own ---- */

static Placement to_local(Placement have) {
  if (have.kind != SHARDED) have.kind = REPLICATED;
  have.local = true;
  return have;
}

/* A value that each rank has another of becomes its summand of their mean. */
static Placement from_local(Placement have) {
  if (have.local && have.kind == REPLICATED) have.kind = PARTIAL;
  have.local = false;
  return have;
}

static bool any_local(const Op *op, const Placement *have) {
  for (int i = 0; i < op->noperands; i++)
    if (have[i].local) return true;
  return false;
}

/* What the op would make of operands that are the same on all ranks it makes of the rank's own. */
static void local_rule(const Distribution *d, const Op *op, const Placement *have, Placement *want,
                       Placement *get) {
  Placement *bare = ARENA_ARRAY(d->a, Placement, op->noperands + 1);
  for (int i = 0; i < op->noperands; i++) {
    bare[i] = have[i].kind == SHARDED ? have[i] : replicated;
    bare[i].local = false;
  }
  Rule r = {d, op, bare, want, get};
  rule_of_class(&r);
  for (int i = 0; i < op->noperands; i++) want[i].local = have[i].local || have[i].kind != SHARDED;
  for (int i = 0; i < op->nresults; i++) /* a count is of all rows */
    get[i].local = get[i].kind != PARTIAL || dtype_is_float(type_out(&r, i)->dtype);
}

void placement_rule(const Distribution *d, const Op *op, const Placement *have, Placement *want,
                    Placement *get) {
  Rule r = {d, op, have, want, get};
  if (op->kind == OP_TO_LOCAL) {
    get[0] = to_local(have[0]);
    want[0] = have[0].kind == SHARDED ? have[0] : get[0];
  } else if (op->kind == OP_FROM_LOCAL) {
    want[0] = have[0];
    get[0] = from_local(have[0]);
  } else if (any_local(op, have)) {
    local_rule(d, op, have, want, get);
  } else {
    rule_of_class(&r);
    if (d->exact) keep_order(&r);
  }
}
