/* Bytes live at every step, and the sum of their excess over the limit. Contract: a range of steps
   is changed, or the excess after such a change is asked for. Either costs one look at each block
   of steps that lies in the range as a whole, and at the steps of the two blocks at its ends.
   Blocks with steps on both sides of the limit are looked at step by step, too. A block remembers
   its minimum, its maximum and the sum added to all of its steps (lazy addition, as in a segment
   tree, on one level: steps of one block lie side by side). */
#include "passes/remat/remat_impl.h"

static int last_of(const RematState *s, int block) {
  int end = (block + 1) * REMAT_BLOCK - 1;
  return end < s->p->nsteps ? end : s->p->nsteps;
}

/* Of steps that all have the same added to them. */
static int64_t rise_of(const int *live, int n, int limit, int d) {
  int64_t sum = 0;
  for (int t = 0; t < n; t++) {
    int over = live[t] - limit, then = over + d;
    sum += (then > 0 ? then : 0) - (over > 0 ? over : 0);
  }
  return sum;
}

/* Nanoseconds that it takes, about: what the effort of a search is counted in. */
enum { TO_PASS = 2, TO_SCAN = 25 };

static int64_t rise_of_block(RematState *s, const RematBlock *x, const int *live, int n, int d) {
  int min = x->min + x->add - s->limit, max = x->max + x->add - s->limit;
  if ((d > 0 ? max + d : max) <= 0) return 0;
  if ((d < 0 ? min + d : min) >= 0) return (int64_t)n * d;
  s->work += TO_SCAN;
  return rise_of(live, n, s->limit - x->add, d);
}

int64_t remat_rise(RematState *s, int a, int b, int d) {
  int64_t sum = 0;
  for (int t = a; t <= b;) {
    int block = t / REMAT_BLOCK, end = last_of(s, block) < b ? last_of(s, block) : b;
    sum += rise_of_block(s, &s->block[block], s->live + t, end - t + 1, d);
    t = end + 1;
  }
  if (b >= a) s->work += TO_PASS * (1 + (b - a) / REMAT_BLOCK);
  return sum;
}

static void look_at(RematState *s, int block) {
  const int *live = s->live + block * REMAT_BLOCK;
  int n = last_of(s, block) - block * REMAT_BLOCK + 1, min = live[0], max = live[0];
  for (int t = 1; t < n; t++) {
    min = live[t] < min ? live[t] : min;
    max = live[t] > max ? live[t] : max;
  }
  s->work += TO_SCAN;
  s->block[block].min = min;
  s->block[block].max = max;
}

void remat_add(RematState *s, int a, int b, int d) {
  s->excess += remat_rise(s, a, b, d);
  for (int t = a; t <= b;) {
    int block = t / REMAT_BLOCK, last = last_of(s, block), end = last < b ? last : b;
    if (t == block * REMAT_BLOCK && end == last) {
      s->block[block].add += d;
    } else {
      for (int k = t; k <= end; k++) s->live[k] += d;
      look_at(s, block);
    }
    t = end + 1;
  }
}

bool remat_room(const RematState *s, int a, int b, int d) {
  for (int t = a; t <= b;) {
    int block = t / REMAT_BLOCK, end = last_of(s, block) < b ? last_of(s, block) : b;
    const RematBlock *x = &s->block[block];
    if (x->max + x->add + d > s->limit)
      for (int k = t; k <= end; k++)
        if (s->live[k] + x->add + d > s->limit) return false;
    t = end + 1;
  }
  return true;
}

void remat_set_live(RematState *s) {
  for (int block = 0; block <= s->p->nsteps / REMAT_BLOCK; block++) {
    s->block[block].add = 0;
    look_at(s, block);
  }
}

void remat_set_limit(RematState *s, int limit) {
  s->limit = limit;
  s->excess = 0;
  for (int t = 0; t <= s->p->nsteps; t++)
    if (remat_live(s, t) > limit) s->excess += remat_live(s, t) - limit;
}

int remat_peak(const RematState *s, int *at) {
  *at = 0;
  for (int t = 0; t < s->p->nsteps; t++)
    if (remat_live(s, t) > remat_live(s, *at)) *at = t;
  return remat_live(s, *at);
}
