/* In place: a result takes the bytes of an operand that no op reads afterwards, and a value that
   is stored to a global is computed in the global's own bytes where no op reads the old ones any
   more. Contract: needs lives in the plan; leaves how, of and region of every value. Two results
   never take one operand; an input is never overwritten; what is returned or stored keeps its bytes
   to the end. A loop's next carry is computed in the carry's bytes where no op reads the carry any
   more, and what it stacks is computed in its slice of the stack; else the yield copies. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

#include <stdlib.h>

typedef struct Inplace {
  const Entry *e;
  const Target *t;
  Plan *p;
  const GlobalsPlan *g;
  PassRun *r;       /* for remarks; NULL: silent */
  ValueId *parent;  /* union-find over values that share bytes; the root is the first of them */
  int *last;        /* by root: the last step that reads the bytes; nsteps: they are kept */
  int *kept_global; /* by root: the global whose bytes they are from now on, or -1 */
  int *taken;       /* by root: the last step at which a result took the bytes, or -1 */
  ValueId *load_of; /* by global: the value of its load, or NO_ID */
  int *carry_last;  /* by value, of carries: the last step that reads it, views included */
} Inplace;

static ValueId root_of(Inplace *w, ValueId v) {
  while (w->parent[v] != v) v = w->parent[v] = w->parent[w->parent[v]];
  return v;
}

static void join(Inplace *w, ValueId v, ValueId root) {
  int last = w->last[v];
  w->parent[v] = root;
  if (last > w->last[root]) w->last[root] = last;
}

static Place *place_of(Inplace *w, ValueId v) { return &w->p->place[v]; }

/* The value is some rows of what lies there. */
static bool is_part(Inplace *w, ValueId v) {
  return place_of(w, v)->bytes < place_of(w, root_of(w, v))->bytes;
}

/* The op may write the result over bytes that it reads through any of these operands: all must
 * agree. */
static bool rule_ok(Inplace *w, const Op *op, int result, ValueId root, int *operand) {
  *operand = -1;
  for (int i = 0; i < op->noperands; i++) {
    if (root_of(w, op->operands[i]) != root) continue;
    if (is_part(w, op->operands[i])) return false;
    if (!op_inplace_ok(w->t, w->e, op, result, i)) return false;
    if (*operand < 0) *operand = i;
  }
  return *operand >= 0;
}

static bool reads_root(Inplace *w, const Op *op, ValueId root) {
  for (int i = 0; i < op->noperands; i++)
    if (root_of(w, op->operands[i]) == root) return true;
  return false;
}

static int result_index(const Op *op, ValueId v) {
  int i = 0;
  while (op->results[i] != v) i++;
  return i;
}

/* ---- stored values ---- */

/* May the value at the head of a storage, defined at its first step, be written to the global's
 *bytes? over is the operand that it overwrites then, or NO_ID. */
static bool may_start_in(Inplace *w, int global, ValueId head, ValueId *over) {
  const Place *x = place_of(w, head);
  ValueId load = w->load_of[global];
  *over = NO_ID;
  if (load == NO_ID || w->last[root_of(w, load)] < x->first) return true;
  if (w->last[root_of(w, load)] > x->first) return false;
  const Op *def = w->p->steps[x->first];
  int operand;
  if (!reads_root(w, def, load)) return false; /* a nested block reads it */
  if (!rule_ok(w, def, result_index(def, head), load, &operand)) return false;
  *over = def->operands[operand];
  return true;
}

static const char *where(Inplace *w, Loc loc) {
  return loc.line ? arena_printf(w->r->scratch, " at %s", loc_str(w->r->m->ctx, loc)) : "";
}

/* Why nothing may be written over bytes, whatever their lives, as what is said of the value there;
   NULL where they are of the arena and free to take. */
static const char *not_free(Inplace *w, ValueId root) {
  const Place *x = place_of(w, root);
  if (x->region == PLAN_INPUTS) return "is an input";
  if (x->region == PLAN_COUNTS) return "is a loop's counter";
  int global = x->region == PLAN_ARENA ? w->kept_global[root] : x->global;
  if (global < 0) return NULL;
  return arena_printf(w->r->scratch, "is kept in @%s", w->r->m->globals.at[global].path);
}

/* The value cannot be computed in the global's bytes, whatever lives: why it is copied there. */
static void store_refused(Inplace *w, const Op *store, ValueId v) {
  if (!w->r) return;
  ValueId root = root_of(w, v);
  const char *why = not_free(w, root);
  if (!why && is_part(w, v))
    why = arena_printf(w->r->scratch, "is part of %s", value_str(w->e, root));
  remark(w->r, REMARK_INPLACE, "inplace-missed", store->loc, "store to @%s copies: %s %s",
         w->r->m->globals.at[store->attr[AT_GLOBAL].i].path, value_str(w->e, v),
         why ? why : "has another layout");
}

static void store_missed(Inplace *w, const Op *store, int global, ValueId head) {
  if (!w->r) return;
  ValueId load = w->load_of[global];
  int last = w->last[root_of(w, load)];
  const char *path = w->r->m->globals.at[global].path;
  if (last >= w->p->nsteps) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", store->loc,
           "store to @%s copies: its old value %s is returned", path, value_str(w->e, load));
    return;
  }
  const Op *reader = w->p->steps[last];
  const char *why = last > place_of(w, head)->first ? "is still read by" : "is read elsewhere by";
  remark(w->r, REMARK_INPLACE, "inplace-missed", store->loc,
         "store to @%s copies: its old value %s %s %s%s", path, value_str(w->e, load), why,
         plan_op_name(reader), where(w, reader->loc));
}

static void stored_remark(Inplace *w, const Op *store, int global, ValueId v) {
  char buf[32];
  if (!w->r) return;
  remark(w->r, REMARK_INPLACE, "inplace", store->loc, "%s is computed in the bytes of @%s (%s)",
         value_str(w->e, v), w->r->m->globals.at[global].path,
         plan_commas(buf, place_of(w, v)->bytes));
  w->r->changes++;
}

static void taken_remark(Inplace *w, const Op *op, int operand) {
  char buf[32];
  if (!w->r) return;
  ValueId v = op->operands[operand];
  remark(w->r, REMARK_INPLACE, "inplace", op->loc, "%s reuses the bytes of %s (%s)",
         plan_op_name(op), value_str(w->e, v), plan_commas(buf, place_of(w, v)->bytes));
  w->r->changes++;
}

/* One step further up: the op that defines head may take over an operand that starts in the
   global's bytes, too, so that a whole chain of temporaries needs no bytes of the arena. */
static ValueId extend(Inplace *w, int global, ValueId head, ValueId *over) {
  const Place *x = place_of(w, head);
  const Op *def = w->p->steps[x->first];
  int result = result_index(def, head), operand;
  for (int i = 0; i < def->noperands; i++) {
    ValueId t = root_of(w, def->operands[i]);
    const Place *y = place_of(w, t);
    if (y->region != PLAN_ARENA || w->kept_global[t] >= 0 || w->last[t] != x->first) continue;
    if (y->bytes != x->bytes || w->taken[t] == x->first) continue;
    if (!rule_ok(w, def, result, t, &operand) || !may_start_in(w, global, t, over)) continue;
    place_of(w, head)->how = HOW_INPLACE;
    place_of(w, head)->of = def->operands[operand];
    w->taken[t] = x->first;
    taken_remark(w, def, operand);
    join(w, head, t);
    return t;
  }
  return NO_ID;
}

static void place_store(Inplace *w, const Op *store) {
  int global = (int)store->attr[AT_GLOBAL].i;
  ValueId v = store->operands[0], head = root_of(w, v), over;
  const Place *own = place_of(w, head);
  if (own->region == PLAN_GLOBALS && own->global == global) return; /* it is there: no bytes move */
  if (own->region != PLAN_ARENA || w->kept_global[head] >= 0 || is_part(w, v) ||
      value_at(w->e, v)->layout != w->e->module->globals.at[global].layout) {
    store_refused(w, store, v);
    return;
  }
  if (!may_start_in(w, global, head, &over)) {
    store_missed(w, store, global, head);
    return;
  }
  w->last[head] = w->p->nsteps;
  w->kept_global[head] = global;
  while (over == NO_ID) {
    ValueId up = extend(w, global, head, &over);
    if (up == NO_ID) break;
    head = up;
    w->kept_global[head] = global;
  }
  Place *x = place_of(w, head);
  x->how = over == NO_ID ? HOW_EXTERNAL : HOW_INPLACE;
  x->of = over;
  stored_remark(w, store, global, v);
}

/* ---- loops ---- */

static void yield_remark(Inplace *w, const Op *yield, const char *what, ValueId of, ValueId v,
                         bool taken) {
  char buf[32];
  if (!w->r) return;
  if (taken) {
    remark(w->r, REMARK_INPLACE, "inplace", yield->loc, "%s is computed in the bytes of %s %s (%s)",
           value_str(w->e, v), what, value_str(w->e, of), plan_commas(buf, place_of(w, v)->bytes));
    w->r->changes++;
  } else {
    remark(w->r, REMARK_INPLACE, "inplace-missed", yield->loc,
           "%s is copied to %s %s in every iteration", value_str(w->e, v), what,
           value_str(w->e, of));
  }
}

/* The first of the values that hold the bytes of v, if a step of the loop's own body makes it and
   it has no other place yet; else NO_ID. */
static ValueId own_head(Inplace *w, const Op *scan, ValueId v) {
  ValueId head = root_of(w, v);
  const Place *x = place_of(w, head);
  bool own = value_def(w->e, head) && value_block(w->e, head) == scan->blocks[0];
  return own && x->region == PLAN_ARENA && x->how == HOW_NEW && x->bytes ? head : NO_ID;
}

static bool carry_in_place(Inplace *w, const Op *scan, int k, ValueId head, ValueId *of) {
  ValueId arg = scan->blocks[0]->args.at[k + 1], root = root_of(w, arg);
  int first = place_of(w, head)->first, operand;
  const Op *def = w->p->steps[first];
  *of = arg;
  if (value_at(w->e, head)->layout != value_at(w->e, arg)->layout) return false;
  if (w->carry_last[arg] < first) return true;
  if (w->carry_last[arg] > first || !reads_root(w, def, root)) return false;
  if (!rule_ok(w, def, result_index(def, head), root, &operand)) return false;
  *of = def->operands[operand];
  return true;
}

static void take_bytes(Inplace *w, ValueId head, ValueId of, ValueId root) {
  Place *x = place_of(w, head);
  x->how = HOW_INPLACE;
  x->of = of;
  w->taken[root] = x->first;
  join(w, head, root);
}

static void place_yield(Inplace *w, const Op *yield, int align) {
  const Op *scan = yield->parent->op;
  int carries = scan_carries(scan);
  for (int k = 0; k < yield->noperands; k++) {
    ValueId v = yield->operands[k], head = own_head(w, scan, v), y = scan->results[k], of = y;
    bool carry = k < carries;
    if (carry && root_of(w, v) == root_of(w, y)) continue; /* it stays as it is */
    bool ok = head != NO_ID && place_of(w, head)->bytes == place_of(w, v)->bytes;
    if (ok && carry) ok = carry_in_place(w, scan, k, head, &of);
    if (ok && !carry) ok = place_of(w, v)->bytes % (uint64_t)align == 0;
    if (ok) take_bytes(w, head, of, root_of(w, y));
    yield_remark(w, yield, carry ? "the carry" : "the stack",
                 carry ? scan->blocks[0]->args.at[k + 1] : y, v, ok);
  }
}

/* ---- temporaries ---- */

static void missed_remark(Inplace *w, const Op *op, int operand) {
  if (!w->r) return;
  ValueId v = op->operands[operand], root = root_of(w, v);
  const char *name = value_str(w->e, v), *what = plan_op_name(op);
  const char *why = not_free(w, root);
  if (why) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s %s", what, name,
           why);
  } else if (w->last[root] >= w->p->nsteps) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s is returned", what,
           name);
  } else {
    const Op *reader = w->p->steps[w->last[root]];
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc,
           "%s not in place: %s is read again by %s%s", what, name, plan_op_name(reader),
           where(w, reader->loc));
  }
}

/* No operand's bytes would have done, whatever its life: why. The best reason is the one of an
   operand that has as many bytes as the result. */
static void never_remark(Inplace *w, int step, const Op *op, int result) {
  uint64_t bytes = place_of(w, op->results[result])->bytes;
  const char *what = plan_op_name(op);
  char buf[32];
  if (!w->r) return;
  for (int i = 0; i < op->noperands; i++) {
    ValueId v = op->operands[i], root = root_of(w, v);
    const char *why = op_inplace_refusal(w->t, w->e, op, result, i);
    if (place_of(w, root)->bytes != bytes) continue;
    if (!why && w->taken[root] == step) why = "was taken for another result";
    if (!why) continue; /* another operand has its bytes, too, and must not be written over */
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s %s", what,
           value_str(w->e, v), why);
    return;
  }
  remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc,
         "%s not in place: no operand has as many bytes as %s (%s)", what,
         value_str(w->e, op->results[result]), plan_commas(buf, bytes));
}

static void place_result(Inplace *w, int step, const Op *op, int result) {
  ValueId v = op->results[result];
  Place *x = place_of(w, v);
  int missed = -1;
  for (int i = 0; i < op->noperands; i++) {
    ValueId root = root_of(w, op->operands[i]);
    const Place *y = place_of(w, root);
    int operand;
    if (w->taken[root] == step || y->bytes != x->bytes) continue;
    if (!rule_ok(w, op, result, root, &operand)) continue;
    if (y->region != PLAN_ARENA || w->kept_global[root] >= 0 || w->last[root] != step) {
      if (missed < 0) missed = i;
      continue;
    }
    w->taken[root] = step;
    x->how = HOW_INPLACE;
    x->of = op->operands[operand];
    taken_remark(w, op, operand);
    join(w, v, root);
    return;
  }
  if (missed >= 0)
    missed_remark(w, op, missed);
  else if (op->noperands)
    never_remark(w, step, op, result);
}

static bool is_root_free(Inplace *w, ValueId v) {
  const Place *x = place_of(w, v);
  return x->region == PLAN_ARENA && x->how == HOW_NEW && x->bytes > 0 &&
         w->kept_global[root_of(w, v)] < 0;
}

/* Results of an op, largest first: it has the first choice. */
static void place_results(Inplace *w, int step, const Op *op) {
  int done = 0;
  uint64_t below = UINT64_MAX;
  while (done < op->nresults) { /* one size after the other */
    uint64_t size = 0;
    for (int i = 0; i < op->nresults; i++) {
      uint64_t z = place_of(w, op->results[i])->bytes;
      if ((below == UINT64_MAX || z < below) && z > size) size = z;
    }
    for (int i = 0; i < op->nresults; i++) {
      if (place_of(w, op->results[i])->bytes != size) continue;
      done++;
      if (is_root_free(w, op->results[i])) place_result(w, step, op, i);
    }
    if (size == 0) break;
    below = size;
  }
}

/* ---- the whole ---- */

static void init(Inplace *w, Arena *a) {
  const Entry *e = w->e;
  uint32_t n = e->values.n, globals = e->module->globals.n;
  w->parent = ARENA_ARRAY(a, ValueId, n);
  w->last = ARENA_ARRAY(a, int, n);
  w->kept_global = ARENA_ARRAY(a, int, n);
  w->taken = ARENA_ARRAY(a, int, n);
  w->load_of = ARENA_ARRAY(a, ValueId, globals);
  for (uint32_t v = 0; v < n; v++) {
    w->parent[v] = v;
    w->last[v] = w->p->place[v].last;
    w->kept_global[v] = w->taken[v] = -1;
  }
  w->carry_last = ARENA_ARRAY(a, int, n);
  for (uint32_t i = 0; i < globals; i++) w->load_of[i] = NO_ID;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (op->kind == OP_LOAD) w->load_of[op->attr[AT_GLOBAL].i] = op->results[0];
  }
  for (int s = 0; s < w->p->nsteps; s++)
    if (plan_is_view(e, w->p->steps[s]))
      join(w, w->p->steps[s]->results[0], root_of(w, w->p->steps[s]->operands[0]));
  for (int s = w->p->nsteps; s-- > 0;) { /* inner loops first */
    const Op *op = w->p->steps[s];
    if (op->kind != OP_SCAN) continue;
    const Block *b = op->blocks[0];
    for (uint32_t i = 1; i < b->args.n; i++) {
      ValueId arg = b->args.at[i];
      w->carry_last[arg] = w->last[root_of(w, arg)];
      join(w, arg, root_of(w, plan_same(e, arg)));
    }
  }
}

/* Every value lies where its storage lies. */
static void finish(Inplace *w, const Op *op) {
  for (int i = 0; i < plan_nmade(op); i++) {
    ValueId root = root_of(w, plan_made(op, i));
    Place *x = place_of(w, plan_made(op, i));
    if (w->kept_global[root] >= 0) {
      x->region = PLAN_GLOBALS;
      x->global = w->kept_global[root];
      x->offset = w->g->offset[x->global] + plan_shift(w->e, plan_made(op, i));
    }
  }
}

void plan_inplace(Arena *scratch, const Entry *e, Plan *p, const GlobalsPlan *g, const Target *t,
                  PassRun *r) {
  Inplace w = {.e = e, .t = t, .p = p, .g = g, .r = r};
  if (r) remarks_of(r, e);
  init(&w, scratch);
  for (int s = 0; s < p->nsteps; s++)
    if (p->steps[s]->kind == OP_YIELD) place_yield(&w, p->steps[s], t->align);
  for (int s = 0; s < p->nsteps; s++)
    if (p->steps[s]->kind == OP_STORE) place_store(&w, p->steps[s]);
  for (int s = 0; s < p->nsteps; s++) place_results(&w, s, p->steps[s]);
  for (int s = 0; s < p->nsteps; s++) finish(&w, p->steps[s]);
}

bool pass_inplace(PassRun *r) {
  GlobalsPlan g = plan_globals(r->m, r->opt->target->align);
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    plan_inplace(r->scratch, e, plan_of(e), &g, r->opt->target, r);
    plan_strides(r->m->arena, e, plan_of(e));
  }
  return true;
}
