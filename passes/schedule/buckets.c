/* Buckets: all-reduces that begin near each other become one op of several operands, and so one
   message, as the planner lays these side by side (passes/analysis/storages.c).
   Contract: runs behind layout and before order; the sums are the same, in fewer messages. A bucket
   is full where latency is one part in FULL of its time on the link. Under a byte limit all stays
   as it is: a bucket needs all of its operands at once.
   Method: the height of a collective is how many others follow it on the longest way to the end of
   the entry. Those of one height do not depend on each other, and no way leads from one to a higher
   one, so that buckets of equal heights make no cycle. Where others follow, something waits for the
   sum: then only all-reduces without costly ops between them are joined. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

enum { FULL = 8 };

typedef struct Bucket {
  VEC(OpId) at;        /* members, in the program's order */
  int height, anchors; /* of the first one; costly ops in front of it */
  Dtype dtype;
  double bytes;
} Bucket;

typedef struct Bucketing {
  Arena *a;
  const Entry *e;
  VEC(Bucket) bucket;
  int *of; /* by op id: its bucket, or -1 */
  /* While ops get their new order: */
  OpId *order;
  uint32_t n;
  bool *made; /* by value */
  ValueList reads;
} Bucketing;

static bool is_collective(const Op *op) { return op_info[op->kind].cls == CLASS_COLLECTIVE; }

/* ---- which ---- */

/* By op id of the body. */
static int *heights(Arena *a, const Entry *e) {
  const Block *b = e->body;
  int *above =
      ARENA_ARRAY(a, int, e->values.n + 1); /* by value: of what reads it, itself counted */
  int *height = ARENA_ARRAY(a, int, e->ops.n + 1);
  ValueList reads = {0};
  for (uint32_t i = b->ops.n; i-- > 0;) {
    const Op *op = op_at(e, b->ops.at[i]);
    int *h = &height[op->id];
    for (int k = 0; k < op->nresults; k++)
      if (above[op->results[k]] > *h) *h = above[op->results[k]];
    plan_reads(a, e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++)
      if (*h + is_collective(op) > above[reads.at[k]]) above[reads.at[k]] = *h + is_collective(op);
  }
  return height;
}

static double full_bytes(const PassRun *r, const Entry *e) {
  const Link l = link_of(r->opt);
  int messages = 0;
  while (1 << messages < e->ranks) messages++;
  return FULL * messages * l.latency * l.bandwidth * e->ranks / (e->ranks - 1);
}

static double bytes_of(const Entry *e, const Op *op) {
  double bytes = 0;
  for (int k = 0; k < op->noperands; k++) bytes += (double)value_type(e, op->operands[k])->bytes;
  return bytes;
}

/* The last one of its kind, if there is room in it; else a new one. What fills one alone joins
   none: it would only have others wait. */
static Bucket *bucket_for(Bucketing *w, const Op *op, int height, int anchors, double full) {
  Dtype dt = value_type(w->e, op->results[0])->dtype;
  double bytes = bytes_of(w->e, op);
  for (uint32_t i = w->bucket.n; i-- > 0 && bytes < full;) {
    Bucket *b = &w->bucket.at[i];
    if (b->height != height || b->dtype != dt || b->bytes >= full) continue;
    if (height && b->anchors != anchors) break;
    b->bytes += bytes;
    return b;
  }
  vec_push(w->a, &w->bucket,
           (Bucket){.height = height, .anchors = anchors, .dtype = dt, .bytes = bytes});
  return &w->bucket.at[w->bucket.n - 1];
}

static void fill(Bucketing *w, double full) {
  const int *height = heights(w->a, w->e);
  int anchors = 0;
  for (uint32_t i = 0; i < w->e->body->ops.n; i++) {
    const Op *op = op_at(w->e, w->e->body->ops.at[i]);
    w->of[op->id] = -1;
    anchors += op_is_anchor(op);
    if (op->kind != OP_ALL_REDUCE) continue;
    Bucket *b = bucket_for(w, op, height[op->id], anchors, full);
    w->of[op->id] = (int)(b - w->bucket.at);
    vec_push(w->a, &b->at, op->id);
  }
}

/* ---- a bucket stands where its last member does, and what reads it behind ---- */

static const Bucket *of_last(const Bucketing *w, const Op *op) {
  const Bucket *b = w->of[op->id] < 0 ? NULL : &w->bucket.at[w->of[op->id]];
  return b && b->at.at[b->at.n - 1] == op->id ? b : NULL;
}

static bool ready(Bucketing *w, const Op *op) {
  const Bucket *b = of_last(w, op);
  for (uint32_t m = 0; m < (b ? b->at.n : 1); m++) {
    plan_reads(w->a, w->e, b ? op_at(w->e, b->at.at[m]) : op, &w->reads);
    for (uint32_t k = 0; k < w->reads.n; k++)
      if (value_def(w->e, w->reads.at[k]) && !w->made[w->reads.at[k]]) return false;
  }
  return true;
}

static void put(Bucketing *w, const Op *op) {
  const Bucket *b = of_last(w, op);
  for (uint32_t m = 0; m < (b ? b->at.n : 1); m++) {
    const Op *one = b ? op_at(w->e, b->at.at[m]) : op;
    w->order[w->n++] = one->id;
    for (int k = 0; k < one->nresults; k++) w->made[one->results[k]] = true;
  }
}

/* Ops in the program's order, but those that read a bucket wait for it. */
static void reorder(Bucketing *w, Block *b) {
  VEC(OpId) waiting = {0};
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(w->e, b->ops.at[i]);
    if (w->of[op->id] >= 0 && !of_last(w, op)) continue;
    if (!ready(w, op) || (op_info[op->kind].flags & OPF_TERMINATOR && waiting.n)) {
      vec_push(w->a, &waiting, op->id);
      continue;
    }
    put(w, op);
    for (bool again = of_last(w, op) != NULL; again;) {
      uint32_t left = 0;
      again = false;
      for (uint32_t k = 0; k < waiting.n; k++) {
        const Op *next = op_at(w->e, waiting.at[k]);
        if (!ready(w, next)) {
          waiting.at[left++] = waiting.at[k];
          continue;
        }
        put(w, next);
        again |= of_last(w, next) != NULL;
      }
      waiting.n = left;
    }
  }
  memcpy(b->ops.at, w->order, sizeof *w->order * w->n);
}

/* ---- one op of all members ---- */

static void join_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Bucketing *w = data;
  const Bucket *all =
      op->parent == old->body && w->of[op->id] >= 0 ? &w->bucket.at[w->of[op->id]] : NULL;
  if (!all || all->at.n == 1) {
    build_copy(b, old, op, map);
    return;
  }
  if (all->at.at[all->at.n - 1] != op->id) return;
  VEC(ValueId) x = {0}, y = {0};
  VEC(const Type *) types = {0};
  for (uint32_t m = 0; m < all->at.n; m++) {
    const Op *one = op_at(old, all->at.at[m]);
    for (int k = 0; k < one->noperands; k++) {
      vec_push(w->a, &x, map[one->operands[k]]);
      vec_push(w->a, &y, one->results[k]);
      vec_push(w->a, &types, value_type(old, one->results[k]));
    }
  }
  builder_like(b, op);
  const Op *made = build_op(b, OP_ALL_REDUCE, x.at, (int)x.n, op->attr, types.at, (int)y.n);
  for (int k = 0; k < made->nresults; k++) {
    Value *v = value_at(b->e, made->results[k]);
    v->name = value_at(old, y.at[k])->name;
    v->layout = value_at(old, y.at[k])->layout;
    map[y.at[k]] = made->results[k];
  }
}

bool pass_buckets(PassRun *r) {
  Entry *e;
  if (r->opt->limit.bytes || r->opt->limit.share > 0) return true;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    if (e->ranks <= 1) continue;
    Bucketing w = {.a = r->scratch, .e = e, .of = ARENA_ARRAY(r->scratch, int, e->ops.n + 1)};
    int64_t before = r->changes;
    fill(&w, full_bytes(r, e));
    for (uint32_t i = 0; i < w.bucket.n; i++) r->changes += w.bucket.at[i].at.n - 1;
    if (r->changes == before) continue;
    w.order = ARENA_ARRAY(w.a, OpId, e->body->ops.n);
    w.made = ARENA_ARRAY(w.a, bool, e->values.n + 1);
    reorder(&w, e->body);
    entry_rebuild(e, join_each, &w, false, false);
  }
  return true;
}
