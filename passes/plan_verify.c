/* The independent checker of a plan: walks the final program, keeps for every byte of memory whose
   value it holds, and proves that every read finds the value that it means.
   Contract: reads the plan and nothing that made it; no code of the planner is used but the places
   of globals. What scratch an op needs is asked of the target, whose kernels use it. What it cannot
   prove it rejects, with the op, its place and both values. */
#include "passes/pass_list.h"
#include "passes/passes.h"
#include "passes/verify_impl.h"

#include <stdarg.h>
#include <stdlib.h>

enum { REGIONS = PLAN_REGIONS };

typedef struct Check {
  const Entry *e;
  const Plan *p;
  FILE *f;
  Arena *a;
  const Target *target;
  Memory region[REGIONS];
  uint64_t size[REGIONS];
  GlobalsPlan globals;
  ValueId *content; /* by value: the first value of which it has the bytes */
  bool *defined;    /* by value: a place that was written or is external */
  ValueId *initial; /* by global: a value of its load, which stands for its bytes at entry */
  int step;         /* of the op at hand */
  bool failed;
} Check;

static void fail(Check *c, const Op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(Check *c, const Op *op, const char *fmt, ...) {
  c->failed = true;
  if (!c->f) return;
  Ctx *ctx = c->e->module->ctx;
  fprintf(c->f, "%s: error: the memory plan of '%s' is wrong: ",
          op && op->loc.line ? loc_str(ctx, op->loc) : "gc", c->e->name);
  if (op) fprintf(c->f, "%s: ", op_info[op->kind].name);
  va_list args;
  va_start(args, fmt);
  vfprintf(c->f, fmt, args);
  va_end(args);
  fputc('\n', c->f);
}

static const char *name_of(const Check *c, ValueId v) { return value_str(c->e, v); }

/* ---------------------------------------------------------------- places ---- */

static const char *const region_name[REGIONS] = {"the arena", "the globals", "the inputs",
                                                 "the hypers", "the counts"};

/* What an op can touch through a place: its bytes in one iteration, or, for a slice that moves, all
   that the iterations of the loops around touch. */
typedef struct Range {
  PlanRegion region;
  uint64_t from, bytes;
} Range;

static int level_of(const Block *b) { /* loops around what stands in the block */
  int n = 0;
  for (; b->op; b = b->op->parent) n++;
  return n;
}

static const Block *block_of(const Check *c, ValueId v) {
  const Value *x = value_at(c->e, v);
  return x->def == NO_ID ? x->block : op_at(c->e, x->def)->parent;
}

static Range range_in(const Place *x, const Block *b) {
  Range r = {x->region, x->offset, x->bytes};
  for (; x->stride && b->op; b = b->op->parent)
    r.bytes += (uint64_t)(b->op->attr[AT_TRIPS].i - 1) * (uint64_t)x->stride[level_of(b) - 1];
  return r;
}

static Range range_of(const Check *c, ValueId v) {
  return range_in(&c->p->place[v], block_of(c, v));
}

static int64_t stride_at(const Place *x, int depth) { return x->stride ? x->stride[depth] : 0; }

/* At the same address in every iteration. */
static bool same_place(const Check *c, const Place *x, const Place *y) {
  bool same = x->region == y->region && x->offset == y->offset && x->bytes == y->bytes;
  for (int d = 0; same && d < c->p->depth; d++) same = stride_at(x, d) == stride_at(y, d);
  return same;
}

static bool check_place(Check *c, const Op *op, const char *what, const Place *x, uint64_t bytes,
                        const Block *b) {
  bool seen = c->failed;
  c->failed = false;
  uint64_t end;
  if ((unsigned)x->region >= REGIONS) {
    fail(c, op, "%s lies in no region", what);
    return false;
  }
  if (x->bytes != bytes)
    fail(c, op, "%s has %llu bytes in the plan and needs %llu", what, (unsigned long long)x->bytes,
         (unsigned long long)bytes);
  else if (!checked_add(x->offset, bytes, &end) || end > c->size[x->region] ||
           x->offset + range_in(x, b).bytes > c->size[x->region])
    fail(c, op, "%s ends beyond %s", what, region_name[x->region]);
  else if (x->region != PLAN_HYPERS && bytes && x->offset % (uint64_t)c->target->align)
    fail(c, op, "%s lies at offset %llu, which is not aligned to %llu", what,
         (unsigned long long)x->offset, (unsigned long long)c->target->align);
  bool ok = !c->failed;
  c->failed |= seen;
  return ok;
}

static bool bytes_of(const Check *c, ValueId v, uint64_t *out) {
  return layout_bytes(value_type(c->e, v), value_at(c->e, v)->layout, out);
}

static bool check_value(Check *c, const Op *op, ValueId v) {
  uint64_t bytes;
  if (!bytes_of(c, v, &bytes)) {
    fail(c, op, "%s is too large", name_of(c, v));
    return false;
  }
  return check_place(c, op, name_of(c, v), &c->p->place[v], bytes, block_of(c, v));
}

static void check_read(Check *c, const Op *op, ValueId v, int step) {
  const Place *x = &c->p->place[v];
  const Cell *other = NULL;
  if (!c->defined[v]) {
    fail(c, op, "reads %s before it is there", name_of(c, v));
    return;
  }
  if (x->last < step)
    fail(c, op, "reads %s at step %d, but its life ends at %d", name_of(c, v), step, x->last);
  Range r = range_of(c, v);
  if (r.region == PLAN_COUNTS) return; /* nobody writes there */
  if (memory_holds(&c->region[r.region], r.from, r.bytes, c->content[v], &other)) return;
  if (other->kind == CONTENT)
    fail(c, op, "reads %s, but %s was written over it in %s at 0x%llx", name_of(c, v),
         name_of(c, other->content), region_name[x->region], (unsigned long long)other->from);
  else
    fail(c, op, "reads %s, but its bytes in %s at 0x%llx hold %s", name_of(c, v),
         region_name[x->region], (unsigned long long)other->from,
         other->kind == SCRATCH ? "scratch" : "nothing");
}

static void check_reads(Check *c, const Op *op, int step) {
  for (int i = 0; i < op->noperands; i++) check_read(c, op, op->operands[i], step);
}

/* ---------------------------------------------------------------- a step ---- */

static void write_range(Check *c, Range r, Kind kind, ValueId content) {
  memory_write(&c->region[r.region], r.from, r.bytes, kind, content);
}

static bool range_holds(const Check *c, Range r, ValueId content) {
  const Cell *other;
  return memory_holds(&c->region[r.region], r.from, r.bytes, content, &other);
}

static bool overlap(Range a, Range b) {
  return a.region == b.region && a.bytes && b.bytes && a.from < b.from + b.bytes &&
         b.from < a.from + a.bytes;
}

/* A reshape whose bytes are its operand's: nothing moves. */
static bool moves_nothing(const Check *c, const Op *op) {
  if (op->kind != OP_RESHAPE) return false;
  return !value_at(c->e, op->operands[0])->layout && !value_at(c->e, op->results[0])->layout &&
         same_place(c, &c->p->place[op->operands[0]], &c->p->place[op->results[0]]);
}

static void check_overwrites(Check *c, const Op *op, int result) {
  Range y = range_of(c, op->results[result]);
  for (int i = 0; i < op->noperands; i++) {
    if (!overlap(range_of(c, op->operands[i]), y)) continue;
    bool same = same_place(c, &c->p->place[op->operands[i]], &c->p->place[op->results[result]]);
    if (!same || !verify_overwrite(c->e, op, result, i))
      fail(c, op, "writes %s over its operand %s, which it still reads elsewhere",
           name_of(c, op->results[result]), name_of(c, op->operands[i]));
  }
  for (int k = 0; k < result; k++)
    if (overlap(range_of(c, op->results[k]), y))
      fail(c, op, "writes %s and %s to the same bytes", name_of(c, op->results[k]),
           name_of(c, op->results[result]));
}

static void check_scratch(Check *c, const Op *op, int step) {
  const Target *t = c->target;
  const Place *s = &c->p->scratch[op->id];
  uint64_t bytes = t->scratch_bytes ? t->scratch_bytes(t, c->e, op) : 0;
  if (!check_place(c, op, "its scratch", s, bytes, c->e->body) || !bytes) return;
  Range r = {s->region, s->offset, s->bytes};
  if (s->region != PLAN_ARENA) fail(c, op, "its scratch lies outside the arena");
  if (s->stride) fail(c, op, "its scratch moves");
  if (s->first > step || s->last < step) fail(c, op, "its scratch does not live at its step");
  for (int i = 0; i < op->noperands; i++)
    if (overlap(range_of(c, op->operands[i]), r))
      fail(c, op, "its scratch overlaps its operand %s", name_of(c, op->operands[i]));
  for (int i = 0; i < op->nresults; i++)
    if (overlap(range_of(c, op->results[i]), r))
      fail(c, op, "its scratch overlaps its result %s", name_of(c, op->results[i]));
  write_range(c, r, SCRATCH, NO_ID);
}

/* The carry, or the stack, that a body's value may be said to lie in. */
static bool is_target(const Op *op, ValueId of) {
  const Op *scan = op->parent->op;
  for (int i = 0; scan && i < scan->nresults; i++)
    if (scan->results[i] == of ||
        (i < scan->attr[AT_CARRIES].i && scan->blocks[0]->args.at[i + 1] == of))
      return true;
  return false;
}

/* `how` and `of` tell people and tools why a value lies there: they must be true. */
static void check_reason(Check *c, const Op *op, ValueId v) {
  const Place *y = &c->p->place[v];
  if (y->how != HOW_INPLACE) return;
  bool known = is_target(op, y->of);
  for (int i = 0; i < op->noperands; i++) known |= op->operands[i] == y->of;
  if (!known) {
    fail(c, op, "%s is said to be in place of what is not its operand", name_of(c, v));
    return;
  }
  const Place *x = &c->p->place[y->of];
  if (x->region != y->region || x->offset != y->offset)
    fail(c, op, "%s is said to be in place of %s and lies elsewhere", name_of(c, v),
         name_of(c, y->of));
}

static void check_store(Check *c, const Op *op) {
  int g = (int)op->attr[AT_GLOBAL].i;
  ValueId v = op->operands[0];
  const Place *x = &c->p->place[v];
  uint64_t bytes, value;
  if (!layout_bytes(c->e->module->globals.at[g].type, c->e->module->globals.at[g].layout, &bytes) ||
      !bytes_of(c, v, &value))
    return;
  if (x->region == PLAN_GLOBALS && x->global == g) { /* no copy: it must be there already */
    if (x->offset != c->globals.offset[g] || bytes != value)
      fail(c, op, "%s is not at the place of @%s", name_of(c, v), c->e->module->globals.at[g].path);
    return;
  }
  Range to = {PLAN_GLOBALS, c->globals.offset[g], bytes};
  if (overlap(range_of(c, v), to))
    fail(c, op, "%s overlaps @%s, to which it is copied", name_of(c, v),
         c->e->module->globals.at[g].path);
  write_range(c, to, CONTENT, c->content[v]);
}

static bool check_results(Check *c, const Op *op, int step) {
  bool ok = true;
  for (int i = 0; i < op->nresults; i++) {
    ValueId v = op->results[i];
    const Place *y = &c->p->place[v];
    if (!check_value(c, op, v)) {
      ok = false;
      continue;
    }
    if (y->first > step || y->last < step)
      fail(c, op, "%s does not live at the step that makes it", name_of(c, v));
    if (y->region != PLAN_ARENA && y->region != PLAN_GLOBALS && !moves_nothing(c, op))
      fail(c, op, "writes %s to %s", name_of(c, v), region_name[y->region]);
    check_reason(c, op, v);
  }
  return ok;
}

static void check_step(Check *c, const Op *op, int step) {
  check_reads(c, op, step);
  if (!check_results(c, op, step)) return;
  if (moves_nothing(c, op)) {
    c->content[op->results[0]] = c->content[op->operands[0]];
    c->defined[op->results[0]] = true;
    return;
  }
  for (int i = 0; i < op->nresults; i++) check_overwrites(c, op, i);
  check_scratch(c, op, step);
  for (int i = 0; i < op->nresults; i++) {
    write_range(c, range_of(c, op->results[i]), CONTENT, op->results[i]);
    c->defined[op->results[i]] = true;
  }
  if (op->kind == OP_STORE) check_store(c, op);
}

/* ---------------------------------------------------------------- loops ---- */

/* A loop is proven by what holds at the head of every iteration: each carry's bytes hold the carry,
   and bytes that no iteration writes hold what they held before. It is shown to hold before the
   first one; then one iteration is walked from it, for all of them, and must end with it. A stack
   is whole at the end if each iteration leaves its slice there and nothing in the loop writes to
   it but within the slice of its own iteration. */

/* The iteration's slice of a place of the scan's own block. */
static Place slice_place(const Check *c, const Op *scan, const Place *whole) {
  int64_t *stride = ARENA_ARRAY(c->a, int64_t, c->p->depth);
  Place x = *whole;
  x.bytes = whole->bytes / (uint64_t)scan->attr[AT_TRIPS].i;
  for (int d = 0; d < c->p->depth; d++) stride[d] = stride_at(whole, d);
  stride[level_of(scan->blocks[0]) - 1] += (int64_t)x.bytes;
  x.stride = stride;
  return x;
}

/* Where the yield brings a value. */
static Place target_place(const Check *c, const Op *scan, int i) {
  const Place *y = &c->p->place[scan->results[i]];
  return i < scan->attr[AT_CARRIES].i ? *y : slice_place(c, scan, y);
}

static void check_arguments(Check *c, const Op *scan) {
  const Block *b = scan->blocks[0];
  Place count = {.region = PLAN_COUNTS,
                 .bytes = sizeof(int32_t) * (uint64_t)scan->attr[AT_TRIPS].i};
  for (uint32_t i = 0; i < b->args.n; i++) {
    ValueId v = b->args.at[i];
    int k = (int)i - 1;
    bool carry = k >= 0 && k < scan->attr[AT_CARRIES].i;
    Place want = carry   ? c->p->place[scan->results[k]]
                 : k < 0 ? slice_place(c, scan, &count)
                         : slice_place(c, scan, &c->p->place[scan->operands[k]]);
    uint64_t bytes;
    if (!bytes_of(c, v, &bytes) || bytes != want.bytes || !same_place(c, &want, &c->p->place[v]))
      fail(c, scan, "%s is not where the loop finds it", name_of(c, v));
    if (k < 0 && c->p->place[v].last > c->step && count.bytes > c->size[PLAN_COUNTS])
      fail(c, scan, "counts further than the counts");
    c->defined[v] = true;
    c->content[v] = k < 0 || carry ? v : c->content[scan->operands[k]];
  }
}

/* A value is brought to a place, or is there already. */
static void check_move(Check *c, const Op *op, ValueId v, const Place *to, const Block *b) {
  check_read(c, op, v, c->step);
  if (same_place(c, &c->p->place[v], to)) return;
  Range r = range_in(to, b);
  if (overlap(range_of(c, v), r))
    fail(c, op, "%s overlaps the place to which it is copied", name_of(c, v));
  write_range(c, r, CONTENT, v);
}

static void begin_loop(Check *c, const Op *scan, int step) {
  int carries = (int)scan->attr[AT_CARRIES].i;
  c->step = step;
  for (int i = carries; i < scan->noperands; i++) check_read(c, scan, scan->operands[i], step);
  if (!check_results(c, scan, step)) return;
  check_arguments(c, scan);
  for (int i = 0; i < carries && !c->failed; i++)
    check_move(c, scan, scan->operands[i], &c->p->place[scan->results[i]], scan->parent);
  for (int i = 0; i < carries && !c->failed; i++) {
    Range r = range_of(c, scan->results[i]);
    if (!range_holds(c, r, c->content[scan->operands[i]]) && !range_holds(c, r, scan->operands[i]))
      fail(c, scan, "the carry %s is overwritten", name_of(c, scan->results[i]));
    write_range(c, r, CONTENT, scan->blocks[0]->args.at[i + 1]);
  }
}

/* Writes of a loop's body: what an op makes, its scratch, and what loops bring about. */
typedef struct Writes {
  VEC(Place) at;
  VEC(const Block *) in;
} Writes;

static void add_write(Check *c, Writes *w, Place x, const Block *b) {
  if (!x.bytes) return;
  vec_push(c->a, &w->at, x);
  vec_push(c->a, &w->in, b);
}

static void find_writes(Check *c, const Block *b, Writes *w) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    add_write(c, w, c->p->scratch[op->id], c->e->body);
    if (op->kind == OP_YIELD)
      for (int k = 0; k < op->noperands; k++) add_write(c, w, target_place(c, b->op, k), b);
    if (moves_nothing(c, op)) continue;
    for (int k = 0; k < op->nresults && op->kind != OP_SCAN; k++)
      add_write(c, w, c->p->place[op->results[k]], b);
    if (op->kind != OP_SCAN) continue;
    for (int k = 0; k < op->attr[AT_CARRIES].i; k++)
      add_write(c, w, c->p->place[op->results[k]], b);
    find_writes(c, op->blocks[0], w);
  }
}

/* The write stays, in every iteration of the loop, within the iteration's slice. */
static bool stays_within(const Place *slice, const Place *x, const Block *in, int level) {
  if (x->region != slice->region || x->offset < slice->offset) return false;
  uint64_t end = x->offset + x->bytes;
  for (const Block *b = in; b->op; b = b->op->parent) {
    int d = level_of(b) - 1;
    if (d >= level)
      end += (uint64_t)(b->op->attr[AT_TRIPS].i - 1) * (uint64_t)stride_at(x, d);
    else if (stride_at(x, d) != stride_at(slice, d))
      return false;
  }
  return end <= slice->offset + slice->bytes;
}

/* Everything that an iteration may write is unknown at the head of one, but for the carries. */
static void forget_writes(Check *c, const Op *scan) {
  Writes w = {0};
  int level = level_of(scan->blocks[0]);
  find_writes(c, scan->blocks[0], &w);
  for (uint32_t i = 0; i < w.at.n; i++)
    write_range(c, range_in(&w.at.at[i], w.in.at[i]), NOTHING, NO_ID);
  for (int k = 0; k < scan->nresults; k++) {
    Range r = range_of(c, scan->results[k]);
    if (k < scan->attr[AT_CARRIES].i) {
      write_range(c, r, CONTENT, scan->blocks[0]->args.at[k + 1]);
      continue;
    }
    Place slice = target_place(c, scan, k);
    for (uint32_t i = 0; i < w.at.n; i++)
      if (overlap(range_in(&w.at.at[i], w.in.at[i]), r) &&
          !stays_within(&slice, &w.at.at[i], w.in.at[i], level))
        fail(c, scan, "its stack %s is written to in the loop beside the iteration's slice",
             name_of(c, scan->results[k]));
  }
}

static void end_iteration(Check *c, const Op *yield, int step) {
  const Op *scan = yield->parent->op;
  int carries = (int)scan->attr[AT_CARRIES].i;
  c->step = step;
  for (int pass = 0; pass < 2; pass++) /* what is stacked first: it may be a carry */
    for (int i = pass ? 0 : carries; i < (pass ? carries : yield->noperands) && !c->failed; i++) {
      Place to = target_place(c, scan, i);
      check_move(c, yield, yield->operands[i], &to, yield->parent);
    }
  for (int i = 0; i < yield->noperands && !c->failed; i++) {
    ValueId v = yield->operands[i];
    Range r = range_of(c, scan->results[i]);
    if (!range_holds(c, r, v) && !range_holds(c, r, c->content[v]))
      fail(c, yield, "%s does not reach the next iteration in its place", name_of(c, v));
  }
}

static void end_loop(Check *c, const Op *scan) {
  for (int i = 0; i < scan->nresults; i++) {
    write_range(c, range_of(c, scan->results[i]), CONTENT, scan->results[i]);
    c->defined[scan->results[i]] = true;
  }
}

/* Steps of a block from *step on, in the order of the program. */
static void check_block(Check *c, const Block *b, int *step) {
  for (uint32_t i = 0; i < b->ops.n && !c->failed; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_LOAD || op->kind == OP_RETURN) continue;
    int now = (*step)++;
    if (op->kind == OP_YIELD) {
      end_iteration(c, op, now);
    } else if (op->kind == OP_SCAN) {
      begin_loop(c, op, now);
      if (!c->failed) forget_writes(c, op);
      check_block(c, op->blocks[0], step);
      if (!c->failed) end_loop(c, op);
    } else {
      check_step(c, op, now);
    }
  }
}

/* ---------------------------------------------------------------- begin and end ---- */

/* Before the first step: inputs, hypers and globals hold what they should. A global that no load
   names needs no content: nobody may read its old bytes. */
static void begin(Check *c) {
  const Module *m = c->e->module;
  for (int r = 0; r < REGIONS; r++) memory_init(&c->region[r], c->a);
  for (uint32_t i = 0; i < c->e->body->args.n; i++) {
    ValueId v = c->e->body->args.at[i];
    const Place *x = &c->p->place[v];
    c->defined[v] = true;
    if (!check_value(c, NULL, v)) continue;
    if (x->region != PLAN_INPUTS) fail(c, NULL, "the input %s lies elsewhere", name_of(c, v));
    memory_write(&c->region[x->region], x->offset, x->bytes, CONTENT, v);
    for (uint32_t k = 0; k < i; k++)
      if (overlap(range_of(c, v), range_of(c, c->e->body->args.at[k])))
        fail(c, NULL, "the inputs %s and %s overlap", name_of(c, c->e->body->args.at[k]),
             name_of(c, v));
  }
  for (uint32_t i = 0; i < m->globals.n; i++) c->initial[i] = NO_ID;
}

static void check_load(Check *c, const Op *op) {
  int g = (int)op->attr[AT_GLOBAL].i;
  ValueId v = op->results[0];
  const Place *x = &c->p->place[v];
  PlanRegion want = c->e->module->globals.at[g].kind == GLOBAL_HYPER ? PLAN_HYPERS : PLAN_GLOBALS;
  c->defined[v] = true;
  if (!check_value(c, op, v)) return;
  if (x->region != want || x->offset != c->globals.offset[g] || x->global != g)
    fail(c, op, "%s is not at the place of @%s", name_of(c, v), c->e->module->globals.at[g].path);
}

/* Loads name the value at entry, wherever they stand: their bytes are filled before the first step.
 */
static void fill_globals(Check *c) {
  const Block *b = c->e->body;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind != OP_LOAD) continue;
    ValueId v = op->results[0];
    check_load(c, op);
    if (c->failed) return;
    const Place *x = &c->p->place[v];
    c->initial[op->attr[AT_GLOBAL].i] = v;
    memory_write(&c->region[x->region], x->offset, x->bytes, CONTENT, v);
  }
}

static void check_globals_apart(Check *c) {
  const Module *m = c->e->module;
  uint64_t end = 0, hypers = 0, bytes;
  for (uint32_t i = 0; i < m->globals.n; i++) { /* they are laid out in order */
    uint64_t at = c->globals.offset[i];
    bool hyper = m->globals.at[i].kind == GLOBAL_HYPER;
    if (!layout_bytes(m->globals.at[i].type, m->globals.at[i].layout, &bytes)) continue;
    if (at < (hyper ? hypers : end) || (!hyper && at % (uint64_t)c->target->align))
      fail(c, NULL, "@%s overlaps another global or is not aligned", m->globals.at[i].path);
    *(hyper ? &hypers : &end) = at + bytes;
  }
  c->size[PLAN_GLOBALS] = c->globals.bytes;
  c->size[PLAN_HYPERS] = hypers;
  if (end > c->globals.bytes) fail(c, NULL, "the region of globals is too small");
}

static void check_end(Check *c, const Op *ret) {
  const Block *b = c->e->body;
  const Cell *other;
  ValueId *stored = ARENA_ARRAY(c->a, ValueId, c->e->module->globals.n);
  for (uint32_t i = 0; i < c->e->module->globals.n; i++) stored[i] = NO_ID;
  check_reads(c, ret, c->p->nsteps);
  for (uint32_t i = 0; i < b->args.n; i++) {
    const Place *x = &c->p->place[b->args.at[i]];
    if (!memory_holds(&c->region[x->region], x->offset, x->bytes, b->args.at[i], &other))
      fail(c, NULL, "the input %s is overwritten", name_of(c, b->args.at[i]));
  }
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_STORE) stored[op->attr[AT_GLOBAL].i] = op->operands[0];
  }
  for (uint32_t g = 0; g < c->e->module->globals.n; g++) {
    const Global *x = &c->e->module->globals.at[g];
    ValueId want = stored[g] == NO_ID ? c->initial[g] : c->content[stored[g]];
    uint64_t bytes;
    if (want == NO_ID || !layout_bytes(x->type, x->layout, &bytes)) continue;
    PlanRegion r = x->kind == GLOBAL_HYPER ? PLAN_HYPERS : PLAN_GLOBALS;
    if (!memory_holds(&c->region[r], c->globals.offset[g], bytes, want, &other))
      fail(c, NULL, "@%s does not hold %s at the end", x->path, name_of(c, want));
  }
}

/* A value of a global's bytes may be of no other global, and nobody but a store may change one. */
static void check_global_writes(Check *c) {
  bool *stored = ARENA_ARRAY(c->a, bool, c->e->module->globals.n + 1);
  for (int s = 0; s < c->p->nsteps; s++)
    if (c->p->steps[s]->kind == OP_STORE) stored[c->p->steps[s]->attr[AT_GLOBAL].i] = true;
  for (int s = 0; s < c->p->nsteps; s++)
    for (int k = 0; k < c->p->steps[s]->nresults; k++) {
      ValueId v = c->p->steps[s]->results[k];
      const Place *x = &c->p->place[v];
      if (x->region != PLAN_GLOBALS || moves_nothing(c, c->p->steps[s])) continue;
      if (x->global < 0 || x->global >= (int)c->e->module->globals.n || !stored[x->global] ||
          x->offset != c->globals.offset[x->global])
        fail(c, c->p->steps[s], "%s lies in the bytes of a global that nobody stores",
             name_of(c, v));
    }
}

/* The steps are the ops of the program in order, a loop's body behind the loop. */
static bool order_from(Check *c, const Block *b, int *step) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_LOAD || op->kind == OP_RETURN) continue;
    if (*step >= c->p->nsteps || c->p->steps[*step] != op) {
      fail(c, op, "its steps are not the ops of the program in order");
      return false;
    }
    ++*step;
    if (op->kind == OP_SCAN && level_of(op->blocks[0]) > c->p->depth) {
      fail(c, op, "is nested deeper than the plan says");
      return false;
    }
    if (op->kind == OP_SCAN && !order_from(c, op->blocks[0], step)) return false;
  }
  return true;
}

static const Op *check_order(Check *c) {
  const Block *b = c->e->body;
  const Op *last = op_at(c->e, b->ops.at[b->ops.n - 1]);
  int step = 0;
  if (!order_from(c, b, &step)) return NULL;
  if (step == c->p->nsteps && last->kind == OP_RETURN) return last;
  fail(c, NULL, "it has more steps than the program");
  return NULL;
}

static void check_all(Check *c) {
  const Op *ret = check_order(c);
  if (!ret) return;
  check_globals_apart(c);
  if (c->failed) return;
  begin(c);
  if (!c->failed) fill_globals(c);
  if (!c->failed) check_global_writes(c);
  int step = 0;
  if (!c->failed) check_block(c, c->e->body, &step);
  if (!c->failed) check_end(c, ret);
}

bool plan_verify(const Entry *e, const Target *target, FILE *f) {
  const Plan *p = e->plan;
  Arena *a = arena_new();
  Check c = {.e = e, .p = p, .f = f, .a = a, .target = target};
  c.globals = plan_globals(e->module, target->align);
  c.size[PLAN_ARENA] = p->arena_bytes;
  c.size[PLAN_INPUTS] = p->inputs_bytes;
  c.size[PLAN_COUNTS] = p->counts_bytes;
  c.content = ARENA_ARRAY(a, ValueId, e->values.n);
  c.defined = ARENA_ARRAY(a, bool, e->values.n);
  c.initial = ARENA_ARRAY(a, ValueId, e->module->globals.n + 1);
  for (uint32_t v = 0; v < e->values.n; v++) c.content[v] = v;
  check_all(&c);
  arena_free(a);
  return !c.failed;
}

bool pass_plan_verify(PassRun *r) {
  Entry *e;
  bool ok = true;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++)
    ok &= plan_verify(e, r->opt->target, r->opt->out ? r->opt->out : stderr);
  return ok;
}
