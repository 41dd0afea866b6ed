/* Batches: small launches of one kernel that do not depend on each other become one launch, as the
   updates of a network's biases do.
   Contract: results keep their bits, since every block of threads does what it did. A launch waits
   for the last one of its batch; it may pass what touches none of its bytes, and bytes that are
   dead behind it are dead behind the batch. Launches in loops, and on several streams, stay.
   Method: launches join the last batch of their kernel, if neither those of the batch nor what
   stands between is in the way. */
#include "codegen/program/launch.h"

enum {
  SMALL = 4096,   /* blocks of a launch; those of more take long beside the time of a launch */
  DISTANCE = 64,  /* launches that one may pass at a time */
  MOST_ARGS = 480 /* of 4,096 bytes of parameters, with those that every kernel has */
};

typedef struct Batch {
  VEC(uint32_t) at; /* launches, in order */
  const char *body; /* of their kernel */
  bool open;        /* others may join */
} Batch;

static bool overlap(const Address *a, PlanRegion region, uint64_t from, uint64_t to) {
  return a->region == region && a->offset < to && from < a->reach;
}

static bool hits_dead(const Launch *a, const Launch *b) {
  for (uint32_t i = 0; i < a->dead.n; i++)
    for (int k = 0; k < b->kernel->nargs; k++)
      if (overlap(&b->args[k], PLAN_ARENA, a->dead.at[i].offset,
                  a->dead.at[i].offset + a->dead.at[i].bytes))
        return true;
  return false;
}

/* They cannot change places, nor run at the same time. */
static bool conflict(const Launch *a, const Launch *b) {
  for (int i = 0; i < a->kernel->nargs; i++)
    for (int k = 0; k < b->kernel->nargs; k++) {
      const Address *to = &b->args[k];
      bool writes = a->kernel->args[i].access.write || b->kernel->args[k].access.write;
      if (writes && overlap(&a->args[i], to->region, to->offset, to->reach)) return true;
    }
  return hits_dead(a, b) || hits_dead(b, a);
}

static bool same_kernel(const Launch *a, const Launch *b) {
  const Kernel *x = a->kernel, *y = b->kernel;
  if (x->block != y->block || x->shared != y->shared || x->grid != y->grid || x->nargs != y->nargs)
    return false;
  for (int i = 0; i < x->nargs; i++)
    if (a->args[i].bytes != b->args[i].bytes || x->args[i].access.read != y->args[i].access.read ||
        x->args[i].access.write != y->args[i].access.write)
      return false;
  return true;
}

static bool joins(const Launches *l, const Batch *b, uint32_t launch) {
  const Launch *own = &l->at.at[launch];
  uint32_t last = b->at.at[b->at.n - 1];
  if (!b->open || (b->at.n + 1) * (uint32_t)own->kernel->nargs > MOST_ARGS) return false;
  if (launch - last > DISTANCE || !same_kernel(&l->at.at[last], own)) return false;
  for (uint32_t i = last + 1; i <= launch; i++)
    for (uint32_t k = 0; k < b->at.n; k++)
      if (conflict(&l->at.at[b->at.at[k]], &l->at.at[i])) return false;
  return true;
}

static Launch together(Gen *g, const Launches *l, const Batch *b) {
  int n = (int)b->at.n, nargs = l->at.at[b->at.at[0]].kernel->nargs;
  const Kernel **kernel = ARENA_ARRAY(g->a, const Kernel *, n + 1);
  Launch whole = l->at.at[b->at.at[n - 1]];
  whole.args = ARENA_ARRAY(g->a, Address, n * nargs + 1);
  whole.dead = (DeadRanges){0};
  whole.flops = whole.bytes = 0;
  for (int i = 0; i < n; i++) {
    const Launch *one = &l->at.at[b->at.at[i]];
    kernel[i] = one->kernel;
    for (int k = 0; k < nargs; k++) whole.args[i * nargs + k] = one->args[k];
    for (uint32_t k = 0; k < one->dead.n; k++) vec_push(g->a, &whole.dead, one->dead.at[k]);
    whole.flops += one->flops;
    whole.bytes += one->bytes;
  }
  whole.kernel = g->print->batch(g, kernel, n);
  return whole;
}

void launches_batch(Gen *g, Launches *l) {
  if (!g->print->batch || l->loops.n || l->streams > 1) return;
  VEC(Batch) batches = {0};
  uint32_t *of = ARENA_ARRAY(g->a, uint32_t, l->at.n + 1); /* by launch: 1 + its batch, or 0 */
  for (uint32_t i = 0; i < l->at.n; i++) {
    const Kernel *k = l->at.at[i].kernel;
    if (k->grid > SMALL || k->variant || k->collective || !k->nargs) continue;
    const char *body = kernel_body(g, k);
    for (uint32_t j = batches.n; j-- > 0 && !of[i];) {
      Batch *b = &batches.at[j];
      if (b->body != body || !b->open) continue;
      if (joins(l, b, i)) {
        vec_push(g->a, &b->at, i);
        of[i] = j + 1;
      } else {
        b->open = false;
      }
    }
    if (of[i]) continue;
    Batch alone = {.body = body, .open = true};
    vec_push(g->a, &alone.at, i);
    vec_push(g->a, &batches, alone);
    of[i] = batches.n;
  }
  VEC(Launch) kept = {0};
  for (uint32_t i = 0; i < l->at.n; i++) {
    const Batch *b = of[i] ? &batches.at[of[i] - 1] : NULL;
    if (!b || b->at.n == 1)
      vec_push(g->a, &kept, l->at.at[i]);
    else if (b->at.at[b->at.n - 1] == i)
      vec_push(g->a, &kept, together(g, l, b));
  }
  l->at.n = 0;
  for (uint32_t i = 0; i < kept.n; i++) vec_push(g->a, &l->at, kept.at[i]);
}
