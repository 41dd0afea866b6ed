/* Calls of NCCL that last until other ranks do their part, made by a thread of their own: that of a
   library's caller waits for the end no longer than it was told. Contract: a call that does not end
   keeps its thread and what it was given for good, since no call can be told to end. */
#include "runtime/cuda/cuda.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct Errand {
  NcclErrand what; /* first: what `run` is given */
  bool (*run)(NcclErrand *what);
  CuResult (*enter)(CuContext context);
  CuContext context;
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool over, ok, left; /* left: nobody waits any more */
} Errand;

static void errand_free(Errand *e) {
  pthread_cond_destroy(&e->change);
  pthread_mutex_destroy(&e->lock);
  free(e);
}

static void *go(void *arg) {
  Errand *e = arg;
  const bool ok = e->enter(e->context) == 0 && e->run(&e->what);
  pthread_mutex_lock(&e->lock);
  const bool left = e->left;
  e->ok = ok, e->over = true;
  pthread_cond_signal(&e->change);
  pthread_mutex_unlock(&e->lock);
  if (left) errand_free(e);
  return NULL;
}

static Errand *errand_new(const Cuda *c, const NcclErrand *what, bool (*run)(NcclErrand *)) {
  Errand *e = calloc(1, sizeof *e);
  pthread_condattr_t attr;
  if (!e) return NULL;
  e->what = *what, e->what.api = c->nccl.api;
  e->run = run, e->enter = c->api.CtxSetCurrent, e->context = c->context;
  pthread_mutex_init(&e->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&e->change, &attr);
  pthread_condattr_destroy(&attr);
  return e;
}

static struct timespec after(double seconds) {
  enum { NANO = 1000000000 };
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double left = seconds < 1e9 ? seconds : 1e9;
  t.tv_sec += (time_t)left;
  t.tv_nsec += (long)((left - (double)(time_t)left) * NANO);
  if (t.tv_nsec >= NANO) t.tv_sec++, t.tv_nsec -= NANO;
  return t;
}

NcclEnd nccl_within(const Cuda *c, double seconds, NcclErrand *what, bool (*run)(NcclErrand *)) {
  const struct timespec end = after(seconds);
  pthread_t thread;
  int error = 0;
  Errand *e = errand_new(c, what, run);
  if (!e) return NCCL_NO_THREAD;
  if (pthread_create(&thread, NULL, go, e) != 0) {
    errand_free(e);
    return NCCL_NO_THREAD;
  }
  pthread_mutex_lock(&e->lock);
  while (!e->over && error != ETIMEDOUT) error = pthread_cond_timedwait(&e->change, &e->lock, &end);
  const bool over = e->over, ok = e->ok;
  e->left = !over;
  if (over) *what = e->what;
  pthread_mutex_unlock(&e->lock);
  if (!over) {
    pthread_detach(thread);
    return NCCL_LATE;
  }
  pthread_join(thread, NULL);
  errand_free(e);
  return ok ? NCCL_WELL : NCCL_FAILED;
}
