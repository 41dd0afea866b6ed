/* A library's team: threads of its own that sleep between calls, so that the host may use OpenMP,
   or another model, as it likes. Contract: thread 0 is whoever calls; signals stay with the host's
   threads; where the system gives fewer threads than were asked for, those do the work. */
#include "runtime/exec/crew.h"
#include "runtime/exec/team.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct Hand {
  Crew *crew;
  int t;
  pthread_t thread;
} Hand;

struct Crew {
  Team *team;
  pthread_mutex_t start; /* held until the number of threads is settled */
  int n;
  Hand hand[];
};

static void *hand_main(void *arg) {
  Hand *h = arg;
  Crew *c = h->crew;
  pthread_mutex_lock(&c->start);
  int nt = c->team->nt;
  pthread_mutex_unlock(&c->start);
  float_mode_set();
  team_serve(c->team, h->t, nt);
  return NULL;
}

Crew *crew_start(Team *team, int threads) {
  Crew *c = calloc(1, sizeof *c + (size_t)threads * sizeof *c->hand);
  if (!c) return NULL;
  c->team = team;
  pthread_mutex_init(&c->start, NULL);
  pthread_mutex_lock(&c->start);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (c->n < threads - 1) {
    Hand *h = &c->hand[c->n];
    *h = (Hand){.crew = c, .t = c->n + 1};
    if (pthread_create(&h->thread, NULL, hand_main, h) != 0) break;
    c->n++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  team_settle(team, c->n + 1);
  pthread_mutex_unlock(&c->start);
  return c;
}

void crew_end(Crew *c, bool ours) {
  if (!c) return;
  if (ours) {
    team_end(c->team);
    for (int i = 0; i < c->n; i++) pthread_join(c->hand[i].thread, NULL);
    pthread_mutex_destroy(&c->start);
  }
  free(c);
}
