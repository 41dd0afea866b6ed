/* A move in an order: a set of nodes goes to the other side of a position, with all that must go
   along. What the steps between hold is counted anew for the order tried.
   Contract: dependences hold; see order_improve.c. */
#include "passes/schedule/order_improve_impl.h"

enum {
  GROWTHS = 6 /* times that a move takes in what hangs on it */
};

typedef struct Score {
  int64_t peak, sum;
} Score;

static bool better(Score a, Score b) { return a.peak != b.peak ? a.peak < b.peak : a.sum < b.sum; }

/* ---------------------------------------------------------------- what is held ---- */

/* With its readers of the window counted anew, where they were counted of another one. */
static inline Lived *here(Lived *v, uint32_t window, int to) {
  if (v->counted != window) v->left = v->last > to;
  v->counted = window;
  return v;
}

/* Those in the window that are still to come, and one more for all behind it; the effort of a run
   of the window, which is the same in each order. */
static void count_readers(Improve *w, const int *node, int n, int to) {
  const uint32_t window = ++w->windows;
  int64_t looked_at = n;
  for (int i = 0; i < n; i++) {
    const StepNode *s = w->step[node[i]];
    if (!s) continue;
    for (int k = 0; k < s->nin; k++) here(&w->lived[s->in[k]], window, to)->left++;
    for (int k = 0; k < s->nout; k++) here(&w->lived[s->out[k]], window, to);
    looked_at += s->nin + s->nout;
  }
  w->effort -= looked_at;
}

/* What a result takes over from an operand that no op reads later. */
static int64_t in_place(const Improve *w, const StepNode *s) {
  int64_t saved = 0;
  for (int q = 0; q < s->npairs; q++) {
    bool free = w->lived[s->in[s->pair[q].in]].left == 0;
    for (int z = 0; z < q && free; z++) /* the first pair of either */
      free = s->pair[z].in != s->pair[q].in && s->pair[z].out != s->pair[q].out;
    if (free) saved += w->lived[s->out[s->pair[q].out]].size;
  }
  return saved;
}

/* Runs n nodes from a position on, where so much is held, until that is not better than what it
   should be better than (NULL: to the end, and what is held is written down). */
static Score simulate(Improve *w, const int *node, int n, int from, const Score *than) {
  Score score = {0};
  int64_t live = w->live[from];
  count_readers(w, node, n, from + n - 1);
  for (int i = 0; i < n && (!than || better(score, *than)); i++) {
    const StepNode *s = w->step[node[i]];
    int64_t max = live, made = 0, dead = 0;
    if (!than) w->live[from + i] = live;
    if (s) {
      for (int k = 0; k < s->nin; k++) {
        Lived *v = &w->lived[s->in[k]];
        if (--v->left == 0) dead += v->size;
      }
      for (int k = 0; k < s->nout; k++) {
        const Lived *v = &w->lived[s->out[k]];
        made += v->size;
        if (!v->left) dead += v->size;
      }
      max = live + made + s->extra - in_place(w, s);
      live += made - dead;
    }
    if (!than) w->within[from + i] = max;
    if (max > score.peak) score.peak = max;
    score.sum += max;
  }
  return score;
}

static Score now(Improve *w, int from, int n) {
  Score score = {0};
  w->effort -= n / SCAN_SHARE;
  for (int i = from; i < from + n; i++) {
    if (w->within[i] > score.peak) score.peak = w->within[i];
    score.sum += w->within[i];
  }
  return score;
}

static void find_last(Improve *w, int v) {
  int last = w->p->storage[v].kept ? w->g->n : w->pos[w->maker[v]];
  for (uint32_t k = 0; k < w->readers[v].n; k++)
    if (w->pos[w->readers[v].at[k]] > last) last = w->pos[w->readers[v].at[k]];
  w->lived[v].last = last;
  w->effort -= w->readers[v].n;
}

void improve_start(Improve *w, const int *order) {
  memcpy(w->order, order, sizeof *order * (size_t)w->g->n);
  for (int k = 0; k < w->g->n; k++) w->pos[order[k]] = k;
  for (int v = 0; v < w->p->nstorages; v++) find_last(w, v);
  w->effort -= w->g->n;
  (void)simulate(w, w->order, w->g->n, 0, NULL);
}

/* ---------------------------------------------------------------- what moves ---- */

void improve_take(Improve *w, int node) {
  w->taken[node] = true;
  vec_push(w->a, &w->moved, node);
}

void improve_drop(Improve *w) {
  for (uint32_t i = 0; i < w->moved.n; i++) w->taken[w->moved.at[i]] = false;
  w->moved.n = 0;
}

/* What must go along with those that move behind (or ahead of) a position: false where that is the
   node there, or too many. */
static bool close_set(Improve *w, int at, bool later) {
  for (uint32_t i = 0; i < w->moved.n; i++) {
    const IntList *next = later ? &w->g->after[w->moved.at[i]] : &w->comes_first[w->moved.at[i]];
    for (uint32_t k = 0; k < next->n; k++) {
      int node = next->at[k], pos = w->pos[node];
      if (w->taken[node] || (later ? pos > at : pos < at)) continue;
      if (pos == at || w->moved.n == MAX_ALONG) return false;
      improve_take(w, node);
    }
  }
  return true;
}

/* On the other side: what only serves those that move later, or what those that move earlier make
   possible. */
static bool grow_set(Improve *w, int at, bool later) {
  uint32_t n = w->moved.n;
  for (uint32_t i = 0; i < n; i++) {
    const IntList *near = later ? &w->comes_first[w->moved.at[i]] : &w->g->after[w->moved.at[i]];
    for (uint32_t k = 0; k < near->n && w->moved.n < MAX_ALONG; k++) {
      int node = near->at[k];
      const IntList *bound = later ? &w->g->after[node] : &w->comes_first[node];
      bool free = !w->taken[node] && (later ? w->pos[node] < at : w->pos[node] > at);
      for (uint32_t j = 0; j < bound->n && free; j++) {
        int pos = w->pos[bound->at[j]];
        free = w->taken[bound->at[j]] || (later ? pos > at : pos < at);
      }
      if (free) improve_take(w, node);
    }
  }
  return w->moved.n > n;
}

bool improve_window(Improve *w, int from, int to, bool later, bool force) {
  int n = to - from + 1, stay = later ? 0 : (int)w->moved.n, go = later ? n - (int)w->moved.n : 0;
  for (int i = from; i <= to; i++) {
    int node = w->order[i];
    w->window[w->taken[node] ? go++ : stay++] = node;
  }
  if (!force) {
    const Score before = now(w, from, n);
    if (!better(simulate(w, w->window, n, from, &before), before)) return false;
  }
  for (int i = 0; i < n; i++) {
    w->order[from + i] = w->window[i];
    w->pos[w->window[i]] = from + i;
  }
  for (int i = 0; i < n; i++) {
    const StepNode *s = w->step[w->window[i]];
    for (int k = 0; s && k < s->nin; k++) find_last(w, s->in[k]);
    for (int k = 0; s && k < s->nout; k++) find_last(w, s->out[k]);
  }
  (void)simulate(w, w->window, n, from, NULL);
  return true;
}

int improve_farthest(const Improve *w, bool later) {
  int end = later ? w->g->n - 1 : 0;
  for (uint32_t i = 0; i < w->moved.n; i++) {
    const IntList *next = later ? &w->g->after[w->moved.at[i]] : &w->comes_first[w->moved.at[i]];
    for (uint32_t k = 0; k < next->n; k++) {
      int pos = w->pos[next->at[k]];
      if (w->taken[next->at[k]]) continue;
      if (later && pos - 1 < end) end = pos - 1;
      if (!later && pos + 1 > end) end = pos + 1;
    }
  }
  return end;
}

bool improve_set(Improve *w, int at, bool later) {
  for (int grown = 0; grown < GROWTHS && w->effort > 0; grown++) {
    if (!close_set(w, at, later)) return false;
    int first = w->g->n, last = 0;
    for (uint32_t i = 0; i < w->moved.n; i++) {
      int pos = w->pos[w->moved.at[i]];
      if (pos < first) first = pos;
      if (pos > last) last = pos;
    }
    int far = improve_farthest(w, later);
    int from = later ? first : at, to = later ? at : last;
    if (improve_window(w, from, to, later, false)) return true;
    if (later ? far > at : far < at)
      if (improve_window(w, later ? first : far, later ? far : last, later, false)) return true;
    if (!grow_set(w, at, later)) return false;
  }
  return false;
}
