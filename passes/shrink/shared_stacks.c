/* Shared stacks: a loop may stack a carry both as it is before each iteration and as it is after
   it. The two stacks hold the same rows, shifted by one. One tensor with a row more takes their
   place: the first value of the carry, then its value after each iteration. Each stack is all of
   its rows but one. The loop carries the tensor and writes a row of it in every iteration.
   Contract: runs before fusion and layouts; values stay the same to the last bit. Rows begin at
   places that every target accepts for a tensor, so that the stacks are read in place. A stack that
   is stored, or stacked by a loop around, is left alone, so that it is made in its place. A loop
   can be recomputed without its stacks but not without a carry, so under a limit both ways are
   tried. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

/* ---- what has a history ---- */

typedef struct Histories { /* of an entry */
  PassRun *r;
  const Entry *e;
  bool all;    /* wherever there are two: shared-stacks{all=1} */
  bool *bound; /* by value: it is wanted in a place of its own */
  int **of;    /* by op, of scans: by result, the carry whose rows it has, or -1; NULL: none */
  uint32_t n;
} Histories;

/* Marks the stacks of the carry, if there are some before each iteration and some after. */
static bool mark_stack(Histories *h, const Op *scan, int carry, int *of) {
  const Block *body = scan->blocks[0];
  const Op *yield = plan_yield(h->e, scan);
  ValueId before = body->args.at[carry + 1], after = yield->operands[carry];
  const Op *def = value_def(h->e, after);
  uint64_t row = value_type(h->e, before)->bytes, rows = (uint64_t)scan_trips(scan) + 1;
  if (!def || def->parent != body || !row || row > INT64_MAX / rows) return false;
  if (rows < PLAN_MANY_ROWS && !h->all) return false;
  if (row % PLAN_ROW_ALIGN && !h->all) return false;
  bool first = false, second = false;
  for (int k = scan_carries(scan); k < scan->nresults; k++) {
    ValueId v = yield->operands[k];
    if (v != before && v != after) continue;
    if ((h->bound[scan->results[k]] && !h->all) || of[k] >= 0) return false;
    first |= v == before;
    second |= v == after;
  }
  if (!first || !second) return false;
  for (int k = scan_carries(scan); k < scan->nresults; k++)
    if (yield->operands[k] == before || yield->operands[k] == after) of[k] = carry;
  return true;
}

static Histories histories_of(PassRun *r, const Entry *e) {
  Histories h = {.r = r, .e = e, .all = pass_arg_int(r, "all", 0) != 0};
  h.bound = ARENA_ARRAY(r->scratch, bool, e->values.n + 1);
  h.of = ARENA_ARRAY(r->scratch, int *, e->ops.n + 1);
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = 0; (op->kind == OP_YIELD || op->kind == OP_STORE) && k < op->noperands; k++)
      h.bound[op->operands[k]] = true;
  }
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->kind != OP_SCAN || op->attr[AT_EXTENT].str || scan_trips(op) < 2) continue;
    int *of = ARENA_ARRAY(r->scratch, int, op->nresults + 1);
    uint32_t before = h.n;
    for (int k = 0; k < op->nresults; k++) of[k] = -1;
    for (int k = 0; k < scan_carries(op); k++) h.n += mark_stack(&h, op, k, of);
    if (h.n > before) h.of[op->id] = of;
  }
  return h;
}

/* ---- building ---- */

typedef struct StackBuild { /* a loop */
  Histories *h;
  Builder *b;
  const Entry *old;
  const Op *scan; /* in it */
  const int *of;
  ValueId *map;
  VEC(int) carry; /* those with a history, as they come behind the carries */
} StackBuild;

/* The type of n rows like this one. */
static const Type *rows_type(const StackBuild *m, const Type *row, int64_t n) {
  const Type *t = type_stacked(m->b->m->ctx, row, n);
  if (!t) gc_bug(m->b->m->ctx, "a history of more bytes than can be addressed");
  return t;
}

static bool runs_back(const StackBuild *m) { return m->scan->attr[AT_REVERSE].i != 0; }

/* The first value of the carry in its row; what the others hold, no op reads. */
static ValueId begin(const StackBuild *m, ValueId first) {
  const Type *row = value_type(m->b->e, first);
  int64_t trips = scan_trips(m->scan);
  Attr c;
  if (value_const(m->b->e, first, &c)) {
    const Type *t = rows_type(m, row, trips + 1);
    return build(m->b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = c}, t);
  }
  ValueId x = build_reshape(m->b, first, rows_type(m, row, 1));
  return build_pad(m->b, x, 0, runs_back(m) ? trips : 0, runs_back(m) ? 0 : trips);
}

/* 1, 2, 3 …: the row that each iteration writes. */
static ValueId numbers(const StackBuild *m) {
  const Type *t = type_get(m->b->m->ctx, DT_I32, 1, &m->scan->attr[AT_TRIPS].i);
  ValueId counts = build(m->b, OP_IOTA, NULL, 0, NULL, t);
  return build2(m->b, OP_ADD, counts, build_const_int(m->b, t, 1));
}

/* All rows of the history but the one that comes last, or first. */
static ValueId stack(const StackBuild *m, ValueId history, bool later) {
  const Type *t = value_type(m->b->e, history);
  return rows_slice(m->b, history, later, t->dim[0] - 1, 1);
}

static void names_of(Builder *b, const Op *op) {
  builder_like(b, op);
  b->name = NULL;
}

/* Arguments of the new body: those of the old one, the histories behind the carries. */
static void come_in(StackBuild *m, Op *scan, ValueId *history) {
  const Block *from = m->scan->blocks[0];
  Entry *e = m->b->e;
  uint32_t carries = (uint32_t)scan_carries(m->scan), n = m->carry.n;
  for (uint32_t i = 0; i < from->args.n + n; i++) {
    bool fresh = i > carries && i <= carries + n;
    ValueId like = fresh ? scan->operands[i - 1] : from->args.at[i > carries ? i - n : i];
    Value v = fresh ? (Value){.type = value_type(e, like)} : *value_at(m->old, like);
    ValueId arg = block_add_arg(e, scan->blocks[0], v);
    if (fresh)
      history[i - carries - 1] = arg;
    else
      m->map[like] = arg;
  }
}

/* The body of the new loop: that of the old one, and a row of each history. */
static void fill(StackBuild *m, Op *scan) {
  const Op *was = m->scan;
  const Block *from = was->blocks[0];
  Builder *b = m->b;
  Arena *a = m->h->r->scratch;
  Block *outer = b->b;
  int carries = scan_carries(was), n = (int)m->carry.n;
  ValueId *history = ARENA_ARRAY(a, ValueId, n);
  VEC(ValueId) yield = {0};
  come_in(m, scan, history);
  ValueId number = scan->blocks[0]->args.at[0];
  if (!runs_back(m))
    number = block_add_arg(b->e, scan->blocks[0], (Value){.type = type_scalar(b->m->ctx, DT_I32)});
  builder_at(b, scan->blocks[0]);
  for (uint32_t i = 0; i + 1 < from->ops.n; i++) {
    const Op *op = op_at(m->old, from->ops.at[i]);
    names_of(b, op);
    b->each(b, m->old, op, m->map, b->data);
  }
  const Op *end = plan_yield(m->old, was);
  for (int k = 0; k < end->noperands; k++) {
    if (k == carries)
      for (int j = 0; j < n; j++) vec_push(a, &yield, history[j]);
    if (m->of[k] < 0) vec_push(a, &yield, m->map[end->operands[k]]);
  }
  names_of(b, end);
  for (int k = 0; k < n; k++) {
    ValueId row = m->map[end->operands[m->carry.at[k]]];
    ValueId in[] = {history[k], build_reshape(b, row, rows_type(m, value_type(b->e, row), 1)),
                    number};
    yield.at[carries + k] = build(b, OP_DYNAMIC_UPDATE, in, 3, NULL, NULL);
  }
  build_op(b, OP_YIELD, yield.at, (int)yield.n, NULL, NULL, 0);
  builder_at(b, outer);
}

static void make(StackBuild *m) {
  const Op *was = m->scan;
  Builder *b = m->b;
  Arena *a = m->h->r->scratch;
  int carries = scan_carries(was);
  VEC(ValueId) operands = {0};
  VEC(const Type *) types = {0};
  for (int k = 0; k < carries; k++) {
    bool has = false;
    for (int j = carries; j < was->nresults; j++) has |= m->of[j] == k;
    if (has) vec_push(a, &m->carry, k);
    vec_push(a, &operands, m->map[was->operands[k]]);
    vec_push(a, &types, value_type(m->old, was->results[k]));
  }
  names_of(b, was);
  for (uint32_t k = 0; k < m->carry.n; k++) {
    vec_push(a, &operands, begin(m, operands.at[m->carry.at[k]]));
    vec_push(a, &types, value_type(b->e, operands.at[operands.n - 1]));
  }
  for (int k = carries; k < was->noperands; k++) vec_push(a, &operands, m->map[was->operands[k]]);
  if (!runs_back(m)) vec_push(a, &operands, numbers(m));
  for (int k = carries; k < was->nresults; k++)
    if (m->of[k] < 0) vec_push(a, &types, value_type(m->old, was->results[k]));
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = was->attr[AT_TRIPS],
                          [AT_CARRIES] = {.i = carries + m->carry.n},
                          [AT_REVERSE] = was->attr[AT_REVERSE]};
  Op *scan = build_op(b, OP_SCAN, operands.at, (int)operands.n, attr, types.at, (int)types.n);
  fill(m, scan);
  names_of(b, was);
  int next = carries + (int)m->carry.n;
  const Op *end = plan_yield(m->old, was);
  for (int k = 0; k < was->nresults; k++) {
    if (m->of[k] < 0) {
      ValueId y = scan->results[k < carries ? k : next++];
      m->map[was->results[k]] = y;
      value_at(b->e, y)->name = value_at(m->old, was->results[k])->name;
      continue;
    }
    int j = 0;
    while (m->carry.at[j] != m->of[k]) j++;
    bool after = end->operands[k] == end->operands[m->of[k]];
    b->name = value_at(m->old, was->results[k])->name;
    m->map[was->results[k]] = stack(m, scan->results[carries + j], after != runs_back(m));
  }
}

static void shared_stacks_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Histories *h = data;
  if (op->kind != OP_SCAN || !h->of[op->id]) {
    build_copy(b, old, op, map);
    return;
  }
  StackBuild m = {.h = h, .b = b, .old = old, .scan = op, .of = h->of[op->id], .map = map};
  make(&m);
}

/* ---- as a pass ---- */

static bool any_history(PassRun *r, const Entry *e, uint64_t min) {
  (void)min;
  return histories_of(r, e).n > 0;
}

static void with_histories(PassRun *r, Entry *e, uint64_t min) {
  (void)min; /* what a history saves is all that is stacked */
  Histories h = histories_of(r, e);
  if (!h.n) return;
  entry_rebuild(e, shared_stacks_op, &h, false, false);
  r->changes += h.n;
}

static void report_stacks(PassRun *r, const Entry *old, uint64_t min) {
  (void)min;
  Histories h = histories_of(r, old);
  remarks_of(r, old);
  for (uint32_t i = 0; i < old->ops.n; i++) {
    const Op *op = op_at(old, i);
    for (int k = 0; h.of[i] && k < op->nresults; k++) {
      ValueId before = op->blocks[0]->args.at[h.of[i][k] + 1];
      if (h.of[i][k] < 0 || plan_yield(old, op)->operands[k] != before) continue;
      char buf[32];
      remark(r, REMARK_REMAT, "remat", op->loc,
             "%s (%s) is not stacked: it has the rows of another stack, shifted by one",
             value_str(old, op->results[k]),
             plan_commas(buf, value_type(old, op->results[k])->bytes));
    }
  }
}

/* What the program takes without a limit it takes with histories. */
static bool know_whole(PassRun *r) {
  Module *m = r->m;
  if (r->opt->limit.bytes || module_notes(m)->whole_arena) return true;
  Entry *before = ARENA_ARRAY(r->scratch, Entry, m->entries.n + 1);
  uint64_t limit;
  int64_t changes = r->changes;
  for (uint32_t k = 0; k < m->entries.n; k++) {
    before[k] = *m->entries.at[k];
    with_histories(r, m->entries.at[k], 0);
  }
  bool ok = trial_limit(r, &limit);
  for (uint32_t k = 0; k < m->entries.n; k++) *m->entries.at[k] = before[k];
  r->changes = changes;
  return ok;
}

bool pass_shared_stacks(PassRun *r) {
  const TrialRewrite w = {.any = any_history, .apply = with_histories, .report = report_stacks};
  const MemoryLimit *l = &r->opt->limit;
  bool any = false;
  for (uint32_t k = 0; k < r->m->entries.n; k++) any |= any_history(r, r->m->entries.at[k], 0);
  if (!any) return true;
  if (l->bytes || l->share > 0) return know_whole(r) && trial_rewrite(r, &w, false);
  if (r->opt->curve && !trial_curve(r)) return false;
  return trial_rewrite(r, &w, true);
}
