/* In place: a result takes the bytes of an operand that no op reads afterwards, and a value that
   is stored to a global is computed in the global's own bytes where no op reads the old ones any
   more. Contract: needs lives in the plan; leaves how, of and region of every value. Two results
   never take one operand; an input is never overwritten; what is returned or stored keeps its bytes
   to the end. A loop's next carry is computed in the carry's bytes where no op reads the carry any
   more, and what it stacks is computed in its slice of the stack; else the yield copies. */
#include "passes/plan/inplace_impl.h"

ValueId inplace_root(Inplace *w, ValueId v) {
  while (w->parent[v] != v) v = w->parent[v] = w->parent[w->parent[v]];
  return v;
}

/* The value is some rows of what lies there. */
bool inplace_is_part(Inplace *w, ValueId v) {
  return inplace_place(w, v)->bytes < inplace_place(w, inplace_root(w, v))->bytes;
}

static void join(Inplace *w, ValueId v, ValueId root) {
  int last = w->last[v];
  w->parent[v] = root;
  if (last > w->last[root]) w->last[root] = last;
}

/* The op may write the result over bytes that it reads through any of these operands: all must
 * agree. */
static bool rule_ok(Inplace *w, const Op *op, int result, ValueId root, int *operand) {
  *operand = -1;
  for (int i = 0; i < op->noperands; i++) {
    if (inplace_root(w, op->operands[i]) != root) continue;
    if (inplace_is_part(w, op->operands[i])) return false;
    if (!op_inplace_ok(w->t, w->e, op, result, i)) return false;
    if (*operand < 0) *operand = i;
  }
  return *operand >= 0;
}

static bool reads_root(Inplace *w, const Op *op, ValueId root) {
  for (int i = 0; i < op->noperands; i++)
    if (inplace_root(w, op->operands[i]) == root) return true;
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
  const Place *x = inplace_place(w, head);
  ValueId load = w->load_of[global];
  *over = NO_ID;
  if (load == NO_ID || w->last[inplace_root(w, load)] < x->first) return true;
  if (w->last[inplace_root(w, load)] > x->first) return false;
  const Op *def = w->p->steps[x->first];
  int operand;
  if (!reads_root(w, def, load)) return false; /* a nested block reads it */
  if (!rule_ok(w, def, result_index(def, head), load, &operand)) return false;
  *over = def->operands[operand];
  return true;
}

/* One step further up: the op that defines head may take over an operand that starts in the
   global's bytes, too, so that a whole chain of temporaries needs no bytes of the arena. */
static ValueId extend(Inplace *w, int global, ValueId head, ValueId *over) {
  const Place *x = inplace_place(w, head);
  const Op *def = w->p->steps[x->first];
  int result = result_index(def, head), operand;
  for (int i = 0; i < def->noperands; i++) {
    ValueId t = inplace_root(w, def->operands[i]);
    const Place *y = inplace_place(w, t);
    if (y->region != PLAN_ARENA || w->kept_global[t] >= 0 || w->last[t] != x->first) continue;
    if (y->bytes != x->bytes || w->taken[t] == x->first) continue;
    if (!rule_ok(w, def, result, t, &operand) || !may_start_in(w, global, t, over)) continue;
    inplace_place(w, head)->how = HOW_INPLACE;
    inplace_place(w, head)->of = def->operands[operand];
    w->taken[t] = x->first;
    remark_taken(w, def, operand);
    join(w, head, t);
    return t;
  }
  return NO_ID;
}

static void place_store(Inplace *w, const Op *store) {
  int global = (int)store->attr[AT_GLOBAL].i;
  ValueId v = store->operands[0], head = inplace_root(w, v), over;
  const Place *own = inplace_place(w, head);
  if (own->region == PLAN_GLOBALS && own->global == global) return; /* it is there: no bytes move */
  if (own->region != PLAN_ARENA || w->kept_global[head] >= 0 || inplace_is_part(w, v) ||
      value_at(w->e, v)->layout != w->e->module->globals.at[global].layout) {
    remark_store_refused(w, store, v);
    return;
  }
  if (!may_start_in(w, global, head, &over)) {
    remark_store_missed(w, store, global, head);
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
  Place *x = inplace_place(w, head);
  x->how = over == NO_ID ? HOW_EXTERNAL : HOW_INPLACE;
  x->of = over;
  remark_stored(w, store, global, v);
}

/* ---- loops ---- */

/* The first of the values that hold the bytes of v, if a step of the loop's own body makes it and
   it has no other place yet; else NO_ID. */
static ValueId own_head(Inplace *w, const Op *scan, ValueId v) {
  ValueId head = inplace_root(w, v);
  const Place *x = inplace_place(w, head);
  bool own = value_def(w->e, head) && value_block(w->e, head) == scan->blocks[0];
  return own && x->region == PLAN_ARENA && x->how == HOW_NEW && x->bytes ? head : NO_ID;
}

static bool carry_in_place(Inplace *w, const Op *scan, int k, ValueId head, ValueId *of) {
  ValueId arg = scan->blocks[0]->args.at[k + 1], root = inplace_root(w, arg);
  int first = inplace_place(w, head)->first, operand;
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
  Place *x = inplace_place(w, head);
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
    if (carry && inplace_root(w, v) == inplace_root(w, y)) continue; /* it stays as it is */
    bool ok = head != NO_ID && inplace_place(w, head)->bytes == inplace_place(w, v)->bytes;
    if (ok && carry) ok = carry_in_place(w, scan, k, head, &of);
    if (ok && !carry) ok = inplace_place(w, v)->bytes % (uint64_t)align == 0;
    if (ok) take_bytes(w, head, of, inplace_root(w, y));
    remark_yield(w, yield, carry ? "the carry" : "the stack",
                 carry ? scan->blocks[0]->args.at[k + 1] : y, v, ok);
  }
}

/* ---- temporaries ---- */

static void place_result(Inplace *w, int step, const Op *op, int result) {
  ValueId v = op->results[result];
  Place *x = inplace_place(w, v);
  int missed = -1;
  for (int i = 0; i < op->noperands; i++) {
    ValueId root = inplace_root(w, op->operands[i]);
    const Place *y = inplace_place(w, root);
    int operand;
    if (w->taken[root] == step || y->bytes != x->bytes) continue;
    const bool ends = y->region == PLAN_ARENA && w->kept_global[root] < 0 && w->last[root] == step;
    if (!ends && (missed >= 0 || !inplace_says(w))) continue; /* the rule walks a whole kernel */
    if (!rule_ok(w, op, result, root, &operand)) continue;
    if (!ends) {
      missed = i;
      continue;
    }
    w->taken[root] = step;
    x->how = HOW_INPLACE;
    x->of = op->operands[operand];
    remark_taken(w, op, operand);
    join(w, v, root);
    return;
  }
  if (missed >= 0)
    remark_missed(w, op, missed);
  else if (op->noperands)
    remark_never(w, step, op, result);
}

static bool is_root_free(Inplace *w, ValueId v) {
  const Place *x = inplace_place(w, v);
  return x->region == PLAN_ARENA && x->how == HOW_NEW && x->bytes > 0 &&
         w->kept_global[inplace_root(w, v)] < 0;
}

/* Results of an op, largest first: it has the first choice. */
static void place_results(Inplace *w, int step, const Op *op) {
  int done = 0;
  uint64_t below = UINT64_MAX;
  while (done < op->nresults) { /* one size after the other */
    uint64_t size = 0;
    for (int i = 0; i < op->nresults; i++) {
      uint64_t z = inplace_place(w, op->results[i])->bytes;
      if ((below == UINT64_MAX || z < below) && z > size) size = z;
    }
    for (int i = 0; i < op->nresults; i++) {
      if (inplace_place(w, op->results[i])->bytes != size) continue;
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
      join(w, w->p->steps[s]->results[0], inplace_root(w, w->p->steps[s]->operands[0]));
  for (int s = w->p->nsteps; s-- > 0;) { /* inner loops first */
    const Op *op = w->p->steps[s];
    if (op->kind != OP_SCAN) continue;
    const Block *b = op->blocks[0];
    for (uint32_t i = 1; i < b->args.n; i++) {
      ValueId arg = b->args.at[i];
      w->carry_last[arg] = w->last[inplace_root(w, arg)];
      join(w, arg, inplace_root(w, plan_same(e, arg)));
    }
  }
}

/* Every value lies where its storage lies. */
static void finish(Inplace *w, const Op *op) {
  for (int i = 0; i < plan_nmade(op); i++) {
    ValueId root = inplace_root(w, plan_made(op, i));
    Place *x = inplace_place(w, plan_made(op, i));
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
