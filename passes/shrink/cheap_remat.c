/* Cheap recomputation: an element-wise value with a distant reader, as in the backward pass, is
   recomputed there from fewer bytes; of a gelu only its input is saved. Contract: bits stay, since
   the same ops read the same numbers. Runs after the last cse, which would merge the copies, and
   before fuse, which puts them into the kernels that read them. A reader is distant if two or more
   anchor ops stand between: products, convolutions, loops. The choice is by groups of values with
   the same leaves. A group is recomputed if that frees at least twice the bytes that its leaves
   then hold. Of the other groups, values are recomputed that follow from leaves held anyway, and
   reshapes that move elements of such leaves. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

enum {
  LONGEST = 24,   /* ops that are computed again for one value */
  WORTH_FREED = 2 /* times the bytes held */
};

typedef struct Recompute {
  const Entry *e;
  Arena *a;
  uint64_t min;           /* bytes of a value worth the trouble */
  int *anchors;           /* by op of the body: anchor ops before it */
  int *last_far;          /* by value: anchor ops before its last reader */
  int *last_held;         /* by value that others are views of: ... before the last reader of any */
  ValueId *viewed;        /* by value: what it is a view of, at the end */
  bool *fixed;            /* by value: read far behind by what needs it in memory */
  bool *again;            /* by value: computed again where it is read far behind */
  ValueId *group;         /* by value: union-find */
  uint64_t *freed, *held; /* by group */
  /* while rebuilding */
  int *made_at; /* by value: anchor ops before its last copy, -1: none */
} Recompute;

/* A kernel computes it element by element on its way. */
static bool is_cheap(const Recompute *w, ValueId v) {
  const Op *op = value_def(w->e, v);
  if (!op || op->parent != w->e->body || op->nresults != 1) return false;
  return op_info[op->kind].cls == CLASS_ELEMENT || op->kind == OP_BROADCAST ||
         op->kind == OP_RESHAPE;
}

static bool reads_elements(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return c == CLASS_ELEMENT || c == CLASS_REDUCE || c == CLASS_ROWS || op->kind == OP_BROADCAST ||
         op->kind == OP_RESHAPE;
}

static int made(const Recompute *w, ValueId v) {
  const Op *op = value_def(w->e, v);
  return op && op->parent == w->e->body ? w->anchors[op->id] : 0;
}

static bool is_far(const Recompute *w, ValueId v) {
  return w->last_far[v] - made(w, v) >= FAR_ANCHORS;
}

/* Inputs, globals and constants are there; so is what is read far behind as it lies. */
static bool is_there(const Recompute *w, ValueId v) {
  const Op *op = value_def(w->e, v);
  if (!op || op->parent != w->e->body) return true;
  OpClass c = op_info[op->kind].cls;
  return c == CLASS_GLOBAL || c == CLASS_LEAF || value_type(w->e, v)->bytes < w->min ||
         (is_far(w, v) && (w->fixed[v] || !is_cheap(w, v)));
}

static bool wants(const Recompute *w, ValueId v) {
  const Op *op = value_def(w->e, v);
  return op && op_info[op->kind].cls == CLASS_ELEMENT && is_cheap(w, v) && is_far(w, v) &&
         !w->fixed[v] && value_type(w->e, v)->bytes >= w->min;
}

/* A copy of rows of a bounded axis, of bytes that are held as long anyway, whatever reads it. */
static bool is_copy_of_held(const Recompute *w, ValueId v) {
  const Op *op = value_def(w->e, v);
  if (!op || op->parent != w->e->body || op->kind != OP_RESHAPE || !is_far(w, v)) return false;
  const Type *t = value_type(w->e, v);
  return t->bytes >= w->min && reshape_moves(value_type(w->e, op->operands[0]), t) &&
         w->last_held[w->viewed[op->operands[0]]] >= w->last_far[v];
}

static ValueId root(Recompute *w, ValueId v) {
  while (w->group[v] != v) v = w->group[v] = w->group[w->group[v]];
  return v;
}

/* Visits what v is computed from; joins v with the leaves that would be held for it. Returns the
   ops on the way, more than LONGEST where there are too many. */
static int find_leaves(Recompute *w, ValueId v, ValueId of, int ops) {
  const Op *op = value_def(w->e, v);
  for (int k = 0; k < op->noperands && ops <= LONGEST; k++) {
    ValueId x = op->operands[k];
    if (is_there(w, x)) continue;
    if (is_cheap(w, x) && !w->fixed[x])
      ops = find_leaves(w, x, of, ops + 1);
    else
      w->group[root(w, x)] = root(w, of);
  }
  return ops;
}

static void look_at_uses(Recompute *w) {
  const Block *b = w->e->body;
  ValueList reads = {0};
  int anchors = 0;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    w->anchors[op->id] = anchors;
    plan_reads(w->a, w->e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      ValueId v = reads.at[k];
      w->last_far[v] = w->last_held[w->viewed[v]] = anchors;
      if (anchors - made(w, v) >= FAR_ANCHORS && !reads_elements(op)) w->fixed[v] = true;
    }
    anchors += op_is_anchor(op);
  }
}

static int64_t choose(Recompute *w) {
  uint32_t n = w->e->values.n;
  int64_t chosen = 0;
  for (ValueId v = 0; v < n; v++) {
    if (!wants(w, v)) continue;
    w->again[v] = find_leaves(w, v, v, 1) <= LONGEST;
    if (!w->again[v]) w->fixed[v] = true; /* it stays, and others may start from it */
  }
  for (ValueId v = 0; v < n; v++) {
    uint64_t bytes = value_type(w->e, v)->bytes;
    if (w->again[v])
      w->freed[root(w, v)] += bytes;
    else if (root(w, v) != v)
      w->held[root(w, v)] += bytes;
  }
  for (ValueId v = 0; v < n; v++)
    if (w->again[v]) {
      ValueId g = root(w, v);
      w->again[v] = w->freed[g] >= WORTH_FREED * w->held[g];
      chosen += w->again[v];
    }
  return chosen;
}

typedef struct Follows {
  ValueId of;
  bool fix;      /* what it follows from stays, though it could be computed again, too */
  int ops;       /* that are computed again */
  uint64_t held; /* bytes that are held until `of` is read, and would not be otherwise */
} Follows;

/* Everything that v is computed from is held anyway. */
static bool follows(Recompute *w, ValueId v, Follows *f) {
  const Op *op = value_def(w->e, v);
  if (f->ops++ == LONGEST) return false;
  for (int k = 0; k < op->noperands; k++) {
    ValueId x = op->operands[k];
    const Op *def = value_def(w->e, x);
    if (!is_there(w, x) && (!is_cheap(w, x) || w->again[x])) return false;
    if (!is_there(w, x) && !wants(w, x)) {
      if (!follows(w, x, f)) return false;
      continue;
    }
    w->fixed[x] |= f->fix && wants(w, x);
    bool made_here = def && def->parent == w->e->body && op_info[def->kind].cls != CLASS_GLOBAL;
    if (made_here && w->last_far[x] < w->last_far[f->of]) f->held += value_type(w->e, x)->bytes;
  }
  return f->held <= value_type(w->e, f->of)->bytes;
}

static int64_t choose_more(Recompute *w) {
  int64_t chosen = 0;
  for (ValueId v = (ValueId)w->e->values.n; v-- > 0;) {
    if (is_copy_of_held(w, v)) {
      w->again[v] = true;
      chosen++;
      continue;
    }
    Follows try = {.of = v}, take = {.of = v, .fix = true};
    if (!wants(w, v) || w->again[v] || !follows(w, v, &try)) continue;
    w->again[v] = follows(w, v, &take);
    chosen++;
  }
  return chosen;
}

/* ---- rebuilding ---- */

static void make_again(Recompute *w, Builder *b, const Entry *old, ValueId v, ValueId *map,
                       int here) {
  const Op *op = value_def(old, v);
  if (w->made_at[v] >= 0 && here - w->made_at[v] < FAR_ANCHORS) return;
  for (int k = 0; k < op->noperands; k++) {
    ValueId x = op->operands[k];
    if (!is_there(w, x) && is_cheap(w, x) && !w->fixed[x] && here - made(w, x) >= FAR_ANCHORS)
      make_again(w, b, old, x, map, here);
  }
  build_copy(b, old, op, map);
  value_def(b->e, map[v])->backward = true;
  w->made_at[v] = here;
}

static void recompute_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Recompute *w = data;
  Recompute was = *w;
  was.e = old; /* the entry's own body is being made */
  if (op->parent == old->body) {
    int here = w->anchors[op->id];
    for (int k = 0; k < op->noperands; k++) {
      ValueId v = op->operands[k];
      if (w->again[v] && here - made(&was, v) >= FAR_ANCHORS)
        make_again(&was, b, old, v, map, here);
    }
  }
  build_copy(b, old, op, map);
}

bool pass_cheap_remat(PassRun *r) {
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Arena *a = arena_new();
    uint32_t n = e->values.n;
    Recompute w = {.e = e, .a = a, .min = (uint64_t)pass_arg_int(r, "least", RECOMPUTE_MIN)};
    w.anchors = ARENA_ARRAY(a, int, e->ops.n + 1);
    w.last_far = ARENA_ARRAY(a, int, n + 1);
    w.last_held = ARENA_ARRAY(a, int, n + 1);
    w.viewed = plan_viewed(a, e);
    w.made_at = ARENA_ARRAY(a, int, n + 1);
    w.fixed = ARENA_ARRAY(a, bool, n + 1);
    w.again = ARENA_ARRAY(a, bool, n + 1);
    w.group = ARENA_ARRAY(a, ValueId, n + 1);
    w.freed = ARENA_ARRAY(a, uint64_t, n + 1);
    w.held = ARENA_ARRAY(a, uint64_t, n + 1);
    for (ValueId v = 0; v < n; v++) {
      w.group[v] = v;
      w.made_at[v] = -1;
    }
    look_at_uses(&w);
    int64_t chosen = choose(&w);
    chosen += choose_more(&w);
    r->changes += chosen;
    if (chosen) entry_rebuild(e, recompute_each, &w, false, true);
    arena_free(a);
  }
  return true;
}
