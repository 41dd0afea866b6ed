/* Gradients that a backward loop would add up, as one op behind the loop.
   Contract: called while scan.c builds the backward loop; all decisions follow from the program.
   The gradient of a value from outside is a sum over iterations. A sum of products A_i^T B_i, or of
   sums over axes of B_i, becomes one product or one sum of the stacks if A and B are stacked; a sum
   over one row is a reshape. That product is as deep as all iterations together, instead of a
   shallow one each that reads and writes the accumulator. A sum of gradients of rows by the counter
   becomes these gradients, stacked: nothing is added up if only one op reads such rows, and the
   stack has no more rows than the accumulator, which the loop then does without. With reassociate=1
   the backward loop stacks any value of its own if the stacks take no more bytes than the
   accumulator. Else only what is stacked anyway is added up behind the loop, so that the numbers of
   iterations and of rows, or their bounds, decide nothing. The forward loop stacks only values that
   the backward loop would need anyway. So the loops hold no more bytes, and every value read behind
   them was alive to their end. Behind the loop its own stacks and the sum are live at once, up to
   twice the accumulator. */
#include "passes/autodiff/autodiff_impl.h"

static const int64_t TOO_MANY = (int64_t)1 << 48; /* bytes of a stack */

static int64_t bytes_of(const Type *t) { return t->numel * dtype_size(t->dtype); }

static bool is_forward(const ScanBack *s, ValueId v) {
  return value_block(s->e, v) == s->scan->blocks[0];
}

/* Where the value is among what the backward loop stacks; else -1. */
static int given_as(const ScanBack *s, ValueId v) {
  for (uint32_t i = 0; i < s->given.n; i++)
    if (s->given.at[i] == v) return (int)i;
  return -1;
}

/* The slice that comes into the backward body as this argument; else -1. */
static int slice_in(const ScanBack *s, ValueId v) {
  const Value *x = value_at(s->e, v);
  return x->def == NO_ID && x->index > s->types_of.n ? (int)(x->index - 1 - s->types_of.n) : -1;
}

/* There is a stack of the value. */
static bool has_stack(const ScanBack *s, ValueId v) {
  if (is_forward(s, v)) return back_slice_of(s, v) >= 0 || back_stack_of(s, v) != NO_ID;
  return slice_in(s, v) >= 0 || given_as(s, v) >= 0;
}

/* The value that is stacked in place of v, which is a view of it or v itself. */
static ValueId stacked(const ScanBack *s, ValueId v) {
  const Op *op;
  while (!has_stack(s, v) && (op = value_def(s->e, v)) && op->kind == OP_RESHAPE)
    v = op->operands[0];
  return v;
}

/* Operands of the term that are stacked. */
static int read_of(const SumTerm *t) { return t->op->kind == OP_MATMUL ? 2 : 1; }

/* The value can be had stacked: there is a stack, or the backward loop makes the value, or reads it
   from a stack that it gets for that. Not what is the same in every iteration, and not what the
   backward loop computes again from other stacks: the forward loop's would be a new one, alive from
   there on, and by all iterations of the loops around. */
static bool can_stack(ScanBack *s, const Block *b, ValueId v) {
  v = stacked(s, v);
  const Value *x = value_at(s->e, v);
  bool counter = x->def == NO_ID && x->index == 0;
  int sign;
  int64_t from;
  if (value_block(s->e, v) == b) return !counter;
  if (!is_forward(s, v) || counter) return false;
  return has_stack(s, v) || !back_is_there(s, v) ||
         (x->def != NO_ID && back_is_row(s, op_at(s->e, x->def), &sign, &from));
}

/* Bytes of the stacks that terms [0, n) would have the backward loop make; TOO_MANY at most. */
static int64_t cost(const ScanBack *s, const SumTerms *terms) {
  int64_t all = 0, trips = scan_trips(s->scan);
  for (uint32_t t = 0; t < 2 * terms->n; t++) {
    const SumTerm *term = &terms->at[t / 2];
    if ((int)t % 2 >= read_of(term)) continue;
    ValueId x = stacked(s, term->x[t % 2]);
    bool counted = has_stack(s, x) || is_forward(s, x);
    for (uint32_t u = 0; u < t && !counted; u++)
      counted =
          (int)u % 2 < read_of(&terms->at[u / 2]) && stacked(s, terms->at[u / 2].x[u % 2]) == x;
    if (counted) continue;
    int64_t row = bytes_of(value_type(s->e, x));
    if (trips > (TOO_MANY - all) / (row + 1)) return TOO_MANY;
    all += trips * row;
  }
  return all;
}

/* The gradient of rows by the counter: these rows, as they are stacked. */
static bool is_rows(const ScanBack *s, const Op *op, int *sign, int64_t *from) {
  return op->kind == OP_GATHER_GRAD && !op->attr[AT_BATCH].i &&
         rows_by_counter(s->e, s->scan, op->operands[1], op->attr[AT_ROWS].i, sign, from);
}

/* How the op is done behind the loop; false if it cannot be. */
static bool can_wait(ScanBack *s, const Block *b, SumTerm *t) {
  const Op *op = t->op;
  bool product = op->kind == OP_MATMUL && op->attr[AT_TA].i && !op->attr[AT_TB].i &&
                 value_type(s->e, op->operands[0])->rank == 2;
  if (!is_rows(s, op, &t->sign, &t->from)) t->sign = 0;
  bool sum = (op->kind == OP_SUM && op_accumulator(op) < 0) || op->kind == OP_RESHAPE;
  if (!t->sign && !product && !sum) return false;
  bool all = true;
  for (int k = 0; k < read_of(t); k++) {
    t->x[k] = op->operands[k];
    all = all && can_stack(s, b, t->x[k]);
  }
  return all;
}

/* By value: 1 + the accumulator that it is, with terms added. */
static uint32_t *find_chains(const ScanBack *s, const Block *b) {
  uint32_t *chain = ARENA_ARRAY(s->a, uint32_t, s->e->values.n);
  for (uint32_t i = 0; i < s->outside.n; i++)
    chain[b->args.at[1 + s->types_of.n - s->outside.n + i]] = i + 1;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(s->e, b->ops.at[i]);
    if (op->kind == OP_ADD && !chain[op->operands[0]] != !chain[op->operands[1]])
      chain[op->results[0]] = chain[op->operands[0]] + chain[op->operands[1]];
  }
  return chain;
}

static ValueId accumulator(const ScanBack *s, const Block *b, uint32_t i) {
  return b->args.at[1 + s->types_of.n - s->outside.n + i];
}

static ValueId *sum_of(const ScanBack *s, uint32_t i) {
  return &s->d->sum[s->outside.at[i] - s->d->lo];
}

/* What is added to accumulator i; false if it is no sum that can be had behind the loop. */
static bool find_terms(ScanBack *s, const Block *b, const uint32_t *chain, uint32_t i,
                       SumTerms *out) {
  for (ValueId v = *sum_of(s, i); v != accumulator(s, b, i);) {
    if (chain[v] != i + 1) return false;
    const Op *add = value_def(s->e, v);
    int other = chain[add->operands[0]] != 0;
    SumTerm term = {.op = value_def(s->e, add->operands[other])};
    if (!term.op || !can_wait(s, b, &term)) return false;
    vec_push(s->a, out, term);
    v = add->operands[!other];
  }
  return out->n > 0;
}

/* The stacks take no more bytes than the accumulator. */
static bool is_small(const ScanBack *s, uint32_t i, const SumTerms *terms) {
  return cost(s, terms) <= bytes_of(value_type(s->e, s->outside.at[i]));
}

/* Takes accumulator i apart; false if its sum stays in the loop. */
static bool take_out(ScanBack *s, const Block *b, const uint32_t *chain, uint32_t i) {
  SumTerms terms = {0};
  if (!find_terms(s, b, chain, i, &terms)) return false;
  const bool free = pass_arg_int(s->d->r, "reassociate", 0) != 0;
  const bool rows = terms.n == 1 && terms.at[0].sign;
  if (free || rows ? !is_small(s, i, &terms) : cost(s, &terms) > 0) return false;
  for (uint32_t t = terms.n; t-- > 0;) {
    vec_push(s->a, &s->behind[i], terms.at[t]);
    for (int k = 0; k < read_of(&terms.at[t]); k++) {
      ValueId x = stacked(s, terms.at[t].x[k]);
      if (!has_stack(s, x) && !is_forward(s, x)) vec_push(s->a, &s->given, x);
    }
  }
  *sum_of(s, i) = accumulator(s, b, i); /* a carry that no op reads */
  return true;
}

/* A sum that stays in the loop for the sake of bits. */
static void report_left(ScanBack *s, const Block *b, const uint32_t *chain, uint32_t i) {
  SumTerms terms = {0};
  if (s->behind[i].n || !find_terms(s, b, chain, i, &terms) || !is_small(s, i, &terms)) return;
  remark(s->d->r, REMARK_SAVED, "saved", s->scan->loc,
         "the gradient of %s is added up in each of %lld iterations, so that no size decides its "
         "bits; with --reassociate it is added up behind the loop, by one product",
         value_str(s->e, s->outside.at[i]), (long long)scan_trips(s->scan));
}

void back_find_sums(ScanBack *s, const Block *b) {
  s->behind = ARENA_ARRAY(s->a, SumTerms, s->outside.n);
  const uint32_t *chain = find_chains(s, b);
  for (bool more = true; more;) { /* what one stacks may be what another one lacks */
    more = false;
    for (uint32_t i = 0; i < s->outside.n; i++) more |= !s->behind[i].n && take_out(s, b, chain, i);
  }
  if (!(s->d->r->opt->remarks & REMARK_SAVED)) return;
  for (uint32_t i = 0; i < s->outside.n; i++) report_left(s, b, chain, i);
}

/* ---- behind the loop ---- */

/* All rows of a value, as they are stacked. */
static ValueId whole(ScanBack *s, const Op *back, ValueId v) {
  ValueId x = stacked(s, v), all;
  if (!is_forward(s, x)) {
    int slice = slice_in(s, x);
    all = slice >= 0 ? s->xs.at[slice] : back->results[(int)s->types_of.n + given_as(s, x)];
  } else if (back_slice_of(s, x) >= 0) {
    all = s->scan->operands[back_slice_of(s, x)];
  } else {
    const Value *row = value_at(s->e, x);
    const Op *op = row->def == NO_ID ? NULL : op_at(s->e, row->def);
    int sign;
    int64_t from;
    all = back_stack_of(s, x);
    if (all == NO_ID)
      all = op && back_is_row(s, op, &sign, &from)
                ? rows_slice(s->g->b, op->operands[0], from, scan_axis(s->e, s->scan), sign)
                : back_save(s, x);
  }
  return build_reshape(s->g->b, all, back_stack_type(s, v));
}

/* The first two axes as one. */
static ValueId rows(ScanBack *s, ValueId v) {
  Ctx *c = s->e->module->ctx;
  const Type *t = value_type(s->e, v);
  int64_t dim[2] = {axis_product(c, type_axis(t, 0), type_axis(t, 1)), type_axis(t, 2)};
  return build_reshape(s->g->b, v, type_get(c, t->dtype, 2, dim));
}

/* Stacked rows at their places in a table. */
static ValueId placed(ScanBack *s, ValueId x, const Type *table, int sign, int64_t from) {
  Builder *b = s->g->b;
  const Type *t = value_type(s->e, x);
  if (sign < 0) x = build_reversed(b, x, 0);
  if (type_axis(t, 0) == type_axis(table, 0)) return x;
  if (t->dim[0] == table->dim[0]) return build_at_bound(b, x, 0);
  return build_pad(b, x, 0, from, table->dim[0] - from - t->dim[0]);
}

static ValueId sum_of_all(ScanBack *s, const Op *back, const SumTerm *t) {
  Builder *b = s->g->b;
  ValueId x = whole(s, back, t->x[0]);
  if (t->sign) return placed(s, x, value_type(s->e, t->op->results[0]), t->sign, t->from);
  if (t->op->kind == OP_MATMUL) {
    ValueId both[] = {rows(s, x), rows(s, whole(s, back, t->x[1]))};
    return build(b, OP_MATMUL, both, 2, t->op->attr, NULL);
  }
  const Type *y = value_type(s->e, t->op->results[0]);
  if (t->op->kind == OP_RESHAPE)
    return build_reshape(b, build_reduce(b, OP_SUM, x, (const int64_t[]){0}, 1), y);
  const Ints *axes = t->op->attr[AT_AXES].ints;
  int64_t *of_all = ARENA_ARRAY(s->a, int64_t, axes->n + 1);
  for (int k = 0; k < axes->n; k++) of_all[k + 1] = axes->at[k] + 1;
  return build_reduce(b, OP_SUM, x, of_all, axes->n + 1);
}

ValueId back_sum(ScanBack *s, const Op *back, uint32_t i) {
  Builder *b = s->g->b;
  Loc loc = b->loc;
  const char *scope = b->scope;
  ValueId sum = s->so_far.at[i];
  for (uint32_t t = 0; t < s->behind[i].n; t++) {
    const SumTerm *term = &s->behind[i].at[t];
    b->loc = term->op->loc;
    b->scope = term->op->scope;
    ValueId more = sum_of_all(s, back, term);
    sum = sum == NO_ID ? more : build2(b, OP_ADD, sum, more);
  }
  b->loc = loc;
  b->scope = scope;
  return sum;
}
