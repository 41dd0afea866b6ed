/* Batches: small launches that do not depend on each other become one launch: those of one kernel,
   as the updates of a network's biases are; then those of several kernels, as both sums of a
   norm's gradients, or what is done to queries, keys and a cache; behind stacks (stack.c) short
   kernels of any others.
   Contract: results keep their bits, since every block of threads does what it did. A launch waits
   for the last one of its batch; it may pass what touches none of its bytes, and bytes that are
   dead behind it are dead behind the batch. Launches in loops, and on several streams, stay.
   Method: launches join the last batch that they fit, if neither those of the batch nor what
   stands between is in the way. */
#include "codegen/program/launch.h"

#include <stdlib.h>
#include <string.h>

enum {
  SMALL = 4096,    /* blocks of a launch; those of more take long beside the time of a launch */
  DISTANCE = 64,   /* launches that one may pass at a time */
  MOST_ARGS = 480, /* of 4,096 bytes of parameters, with those that every kernel has */
  /* of several kernels: blocks of a launch, few of which take longer than a launch does; and
     kernels, each of which is compiled once for each mixture that it is in */
  SMALL_MIXED = 1024,
  SHARED = 48 << 10, /* bytes of shared memory that a kernel may declare */
  MOST_MIXED = 8,
  LEAST_MIXED = 4, /* times that an entry has the mixture, as in each layer, since it is compiled */
  SHORT = 2 << 10  /* bytes of a kernel's text, which compiles in no time: one mixture will do */
};

/* Which launches become one: those of one kernel; of several kernels, in mixtures that are
   frequent; of several short kernels, in any mixture. */
typedef enum Joins { JOIN_ALIKE, JOIN_FREQUENT, JOIN_SHORT } Joins;

typedef struct Batch {
  VEC(uint32_t) at; /* launches, in order */
  const char *body; /* of their kernel */
  uint32_t args;    /* of all of them */
  int64_t shared;   /* bytes of shared memory that they declare, of several kernels */
  bool widens;      /* threads of a block may be more than a kernel needs */
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

/* They cannot run at the same time: bytes that are dead behind one of them are so behind both. */
static bool clash(const Launch *a, const Launch *b) {
  for (int i = 0; i < a->kernel->nargs; i++)
    for (int k = 0; k < b->kernel->nargs; k++) {
      const Address *to = &b->args[k];
      bool writes = a->kernel->args[i].access.write || b->kernel->args[k].access.write;
      if (writes && overlap(&a->args[i], to->region, to->offset, to->reach)) return true;
    }
  return false;
}

bool launches_conflict(const Launch *a, const Launch *b) {
  return clash(a, b) || hits_dead(a, b) || hits_dead(b, a);
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

/* Launches of this kind may be in a batch together. */
static bool is_alike(const Launches *l, const Batch *b, uint32_t launch, const Batch *own,
                     bool mixed) {
  if (!mixed) return b->body == own->body;
  const Launch *last = &l->at.at[b->at.at[b->at.n - 1]];
  return b->at.n < MOST_MIXED && b->shared + own->shared <= SHARED &&
         (last->kernel->block == l->at.at[launch].kernel->block || (b->widens && own->widens));
}

static bool fits(const Launches *l, const Batch *b, uint32_t launch, bool mixed) {
  const Launch *own = &l->at.at[launch];
  const uint32_t last = b->at.at[b->at.n - 1];
  return b->args + (uint32_t)own->kernel->nargs <= MOST_ARGS && launch - last <= DISTANCE &&
         (mixed || same_kernel(&l->at.at[last], own));
}

static bool is_free(const Launches *l, const Batch *b, uint32_t launch) {
  uint32_t last = b->at.at[b->at.n - 1];
  for (uint32_t k = 0; k < b->at.n; k++) {
    const Launch *one = &l->at.at[b->at.at[k]];
    for (uint32_t i = last + 1; i < launch; i++)
      if (launches_conflict(one, &l->at.at[i])) return false;
    if (clash(one, &l->at.at[launch])) return false;
  }
  return true;
}

static Launch together(Gen *g, const Launches *l, const Batch *b, bool mixed) {
  int n = (int)b->at.n, args = 0;
  const Kernel **kernel = ARENA_ARRAY(g->a, const Kernel *, n + 1);
  Launch *members = ARENA_ARRAY(g->a, Launch, n + 1);
  Launch whole = l->at.at[b->at.at[n - 1]];
  whole.args = ARENA_ARRAY(g->a, Address, b->args + 1);
  whole.dead = (DeadRanges){0};
  whole.flops = whole.bytes = 0;
  for (int i = 0; i < n; i++) {
    const Launch *one = &l->at.at[b->at.at[i]];
    members[i] = *one;
    kernel[i] = one->kernel;
    for (int k = 0; k < one->kernel->nargs; k++) whole.args[args++] = one->args[k];
    for (uint32_t k = 0; k < one->dead.n; k++) vec_push(g->a, &whole.dead, one->dead.at[k]);
    whole.flops += one->flops;
    whole.bytes += one->bytes;
  }
  whole.kernel = mixed ? g->print->mix(g, kernel, n) : g->print->batch(g, kernel, n);
  whole.members = mixed ? members : NULL;
  return whole;
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const char *const *)a,
                  y = (uintptr_t) * (const char *const *)b;
  return x < y ? -1 : x > y;
}

/* Undoes batches whose mixture of kernels is rare. */
static void drop_rare(Gen *g, const Launches *l, Batch *batch, uint32_t n) {
  const char **mixture = ARENA_ARRAY(g->a, const char *, n + 1);
  const char **sorted = ARENA_ARRAY(g->a, const char *, n + 1);
  for (uint32_t j = 0; j < n; j++) {
    Text x = text_new(g->a, 0);
    for (uint32_t k = 0; k < batch[j].at.n; k++)
      text_add(&x, "%p ", (const void *)kernel_body(g, l->at.at[batch[j].at.at[k]].kernel));
    sorted[j] = mixture[j] = intern(g->ctx, text_str(&x));
  }
  qsort(sorted, n, sizeof *sorted, by_address);
  for (uint32_t j = 0; j < n; j++) {
    const char **at = bsearch(&mixture[j], sorted, n, sizeof *sorted, by_address);
    uint32_t times = 1;
    for (const char **s = at; s > sorted && s[-1] == *at; s--) times++;
    for (const char **s = at + 1; s < sorted + n && *s == *at; s++) times++;
    if (times < LEAST_MIXED) batch[j].at.n = 1;
  }
}

/* May be in a batch of this kind; *shared: bytes of shared memory that it declares in a mixture. */
static bool may_join(Gen *g, const Kernel *k, Joins how, int64_t *shared) {
  *shared = 0;
  if (k->grid > (how == JOIN_ALIKE ? SMALL : SMALL_MIXED) || !k->grid || k->variant ||
      k->collective || k->signals || !k->nargs)
    return false;
  if (how == JOIN_ALIKE) return true;
  if (how == JOIN_SHORT && (k->mixed || strlen(kernel_body(g, k)) > SHORT)) return false;
  *shared = g->print->mix_shared(k);
  return *shared >= 0;
}

static void join_launches(Gen *g, Launches *l, Joins how) {
  const bool mixed = how != JOIN_ALIKE;
  VEC(Batch) batches = {0};
  uint32_t *of = ARENA_ARRAY(g->a, uint32_t, l->at.n + 1); /* by launch: 1 + its batch, or 0 */
  for (uint32_t i = 0; i < l->at.n; i++) {
    const Kernel *k = l->at.at[i].kernel;
    int64_t shared;
    if (!may_join(g, k, how, &shared)) continue;
    Batch alone = {.body = kernel_body(g, k),
                   .args = (uint32_t)k->nargs,
                   .shared = shared,
                   .widens = mixed && g->print->is_thin(k),
                   .open = true};
    for (uint32_t j = batches.n; j-- > 0 && !of[i];) {
      Batch *b = &batches.at[j];
      if (!b->open || !is_alike(l, b, i, &alone, mixed)) continue;
      if (fits(l, b, i, mixed) && is_free(l, b, i)) {
        vec_push(g->a, &b->at, i);
        b->args += (uint32_t)k->nargs;
        b->shared += shared;
        b->widens &= alone.widens;
        of[i] = j + 1;
      } else {
        b->open = false;
      }
    }
    if (of[i]) continue;
    vec_push(g->a, &alone.at, i);
    vec_push(g->a, &batches, alone);
    of[i] = batches.n;
  }
  if (how == JOIN_FREQUENT && batches.n) drop_rare(g, l, batches.at, batches.n);
  VEC(Launch) kept = {0};
  for (uint32_t i = 0; i < l->at.n; i++) {
    const Batch *b = of[i] ? &batches.at[of[i] - 1] : NULL;
    if (!b || b->at.n == 1)
      vec_push(g->a, &kept, l->at.at[i]);
    else if (b->at.at[b->at.n - 1] == i)
      vec_push(g->a, &kept, together(g, l, b, mixed));
  }
  l->at.n = 0;
  for (uint32_t i = 0; i < kept.n; i++) vec_push(g->a, &l->at, kept.at[i]);
}

void launches_batch(Gen *g, const Entry *e, Launches *l) {
  if (!g->print->batch || l->loops.n || l->streams > 1) return;
  join_launches(g, l, JOIN_ALIKE);
  join_launches(g, l, JOIN_FREQUENT);
  launches_stack(g, e, l);
  join_launches(g, l, JOIN_SHORT); /* of those that no stack has taken */
}
