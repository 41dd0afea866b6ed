/* A thread that does one thing at a time, for whoever comes for it later. */
#include "runtime/exec/ahead.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct Ahead {
  Session *session;
  AheadPrepare *prepare;
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t asked, over;
  bool quit;
  bool begun;   /* it has not been taken */
  bool running; /* the thread has it */
  AheadBatch batch;
  Fault fault; /* of the batch */
  double read; /* seconds, of the batch's rows */
};

static void *ahead_main(void *arg) {
  Ahead *a = arg;
  float_mode_set();
  (void)prctl(PR_SET_NAME, "ahead"); /* as top shows it */
  pthread_mutex_lock(&a->lock);
  while (!a->quit) {
    if (!a->running) {
      pthread_cond_wait(&a->asked, &a->lock);
      continue;
    }
    pthread_mutex_unlock(&a->lock);
    const double read = a->prepare(a->session, &a->batch);
    pthread_mutex_lock(&a->lock);
    a->running = false, a->read = read;
    pthread_cond_signal(&a->over);
  }
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

Ahead *ahead_start(Session *s, AheadPrepare *prepare, Err *e) {
  Ahead *a = calloc(1, sizeof *a);
  if (!a) {
    err_set(e, EXIT_ENV, "no memory for the thread that prepares batches");
    return NULL;
  }
  a->session = s, a->prepare = prepare;
  pthread_mutex_init(&a->lock, NULL);
  pthread_cond_init(&a->asked, NULL);
  pthread_cond_init(&a->over, NULL);
  sigset_t all, before; /* signals stay with the caller's threads */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&a->thread, NULL, ahead_main, a);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!error) return a;
  free(a);
  err_set(e, EXIT_ENV, "no thread to prepare batches: %s", strerror(error));
  return NULL;
}

void ahead_stop(Ahead *a) {
  if (!a) return;
  pthread_mutex_lock(&a->lock);
  a->quit = true;
  pthread_cond_signal(&a->asked);
  pthread_mutex_unlock(&a->lock);
  pthread_join(a->thread, NULL);
  pthread_cond_destroy(&a->asked);
  pthread_cond_destroy(&a->over);
  pthread_mutex_destroy(&a->lock);
  free(a);
}

void ahead_begin(Ahead *a, const AheadBatch *b) {
  pthread_mutex_lock(&a->lock);
  a->batch = *b;
  atomic_store(&a->fault.ready, 0);
  atomic_store(&a->fault.claimed, 0);
  a->begun = a->running = true;
  pthread_cond_signal(&a->asked);
  pthread_mutex_unlock(&a->lock);
}

/* Comes before what the step itself will report. */
static void take_fault(Fault *to, const Fault *from) {
  if (!atomic_load(&from->ready) || atomic_exchange(&to->claimed, 1)) return;
  to->site = from->site, to->at = from->at, to->value = from->value, to->limit = from->limit;
  atomic_store(&to->ready, 1);
}

int ahead_take(Ahead *a, const Exec *x, uint64_t batch, uint64_t step) {
  if (!a) return -1;
  pthread_mutex_lock(&a->lock);
  const double from = a->running ? clock_now() : 0;
  while (a->running) pthread_cond_wait(&a->over, &a->lock);
  const double waited = from > 0 ? clock_now() - from : 0, read = a->read;
  const AheadBatch *b = &a->batch;
  const bool is_it = a->begun && b->x == x && b->batch == batch && b->env.step == step &&
                     b->env.seed == a->session->env.seed;
  a->begun = false;
  pthread_mutex_unlock(&a->lock);
  if (is_it) take_fault(&a->session->fault, &a->fault);
  if (is_it) dataset_wait(a->session->data, waited < read ? waited : read);
  return is_it ? b->turn : -1;
}

Fault *ahead_fault(Ahead *a) { return &a->fault; }
