/* Exact search for a packing of a given capacity, aimed in turn at the bound and between.
   Contract: keeps the best packing found, raises `proven` where a capacity was searched out. A
   state is the set of unplaced buffers and a least offset for each. Branches on a buffer of least
   offset: it lies there, or it rests on another one. Bound per section: one machine with release
   dates (Carlier, 1982). Luby's restarts. Each failure has its reason, a conflict: buffers that do
   not fit at their least offsets or higher. Where it does not depend on a branch, the other side is
   not tried (conflict-directed backjumping: Prosser, 1993), and it is learnt (nogood.c). */
#include "passes/analysis/search_math.h"
#include "passes/plan/pack/pack_impl.h"

#include <stdlib.h>

typedef enum Found { FAILED, FITS, GAVE_UP } Found;

typedef enum Stage { ENTER, LOWEST, PARTS } Stage;

/* A frame of the search, on a stack of its own: its depth is the number of buffers. */
typedef struct Frame {
  Stage stage;
  int at, k;               /* its unplaced buffers: order[at .. at+k) */
  int lo, hi;              /* sections whose top is out of date */
  int mark, inner, states; /* heights of the stacks */
  int pick;                /* the buffer it branches on */
  int32_t support;         /* its least offset if it does not lie lowest */
  bool splits;             /* it may fall apart */
  bool lifts_nothing;      /* it lifts nothing unplaced: it may as well stay there */
  int parts, part, base, begin;
} Frame;

typedef struct Change {
  int i;
  bool placed; /* it was; else its least offset was raised: from what */
  int32_t was;
} Change;

/* A state that was entered, and the side of its branch that failed. */
typedef struct State {
  int mark; /* height of the trail at which the state is restored */
  int pick; /* the buffer that does not lie lowest; -1: none yet */
  int why;  /* height of the stack of reasons: why not, from here */
} State;

typedef struct Reason {
  int i;
  int32_t min;
  bool exact;
} Reason;

typedef struct Score {
  double score;
  int i;
} Score;

typedef bool PileFn(PackSearch *s, const Frame *f, const int *o);

struct PackSearch {
  Pack *p;
  uint64_t unit;    /* bytes of a unit: the greatest common divisor of all sizes */
  int32_t capacity; /* in units, as all that follows */
  int32_t *size, *low, *found, *top;
  int *rank, *ranked; /* ranked[rank[i]] = i */
  int *order, *tmp, *cover;
  uint64_t *key;         /* two for every buffer, for sorting */
  int32_t *crossing;     /* by section: unplaced buffers that also live in the section before */
  bool *placed;          /* its `low` is where */
  int64_t nodes, limit;  /* of this attempt */
  PileFn *over_capacity; /* sets `top` of the stale sections, until one is too high */
  int over;              /* a section that is */
  Nogoods *nogoods;
  const NogoodLiteral *held; /* of a nogood that holds in the state at hand; NULL: none is known */
  int nheld;
  Conflict why; /* of the failure at hand */
  VEC(Change) trail;
  VEC(State) states; /* on the way */
  VEC(Reason) reasons;
  VEC(int) ends;
  VEC(Frame) stack;
  int64_t round, step; /* of the restarts */
  Score *score;
};

static void raise_low(PackSearch *s, int i, int32_t v) {
  vec_push(s->p->a, &s->trail, (Change){.i = i, .was = s->low[i]});
  s->low[i] = v;
  if (!s->held)
    s->held = nogoods_raised(s->nogoods, i, s->capacity, s->low, &s->nheld, &s->p->work);
}

static void add_crossing(PackSearch *s, int i, int n) {
  for (int c = s->p->from[i] + 1; c < s->p->to[i]; c++) s->crossing[c] += n;
}

/* A placed buffer crosses no sections any more. True if nothing unplaced does at some of its own.
 */
static bool place_buffer(PackSearch *s, int i) {
  vec_push(s->p->a, &s->trail, (Change){.i = i, .placed = true});
  s->placed[i] = true;
  add_crossing(s, i, -1);
  int min = INT32_MAX;
  for (int c = s->p->from[i] + 1; c < s->p->to[i]; c++)
    min = min < s->crossing[c] ? min : s->crossing[c];
  return min == 0;
}

static void undo(PackSearch *s, int mark) {
  while ((int)s->trail.n > mark) {
    const Change *c = &s->trail.at[--s->trail.n];
    if (c->placed) {
      add_crossing(s, c->i, 1);
      s->placed[c->i] = false;
    } else {
      s->low[c->i] = c->was;
    }
  }
}

static bool meet(const Pack *p, int i, int j) {
  return p->from[i] < p->to[j] && p->from[j] < p->to[i];
}

/* ---------------------------------------------------------------- conflicts ---- */

/* A section is over the capacity: what is piled there without a gap, from where it is too high. */
static void conflict_of_section(PackSearch *s, const int *o, int k) {
  const Pack *p = s->p;
  int c = s->over, from = 0, to = 0;
  int32_t top = 0, sum = 0;
  conflict_clear(&s->why);
  for (; to < k && top <= s->capacity; to++) {
    int i = o[to];
    if (p->from[i] > c || c >= p->to[i]) continue;
    if (s->low[i] > top) {
      from = to;
      sum = 0;
      top = s->low[i];
    }
    sum += s->size[i];
    top += s->size[i];
  }
  for (int a = from; a < to; a++)
    if (p->from[o[a]] <= c && c < p->to[o[a]])
      conflict_need(&s->why, o[a], s->capacity + 1 - sum, false);
}

static void conflict_of_nogood(PackSearch *s, const NogoodLiteral *held) {
  conflict_clear(&s->why);
  for (int a = 0; a < s->nheld; a++) conflict_need(&s->why, held[a].i, held[a].min, false);
}

/* All that is unplaced: where a reason depends on what is placed now, but was not in this state. */
static void conflict_of_state(PackSearch *s, const int *o, int k) {
  conflict_clear(&s->why);
  for (int a = 0; a < k; a++) conflict_need(&s->why, o[a], s->low[o[a]], false);
}

/* The buffer that was placed is not any more. True if the reason needs that it was; then it is kept
   as the reason why that buffer must lie higher. */
static bool keep_reason(PackSearch *s, int pick) {
  const Conflict *x = &s->why;
  bool needed = x->exact[pick];
  for (int a = 0; a < x->n; a++) needed |= x->min[x->in[a]] > s->low[x->in[a]];
  if (!needed) return false;
  nogoods_learn(s->nogoods, x, s->capacity, s->low);
  s->states.at[s->states.n - 1].pick = pick;
  for (int a = 0; a < x->n; a++) {
    int i = x->in[a];
    int32_t min = x->min[i]; /* what was lifted by it cannot lie below it */
    if (min > s->low[i]) min = s->low[pick] - s->size[i] + 1;
    vec_push(s->p->a, &s->reasons, ((Reason){i, min, x->exact[i] && i != pick}));
  }
  return true;
}

/* Both sides failed: the reason at hand is that of the higher place. Where that needs the buffer to
   lie so high, it is for the reasons of both: it does not lie lowest, and it rests on something. */
static void join_reasons(PackSearch *s, const State *t) {
  Conflict *x = &s->why;
  int c = t->pick;
  int32_t high = c < 0 ? 0 : x->min[c];
  if (c >= 0 && high > s->low[c]) {
    x->min[c] = s->low[c];
    for (uint32_t r = (uint32_t)t->why; r < s->reasons.n; r++)
      conflict_need(x, s->reasons.at[r].i, s->reasons.at[r].min, s->reasons.at[r].exact);
    for (int a = 0; a < x->n; a++) {
      int i = x->in[a];
      if (i == c || !meet(s->p, i, c) || x->min[i] + s->size[i] >= high) continue;
      x->exact[i] |= s->low[i] + s->size[i] < high; /* it lies below */
      x->min[i] = x->exact[i] ? s->low[i] : high - s->size[i];
    }
  }
  s->reasons.n = (uint32_t)t->why;
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
static PileFn *pile_best(void) { return __builtin_cpu_supports("avx2") ? pile_avx2 : pile_any; }
#else
static PileFn *pile_best(void) { return pile_any; }
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
    if (!meet(p, c, j)) continue;
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
  if (f->lifts_nothing || !keep_reason(s, f->pick)) return false;
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
    join_reasons(s, &s->states.at[q]);
  }
}

static Found search(PackSearch *s) {
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

/* ---------------------------------------------------------------- restarts ---- */

static int by_score(const void *pa, const void *pb) {
  const Score *a = pa, *b = pb;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->i - b->i;
}

static int64_t luby(int64_t r) {
  for (;;) {
    int64_t p = 1;
    while ((INT64_C(1) << p) - 1 < r) p++;
    if ((INT64_C(1) << p) - 1 == r) return INT64_C(1) << (p - 1);
    r -= (INT64_C(1) << (p - 1)) - 1;
  }
}

/* A static order for ties: by life, by load and area, by load and life; noise after the first
 * three. */
static void make_ranks(PackSearch *s, int64_t round) {
  Pack *p = s->p;
  Score *score = s->score;
  double noise = round <= 3 ? 0 : 0.2 * pack_random(s->p);
  for (int i = 0; i < p->n; i++) {
    double life = search_log((double)pack_life(p, i));
    double area = life + search_log((double)p->b->at[i].bytes + 1);
    double load = 20 * (double)p->max[i] / (double)p->bound, r = -2;
    double base = round % 3 == 0   ? life + 0.01 * area
                  : round % 3 == 1 ? load + area
                                   : load + life + 0.01 * area;
    if (noise > 0)
      for (int k = 0; k < 4; k++) r += pack_random(s->p);
    score[i] = (Score){base + (noise > 0 ? 2 * noise * r : 0), i};
  }
  qsort(score, (size_t)p->n, sizeof *score, by_score);
  for (int k = 0; k < p->n; k++) {
    s->order[k] = s->ranked[k] = score[k].i;
    s->rank[score[k].i] = k;
  }
}

static bool prepare(PackSearch *s) {
  Pack *p = s->p;
  size_t n = (size_t)p->n;
  s->score = ARENA_ARRAY(p->a, Score, n);
  for (int i = 0; i < p->n; i++)
    for (uint64_t a = p->b->at[i].bytes, b = s->unit;;) {
      if (b == 0) {
        s->unit = a;
        break;
      }
      uint64_t t = a % b;
      a = b;
      b = t;
    }
  if (!s->unit) return false;                                  /* no bytes to place */
  if (p->arena / s->unit >= (UINT64_C(1) << 30)) return false; /* heights are 32-bit units */
  s->size = ARENA_ARRAY(p->a, int32_t, n);
  s->low = ARENA_ARRAY(p->a, int32_t, n);
  s->found = ARENA_ARRAY(p->a, int32_t, n);
  s->top = ARENA_ARRAY(p->a, int32_t, p->sections);
  s->rank = ARENA_ARRAY(p->a, int, n);
  s->ranked = ARENA_ARRAY(p->a, int, n);
  s->order = ARENA_ARRAY(p->a, int, n);
  s->key = ARENA_ARRAY(p->a, uint64_t, 2 * n);
  s->tmp = ARENA_ARRAY(p->a, int, n);
  s->cover = ARENA_ARRAY(p->a, int, p->sections + 2);
  s->crossing = ARENA_ARRAY(p->a, int32_t, p->sections + 1);
  s->placed = ARENA_ARRAY(p->a, bool, n);
  s->why = (Conflict){.min = ARENA_ARRAY(p->a, int32_t, n),
                      .exact = ARENA_ARRAY(p->a, bool, n),
                      .in = ARENA_ARRAY(p->a, int, n)};
  s->nogoods = nogoods_new(p->a, p->n);
  s->over_capacity = pile_best();
  for (int i = 0; i < p->n; i++) {
    s->size[i] = (int32_t)(p->b->at[i].bytes / s->unit);
    s->why.min[i] = -1;
  }
  return true;
}

/* A full descent and some more nodes before the first restart: what was learnt outlives it. */
enum { NODES = 2000 };

static Found attempt(PackSearch *s, int32_t capacity, int64_t round) {
  int64_t n = s->p->n;
  make_ranks(s, round);
  memset(s->low, 0, (size_t)n * sizeof *s->low);
  memset(s->crossing, 0, (size_t)s->p->sections * sizeof *s->crossing);
  memset(s->placed, 0, (size_t)n * sizeof *s->placed);
  for (int i = 0; i < s->p->n; i++) add_crossing(s, i, 1);
  s->trail.n = s->states.n = s->reasons.n = s->ends.n = s->stack.n = 0;
  nogoods_trim(s->nogoods);
  s->held = NULL;
  s->capacity = capacity;
  s->nodes = 0;
  s->limit = (NODES + 2 * n) * luby(round);
  return search(s);
}

PackSearch *search_new(Pack *p) {
  PackSearch *s = ARENA_NEW(p->a, PackSearch);
  s->p = p;
  s->round = 1;
  return prepare(s) ? s : NULL;
}

bool search_attempt(PackSearch *s, const PackLimit *limit) {
  /* Of the way from what is proven to what was found: half of the first are at the bound. */
  enum { BOLD = 16 };
  static const double part[2][4] = {{0, 0.5, 0, 0.9}, {0.95, 0.9, 0.95, 0.5}};
  Pack *p = s->p;
  uint64_t min = (p->proven + s->unit - 1) / s->unit, max = p->arena / s->unit - 1, aim;
  if (limit->capacity)
    aim = limit->capacity / s->unit < max ? limit->capacity / s->unit : max;
  else
    aim = min + (uint64_t)((double)(max - min) * part[s->step >= BOLD][s->step & 3]);
  Found found = attempt(s, (int32_t)aim, s->round);
  if (found == FITS) {
    for (int i = 0; i < p->n; i++) p->offset[i] = (uint64_t)s->found[i] * s->unit;
    pack_keep(p);
  } else if (found == FAILED) {
    p->proven = (aim + 1) * s->unit;
    if (limit->capacity && p->proven > limit->capacity) return false;
  }
  if (limit->capacity || s->step >= BOLD || (s->step & 1)) s->round++;
  s->step++;
  return true;
}
