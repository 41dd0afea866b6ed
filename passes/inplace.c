/* In place: a result takes the bytes of an operand that nobody reads afterwards, and a value that
   is stored to a global is computed in the global's own bytes where nobody reads the old ones any
   more. Contract: needs lives in the plan; leaves how, of and region of every value. Two results
   never take one operand; an input is never overwritten; what is returned or stored keeps its bytes
   to the end. */
#include "passes/pass_list.h"
#include "passes/plan_impl.h"

#include <stdlib.h>

typedef struct Inplace {
  const Entry *e;
  Plan *p;
  const GlobalsPlan *g;
  PassRun *r;       /* for remarks; NULL: silent */
  ValueId *parent;  /* union-find over values that share bytes; the root is the first of them */
  int *last;        /* by root: the last step that reads the bytes; nsteps: they are kept */
  int *kept_global; /* by root: the global whose bytes they are from now on, or -1 */
  int *taken;       /* by root: the last step at which a result took the bytes, or -1 */
  ValueId *load_of; /* by global: the value of its load, or NO_ID */
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

/* The op may write the result over bytes that it reads through any of these operands: all must
 * agree. */
static bool rule_ok(Inplace *w, const Op *op, int result, ValueId root, int *operand) {
  *operand = -1;
  for (int i = 0; i < op->noperands; i++) {
    if (root_of(w, op->operands[i]) != root) continue;
    if (!op_inplace_ok(w->e, op, result, i)) return false;
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
    join(w, head, t);
    return t;
  }
  return NO_ID;
}

static void place_store(Inplace *w, const Op *store) {
  int global = (int)store->attr[AT_GLOBAL].i;
  ValueId v = store->operands[0], head = root_of(w, v), over;
  if (place_of(w, head)->region != PLAN_ARENA || w->kept_global[head] >= 0) return;
  const Global *g = &w->e->module->globals.at[global];
  if (value_at(w->e, v)->layout != g->layout) return;
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

/* ---- temporaries ---- */

static void taken_remark(Inplace *w, const Op *op, int operand) {
  char buf[32];
  if (!w->r) return;
  ValueId v = op->operands[operand];
  remark(w->r, REMARK_INPLACE, "inplace", op->loc, "%s reuses the bytes of %s (%s)",
         plan_op_name(op), value_str(w->e, v), plan_commas(buf, place_of(w, v)->bytes));
  w->r->changes++;
}

static void missed_remark(Inplace *w, const Op *op, int operand) {
  if (!w->r) return;
  ValueId v = op->operands[operand], root = root_of(w, v);
  const char *name = value_str(w->e, v), *what = plan_op_name(op);
  const Place *x = place_of(w, root);
  if (x->region == PLAN_INPUTS) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s is an input", what,
           name);
  } else if (x->region != PLAN_ARENA || w->kept_global[root] >= 0) {
    int global = x->region == PLAN_ARENA ? w->kept_global[root] : x->global;
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s is kept in @%s",
           what, name, w->r->m->globals.at[global].path);
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
  if (missed >= 0) missed_remark(w, op, missed);
}

static bool is_free(Inplace *w, ValueId v) {
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
      if (is_free(w, op->results[i])) place_result(w, step, op, i);
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
  for (uint32_t i = 0; i < globals; i++) w->load_of[i] = NO_ID;
  for (uint32_t i = 0; i < e->body->ops.n; i++) {
    const Op *op = op_at(e, e->body->ops.at[i]);
    if (op->kind == OP_LOAD) w->load_of[op->attr[AT_GLOBAL].i] = op->results[0];
    if (plan_is_view(e, op)) join(w, op->results[0], root_of(w, op->operands[0]));
  }
}

/* Every value lies where its storage lies. */
static void finish(Inplace *w, const Op *op) {
  for (int i = 0; i < op->nresults; i++) {
    ValueId root = root_of(w, op->results[i]);
    Place *x = place_of(w, op->results[i]);
    if (w->kept_global[root] >= 0) {
      x->region = PLAN_GLOBALS;
      x->global = w->kept_global[root];
      x->offset = w->g->offset[x->global];
    }
  }
}

void plan_inplace(Arena *scratch, const Entry *e, Plan *p, const GlobalsPlan *g, PassRun *r) {
  Inplace w = {.e = e, .p = p, .g = g, .r = r};
  init(&w, scratch);
  for (int s = 0; s < p->nsteps; s++)
    if (p->steps[s]->kind == OP_STORE) place_store(&w, p->steps[s]);
  for (int s = 0; s < p->nsteps; s++) place_results(&w, s, p->steps[s]);
  for (int s = 0; s < p->nsteps; s++) finish(&w, p->steps[s]);
}

bool pass_inplace(PassRun *r) {
  GlobalsPlan g = plan_globals(r->m, r->opt->target->align);
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) plan_inplace(r->scratch, e, e->plan, &g, r);
  return true;
}
