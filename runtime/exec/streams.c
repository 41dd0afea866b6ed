/* Streams by parts of a team: as many as there are streams, or threads if these are fewer. A thread
   says how far it is by a mark of its own, so that nobody waits for what nobody needs; who must
   come after a step waits for the marks of all threads of that part. Contract: steps of a part run
   in order; the order of the entry's steps is one that all edges allow, so somebody can always go
   on. */
#include "runtime/exec/streams.h"
#include "runtime/exec/loops.h"
#include "runtime/exec/team.h"
#include <string.h>

typedef struct Part {
  Team *team; /* of its own: for barriers */
  int first, n;
} Part;

typedef enum Post { NEVER, AT_STEP, AT_LOOP } Post;

struct Streams {
  const GcEntry *entry;
  Team *whole;
  int nparts, nt;
  Part *parts;
  int *part_of; /* by stream */
  int *seat_of; /* by thread: its part */
  Mark *marks;  /* by thread: the steps that it is through with */
  Post *post;   /* by step: whether another part waits for it */
};

static int most_parts(const GcEntry *e, int threads) {
  return e->streams < threads ? e->streams : threads;
}

uint64_t streams_bytes(const GcEntry *e, int threads) {
  if (e->streams <= 1) return 0;
  uint64_t parts = (uint64_t)most_parts(e, threads);
  return parts * (team_bytes() + TEAM_LINE) + (uint64_t)threads * sizeof(Mark) + sizeof(Streams) +
         parts * sizeof(Part) + (uint64_t)e->streams * sizeof(int) +
         (uint64_t)threads * sizeof(int) + (uint64_t)e->nsteps * sizeof(Post) + 8 * TEAM_LINE;
}

Streams *streams_make(const GcEntry *e, Memory *m, int threads) {
  if (e->streams <= 1) return NULL;
  int parts = most_parts(e, threads);
  Streams *s = memory_take(m, sizeof *s);
  if (!s) return NULL;
  *s = (Streams){.entry = e};
  s->parts = memory_take(m, (uint64_t)parts * sizeof *s->parts);
  if (!s->parts) return NULL;
  for (int k = 0; k < parts; k++) s->parts[k].team = memory_take(m, team_bytes());
  s->part_of = memory_take(m, (uint64_t)e->streams * sizeof *s->part_of);
  s->seat_of = memory_take(m, (uint64_t)threads * sizeof *s->seat_of);
  s->marks = memory_take(m, (uint64_t)threads * sizeof *s->marks);
  s->post = memory_take(m, (uint64_t)e->nsteps * sizeof *s->post);
  return m->overdrawn ? NULL : s;
}

/* ---- parts ---- */

static int part_of_step(const Streams *s, int step) {
  return s->part_of[s->entry->steps[step].stream];
}

void streams_settle(Streams *s, Team *team) {
  const GcEntry *e = s->entry;
  int nt = team_size(team);
  s->whole = team;
  s->nparts = most_parts(e, nt);
  s->nt = nt;
  for (int k = 0; k < e->streams; k++) s->part_of[k] = k % s->nparts;
  for (int k = 0, first = 0; k < s->nparts; k++) { /* the first streams have the most work */
    Part *p = &s->parts[k];
    p->first = first;
    p->n = nt / s->nparts + (k < nt % s->nparts);
    team_part(p->team, team, p->n);
    for (int t = 0; t < p->n; t++) s->seat_of[first++] = k;
  }
  for (int i = 0; i < e->nsteps; i++) s->post[i] = NEVER;
  for (int i = 0; i < e->nsteps; i++)
    for (int k = 0; k < e->steps[i].nafter; k++) {
      int a = e->steps[i].after[k];
      if (part_of_step(s, a) != part_of_step(s, i))
        s->post[a] = loops_outermost(e, a) ? AT_LOOP : AT_STEP;
    }
  streams_reset(s);
}

Seat streams_seat(const Streams *s, int who) {
  const Part *p = &s->parts[s->seat_of[who]];
  return (Seat){p->team, who - p->first, p->n};
}

int streams_width(const Streams *s, int step) { return s->parts[part_of_step(s, step)].n; }

void streams_reset(Streams *s) { memset(s->marks, 0, (size_t)s->nt * sizeof *s->marks); }

/* ---- a step ---- */

bool streams_enter(const Streams *s, int who, int step) {
  const GcStep *g = &s->entry->steps[step];
  int mine = s->seat_of[who];
  if (s->part_of[g->stream] != mine) return false;
  for (int k = 0; k < g->nafter; k++) {
    int other = part_of_step(s, g->after[k]);
    const Part *p = &s->parts[other];
    for (int t = p->first; other != mine && t < p->first + p->n; t++)
      mark_await(s->whole, &s->marks[t], g->after[k] + 1);
  }
  return true;
}

void streams_leave(const Streams *s, int who, int step) {
  if (s->post[step] == AT_STEP) mark_post(s->whole, &s->marks[who], step + 1);
}

void streams_leave_loop(const Streams *s, int who, int loop) {
  const GcLoop *l = &s->entry->loops[loop];
  if (l->depth == 0 && part_of_step(s, l->first) == s->seat_of[who] &&
      s->post[l->end - 1] == AT_LOOP)
    mark_post(s->whole, &s->marks[who], l->end);
}
