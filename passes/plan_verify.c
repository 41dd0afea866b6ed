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

enum { REGIONS = PLAN_HYPERS + 1 };

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
                                                 "the hypers"};

static bool check_place(Check *c, const Op *op, const char *what, const Place *x, uint64_t bytes) {
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
  else if (!checked_add(x->offset, bytes, &end) || end > c->size[x->region])
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
  return check_place(c, op, name_of(c, v), &c->p->place[v], bytes);
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
  if (memory_holds(&c->region[x->region], x->offset, x->bytes, c->content[v], &other)) return;
  if (other->kind == CONTENT)
    fail(c, op, "reads %s, but %s was written over it in %s at 0x%llx", name_of(c, v),
         name_of(c, other->content), region_name[x->region], (unsigned long long)other->from);
  else
    fail(c, op, "reads %s, but its bytes in %s at 0x%llx hold %s", name_of(c, v),
         region_name[x->region], (unsigned long long)other->from,
         other->kind == SCRATCH ? "scratch" : "nothing");
}

static void check_reads(Check *c, const Op *op, const Op *at, int step);
static void check_nested(Check *c, const Op *op, const Op *at, int step) {
  for (int k = 0; k < op->nblocks; k++)
    for (uint32_t i = 0; i < op->blocks[k]->ops.n; i++)
      check_reads(c, op_at(c->e, op->blocks[k]->ops.at[i]), at, step);
}
/* Reads of op, and of what is nested in it, on behalf of the op `at` of the body. */
static void check_reads(Check *c, const Op *op, const Op *at, int step) {
  for (int i = 0; i < op->noperands; i++) {
    ValueId v = op->operands[i];
    const Op *def = value_def(c->e, v);
    bool arg = !def && value_at(c->e, v)->index < c->e->body->args.n &&
               c->e->body->args.at[value_at(c->e, v)->index] == v;
    if (arg || (def && def->parent == c->e->body)) check_read(c, at, v, step);
  }
  check_nested(c, op, at, step);
}

/* ---------------------------------------------------------------- a step ---- */

static bool overlap(PlanRegion r, uint64_t a, uint64_t na, PlanRegion q, uint64_t b, uint64_t nb) {
  return r == q && na && nb && a < b + nb && b < a + na;
}

/* A reshape whose bytes are its operand's: nothing moves. */
static bool moves_nothing(const Check *c, const Op *op) {
  if (op->kind != OP_RESHAPE) return false;
  const Place *x = &c->p->place[op->operands[0]], *y = &c->p->place[op->results[0]];
  return !value_at(c->e, op->operands[0])->layout && !value_at(c->e, op->results[0])->layout &&
         x->region == y->region && x->offset == y->offset && x->bytes == y->bytes;
}

static void check_overwrites(Check *c, const Op *op, int result) {
  const Place *y = &c->p->place[op->results[result]];
  for (int i = 0; i < op->noperands; i++) {
    const Place *x = &c->p->place[op->operands[i]];
    if (!overlap(x->region, x->offset, x->bytes, y->region, y->offset, y->bytes)) continue;
    bool same = x->offset == y->offset && x->bytes == y->bytes;
    if (!same || !verify_overwrite(c->e, op, result, i))
      fail(c, op, "writes %s over its operand %s, which it still reads elsewhere",
           name_of(c, op->results[result]), name_of(c, op->operands[i]));
  }
  for (int k = 0; k < result; k++) {
    const Place *x = &c->p->place[op->results[k]];
    if (overlap(x->region, x->offset, x->bytes, y->region, y->offset, y->bytes))
      fail(c, op, "writes %s and %s to the same bytes", name_of(c, op->results[k]),
           name_of(c, op->results[result]));
  }
}

static void check_scratch(Check *c, const Op *op, int step) {
  const Target *t = c->target;
  const Place *s = &c->p->scratch[op->id];
  uint64_t bytes = t->scratch_bytes ? t->scratch_bytes(t, c->e, op) : 0;
  if (!check_place(c, op, "its scratch", s, bytes) || !bytes) return;
  if (s->region != PLAN_ARENA) fail(c, op, "its scratch lies outside the arena");
  if (s->first > step || s->last < step) fail(c, op, "its scratch does not live at its step");
  for (int i = 0; i < op->noperands; i++) {
    const Place *x = &c->p->place[op->operands[i]];
    if (overlap(x->region, x->offset, x->bytes, s->region, s->offset, s->bytes))
      fail(c, op, "its scratch overlaps its operand %s", name_of(c, op->operands[i]));
  }
  for (int i = 0; i < op->nresults; i++) {
    const Place *x = &c->p->place[op->results[i]];
    if (overlap(x->region, x->offset, x->bytes, s->region, s->offset, s->bytes))
      fail(c, op, "its scratch overlaps its result %s", name_of(c, op->results[i]));
  }
  memory_write(&c->region[s->region], s->offset, s->bytes, SCRATCH, NO_ID);
}

/* `how` and `of` tell people and tools why a value lies there: they must be true. */
static void check_reason(Check *c, const Op *op, ValueId v) {
  const Place *y = &c->p->place[v];
  if (y->how != HOW_INPLACE) return;
  bool operand = false;
  for (int i = 0; i < op->noperands; i++) operand |= op->operands[i] == y->of;
  if (!operand) {
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
  if (overlap(x->region, x->offset, x->bytes, PLAN_GLOBALS, c->globals.offset[g], bytes))
    fail(c, op, "%s overlaps @%s, to which it is copied", name_of(c, v),
         c->e->module->globals.at[g].path);
  memory_write(&c->region[PLAN_GLOBALS], c->globals.offset[g], bytes, CONTENT, c->content[v]);
}

static void check_step(Check *c, const Op *op, int step) {
  check_reads(c, op, op, step);
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
    check_reason(c, op, v);
  }
  if (!ok) return;
  if (moves_nothing(c, op)) {
    c->content[op->results[0]] = c->content[op->operands[0]];
    c->defined[op->results[0]] = true;
    return;
  }
  for (int i = 0; i < op->nresults; i++) {
    const Place *y = &c->p->place[op->results[i]];
    if (y->region == PLAN_INPUTS || y->region == PLAN_HYPERS)
      fail(c, op, "writes %s to %s", name_of(c, op->results[i]), region_name[y->region]);
    check_overwrites(c, op, i);
  }
  check_scratch(c, op, step);
  for (int i = 0; i < op->nresults; i++) {
    const Place *y = &c->p->place[op->results[i]];
    memory_write(&c->region[y->region], y->offset, y->bytes, CONTENT, op->results[i]);
    c->defined[op->results[i]] = true;
  }
  if (op->kind == OP_STORE) check_store(c, op);
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
    for (uint32_t k = 0; k < i; k++) {
      ValueId w = c->e->body->args.at[k];
      const Place *z = &c->p->place[w];
      if (overlap(x->region, x->offset, x->bytes, z->region, z->offset, z->bytes))
        fail(c, NULL, "the inputs %s and %s overlap", name_of(c, w), name_of(c, v));
    }
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
  check_reads(c, ret, ret, c->p->nsteps);
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

static const Op *check_order(Check *c) {
  const Block *b = c->e->body;
  int s = 0;
  const Op *ret = NULL;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (op->kind == OP_LOAD) continue;
    if (op->kind == OP_RETURN) {
      ret = op;
      continue;
    }
    if (s >= c->p->nsteps || c->p->steps[s] != op) {
      fail(c, op, "its steps are not the ops of the program in order");
      return NULL;
    }
    s++;
  }
  if (s != c->p->nsteps || !ret) {
    fail(c, NULL, "it has more steps than the program");
    return NULL;
  }
  return ret;
}

static void check_all(Check *c) {
  const Op *ret = check_order(c);
  if (!ret) return;
  check_globals_apart(c);
  if (c->failed) return;
  begin(c);
  if (!c->failed) fill_globals(c);
  if (!c->failed) check_global_writes(c);
  for (int s = 0; s < c->p->nsteps && !c->failed; s++) check_step(c, c->p->steps[s], s);
  if (!c->failed) check_end(c, ret);
}

bool plan_verify(const Entry *e, const Target *target, FILE *f) {
  const Plan *p = e->plan;
  Arena *a = arena_new();
  Check c = {.e = e, .p = p, .f = f, .a = a, .target = target};
  c.globals = plan_globals(e->module, target->align);
  c.size[PLAN_ARENA] = p->arena_bytes;
  c.size[PLAN_INPUTS] = p->inputs_bytes;
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
