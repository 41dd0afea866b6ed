/* Exact search for a packing of a given capacity, aimed in turn at the bound and between.
   Contract: keeps the best packing found, raises `proven` where a capacity was searched out. A
   state is the set of unplaced buffers and a least offset for each; nothing else matters, so what
   failed once fails always. Branches on a buffer of least offset: it lies there, or it rests on
   another one. Bound per section: one machine with release dates (Carlier, 1982). Luby's restarts.
   Failed states are kept by 64-bit hashes: the proof is up to a collision of them. */
#define _POSIX_C_SOURCE 200809L
#include "passes/pack_impl.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

typedef enum Found { FAILED, FITS, GAVE_UP } Found;

typedef enum Stage { ENTER, LOWEST, PARTS } Stage;

/* A frame of the search, on a stack of its own: its depth is the number of buffers. */
typedef struct Frame {
  Stage stage;
  int at, k;             /* its unplaced buffers: order[at .. at+k) */
  int lo, hi;            /* sections whose top is out of date */
  int mark, inner, keys; /* heights of the stacks */
  int pick;              /* the buffer it branches on */
  int32_t support;       /* its least offset if it does not lie lowest */
  bool alone;            /* nothing unplaced overlaps it */
  int parts, part, base, begin;
} Frame;

typedef struct Change {
  int i;
  int32_t was;
} Change;

typedef struct Search {
  Pack *p;
  uint64_t unit;    /* bytes of a unit: the greatest common divisor of all sizes */
  int32_t capacity; /* in units, as all that follows */
  int32_t *size, *low, *found, *top;
  int *rank, *order, *tmp, *cover;
  uint64_t *token;      /* a random number a buffer */
  int64_t nodes, limit; /* of this attempt */
  int64_t work;         /* elementary steps that are left, over all attempts */
  double deadline;      /* seconds of the monotonic clock; 0: none */
  uint64_t *failed, mask, random;
  VEC(Change) trail;
  VEC(uint64_t) keys; /* of the states on the way */
  VEC(int) ends;
  VEC(Frame) stack;
} Search;

static uint64_t mix(uint64_t x) { /* splitmix64's finaliser */
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static double next_random(Search *s) {
  s->random += 0x9E3779B97F4A7C15u;
  return (double)(mix(s->random) >> 11) * 0x1p-53;
}

static double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void raise_low(Search *s, int i, int32_t v) {
  vec_push(s->p->a, &s->trail, (Change){i, s->low[i]});
  s->low[i] = v;
}

static void undo(Search *s, int mark) {
  while ((int)s->trail.n > mark) {
    s->trail.n--;
    s->low[s->trail.at[s->trail.n].i] = s->trail.at[s->trail.n].was;
  }
}

/* ---------------------------------------------------------------- a node ---- */

static bool before(const Search *s, int a, int b) {
  return s->low[a] != s->low[b] ? s->low[a] < s->low[b] : s->rank[a] < s->rank[b];
}

static void sort_by_low(const Search *s, int *o, int k) { /* insertion: nearly sorted */
  for (int a = 1; a < k; a++) {
    int x = o[a], b = a;
    for (; b > 0 && before(s, x, o[b - 1]); b--) o[b] = o[b - 1];
    o[b] = x;
  }
}

/* The height that the unplaced buffers of each section need at least, over the stale sections. */
static bool over_capacity(Search *s, const Frame *f, const int *o) {
  const Pack *p = s->p;
  if (f->lo < f->hi) memset(s->top + f->lo, 0, (size_t)(f->hi - f->lo) * sizeof *s->top);
  for (int a = 0; a < f->k; a++) {
    int i = o[a], from = p->from[i] > f->lo ? p->from[i] : f->lo;
    int to = p->to[i] < f->hi ? p->to[i] : f->hi;
    int32_t low = s->low[i], size = s->size[i], most = 0;
    s->work -= 2 + (to > from ? to - from : 0);
    for (int c = from; c < to; c++) {
      int32_t t = (s->top[c] > low ? s->top[c] : low) + size;
      s->top[c] = t;
      most = most > t ? most : t;
    }
    if (most > s->capacity) return true;
  }
  return false;
}

/* Groups the frame's buffers where none crosses between two sections; returns the number of cuts.
 */
static int split(Search *s, Frame *f, int *o, int lo, int hi) {
  const Pack *p = s->p;
  int parts = 0, crossing = 0;
  memset(s->cover + lo, 0, (size_t)(hi - lo + 1) * sizeof *s->cover);
  for (int a = 0; a < f->k; a++) {
    s->cover[p->from[o[a]] + 1]++;
    s->cover[p->to[o[a]]]--;
  }
  for (int c = lo; c < hi; c++) {
    if (c > lo && (crossing += s->cover[c]) == 0) parts++;
    s->cover[c] = parts; /* from here on: the part of the section */
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
static void place_lowest(Search *s, Frame *f, int *o) {
  const Pack *p = s->p;
  int pick = 0;
  int32_t least = INT32_MAX;
  for (int a = 0; a < f->k && s->low[o[a]] == s->low[o[0]]; a++) {
    int32_t t = 0;
    for (int c = p->from[o[a]]; c < p->to[o[a]]; c++) t = s->top[c] > t ? s->top[c] : t;
    if (s->capacity - t < least) {
      least = s->capacity - t;
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
  f->alone = true;
  f->support = INT32_MAX;
  f->lo = from;
  f->hi = to;
  for (int a = 0; a < f->k - 1; a++) {
    int j = o[a];
    if (p->from[j] >= to || from >= p->to[j]) continue;
    f->alone = false;
    if (s->low[j] + s->size[j] < f->support) f->support = s->low[j] + s->size[j];
    if (s->low[j] >= end) continue;
    raise_low(s, j, end);
    if (p->from[j] < f->lo) f->lo = p->from[j];
    if (p->to[j] > f->hi) f->hi = p->to[j];
  }
}

static void push(Search *s, int at, int k, int lo, int hi) {
  vec_push(
      s->p->a, &s->stack,
      (Frame){
          .at = at, .k = k, .lo = lo, .hi = hi, .mark = (int)s->trail.n, .keys = (int)s->keys.n});
}

static bool push_part(Search *s, Frame *f) {
  while (f->part <= f->parts) {
    int end = s->ends.at[f->base + f->part++], begin = f->begin;
    f->begin = end;
    if (end == begin) continue;
    push(s, f->at + begin, end - begin, 0, 0);
    return true;
  }
  return false;
}

static bool out_of_time(Search *s) {
  if (++s->nodes > s->limit || s->work <= 0) return true;
  return s->deadline > 0 && (s->nodes & 127) == 0 && clock_now() > s->deadline;
}

/* Expands a frame. True: a child was pushed; false: *out is its answer. */
static bool enter(Search *s, Frame *f, Found *out) {
  const Pack *p = s->p;
  int *o = s->order + f->at, lo = p->sections, hi = 0;
  uint64_t h = (uint64_t)s->capacity;
  *out = FITS;
  if (f->k == 0) return false;
  sort_by_low(s, o, f->k);
  *out = GAVE_UP;
  if (out_of_time(s)) return false;
  for (int a = 0; a < f->k; a++) {
    int i = o[a];
    if (p->from[i] < lo) lo = p->from[i];
    if (p->to[i] > hi) hi = p->to[i];
    h += mix(s->token[i] + (uint64_t)(uint32_t)s->low[i] * 0x9E3779B97F4A7C15u);
  }
  if (f->lo < lo) f->lo = lo;
  if (f->hi > hi) f->hi = hi;
  *out = FAILED;
  if (over_capacity(s, f, o)) return false;
  if (f->k > 3) {
    if (s->failed[h & s->mask] == h) return false;
    vec_push(p->a, &s->keys, h);
  }
  f->parts = split(s, f, o, lo, hi);
  if (f->parts) {
    f->stage = PARTS;
    f->part = f->begin = 0;
    return push_part(s, f);
  }
  place_lowest(s, f, o);
  f->stage = LOWEST;
  push(s, f->at, f->k - 1, f->lo, f->hi);
  return true;
}

/* A child of this frame answered. True: go on with the frame (or a new child); false: *out answers.
 */
static bool resume(Search *s, Frame *f, Found *out) {
  if (f->stage == PARTS) return *out == FITS && push_part(s, f);
  if (*out != FAILED) return false;
  undo(s, f->inner);
  if (f->alone) return false;
  f->lo = 0;
  f->hi = s->p->sections;
  raise_low(s, f->pick, f->support); /* not lowest: so it rests on something unplaced */
  f->stage = ENTER;
  return true;
}

static Found search(Search *s) {
  Found answer = GAVE_UP;
  push(s, 0, s->p->n, 0, s->p->sections);
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
    if (answer != FITS) undo(s, work.mark);
    if (answer == FAILED)
      for (uint32_t q = (uint32_t)work.keys; q < s->keys.n; q++)
        s->failed[s->keys.at[q] & s->mask] = s->keys.at[q];
    s->keys.n = (uint32_t)work.keys;
    if (work.parts) s->ends.n = (uint32_t)work.base;
    s->stack.n = depth - 1;
  }
  return answer;
}

/* ---------------------------------------------------------------- restarts ---- */

typedef struct Score {
  double score;
  int i;
} Score;

static int by_score(const void *pa, const void *pb) {
  const Score *a = pa, *b = pb;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->i - b->i;
}

/* The natural logarithm by operations that every machine rounds alike. */
static double steady_log(double x) {
  int e;
  double m = frexp(x, &e), z = (m - 0.70710678118654752) / (m + 0.70710678118654752);
  double z2 = z * z, sum = 0, term = z;
  for (int k = 1; k < 24; k += 2, term *= z2) sum += term / k;
  return 2 * sum + (e - 0.5) * 0.69314718055994531;
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
static void make_ranks(Search *s, int64_t round, Score *score) {
  const Pack *p = s->p;
  double noise = round <= 3 ? 0 : 0.2 * next_random(s);
  for (int i = 0; i < p->n; i++) {
    double life = steady_log((double)pack_life(p, i));
    double area = life + steady_log((double)p->b->at[i].bytes + 1);
    double load = 20 * (double)pack_load(p, i) / (double)p->bound, r = -2;
    double base = round % 3 == 0   ? life + 0.01 * area
                  : round % 3 == 1 ? load + area
                                   : load + life + 0.01 * area;
    if (noise > 0)
      for (int k = 0; k < 4; k++) r += next_random(s);
    score[i] = (Score){base + (noise > 0 ? 2 * noise * r : 0), i};
  }
  qsort(score, (size_t)p->n, sizeof *score, by_score);
  for (int k = 0; k < p->n; k++) {
    s->order[k] = score[k].i;
    s->rank[score[k].i] = k;
  }
}

static bool prepare(Search *s) {
  Pack *p = s->p;
  size_t n = (size_t)p->n;
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
  if (p->arena / s->unit >= (UINT64_C(1) << 30)) return false; /* heights are 32-bit units */
  s->size = ARENA_ARRAY(p->a, int32_t, n);
  s->low = ARENA_ARRAY(p->a, int32_t, n);
  s->found = ARENA_ARRAY(p->a, int32_t, n);
  s->top = ARENA_ARRAY(p->a, int32_t, p->sections);
  s->rank = ARENA_ARRAY(p->a, int, n);
  s->order = ARENA_ARRAY(p->a, int, n);
  s->tmp = ARENA_ARRAY(p->a, int, n);
  s->cover = ARENA_ARRAY(p->a, int, p->sections + 2);
  s->token = ARENA_ARRAY(p->a, uint64_t, n);
  s->mask = (1u << 20) - 1;
  s->failed = ARENA_ARRAY(p->a, uint64_t, s->mask + 1);
  for (int i = 0; i < p->n; i++) {
    s->size[i] = (int32_t)(p->b->at[i].bytes / s->unit);
    s->token[i] = mix((uint64_t)i + 1);
  }
  return true;
}

static Found attempt(Search *s, int32_t capacity, int64_t round, Score *score) {
  int64_t n = s->p->n, base = n > 150 ? 2 * n : 300; /* a full descent at least */
  make_ranks(s, round, score);
  memset(s->low, 0, (size_t)n * sizeof *s->low);
  s->trail.n = s->keys.n = s->ends.n = s->stack.n = 0;
  s->capacity = capacity;
  s->nodes = 0;
  s->limit = base * luby(round);
  return search(s);
}

void pack_search(Pack *p, const PackLimit *limit) {
  static const double part[] = {0, 0.5, 0,
                                0.9}; /* of the way from what is proven to what was found */
  Search s = {.p = p, .random = 1, .work = limit->work};
  if (!prepare(&s)) return;
  if (limit->seconds > 0) s.deadline = clock_now() + limit->seconds;
  Score *score = ARENA_ARRAY(p->a, Score, p->n);
  int64_t round = 1;
  for (int step = 0; !pack_done(p, limit) && s.work > 0; step++) {
    uint64_t least = (p->proven + s.unit - 1) / s.unit, most = p->arena / s.unit - 1, aim;
    if (limit->capacity)
      aim = limit->capacity / s.unit < most ? limit->capacity / s.unit : most;
    else
      aim = least + (uint64_t)((double)(most - least) * part[step & 3]);
    Found found = attempt(&s, (int32_t)aim, round, score);
    if (found == FITS) {
      for (int i = 0; i < p->n; i++) p->offset[i] = (uint64_t)s.found[i] * s.unit;
      pack_keep(p);
    } else if (found == FAILED) {
      p->proven = (aim + 1) * s.unit;
      if (limit->capacity && p->proven > limit->capacity) return;
    }
    if (s.deadline > 0 && clock_now() > s.deadline) return;
    if (limit->capacity || (step & 1)) round++;
  }
}
