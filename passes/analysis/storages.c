/* Storages: values that lie in the same bytes are one buffer, with the steps in which it is needed.
   Contract: needs a plan with lives, and in-place decisions where they count; sizes are rounded up
   to the alignment. The operands of an all_reduce that are reduced in place are parts of one
   buffer, side by side, and needed as long as any of them: they become one message. Not under a
   limit, as what is recomputed is chosen by values that live on their own. */
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

static void new_buffer(Storages *s, int *cap, Arena *a, uint64_t bytes, int first, int last,
                       int align, uint32_t owner) {
  if (s->b.n == *cap) {
    uint32_t c = (uint32_t)*cap;
    s->b.at = arena_grow(a, s->b.at, (uint32_t)s->b.n, &c, sizeof(Buffer));
    *cap = (int)c;
  }
  if (!checked_align(bytes, (uint64_t)align, &bytes)) bytes = UINT64_MAX;
  s->b.at[s->b.n++] = (Buffer){.bytes = bytes, .first = first, .last = last, .owner = owner};
}

/* The storage that v joins, or -1. Without in-place decisions only other names of a value join. */
static int joined(const Storages *s, const Entry *e, const Plan *p, ValueId v, bool inplace) {
  const Place *x = &p->place[v];
  if (x->how != HOW_INPLACE || !(inplace || plan_same(e, v) != NO_ID)) return -1;
  return s->storage[x->of];
}

/* A value that a store finds in the global's bytes has bytes of its own when nothing is in place.
 */
static bool in_arena(const Entry *e, const Plan *p, ValueId v, bool inplace) {
  if (p->place[v].bytes == 0) return false;
  for (ValueId of = plan_same(e, v); of != NO_ID; of = plan_same(e, v)) v = of;
  const Op *def = value_def(e, v);
  if (!def || def->kind == OP_LOAD) return false; /* an input, a counter, a global */
  return !inplace || p->place[v].region == PLAN_ARENA;
}

/* ---- side by side ---- */

typedef struct Sides {
  Storages *s;
  int *into;      /* by buffer: the one that it is a part of, or itself … */
  uint64_t *from; /* … and from which byte of it */
} Sides;

/* The buffer of a value that the op reduces in place, if all of the buffer is the value's; or -1.
 */
static int reduced_in(const Sides *w, const Plan *p, const Op *op, int k, int align) {
  ValueId x = op->operands[k], y = op->results[k];
  int b = w->s->storage[x];
  uint64_t bytes;
  if (b < 0 || w->s->storage[y] != b || p->place[y].of != x || w->into[b] != b) return -1;
  if (!checked_align(p->place[x].bytes, (uint64_t)align, &bytes)) return -1;
  return w->s->b.at[b].bytes == bytes ? b : -1;
}

/* The op's operands are parts of the buffer of the first one of each run of them. */
static void lay(Sides *w, const Plan *p, const Op *op, int align) {
  int head = -1;
  for (int k = 0; k < op->noperands; k++) {
    int b = reduced_in(w, p, op, k, align);
    if (b < 0 || b == head || head < 0) {
      head = b;
      continue;
    }
    Buffer *all = &w->s->b.at[head];
    const Buffer *x = &w->s->b.at[b];
    uint64_t from = all->bytes;
    if (!checked_add(from, x->bytes, &all->bytes)) all->bytes = UINT64_MAX;
    if (x->first < all->first) all->first = x->first;
    if (x->last > all->last) all->last = x->last;
    w->into[b] = head;
    w->from[b] = from;
  }
}

/* Buffers that are parts of others go. */
static void lay_side_by_side(Arena *a, Storages *s, const Entry *e, const Plan *p, int align) {
  Sides w = {s, ARENA_ARRAY(a, int, s->b.n + 1), ARENA_ARRAY(a, uint64_t, s->b.n + 1)};
  int *number = ARENA_ARRAY(a, int, s->b.n + 1), n = 0;
  for (int b = 0; b < s->b.n; b++) w.into[b] = b;
  for (int t = 0; t < p->nsteps; t++)
    if (p->steps[t]->kind == OP_ALL_REDUCE && p->steps[t]->noperands > 1)
      lay(&w, p, p->steps[t], align);
  for (int b = 0; b < s->b.n; b++) {
    if (w.into[b] != b) continue;
    number[b] = n;
    s->b.at[n++] = s->b.at[b];
  }
  if (n == s->b.n) return;
  s->b.n = n;
  for (uint32_t v = 0; v < e->values.n; v++) {
    if (s->storage[v] < 0) continue;
    s->within[v] = w.from[s->storage[v]];
    s->storage[v] = number[w.into[s->storage[v]]];
  }
  for (uint32_t i = 0; i < e->ops.n; i++)
    if (s->scratch[i] >= 0) s->scratch[i] = number[s->scratch[i]];
}

Storages plan_storages(Arena *a, const Entry *e, const Plan *p, int align, bool inplace) {
  Storages s = {.b.steps = p->nsteps + 1,
                .storage = ARENA_ARRAY(a, int, e->values.n),
                .within = ARENA_ARRAY(a, uint64_t, e->values.n),
                .scratch = ARENA_ARRAY(a, int, e->ops.n)};
  int cap = 0;
  for (uint32_t v = 0; v < e->values.n; v++) s.storage[v] = -1;
  for (uint32_t i = 0; i < e->ops.n; i++) s.scratch[i] = -1;
  for (int t = 0; t < p->nsteps; t++) {
    const Op *op = p->steps[t];
    for (int k = 0; k < plan_nmade(op); k++) {
      ValueId v = plan_made(op, k);
      const Place *x = &p->place[v];
      if (!in_arena(e, p, v, inplace)) continue;
      int b = joined(&s, e, p, v, inplace);
      if (b < 0) {
        b = s.b.n;
        new_buffer(&s, &cap, a, x->bytes, x->first, x->last, align, v);
      }
      s.storage[v] = b;
      int last = p->latest_concurrent && x->until > x->last ? x->until : x->last;
      if (last > s.b.at[b].last) s.b.at[b].last = last;
    }
  }
  for (int t = 0; t < p->nsteps; t++) {
    const Place *x = &p->scratch[p->steps[t]->id];
    if (!x->bytes) continue;
    s.scratch[p->steps[t]->id] = s.b.n;
    new_buffer(&s, &cap, a, x->bytes, t, p->latest_concurrent ? p->latest_concurrent[t] : t, align,
               NO_ID);
  }
  if (inplace && e->ranks > 1 && !notes_of(e)->memory_limit) lay_side_by_side(a, &s, e, p, align);
  return s;
}

uint64_t *buffers_live(Arena *a, const Buffers *b) {
  uint64_t *more = ARENA_ARRAY(a, uint64_t, b->steps + 1);
  uint64_t *less = ARENA_ARRAY(a, uint64_t, b->steps + 1), live = 0;
  for (int i = 0; i < b->n; i++) {
    const Buffer *x = &b->at[i];
    if (!checked_add(more[x->first], x->bytes, &more[x->first])) return NULL;
    if (!checked_add(less[x->last + 1], x->bytes, &less[x->last + 1])) return NULL;
  }
  for (int64_t t = 0; t < b->steps; t++) {
    live -= less[t];
    if (!checked_add(live, more[t], &live)) return NULL;
    more[t] = live;
  }
  return more;
}

uint64_t buffers_bound(Arena *scratch, const Buffers *b) {
  const uint64_t *live = buffers_live(scratch, b);
  uint64_t max = 0;
  for (int64_t t = 0; live && t < b->steps; t++)
    if (live[t] > max) max = live[t];
  return live ? max : UINT64_MAX;
}

uint64_t buffers_stack(Buffers *b) {
  uint64_t at = 0;
  for (int i = 0; i < b->n; i++) {
    b->at[i].offset = at;
    if (!checked_add(at, b->at[i].bytes, &at)) return UINT64_MAX;
  }
  return at;
}

uint64_t buffers_end(const Buffers *b) {
  uint64_t end = 0;
  for (int i = 0; i < b->n; i++)
    if (b->at[i].offset + b->at[i].bytes > end) end = b->at[i].offset + b->at[i].bytes;
  return end;
}
