/* The ranks of a program for GPUs; see tcp.h. Rank 0 collects what all give, in the order of the
   ranks, and sends what comes of it. While the main thread waits for a device, another one looks at
   the other ranks and at the device's collectives, since no call of a driver that waits can be told
   to end. */
#include "runtime/comm/tcp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static Tcp *tcp_of(const GcComm *c) { return (Tcp *)(void *)c; }

/* ---- what ranks say to each other ---- */

typedef void Combine(int *all, const int *more, int n);
static void add(int *all, const int *more, int n) {
  for (int i = 0; i < n; i++) all[i] += more[i];
}
static void most(int *all, const int *more, int n) {
  for (int i = 0; i < n; i++)
    if (more[i] > all[i]) all[i] = more[i];
}

/* Of each group of ranks, those with the same group[rank], which is the first of them. */
static void combine(Tcp *t, int *at, int n, Combine *f, const int *group) {
  const size_t bytes = (size_t)n * sizeof *at;
  const int ranks = t->place.ranks;
  if (t->place.rank) {
    tcp_send(t, 0, FRAME_DATA, at, bytes);
    tcp_receive(t, 0, FRAME_DATA, at, bytes);
    return;
  }
  int *all = calloc((size_t)ranks, bytes);
  if (!all) {
    fprintf(stderr, "rank 0: no memory for what %d ranks say\n", ranks);
    tcp_end(t, EXIT_ENV);
  }
  memcpy(all, at, bytes);
  for (int r = 1; r < ranks; r++) {
    int *own = all + (size_t)r * (size_t)n, *first = all + (size_t)group[r] * (size_t)n;
    tcp_receive(t, r, FRAME_DATA, own, bytes);
    if (first != own) f(first, own, n);
  }
  for (int r = 1; r < ranks; r++)
    tcp_send(t, r, FRAME_DATA, all + (size_t)group[r] * (size_t)n, bytes);
  memcpy(at, all, bytes);
  free(all);
}

static int max_of(const GcComm *c, int value) {
  Tcp *t = tcp_of(c);
  int *together = t->machine + t->place.ranks; /* all of them are one group */
  combine(t, &value, 1, most, together);
  return value;
}

static void sum_local(const GcComm *c, int *at, int n) {
  Tcp *t = tcp_of(c);
  combine(t, at, n, add, t->machine);
}

static void broadcast(const GcComm *c, void *at, int64_t bytes, int root) {
  Tcp *t = tcp_of(c);
  const int rank = t->place.rank;
  if (rank && rank != root) tcp_receive(t, 0, FRAME_DATA, at, (size_t)bytes);
  if (rank && rank == root) tcp_send(t, 0, FRAME_DATA, at, (size_t)bytes);
  if (!rank && root) tcp_receive(t, root, FRAME_DATA, at, (size_t)bytes);
  for (int r = 1; !rank && r < t->place.ranks; r++)
    if (r != root) tcp_send(t, r, FRAME_DATA, at, (size_t)bytes);
}

/* ---- a thread that looks around ---- */

/* What all ranks have is rank 0's to say. */
static void let_first(Tcp *t) {
  enum { WHILE = 300000000 /* ns */ };
  if (!t->place.rank) return;
  nanosleep(&(struct timespec){.tv_nsec = WHILE}, NULL);
  tcp_look(t);
}

static void *look_around(void *arg) {
  enum { NAP = 20000000 /* ns */ };
  Tcp *t = arg;
  char why[512];
  pthread_mutex_lock(&t->lock);
  while (!t->ending) {
    const GcWatched *w = t->watched;
    if (!w) {
      pthread_cond_wait(&t->change, &t->lock);
      continue;
    }
    tcp_look(t);
    if (w->failed(w->arg, why, sizeof why)) {
      let_first(t);
      fprintf(stderr, "rank %d: %s\n", t->place.rank, why);
      tcp_end(t, EXIT_ENV);
    }
    if (clock_now() - t->since > t->c.timeout + (t->place.rank ? 1 : 0)) tcp_late(t);
    pthread_mutex_unlock(&t->lock);
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    pthread_mutex_lock(&t->lock);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

static void watch(const GcComm *c, const GcWatched *w) {
  Tcp *t = tcp_of(c);
  pthread_mutex_lock(&t->lock);
  t->watched = w;
  t->since = clock_now();
  if (w && !t->watching) t->watching = pthread_create(&t->thread, NULL, look_around, t) == 0;
  if (w && !t->watching) {
    fprintf(stderr, "rank %d: no thread can be started to watch the other ranks\n", t->place.rank);
    tcp_end(t, EXIT_ENV);
  }
  if (w) pthread_cond_signal(&t->change);
  pthread_mutex_unlock(&t->lock);
}

/* ---- the first and the last ---- */

static void tcp_free(Tcp *t) {
  for (int i = 0; t->peer && i < t->place.ranks; i++)
    if (t->peer[i] >= 0) close(t->peer[i]);
  free(t->peer);
  free(t->machine);
  free(t);
}

static void close_all(const GcComm *c) {
  Tcp *t = tcp_of(c);
  pthread_mutex_lock(&t->lock);
  t->ending = true;
  pthread_cond_signal(&t->change);
  pthread_mutex_unlock(&t->lock);
  if (t->watching) pthread_join(t->thread, NULL);
  for (int r = 1; !t->place.rank && r < t->place.ranks; r++) tcp_receive(t, r, FRAME_END, NULL, 0);
  for (int r = 1; !t->place.rank && r < t->place.ranks; r++) tcp_send(t, r, FRAME_END, NULL, 0);
  if (t->place.rank) {
    tcp_send(t, 0, FRAME_END, NULL, 0);
    tcp_receive(t, 0, FRAME_END, NULL, 0);
  }
  tcp_free(t);
}

static void stop(const GcComm *c, int code) { tcp_end(tcp_of(c), code); }

GcComm *gcrt_comm_open(double timeout, char *why, size_t size) {
  Err e = {0};
  Tcp *t = calloc(1, sizeof *t);
  bool ok = t ? place_find(&t->place, &e) : err_set(&e, EXIT_ENV, "no memory for ranks");
  if (ok) {
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->change, NULL);
    t->c = (GcComm){.rank = t->place.rank,
                    .ranks = t->place.ranks,
                    .local = 1,
                    .broadcast = broadcast,
                    .max = max_of,
                    .sum_local = sum_local,
                    .close = close_all,
                    .stop = stop,
                    .watch = watch,
                    .timeout = timeout};
    t->peer = malloc((size_t)t->place.ranks * sizeof *t->peer);
    for (int r = 0; t->peer && r < t->place.ranks; r++) t->peer[r] = -1;
    t->machine = calloc(2 * (size_t)t->place.ranks, sizeof *t->machine);
    ok = t->peer && t->machine ? tcp_meet(t, &e) : err_set(&e, EXIT_ENV, "no memory for ranks");
  }
  if (ok) return &t->c;
  snprintf(why, size, "%s%s%s", e.msg, e.hint[0] ? "\n" : "", e.hint);
  if (t) tcp_free(t);
  return NULL;
}
