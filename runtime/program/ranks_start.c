/* The start and the end of ranks over MPI, which last until all of them have come: no call of these
   can be told to end. Contract: a thread that calls nothing of MPI ends the process if one takes
   longer than the timeout; mpirun ends the others. The rank with the least number speaks first. */
#include "runtime/program/command.h"
#include <errno.h>
#include <stdlib.h>

/* As the launcher says it; 0: it does not. */
static int rank_of_launcher(void) {
  const char *rank = NULL;
  for (int i = 0; gcrt_comm_ranks[i] && !rank; i++) rank = getenv(gcrt_comm_ranks[i]);
  return rank ? atoi(rank) : 0;
}

static struct timespec clock_at(double seconds) {
  const double never = 1e12; /* any number of seconds may be given */
  if (seconds > never) seconds = never;
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
  return t;
}

/* Up to that time, or until it is over. */
static bool is_over_by(RanksStart *s, double seconds) {
  const struct timespec end = clock_at(seconds);
  int error = 0;
  pthread_mutex_lock(&s->lock);
  while (!s->over && error != ETIMEDOUT) error = pthread_cond_timedwait(&s->change, &s->lock, &end);
  const bool over = s->over;
  pthread_mutex_unlock(&s->lock);
  return over;
}

static void *wait_for_end(void *arg) {
  RanksStart *s = arg;
  enum {
    FIRST = 4,
    TURN = 2
  }; /* ranks that speak one after the other, in seconds that mpirun needs */
  const int rank = rank_of_launcher();
  const double end = clock_now() + s->seconds;
  if (is_over_by(s, end)) return NULL;
  const int before = signal_seen();
  if (is_over_by(s, end + TURN * (rank < FIRST ? rank : FIRST))) return NULL;
  if (!rank || before || !signal_seen()) /* else mpirun ends this one, and another has spoken */
    fprintf(stderr,
            "rank %d: the other ranks have not %s within %g seconds: one of them has ended, or is "
            "that much slower\nhint: --timeout S waits longer\n",
            rank, s->what, s->seconds);
  _Exit(EXIT_ENV); /* to abort is for the thread that is in MPI */
}

bool ranks_start_begins(RanksStart *s, const char *what, double seconds, Err *e) {
  pthread_condattr_t attr;
  *s = (RanksStart){.what = what, .seconds = seconds};
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* clock_now's */
  pthread_cond_init(&s->change, &attr);
  pthread_condattr_destroy(&attr);
  return pthread_create(&s->thread, NULL, wait_for_end, s) == 0 ||
         err_set(e, EXIT_ENV, "no thread can be started to watch the other ranks");
}

void ranks_start_ends(RanksStart *s) {
  pthread_mutex_lock(&s->lock);
  s->over = true;
  pthread_cond_signal(&s->change);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->change);
}
