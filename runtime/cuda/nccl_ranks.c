/* The ranks of a library on GPUs: those that open it with one id of NCCL, or with a communicator of
   the caller's, which brings them an id. A communicator of their own carries what ranks say to each
   other, by way of the device; the session makes another one for its collectives (nccl.c).
   Contract: nothing here ends the process. While the caller's thread is where only other ranks may
   let it go on, another one watches: what fails, or lasts longer than the timeout, is put into
   `failure`, and the communicator is aborted, which lets the thread go on. After that nothing is
   called any more. */
#include "runtime/cuda/cuda.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STAGE = 1 << 20, U8 = 1, OWN_STREAM = 1 };

typedef struct Ranks {
  GcComm c; /* first: a GcComm * of this file is a Ranks * */
  Cuda cuda;
  Err err;
  CuStream stream;
  CuAddress stage; /* of STAGE bytes: what goes around */
  uint8_t *pinned; /* the same of the host */
  pthread_mutex_t lock;
  pthread_cond_t change;
  const GcWatched *watched; /* NULL: the caller's thread waits for nobody */
  double since;             /* of that */
  bool watching, ending;    /* the thread runs, and is asked to end */
  pthread_t thread;
  char why[sizeof((Err *)0)->msg];
} Ranks;

static Ranks *ranks_of(const GcComm *c) { return (Ranks *)(uintptr_t)c; }

/* ---- a thread that looks around ---- */

static void lose(Ranks *r, const GcWatched *w) {
  r->c.failure = r->why;
  w->abort(w->arg);
  r->watched = NULL;
}

static void *look_around(void *arg) {
  enum { NAP = 20000000 /* ns */ };
  Ranks *r = arg;
  pthread_mutex_lock(&r->lock);
  while (!r->ending) {
    const GcWatched *w = r->watched;
    if (!w) {
      pthread_cond_wait(&r->change, &r->lock);
      continue;
    }
    if (w->failed(w->arg, r->why, sizeof r->why)) {
      lose(r, w);
    } else if (clock_now() - r->since > r->c.timeout) {
      snprintf(r->why, sizeof r->why,
               "the other ranks have not answered for %g seconds: one of them has ended, or is "
               "that much slower",
               r->c.timeout);
      lose(r, w);
    }
    pthread_mutex_unlock(&r->lock);
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    pthread_mutex_lock(&r->lock);
  }
  pthread_mutex_unlock(&r->lock);
  return NULL;
}

static void watch(const GcComm *c, const GcWatched *w) {
  Ranks *r = ranks_of(c);
  pthread_mutex_lock(&r->lock);
  r->watched = c->failure ? NULL : w;
  r->since = clock_now();
  if (w) pthread_cond_signal(&r->change);
  pthread_mutex_unlock(&r->lock);
}

/* ---- what ranks say to each other ---- */

/* What a call of the driver or of NCCL has said is why no other rank is heard any more. */
static void check(Ranks *r, bool ok) {
  pthread_mutex_lock(&r->lock);
  if (!ok && !r->c.failure) {
    snprintf(r->why, sizeof r->why, "%s", r->err.msg);
    r->c.failure = r->why;
  }
  pthread_mutex_unlock(&r->lock);
}

/* The first n bytes of `pinned`, at `from`, go out by `call`, and m bytes come back. */
static bool round_trip(Ranks *r, size_t from, size_t n, size_t m, bool gathers, int root) {
  Cuda *c = &r->cuda;
  const CuAddress at = r->stage;
  nccl_watch(c, true);
  bool ok = CUDA_CALL(c, MemcpyHtoDAsync, at + from, r->pinned + from, n, r->stream);
  ok = ok && (gathers ? NCCL_CALL(c, AllGather, at + from, at, n, U8, c->nccl.comm, r->stream)
                      : NCCL_CALL(c, Broadcast, at, at, n, U8, root, c->nccl.comm, r->stream));
  ok = ok && CUDA_CALL(c, MemcpyDtoHAsync, r->pinned, at, m, r->stream) &&
       CUDA_CALL(c, StreamSynchronize, r->stream);
  nccl_watch(c, false);
  return ok;
}

/* Around the calls the device's context is this thread's. */
static bool begin(Ranks *r) {
  if (r->c.failure) return false;
  bool ok = cuda_enter(&r->cuda.base, &r->err);
  check(r, ok);
  return ok;
}

static void end(Ranks *r, bool ok) {
  cuda_leave(&r->cuda.base);
  check(r, ok);
}

/* Rank i has given n bytes at all + i * n, and has those of all on return. */
static void exchange(Ranks *r, uint8_t *all, size_t n) {
  const size_t ranks = (size_t)r->c.ranks, own = (size_t)r->c.rank, most = STAGE / ranks;
  bool ok = begin(r);
  if (!ok) return;
  for (size_t at = 0, k; ok && !r->c.failure && at < n; at += k) {
    k = n - at < most ? n - at : most;
    memcpy(r->pinned + own * k, all + own * n + at, k);
    ok = round_trip(r, own * k, k, ranks * k, true, 0);
    for (size_t i = 0; ok && !r->c.failure && i < ranks; i++)
      memcpy(all + i * n + at, r->pinned + i * k, k);
  }
  end(r, ok);
}

static void broadcast(const GcComm *c, void *at, int64_t bytes, int root) {
  Ranks *r = ranks_of(c);
  bool ok = begin(r);
  if (!ok) return;
  for (size_t from = 0, k, n = (size_t)bytes; ok && !c->failure && from < n; from += k) {
    k = n - from < STAGE ? n - from : STAGE;
    memcpy(r->pinned, (uint8_t *)at + from, k);
    ok = round_trip(r, 0, k, k, false, root);
    if (ok && !c->failure) memcpy((uint8_t *)at + from, r->pinned, k);
  }
  end(r, ok);
}

static void collect(const GcComm *c, int *all, int n) {
  exchange(ranks_of(c), (uint8_t *)all, (size_t)n * sizeof *all);
}

static void no_memory(Ranks *r) {
  r->err.msg[0] = 0;
  check(r, err_set(&r->err, EXIT_ENV, "no memory for what ranks say"));
}

static int max(const GcComm *c, int value) {
  Ranks *r = ranks_of(c);
  int *all = calloc((size_t)c->ranks, sizeof *all);
  if (!all) {
    no_memory(r);
    return value;
  }
  all[c->rank] = value;
  collect(c, all, 1);
  for (int i = 0; !c->failure && i < c->ranks; i++)
    if (all[i] > value) value = all[i];
  free(all);
  return value;
}

/* ---- the first and the last ---- */

static void release(Ranks *r) {
  Cuda *c = &r->cuda;
  Err ignored = {0};
  cuda_set_sink(c, &ignored);
  if (c->retained && (c->entered || cuda_enter(&c->base, &ignored))) {
    nccl_leave(c, !r->c.failure && !c->base.broken);
    const bool gives = !c->nccl.hangs;
    if (gives && r->stream) c->api.StreamDestroy(r->stream);
    if (gives && r->stage) c->api.MemFree(r->stage);
    if (gives && r->pinned) c->api.MemFreeHost(r->pinned);
    cuda_leave(&c->base);
  }
  if (!c->nccl.hangs) cuda_detach(c);
  pthread_mutex_lock(&r->lock);
  r->ending = true;
  pthread_cond_signal(&r->change);
  pthread_mutex_unlock(&r->lock);
  if (r->watching) pthread_join(r->thread, NULL);
  pthread_mutex_destroy(&r->lock);
  pthread_cond_destroy(&r->change);
  gcrt_near_free(r->c.near);
  free(r);
}

static void close_all(const GcComm *c) { release(ranks_of(c)); }

static bool bring(NcclErrand *e) {
  e->result = e->api.Broadcast(e->at, e->at, sizeof e->id, U8, 0, e->comm, e->stream);
  e->waited = e->result ? 0 : e->wait(e->stream);
  return !e->result && !e->waited;
}

/* Who this rank is among those of the caller's communicator. */
static bool look_at(Ranks *r, NcclComm comm) {
  Cuda *c = &r->cuda;
  int ranks = 0, device = 0;
  if (!NCCL_CALL(c, CommCount, comm, &ranks) || !NCCL_CALL(c, CommUserRank, comm, &r->c.rank) ||
      !NCCL_CALL(c, CommCuDevice, comm, &device))
    return false;
  if (ranks != r->c.ranks)
    return err_set(&r->err, EXIT_USAGE, "this model is for %d ranks, and the communicator has %d",
                   r->c.ranks, ranks);
  return device == c->ordinal ||
         err_set(&r->err, EXIT_USAGE, "the communicator is of cuda:%d, and the model of cuda:%d",
                 device, c->ordinal);
}

/* A new one of rank 0's, by one message of the caller's communicator. */
static bool id_through(Ranks *r, NcclComm comm, NcclId *id) {
  Cuda *c = &r->cuda;
  const double seconds = r->c.timeout;
  NcclErrand what = {
      .comm = comm, .at = r->stage, .stream = r->stream, .wait = c->api.StreamSynchronize};
  if (!look_at(r, comm) || (r->c.rank == 0 && !NCCL_CALL(c, GetUniqueId, id))) return false;
  memcpy(r->pinned, id, sizeof *id);
  if (!CUDA_CALL(c, MemcpyHtoDAsync, r->stage, r->pinned, sizeof *id, r->stream)) return false;
  const NcclEnd end = nccl_within(c, seconds, &what, bring);
  if (end > NCCL_FAILED) return nccl_late(c, end, seconds);
  bool ok = nccl_done(c, what.result, "Broadcast") &&
            cuda_done(c, what.waited, "StreamSynchronize", NULL) &&
            CUDA_CALL(c, MemcpyDtoHAsync, r->pinned, r->stage, sizeof *id, r->stream) &&
            CUDA_CALL(c, StreamSynchronize, r->stream);
  if (ok) memcpy(id, r->pinned, sizeof *id);
  return ok;
}

static bool open_all(Ranks *r, const GcNcclRank *of, int ordinal) {
  Cuda *c = &r->cuda;
  void *pinned = NULL;
  NcclId id = {{0}};
  if (!of->comm) memcpy(&id, of->id, sizeof id);
  if (!cuda_attach(c, ordinal, &r->err) || !nccl_find(c, &r->err)) return false;
  bool ok = CUDA_CALL(c, StreamCreate, &r->stream, OWN_STREAM) &&
            CUDA_CALL(c, MemAlloc, &r->stage, STAGE) && CUDA_CALL(c, MemAllocHost, &pinned, STAGE);
  r->pinned = pinned;
  ok = ok && (!of->comm || id_through(r, of->comm, &id)) && nccl_connect(c, &r->c, id);
  cuda_leave(&c->base);
  return ok;
}

GcComm *gcrt_comm_within(const void *communicator, int device, double timeout, char *why,
                         size_t size) {
  const GcNcclRank *of = communicator;
  const int ranks = gc_program.ranks;
  if (!of->comm && (!of->id || of->rank < 0 || of->rank >= ranks)) {
    snprintf(why, size, of->id ? "rank %d is not in 0 to %d" : "there is no id and no communicator",
             of->rank, ranks - 1);
    return NULL;
  }
  Ranks *r = calloc(1, sizeof *r);
  if (!r) {
    snprintf(why, size, "no memory for ranks");
    return NULL;
  }
  r->c = (GcComm){.rank = of->rank,
                  .ranks = ranks,
                  .local = 1,
                  .broadcast = broadcast,
                  .max = max,
                  .collect = collect,
                  .sum_local = gcrt_near_sum,
                  .close = close_all,
                  .watch = watch,
                  .timeout = timeout};
  r->cuda = (Cuda){.base = {.ops = &cuda_device, .program = &gc_program}, .hosted = true};
  pthread_mutex_init(&r->lock, NULL);
  pthread_cond_init(&r->change, NULL);
  cuda_set_sink(&r->cuda, &r->err);
  bool ok = open_all(r, of, device);
  r->watching = ok && pthread_create(&r->thread, NULL, look_around, r) == 0;
  if (ok && !r->watching)
    ok = err_set(&r->err, EXIT_ENV, "no thread can be started to watch the other ranks");
  if (ok && !gcrt_near_find(&r->c, false)) no_memory(r);
  check(r, ok);
  if (ok && !r->c.failure) return &r->c;
  snprintf(why, size, "%s", r->why);
  release(r);
  return NULL;
}

bool gcrt_nccl_id(void *id, char *why, size_t size) {
  Err e = {0};
  Cuda c = {.hosted = true};
  NcclId fresh;
  cuda_set_sink(&c, &e);
  bool ok = nccl_find(&c, &e) && NCCL_CALL(&c, GetUniqueId, &fresh);
  if (ok)
    memcpy(id, &fresh, sizeof fresh);
  else
    snprintf(why, size, "%s", e.msg);
  return ok;
}
