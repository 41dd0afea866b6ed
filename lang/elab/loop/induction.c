/* Integers of a scan that a for would know when compiling: made of counters and constants alone.
   Contract: what is said of a value holds in every iteration of all loops around it. A name from
   outside of a loop counts only where the loop's body does not give it anew. Values that are sums
   of counters times constants are followed exactly, so that both ends of their range are taken;
   others are known, but may be anything. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

static const IndexRange unknown = {0}, any = {.known = true, .lo = INT32_MIN, .hi = INT32_MAX};

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

/* Gives the form its range; what an i32 does not hold is not what a for would compute. */
static const IndexRange *ranged(Elab *e, IndexRange *c) {
  c->known = c->linear = true;
  c->lo = c->hi = c->base;
  if (!in_i32(c->base)) return &unknown;
  for (int d = 0; d < c->depth; d++) {
    int64_t last, at;
    if (__builtin_mul_overflow(c->by[d], level_at(e, d)->trips - 1, &at)) return &unknown;
    last = at < 0 ? c->lo + at : c->hi + at;
    if (!in_i32(at) || !in_i32(last)) return &unknown;
    *(at < 0 ? &c->lo : &c->hi) = last;
  }
  return c;
}

static IndexRange *linear(Elab *e, int64_t base, int depth) {
  IndexRange *c = ARENA_NEW(e->a, IndexRange);
  c->base = base;
  c->depth = depth;
  c->by = ARENA_ARRAY(e->a, int64_t, depth + 1);
  return c;
}

/* a * p + b * q */
static const IndexRange *sum(Elab *e, const IndexRange *a, int64_t p, const IndexRange *b,
                             int64_t q) {
  IndexRange *c = linear(e, 0, a->depth > b->depth ? a->depth : b->depth);
  if (!in_i32(p) || !in_i32(q)) return &unknown;
  c->base = a->base * p + b->base * q; /* of numbers below 2^31 */
  for (int d = 0; d < c->depth; d++)
    c->by[d] = (d < a->depth ? a->by[d] * p : 0) + (d < b->depth ? b->by[d] * q : 0);
  for (int d = 0; d < c->depth; d++)
    if (!in_i32(c->by[d])) return &unknown;
  return ranged(e, c);
}

static bool is_number(const IndexRange *c) { return c->linear && c->lo == c->hi; }

static const IndexRange *between(Elab *e, int64_t lo, int64_t hi) {
  IndexRange *c = ARENA_NEW(e->a, IndexRange);
  *c = (IndexRange){.known = true, .lo = lo, .hi = hi};
  return c;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Values are looked at in the order in which they are made; an op that is read once more after a
   loop has operands that are younger. */
static const IndexRange *so_far(const Elab *e, ValueId v) {
  return v < e->run->counted.n ? e->run->counted.at[v] : &unknown;
}

static const IndexRange *of_op(Elab *e, const Op *op) {
  const IndexRange *x[3] = {0};
  if (op->nblocks || op->noperands < 1 || op->noperands > 3) return &unknown;
  for (int i = 0; i < op->noperands; i++) {
    x[i] = so_far(e, op->operands[i]);
    if (!x[i]->known) return &unknown;
  }
  Dtype dt = value_type(e->run->entry, op->results[0])->dtype;
  if (dt != DT_I32 && dt != DT_I64) return between(e, 0, dt == DT_BOOL ? 1 : UINT8_MAX);
  bool both = x[0]->linear && x[1] && x[1]->linear;
  const IndexRange *nothing = linear(e, 0, 0);
  switch ((int)op->kind) {
  case OP_NEG:
    if (x[0]->linear) return sum(e, x[0], -1, nothing, 0);
    break;
  case OP_CONVERT: return x[0];
  case OP_ADD:
  case OP_SUB:
    if (both) return sum(e, x[0], 1, x[1], op->kind == OP_ADD ? 1 : -1);
    break;
  case OP_MUL:
    if (both && is_number(x[1])) return sum(e, x[0], x[1]->base, nothing, 0);
    if (both && is_number(x[0])) return sum(e, x[1], x[0]->base, nothing, 0);
    break;
  case OP_MOD: /* towards the lesser: 0 to b - 1 */
    if (both && is_number(x[1]) && x[1]->base > 0) return between(e, 0, x[1]->base - 1);
    break;
  case OP_MIN: return between(e, least(x[0]->lo, x[1]->lo), least(x[0]->hi, x[1]->hi));
  case OP_MAX: return between(e, most(x[0]->lo, x[1]->lo), most(x[0]->hi, x[1]->hi));
  case OP_WHERE: return between(e, least(x[1]->lo, x[2]->lo), most(x[1]->hi, x[2]->hi));
  default: break;
  }
  return op_info[op->kind].cls == CLASS_ELEMENT ? &any : &unknown;
}

static const IndexRange *of_argument(Elab *e, ValueId v, const Value *at) {
  for (const ScanLevel *l = e->run->scan; l; l = l->up) {
    if (l->block != at->block) continue;
    if (l->block->args.at[0] == v) {
      IndexRange *c = linear(e, 0, depth_of(l));
      c->by[c->depth - 1] = 1;
      return ranged(e, c);
    }
    for (uint32_t i = 0; i < l->captures.n; i++)
      if (l->captures.at[i].arg == v)
        return l->captures.at[i].fixed ? so_far(e, l->captures.at[i].outer) : &unknown;
  }
  return &unknown;
}

static const IndexRange *count(Elab *e, ValueId v) {
  const Entry *en = e->run->entry;
  const Value *at = value_at(en, v);
  Attr number;
  if (at->type->rank || dtype_is_float(at->type->dtype)) return &unknown;
  if (value_const(en, v, &number))
    return in_i32(number.i) ? ranged(e, linear(e, number.i, 0)) : &unknown;
  return at->def == NO_ID ? of_argument(e, v, at) : of_op(e, op_at(en, at->def));
}

const IndexRange *index_range_of(Elab *e, ValueId v) {
  EntryBuilder *r = e->run;
  while (r->counted.n <= v) {
    const IndexRange *c = count(e, r->counted.n);
    vec_push(e->a, &r->counted, c);
  }
  return r->counted.at[v];
}

/* The first value outside of -n to n - 1, in the order of the iterations; some value is. */
static int64_t first_outside(Elab *e, const IndexRange *c, int64_t n) {
  int64_t at = c->base, lo = c->lo - at, hi = c->hi - at; /* of what the loops from d on add */
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

/* ---- names ---- */

static bool among(const Idents *l, const char *name) {
  for (int i = 0; i < l->n; i++)
    if (l->at[i].name == name) return true;
  return false;
}

bool body_assigns(const Body *b, const char *name) {
  for (int i = 0; i < b->n; i++) {
    const Stmt *s = b->at[i];
    bool yes = false;
    switch ((int)s->kind) {
    case ST_ASSIGN: yes = among(&s->assign.names, name); break;
    case ST_FOR:
    case ST_SCAN:
      yes = among(&s->loop.targets, name) || s->loop.var.name == name ||
            body_assigns(&s->loop.body, name);
      break;
    case ST_IF:
      yes = body_assigns(&s->branch.then, name) || body_assigns(&s->branch.other, name);
      break;
    case ST_SCOPE: yes = body_assigns(&s->scope.body, name); break;
    default: break;
    }
    if (yes) return true;
  }
  return false;
}
