/* What the makers of a team's threads need of it. Contract: team_settle comes before a thread
   serves; every thread but 0 calls team_serve, which returns after team_end. */
#ifndef GCRT_TEAM_H
#define GCRT_TEAM_H
#include "runtime/exec/run.h"
#include <stdatomic.h>

enum { TEAM_LINE = 128 }; /* pairs of cache lines are fetched together */

struct Team {
  _Alignas(TEAM_LINE) _Atomic int arrived;
  _Alignas(TEAM_LINE) _Atomic int generation;
  _Alignas(TEAM_LINE) _Atomic int sleepers;
  _Alignas(TEAM_LINE) TeamJob *job; /* NULL: the team ends */
  void *arg;
  int nt;
  int spins; /* of a thread before it sleeps */
};

typedef struct Mark { /* of a thread: how far it is */
  _Alignas(TEAM_LINE) _Atomic int at;
} Mark;
void mark_post(Team *team, Mark *m, int at);  /* by its thread */
void mark_await(Team *team, Mark *m, int at); /* until it is there, or further */

/* n threads of the team, with barriers of their own. */
void team_part(Team *part, const Team *whole, int n);
void team_settle(Team *team, int nt); /* before any thread serves or drives */
void team_serve(Team *team, int t, int nt);
void team_end(Team *team); /* from thread 0 */
#endif
