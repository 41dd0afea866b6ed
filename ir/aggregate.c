/* How the outputs of an entry that runs batch after batch make those of all rows: the sum of a
   batch's sums, the largest of its maxima, a mean weighted by rows. Contract: reads an entry as it
   is elaborated, before any pass; an output is called an aggregate only if it is one, whatever the
   rows are. Algorithm: one walk in the order of the ops gives each value a state: the same in all
   batches, one value or more per row along an axis, an aggregate of such values, or something else,
   as a norm over the batch or a quotient of two sums is. */
#include "ir/aggregate_impl.h"

#include <math.h>

const char *const aggregate_name[AGGREGATES] = {
    [AGGREGATE_NONE] = "each", [AGGREGATE_MEAN] = "mean", [AGGREGATE_SUM] = "sum",
    [AGGREGATE_MAX] = "max",   [AGGREGATE_MIN] = "min",   [AGGREGATE_EXP_MEAN] = "exp-mean",
    [AGGREGATE_RMS] = "rms"};

static bool is_extreme(State s) { return is(s, AGGREGATE_MAX) || is(s, AGGREGATE_MIN); }

static State turned(State s) { /* of the negative */
  if (s.how == COUNT) return whole(AGGREGATE_SUM);
  if (is_extreme(s)) return whole(is(s, AGGREGATE_MAX) ? AGGREGATE_MIN : AGGREGATE_MAX);
  return is_sum(s) || is(s, AGGREGATE_MEAN) ? s : other;
}

/* Every element is this number. */
static bool constant(const Entry *e, ValueId v, double *number) {
  const Op *op = value_def(e, v);
  if (!op) return false;
  if (op->kind == OP_BROADCAST || op->kind == OP_CONVERT || op->kind == OP_RESHAPE)
    return constant(e, op->operands[0], number);
  if (op->kind != OP_CONST) return false;
  bool real = dtype_is_float(value_type(e, v)->dtype);
  *number = real ? op->attr[AT_VALUE].f : (double)op->attr[AT_VALUE].i;
  return true;
}

/* A sum over a multiple of the rows of a batch is a mean, or the multiple of one. */
static bool counts_rows(const Walk *w, double k) {
  double n = k / (double)w->rows, near = rint(n);
  return !w->extent && near >= 1 && fabs(n - near) <= 1e-6 * near;
}

/* s times or over a value that is the same in all batches. */
static State scaled(const Walk *w, State s, ValueId by, bool over) {
  double k;
  bool known = constant(w->e, by, &k);
  if (s.how == COUNT) return over ? whole(AGGREGATE_SUM) : s;
  if (is(s, AGGREGATE_MEAN)) return s;
  if (is_sum(s)) return known && counts_rows(w, over ? k : 1 / k) ? whole(AGGREGATE_MEAN) : s;
  if (!known || k == 0) return other;
  return k > 0 ? s : turned(s);
}

static State sum_of(State x, State y) {
  if (is_sum(x) && is_sum(y)) return whole(AGGREGATE_SUM);
  if (y.how == SAME) return is(x, AGGREGATE_MEAN) || is_extreme(x) ? x : other;
  if (x.how == SAME) return sum_of(y, x);
  return is(x, AGGREGATE_MEAN) && is(y, AGGREGATE_MEAN) ? x : other;
}

/* A power of a number above 1, or the exponential. */
static State power_of(State s) {
  return is(s, AGGREGATE_MEAN) ? whole(AGGREGATE_EXP_MEAN) : is_extreme(s) ? s : other;
}

static State converted(const Walk *w, const Op *op, State s) {
  Dtype from = value_type(w->e, op->operands[0])->dtype,
        to = value_type(w->e, op->results[0])->dtype;
  bool rounds = dtype_is_float(from) && !dtype_is_float(to);
  return to == DT_BOOL || (rounds && !is_extreme(s)) ? other : s;
}

/* One of two values in all batches, by a condition that is the same in all. */
static State chosen(const Walk *w, const Op *op) {
  State x = w->of[op->operands[1]], y = w->of[op->operands[2]];
  int fixed = x.how == SAME ? 1 : 2; /* an operand: in the place of a sum, zero stays zero */
  double k;
  if (w->of[op->operands[0]].how != SAME) return other;
  if (x.how == y.how && x.aggregate == y.aggregate) return x;
  if (x.how != SAME && y.how != SAME) return other;
  State of = fixed == 1 ? y : x;
  if (is(of, AGGREGATE_MEAN) || is_extreme(of)) return of;
  return is_sum(of) && constant(w->e, op->operands[fixed], &k) && k == 0 ? whole(AGGREGATE_SUM)
                                                                         : other;
}

/* An element-wise op of which no operand is by rows, and one is an aggregate. */
static State of_aggregates(const Walk *w, const Op *op) {
  State x = w->of[op->operands[0]], y = op->noperands > 1 ? w->of[op->operands[1]] : same;
  double base;
  switch ((int)op->kind) {
  case OP_NEG: return turned(x);
  case OP_CONVERT: return converted(w, op, x);
  case OP_ADD: return sum_of(x, y);
  case OP_SUB: return y.how == SAME ? sum_of(x, y) : sum_of(x, turned(y));
  case OP_MUL:
    return x.how == SAME   ? scaled(w, y, op->operands[0], false)
           : y.how == SAME ? scaled(w, x, op->operands[1], false)
                           : other;
  case OP_DIV:
    if (y.how == COUNT && is_sum(x)) return whole(AGGREGATE_MEAN);
    return y.how == SAME ? scaled(w, x, op->operands[1], true) : other;
  case OP_MAX:
  case OP_MIN: {
    Aggregate a = op->kind == OP_MAX ? AGGREGATE_MAX : AGGREGATE_MIN;
    bool fits = (x.how == SAME || is(x, a)) && (y.how == SAME || is(y, a));
    return fits ? whole(a) : other;
  }
  case OP_WHERE: return chosen(w, op);
  case OP_EXP: return power_of(x);
  case OP_POW:
    return x.how == SAME && constant(w->e, op->operands[0], &base) && base > 1 ? power_of(y)
                                                                               : other;
  case OP_SQRT: return is(x, AGGREGATE_MEAN) ? whole(AGGREGATE_RMS) : is_extreme(x) ? x : other;
  case OP_EXPM1:
  case OP_LOG:
  case OP_LOG1P:
  case OP_LOG2:
  case OP_TANH:
  case OP_SIGMOID:
  case OP_ERF:
  case OP_RELU:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND: return is_extreme(x) ? x : other; /* they never fall */
  default: return other;
  }
}

/* ---- all ops ---- */

/* Of an aggregate or a count, when no element is by rows. */
static State moved_or_reduced(const Walk *w, const Op *op) {
  State s = w->of[op->operands[0]];
  OpClass cls = op_info[op->kind].cls;
  bool alone = op->noperands == 1;
  if (cls == CLASS_ELEMENT) return of_aggregates(w, op);
  if (cls == CLASS_CONTRACT) return aggregate_of_product(w, op);
  if (alone && ((cls == CLASS_VIEW && op->kind != OP_PAD) || op->kind == OP_STOP_GRADIENT))
    return s;
  if (!alone || cls != CLASS_REDUCE) return other;
  if (op->kind == OP_SUM) return is_sum(s) || is(s, AGGREGATE_MEAN) ? s : other;
  return is(s, aggregate_of_reduction(op->kind)) ? s : other;
}

static void walk(Walk *w, const Block *b);

static State joined(State x, State y) {
  if (x.how == y.how && same_rows(x, y) && x.aggregate == y.aggregate) return x;
  if (x.how == SAME && (y.how == BY_ROW || is(y, AGGREGATE_MEAN))) return y;
  if (y.how == SAME && (x.how == BY_ROW || is(x, AGGREGATE_MEAN))) return x;
  return other;
}

/* A slice of a stacked value, or a stack of such slices. */
static State sliced(State s, int by) {
  if (s.how != BY_ROW) return s;
  return s.axis + by < 0 ? other : moved_to(s, s.axis + by);
}

/* The carries are joined with what an iteration makes of them until they stay. */
static void loop(Walk *w, const Op *op) {
  const Block *b = op->blocks[0];
  const Op *yield = op_at(w->e, b->ops.at[b->ops.n - 1]);
  int carries = scan_carries(op);
  w->of[b->args.at[0]] = same;
  for (int i = 0; i < op->noperands; i++)
    w->of[b->args.at[i + 1]] = sliced(w->of[op->operands[i]], i < carries ? 0 : -1);
  for (bool again = true; again;) {
    again = false;
    walk(w, b);
    for (int i = 0; i < carries; i++) {
      State *s = &w->of[b->args.at[i + 1]], now = joined(*s, w->of[yield->operands[i]]);
      again |= now.how != s->how || !same_rows(now, *s) || now.aggregate != s->aggregate;
      *s = now;
    }
  }
  for (int i = 0; i < op->nresults; i++)
    w->of[op->results[i]] =
        i < carries ? w->of[b->args.at[i + 1]] : sliced(w->of[yield->operands[i]], 1);
}

/* A global that the entry assigns is another in each batch. */
static void find_assigned(Walk *w, Arena *a) {
  const Entry *e = w->e;
  w->assigned = ARENA_ARRAY(a, bool, e->module->globals.n + 1);
  for (uint32_t i = 0; i < e->ops.n; i++)
    if (e->ops.at[i]->kind == OP_STORE) w->assigned[e->ops.at[i]->attr[AT_GLOBAL].i] = true;
}

static int batch_axes(const Walk *w, ValueId v) {
  const Type *t = value_type(w->e, v);
  int n = 0;
  for (int i = 0; w->extent && i < t->rank; i++) n += aggregate_has_batch(w, type_extent(t, i));
  return n;
}

/* A reduction, or a product, along the batch's extent: what it makes of rows that are all the same,
   or positions, depends on how many there are. */
static bool depends_on_count(const Walk *w, const Op *op) {
  OpClass cls = op_info[op->kind].cls;
  int of_result = op->nresults ? batch_axes(w, op->results[0]) : 0;
  bool found = false;
  for (int i = 0; i < op->noperands; i++) found |= batch_axes(w, op->operands[i]) > of_result;
  return found && (cls == CLASS_REDUCE || cls == CLASS_CONTRACT || op->kind == OP_VARIANCE);
}

static State state_of(const Walk *w, const Op *op) {
  int how[OTHER + 1] = {0};
  for (int i = 0; i < op->noperands; i++) how[w->of[op->operands[i]].how]++;
  if (op->kind == OP_LOAD) return w->assigned[op->attr[AT_GLOBAL].i] ? other : same;
  if (op->kind == OP_EXTENT && w->extent && op->attr[AT_NAME].str == w->extent->name)
    return (State){.how = COUNT};
  if (how[OTHER] || op->nblocks) return other;
  if (how[BY_ROW]) return aggregate_of_rows(w, op);
  if (depends_on_count(w, op)) return other;
  if (how[SAME] == op->noperands) return op->kind == OP_GRAD ? other : same;
  return moved_or_reduced(w, op);
}

static void walk(Walk *w, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    if (op->kind == OP_SCAN) {
      loop(w, op);
      continue;
    }
    State s = state_of(w, op);
    for (int k = 0; k < op->nresults; k++) w->of[op->results[k]] = s;
  }
}

static void find_batch(Walk *w) {
  w->extent = entry_batch(w->e);
  for (uint32_t i = w->e->body->args.n; i-- > 0;) {
    const Type *t = value_type(w->e, w->e->body->args.at[i]);
    if (t->rank) w->rows = t->dim[0];
  }
}

static Aggregate default_of(const Type *t) {
  return t->rank == 0 && dtype_is_float(t->dtype) ? AGGREGATE_MEAN : AGGREGATE_NONE;
}

static Aggregate of_output(State s, const Type *t) {
  if (s.how == SAME) return default_of(t);
  if (s.how == COUNT) return AGGREGATE_SUM;
  return s.how == WHOLE ? s.aggregate : AGGREGATE_NONE;
}

void entry_find_aggregates(Builder *b) {
  Module *m = b->m;
  Entry *e = b->e;
  Arena *a = ctx_arena(m->ctx);
  Walk w = {.e = e, .of = ARENA_ARRAY(a, State, e->values.n + 1)};
  Op *end = op_at(e, e->body->ops.at[e->body->ops.n - 1]);
  find_batch(&w);
  if (e->training || !end->noperands || (!w.extent && w.rows < 2)) return;
  find_assigned(&w, a);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId v = e->body->args.at[i];
    const Type *t = value_type(e, v);
    bool rows = t->rank && (w.extent ? type_extent(t, 0) == w.extent : t->dim[0] == w.rows);
    w.of[v] = rows ? by_row(0, 1) : same;
  }
  walk(&w, e->body);
  bool usual = true;
  const char *list = "";
  for (int i = 0; i < end->noperands; i++) {
    const Type *t = value_type(e, end->operands[i]);
    Aggregate found = of_output(w.of[end->operands[i]], t);
    usual = usual && found == default_of(t);
    list = intern_printf(m->ctx, "%s%s%s", list, i ? "," : "", aggregate_name[found]);
  }
  if (!usual) end->attr[AT_AGGREGATES].str = list;
}

/* ---- what was found ---- */

int aggregates_read(const char *list, Aggregate *out, int n) {
  int found = 0;
  for (const char *p = list; p; found++) {
    size_t m = strcspn(p, ",");
    int k = 0;
    while (k < AGGREGATES &&
           (strlen(aggregate_name[k]) != m || memcmp(aggregate_name[k], p, m) != 0))
      k++;
    if (k == AGGREGATES) return -1;
    if (found < n) out[found] = (Aggregate)k;
    p = p[m] ? p + m + 1 : NULL;
  }
  return found;
}

Aggregate output_aggregate(const Entry *e, int output) {
  const Op *end = op_at(e, e->body->ops.at[e->body->ops.n - 1]);
  const char *list = end->attr[AT_AGGREGATES].str;
  if (!list) return default_of(value_type(e, end->operands[output]));
  Aggregate *all = ARENA_ARRAY(e->module->arena, Aggregate, end->noperands + 1);
  (void)aggregates_read(list, all, end->noperands);
  return all[output];
}
