/* Exact search for a packing of a given capacity. Contract: says FAILED only where the capacity was
   searched out. A state is the set of unplaced buffers and a least offset for each. Branches on a
   buffer of least offset: it lies there, or it rests on another one. Bound per section: one machine
   with release dates (Carlier, 1982). Each failure has its reason, a conflict (conflict.c). Where
   it does not depend on a branch, the other side is not tried, and it is learnt (nogood.c). */
#include "passes/plan/pack/search_impl.h"

static void raise_low(PackSearch *s, int i, int32_t v) {
  vec_push(s->p->a, &s->trail, (Change){.i = i, .was = s->low[i]});
  s->low[i] = v;
  if (!s->held)
    s->held = nogoods_raised(s->nogoods, i, s->capacity, s->low, &s->nheld, &s->p->work);
}

void search_cross(PackSearch *s, int i, int n) {
  for (int c = s->p->from[i] + 1; c < s->p->to[i]; c++) s->crossing[c] += n;
}

/* A placed buffer crosses no sections any more. True if nothing unplaced does at some of its own.
 */
static bool place_buffer(PackSearch *s, int i) {
  vec_push(s->p->a, &s->trail, (Change){.i = i, .placed = true});
  s->placed[i] = true;
  search_cross(s, i, -1);
  int min = INT32_MAX;
  for (int c = s->p->from[i] + 1; c < s->p->to[i]; c++)
    min = min < s->crossing[c] ? min : s->crossing[c];
  return min == 0;
}

static void undo(PackSearch *s, int mark) {
  while ((int)s->trail.n > mark) {
    const Change *c = &s->trail.at[--s->trail.n];
    if (c->placed) {
      search_cross(s, c->i, 1);
      s->placed[c->i] = false;
    } else {
      s->low[c->i] = c->was;
    }
  }
}

/* ---------------------------------------------------------------- a node ---- */

/* Least offset, then rank: what a frame's buffers are sorted by. */
static uint64_t key_of(const PackSearch *s, int i) {
  return (uint64_t)(uint32_t)s->low[i] << 32 | (uint32_t)s->rank[i];
}

enum { RUN = 16 };

static void sort_keys(uint64_t *key, uint64_t *tmp, int n) { /* insertion, then merging of runs */
  for (int a = 1; a < n; a++) {
    uint64_t x = key[a];
    int b = a;
    for (; b % RUN && x < key[b - 1]; b--) key[b] = key[b - 1];
    key[b] = x;
  }
  for (int run = RUN; run < n; run *= 2) {
    for (int from = 0; from < n; from += 2 * run) {
      int mid = from + run < n ? from + run : n, to = mid + run < n ? mid + run : n;
      for (int i = from, j = mid, k = from; k < to; k++)
        tmp[k] = i < mid && (j == to || key[i] <= key[j]) ? key[i++] : key[j++];
    }
    memcpy(key, tmp, (size_t)n * sizeof *key);
  }
}

/* Few are out of order, those that were raised: they are taken out, sorted and merged again. */
static void sort_by_low(PackSearch *s, int *o, int k) {
  uint64_t min = UINT64_MAX, *key = s->key;
  int raised = 0, kept = k; /* o[kept .. k) are in order */
  for (int a = k; a-- > 0;) {
    uint64_t x = key_of(s, o[a]);
    if (x > min) {
      key[raised++] = x;
    } else {
      min = x;
      o[--kept] = o[a];
    }
  }
  if (!raised) return;
  sort_keys(key, key + k, raised);
  for (int out = 0, a = 0; a < raised; out++) {
    if (kept < k && key_of(s, o[kept]) < key[a])
      o[out] = o[kept++];
    else
      o[out] = s->ranked[(uint32_t)key[a++]];
  }
}

/* A buffer of that size and least offset on top of what its sections need; the highest of them. */
static inline int32_t pile(int32_t *top, int n, int32_t low, int32_t size) {
  int32_t max = 0;
  for (int c = 0; c < n; c++) {
    int32_t t = (top[c] > low ? top[c] : low) + size;
    top[c] = t;
    max = max > t ? max : t;
  }
  return max;
}

static int32_t highest(const int32_t *top, int n) {
  int32_t max = 0;
  for (int c = 0; c < n; c++) max = max > top[c] ? max : top[c];
  return max;
}

/* The height that the unplaced buffers of each section need at least, over the stale sections. */
static inline __attribute__((always_inline)) bool pile_all(PackSearch *s, const Frame *f,
                                                           const int *o) {
  const Pack *p = s->p;
  if (f->lo < f->hi) memset(s->top + f->lo, 0, (size_t)(f->hi - f->lo) * sizeof *s->top);
  for (int a = 0; a < f->k; a++) {
    int i = o[a], from = p->from[i] > f->lo ? p->from[i] : f->lo;
    int to = p->to[i] < f->hi ? p->to[i] : f->hi;
    s->p->work -= 2;
    if (from >= to) continue;
    s->p->work -= to - from;
    if (pile(s->top + from, to - from, s->low[i], s->size[i]) <= s->capacity) continue;
    for (s->over = from; s->top[s->over] <= s->capacity;) s->over++;
    return true;
  }
  return false;
}

static bool pile_any(PackSearch *s, const Frame *f, const int *o) { return pile_all(s, f, o); }

/* Most of the search of a large instance, which takes 40 % of the time with wide vectors. */
#if defined __x86_64__
__attribute__((target("avx2"))) static bool pile_avx2(PackSearch *s, const Frame *f, const int *o) {
  return pile_all(s, f, o);
}
PileFn *search_pile(void) { return __builtin_cpu_supports("avx2") ? pile_avx2 : pile_any; }
#else
PileFn *search_pile(void) { return pile_any; }
#endif

/* Groups the frame's buffers where none crosses between two sections; returns the number of cuts.
 */
static int split(PackSearch *s, Frame *f, int *o, int lo, int hi) {
  const Pack *p = s->p;
  int parts = 0;
  for (int c = lo; c < hi; c++) {
    parts += c > lo && s->crossing[c] == 0;
    s->cover[c] = parts; /* the part of the section */
  }
  if (!parts) return 0;
  f->base = (int)s->ends.n;
  for (int q = 0; q <= parts + 1; q++) vec_push(s->p->a, &s->ends, 0);
  int *end = s->ends.at + f->base;
  for (int a = 0; a < f->k; a++) end[s->cover[p->from[o[a]]] + 1]++;
  for (int q = 1; q <= parts + 1; q++) end[q] += end[q - 1];
  for (int a = 0; a < f->k; a++) s->tmp[end[s->cover[p->from[o[a]]]]++] = o[a];
  memcpy(o, s->tmp, (size_t)f->k * sizeof *o);
  return parts;
}

/* Of the buffers with the least low (nothing unplaced can lie under them) the one with least slack;
   places it there and lifts all that it meets. */
static void place_lowest(PackSearch *s, Frame *f, int *o) {
  const Pack *p = s->p;
  int pick = 0;
  int32_t min = INT32_MAX;
  for (int a = 0; a < f->k && s->low[o[a]] == s->low[o[0]]; a++) {
    int32_t t = highest(s->top + p->from[o[a]], p->to[o[a]] - p->from[o[a]]);
    if (s->capacity - t < min) {
      min = s->capacity - t;
      pick = a;
    }
  }
  int c = o[pick], from = p->from[c], to = p->to[c];
  memmove(o + pick, o + pick + 1, (size_t)(f->k - 1 - pick) * sizeof *o);
  o[f->k - 1] = c;
  s->found[c] = s->low[c];
  int32_t end = s->low[c] + s->size[c];
  f->pick = c;
  f->inner = (int)s->trail.n;
  f->lifts_nothing = true;
  f->support = INT32_MAX;
  f->lo = from;
  f->hi = to;
  for (int a = 0; a < f->k - 1; a++) {
    int j = o[a];
    if (!search_meet(p, c, j)) continue;
    if (s->low[j] + s->size[j] < f->support) f->support = s->low[j] + s->size[j];
    if (s->low[j] >= end) continue;
    f->lifts_nothing = false;
    raise_low(s, j, end);
    if (p->from[j] < f->lo) f->lo = p->from[j];
    if (p->to[j] > f->hi) f->hi = p->to[j];
  }
}

static void push(PackSearch *s, int at, int k, int lo, int hi, bool splits) {
  vec_push(s->p->a, &s->stack,
           (Frame){.at = at,
                   .k = k,
                   .lo = lo,
                   .hi = hi,
                   .mark = (int)s->trail.n,
                   .states = (int)s->states.n,
                   .splits = splits});
}

static bool push_part(PackSearch *s, Frame *f) {
  while (f->part <= f->parts) {
    int end = s->ends.at[f->base + f->part++], begin = f->begin;
    f->begin = end;
    if (end == begin) continue;
    push(s, f->at + begin, end - begin, 0, 0, false);
    return true;
  }
  return false;
}

/* A part failed. What it was found to need of other parts was placed in them after this state. */
static void explain_part(PackSearch *s, const Frame *f) {
  const Conflict *x = &s->why;
  const int *end = s->ends.at + f->base + f->part;
  bool valid = true;
  undo(s, f->inner);
  for (int a = 0; a < x->n; a++) {
    int i = x->in[a];
    valid &= x->min[i] <= s->low[i] && (!x->exact[i] || s->placed[i]);
  }
  int begin = f->part > 1 ? end[-2] : 0;
  if (!valid) conflict_of_state(s, s->order + f->at + begin, end[-1] - begin);
}

static bool out_of_time(PackSearch *s) { return ++s->nodes > s->limit || pack_out_of_time(s->p); }

/* Expands a frame. True: a child was pushed; false: *out is its answer. */
static bool enter(PackSearch *s, Frame *f, Found *out) {
  const Pack *p = s->p;
  int *o = s->order + f->at, lo = p->sections, hi = 0;
  *out = FITS;
  if (f->k == 0) return false;
  sort_by_low(s, o, f->k);
  const NogoodLiteral *held = s->held;
  s->held = NULL;
  *out = GAVE_UP;
  if (out_of_time(s)) return false;
  *out = FAILED;
  if (held) {
    conflict_of_nogood(s, held);
    return false;
  }
  for (int a = 0; a < f->k; a++) {
    int i = o[a];
    if (p->from[i] < lo) lo = p->from[i];
    if (p->to[i] > hi) hi = p->to[i];
  }
  if (f->lo < lo) f->lo = lo;
  if (f->hi > hi) f->hi = hi;
  if (s->over_capacity(s, f, o)) {
    conflict_of_section(s, o, f->k);
    return false;
  }
  vec_push(p->a, &s->states, ((State){(int)s->trail.n, -1, (int)s->reasons.n}));
  if (f->splits) f->parts = split(s, f, o, lo, hi);
  if (f->parts) {
    f->stage = PARTS;
    f->inner = (int)s->trail.n;
    f->part = f->begin = 0;
    return push_part(s, f);
  }
  place_lowest(s, f, o);
  f->stage = LOWEST;
  push(s, f->at, f->k - 1, f->lo, f->hi, place_buffer(s, f->pick));
  return true;
}

/* A child of this frame answered. True: go on with the frame (or a new child); false: *out answers.
 */
static bool resume(PackSearch *s, Frame *f, Found *out) {
  if (f->stage == PARTS && *out == FAILED) explain_part(s, f);
  if (f->stage == PARTS) return *out == FITS && push_part(s, f);
  if (*out != FAILED) return false;
  undo(s, f->inner);
  if (f->lifts_nothing && s->why.exact[f->pick]) conflict_of_state(s, s->order + f->at, f->k);
  if (f->lifts_nothing || !conflict_keep(s, f->pick)) return false;
  f->lo = 0;
  f->hi = s->p->sections;
  raise_low(s, f->pick, f->support); /* not lowest: so it rests on something unplaced */
  f->stage = ENTER;
  return true;
}

/* The frame failed: why, in the state in which it was entered. */
static void explain(PackSearch *s, const Frame *f) {
  for (uint32_t q = s->states.n; q-- > (uint32_t)f->states;) {
    undo(s, s->states.at[q].mark);
    conflict_join(s, &s->states.at[q]);
  }
}

Found search_run(PackSearch *s) {
  Found answer = GAVE_UP;
  push(s, 0, s->p->n, 0, s->p->sections, true);
  bool fresh = true; /* the frame on top was not answered to */
  while (s->stack.n) {
    uint32_t depth = s->stack.n;
    Frame *f = &s->stack.at[depth - 1];
    Frame work = *f; /* pushing may move the stack */
    bool more = true;
    if (!fresh) more = resume(s, &work, &answer);
    if (more && work.stage == ENTER) more = enter(s, &work, &answer);
    s->stack.at[depth - 1] = work;
    fresh = more;
    if (more) continue;
    if (answer == FAILED) explain(s, &work);
    if (answer != FITS) undo(s, work.mark);
    if ((uint32_t)work.states < s->states.n) s->reasons.n = (uint32_t)s->states.at[work.states].why;
    s->states.n = (uint32_t)work.states;
    if (work.parts) s->ends.n = (uint32_t)work.base;
    s->stack.n = depth - 1;
  }
  return answer;
}
