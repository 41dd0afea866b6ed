/* Ranges of integers that are computed from the counters of scans and constants only: a for would
   know them at compile time.
   Contract: a range holds in every iteration of all loops around the value. A name from outside of
   a loop has one only if the loop's body does not assign it. Affine functions of the counters have
   an exact range, whose bounds are reached; other integers have the range of i32. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

static const IndexRange not_known = {0},
                        any_i32 = {.known = true, .lo = INT32_MIN, .hi = INT32_MAX};

static int depth_of(const ScanLevel *l) {
  int n = 0;
  for (; l; l = l->up) n++;
  return n;
}

static const ScanLevel *level_at(const Elab *e, int depth) {
  const ScanLevel *l = e->run->scan;
  for (int n = depth_of(l) - 1; n > depth; n--) l = l->up;
  return l;
}

static bool in_i32(int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; }

/* Computes the range of the affine form; unknown if an i32 could overflow. */
static const IndexRange *with_range(Elab *e, IndexRange *c) {
  c->known = c->linear = true;
  c->lo = c->hi = c->base;
  if (!in_i32(c->base)) return &not_known;
  for (int d = 0; d < c->depth; d++) {
    int64_t last, at;
    if (__builtin_mul_overflow(c->by[d], level_at(e, d)->trips - 1, &at)) return &not_known;
    last = at < 0 ? c->lo + at : c->hi + at;
    if (!in_i32(at) || !in_i32(last)) return &not_known;
    *(at < 0 ? &c->lo : &c->hi) = last;
  }
  return c;
}

static IndexRange *linear_form(Elab *e, int64_t base, int depth) {
  IndexRange *c = ARENA_NEW(e->a, IndexRange);
  c->base = base;
  c->depth = depth;
  c->by = ARENA_ARRAY(e->a, int64_t, depth + 1);
  return c;
}

/* a * p + b * q */
static const IndexRange *linear_sum(Elab *e, const IndexRange *a, int64_t p, const IndexRange *b,
                                    int64_t q) {
  IndexRange *c = linear_form(e, 0, a->depth > b->depth ? a->depth : b->depth);
  if (!in_i32(p) || !in_i32(q)) return &not_known;
  c->base = a->base * p + b->base * q; /* of numbers below 2^31 */
  for (int d = 0; d < c->depth; d++)
    c->by[d] = (d < a->depth ? a->by[d] * p : 0) + (d < b->depth ? b->by[d] * q : 0);
  for (int d = 0; d < c->depth; d++)
    if (!in_i32(c->by[d])) return &not_known;
  return with_range(e, c);
}

static bool is_number(const IndexRange *c) { return c->linear && c->lo == c->hi; }

static const IndexRange *range_between(Elab *e, int64_t lo, int64_t hi) {
  IndexRange *c = ARENA_NEW(e->a, IndexRange);
  *c = (IndexRange){.known = true, .lo = lo, .hi = hi};
  return c;
}

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* b > 0 */

/* Ranges are computed in the order of the values. The operands of an op that is replaced after a
   loop may come later. */
static const IndexRange *range_known(const Elab *e, ValueId v) {
  return v < e->run->ranges.n ? e->run->ranges.at[v] : &not_known;
}

static const IndexRange *range_of_op(Elab *e, const Op *op) {
  const IndexRange *x[3] = {0};
  if (op->nblocks || op->noperands < 1 || op->noperands > 3) return &not_known;
  for (int i = 0; i < op->noperands; i++) {
    x[i] = range_known(e, op->operands[i]);
    if (!x[i]->known) return &not_known;
  }
  Dtype dt = value_type(e->run->entry, op->results[0])->dtype;
  if (dt == DT_I8) return range_between(e, INT8_MIN, INT8_MAX);
  if (dt != DT_I32 && dt != DT_I64) return range_between(e, 0, dt == DT_BOOL ? 1 : UINT8_MAX);
  bool both = x[0]->linear && x[1] && x[1]->linear;
  const IndexRange *nothing = linear_form(e, 0, 0);
  switch ((int)op->kind) {
  case OP_NEG:
    if (x[0]->linear) return linear_sum(e, x[0], -1, nothing, 0);
    break;
  case OP_CONVERT: return x[0];
  case OP_ADD:
  case OP_SUB:
    if (both) return linear_sum(e, x[0], 1, x[1], op->kind == OP_ADD ? 1 : -1);
    break;
  case OP_MUL:
    if (both && is_number(x[1])) return linear_sum(e, x[0], x[1]->base, nothing, 0);
    if (both && is_number(x[0])) return linear_sum(e, x[1], x[0]->base, nothing, 0);
    break;
  case OP_MOD: /* towards the lesser: 0 to b - 1 */
    if (both && is_number(x[1]) && x[1]->base > 0) return range_between(e, 0, x[1]->base - 1);
    break;
  case OP_QUOTIENT: /* monotonic */
    if (both && is_number(x[1]) && x[1]->base > 0)
      return range_between(e, floor_quotient(x[0]->lo, x[1]->base),
                           floor_quotient(x[0]->hi, x[1]->base));
    break;
  case OP_MIN: return range_between(e, min_of(x[0]->lo, x[1]->lo), min_of(x[0]->hi, x[1]->hi));
  case OP_MAX: return range_between(e, max_of(x[0]->lo, x[1]->lo), max_of(x[0]->hi, x[1]->hi));
  case OP_WHERE: return range_between(e, min_of(x[1]->lo, x[2]->lo), max_of(x[1]->hi, x[2]->hi));
  default: break;
  }
  return op_info[op->kind].cls == CLASS_ELEMENT ? &any_i32 : &not_known;
}

static const IndexRange *range_of_argument(Elab *e, ValueId v, const Value *at) {
  for (const ScanLevel *l = e->run->scan; l; l = l->up) {
    if (l->block != at->block) continue;
    if (l->block->args.at[0] == v) {
      IndexRange *c = linear_form(e, 0, depth_of(l));
      c->by[c->depth - 1] = 1;
      return with_range(e, c);
    }
    const Capture *s = capture_of(l, v);
    if (s) return s->fixed ? range_known(e, s->outer) : &not_known;
  }
  return &not_known;
}

static const IndexRange *range_of_value(Elab *e, ValueId v) {
  const Entry *en = e->run->entry;
  const Value *at = value_at(en, v);
  Attr number;
  if (at->type->rank || dtype_is_float(at->type->dtype)) return &not_known;
  if (value_const(en, v, &number))
    return in_i32(number.i) ? with_range(e, linear_form(e, number.i, 0)) : &not_known;
  return at->def == NO_ID ? range_of_argument(e, v, at) : range_of_op(e, op_at(en, at->def));
}

const IndexRange *index_range_of(Elab *e, ValueId v) {
  EntryBuilder *r = e->run;
  while (r->ranges.n <= v) {
    const IndexRange *c = range_of_value(e, r->ranges.n);
    vec_push(e->a, &r->ranges, c);
  }
  return r->ranges.at[v];
}

/* The first value outside of -n to n - 1, in the order of the iterations; there is one. */
static int64_t first_outside(Elab *e, const IndexRange *c, int64_t n) {
  int64_t at = c->base, lo = c->lo - at, hi = c->hi - at; /* added by the loops from d on */
  for (int d = 0; d < c->depth; d++) {
    int64_t by = c->by[d], all = by * (level_at(e, d)->trips - 1), i = 0;
    *(by < 0 ? &lo : &hi) -= all;
    bool here = at + lo < -n || at + hi >= n;
    if (!here && by > 0) i = (n - hi - at + by - 1) / by;
    if (!here && by < 0) i = (at + lo + n) / -by + 1;
    at += by * i;
  }
  return at;
}

bool index_range_outside(Elab *e, const IndexRange *c, int64_t n, int64_t *which) {
  if (!c->linear || (c->lo >= -n && c->hi < n)) return false;
  *which = first_outside(e, c, n);
  return true;
}

void hint_end_of_loop(Elab *e, const IndexRange *c, int64_t n) {
  const ScanLevel *l = NULL; /* the one loop that the index counts with */
  for (int d = 0; d < c->depth; d++) {
    if (c->by[d] == 0) continue;
    if (c->by[d] != 1 || l) return;
    l = level_at(e, d);
  }
  if (!l || l->extent || c->base < 0 || c->base >= n) return;
  elab_hint(e, "this index has %lld values there: %lld..%lld", (long long)(n - c->base),
            (long long)l->from, (long long)(l->from + n - c->base));
}

/* ---- names ---- */

static const Ident *find_in(const Idents *l, const char *name) {
  for (int i = 0; i < l->n; i++)
    if (l->at[i].name == name) return &l->at[i];
  return NULL;
}

const Ident *body_assigns(const Body *b, const char *name) {
  for (int i = 0; i < b->n; i++) {
    const Stmt *s = b->at[i];
    const Ident *at = NULL;
    switch ((int)s->kind) {
    case ST_ASSIGN: at = find_in(&s->assign.names, name); break;
    case ST_FOR:
    case ST_SCAN:
      at = find_in(&s->loop.targets, name);
      if (!at && s->loop.var.name == name) at = &s->loop.var;
      if (!at) at = body_assigns(&s->loop.body, name);
      break;
    case ST_IF:
      at = body_assigns(&s->branch.then, name);
      if (!at) at = body_assigns(&s->branch.other, name);
      break;
    case ST_SCOPE: at = body_assigns(&s->scope.body, name); break;
    case ST_WITH: at = body_assigns(&s->with.body, name); break;
    default: break;
    }
    if (at) return at;
  }
  return NULL;
}
