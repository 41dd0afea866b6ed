/* Streams by groups of a pool's threads: as many groups as there are streams, or threads if these
   are fewer. Each thread has a progress counter, which the threads of dependent steps in other
   groups wait for. Contract: steps of a group run in order; the order of the entry's steps is one
   that all edges allow, so that some thread can always go on. */
#include "runtime/exec/streams.h"
#include "runtime/exec/loops.h"
#include <string.h>

typedef struct Group {
  Barrier *barrier; /* of its own threads */
  int first, n;
} Group;

typedef enum Signal { NEVER, AT_STEP, AT_LOOP } Signal;

struct Streams {
  const GcEntry *entry;
  Barrier *all;
  int ngroups;
  Group *groups;
  int *group_of_stream;
  int *group_of_thread;
  Counter *done;  /* by thread: the steps that it is through with */
  Signal *signal; /* by step: whether another group waits for it */
};

static int most_groups(const GcEntry *e, int threads) {
  return e->streams < threads ? e->streams : threads;
}

uint64_t streams_bytes(const GcEntry *e, int threads) {
  if (e->streams <= 1) return 0;
  uint64_t groups = (uint64_t)most_groups(e, threads);
  return groups * (barrier_bytes(threads) + POOL_LINE) + (uint64_t)threads * sizeof(Counter) +
         sizeof(Streams) + groups * sizeof(Group) + (uint64_t)e->streams * sizeof(int) +
         (uint64_t)threads * sizeof(int) + (uint64_t)e->nsteps * sizeof(Signal) + 8 * POOL_LINE;
}

Streams *streams_make(const GcEntry *e, Memory *m, int threads) {
  if (e->streams <= 1) return NULL;
  int groups = most_groups(e, threads);
  Streams *s = memory_take(m, sizeof *s);
  if (!s) return NULL;
  *s = (Streams){.entry = e};
  s->groups = memory_take(m, (uint64_t)groups * sizeof *s->groups);
  if (!s->groups) return NULL;
  for (int k = 0; k < groups; k++) s->groups[k].barrier = memory_take(m, barrier_bytes(threads));
  s->group_of_stream = memory_take(m, (uint64_t)e->streams * sizeof *s->group_of_stream);
  s->group_of_thread = memory_take(m, (uint64_t)threads * sizeof *s->group_of_thread);
  s->done = memory_take(m, (uint64_t)threads * sizeof *s->done);
  s->signal = memory_take(m, (uint64_t)e->nsteps * sizeof *s->signal);
  return m->overdrawn ? NULL : s;
}

/* ---- groups ---- */

static int group_of_step(const Streams *s, int step) {
  return s->group_of_stream[s->entry->steps[step].stream];
}

void streams_settle(Streams *s, Pool *pool) {
  const GcEntry *e = s->entry;
  int nt = pool_size(pool);
  s->all = pool->barrier;
  s->ngroups = most_groups(e, nt);
  for (int k = 0; k < e->streams; k++) s->group_of_stream[k] = k % s->ngroups;
  for (int k = 0, first = 0; k < s->ngroups; k++) { /* the first streams have the most work */
    Group *g = &s->groups[k];
    g->first = first;
    g->n = nt / s->ngroups + (k < nt % s->ngroups);
    barrier_init(g->barrier, g->n, s->all->spins);
    for (int t = 0; t < g->n; t++) s->group_of_thread[first++] = k;
  }
  for (int i = 0; i < e->nsteps; i++) s->signal[i] = NEVER;
  for (int i = 0; i < e->nsteps; i++)
    for (int k = 0; k < e->steps[i].nafter; k++) {
      int a = e->steps[i].after[k];
      if (group_of_step(s, a) != group_of_step(s, i))
        s->signal[a] = loops_outermost(e, a) ? AT_LOOP : AT_STEP;
    }
  streams_reset(s);
}

Slot streams_slot(const Streams *s, int who) {
  const Group *g = &s->groups[s->group_of_thread[who]];
  return (Slot){g->barrier, who - g->first, g->n};
}

int streams_width(const Streams *s, int step) { return s->groups[group_of_step(s, step)].n; }

void streams_reset(Streams *s) { memset(s->done, 0, (size_t)s->all->n * sizeof *s->done); }

/* ---- a step ---- */

bool streams_enter(const Streams *s, int who, int step) {
  const GcStep *g = &s->entry->steps[step];
  int mine = s->group_of_thread[who];
  if (s->group_of_stream[g->stream] != mine) return false;
  for (int k = 0; k < g->nafter; k++) {
    int other = group_of_step(s, g->after[k]);
    const Group *o = &s->groups[other];
    for (int t = o->first; other != mine && t < o->first + o->n; t++)
      counter_wait(&s->done[t], s->all, g->after[k] + 1);
  }
  return true;
}

void streams_leave(const Streams *s, int who, int step) {
  if (s->signal[step] == AT_STEP) counter_signal(&s->done[who], s->all, step + 1);
}

void streams_leave_loop(const Streams *s, int who, int loop) {
  const GcLoop *l = &s->entry->loops[loop];
  if (l->depth == 0 && group_of_step(s, l->first) == s->group_of_thread[who] &&
      s->signal[l->end - 1] == AT_LOOP)
    counter_signal(&s->done[who], s->all, l->end);
}
