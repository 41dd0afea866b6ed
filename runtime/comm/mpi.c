/* Ranks that talk by MPI (MPI 3.1: nonblocking collectives). gc --data-parallel=mpi compiles this
   file beside a program or a library, by the words of mpicc: the implementations of MPI have no
   common binary interface. Contract: all calls come from the thread that opened the ranks
   (MPI_THREAD_FUNNELED). A call that waits longer than the timeout, or fails, ends all ranks of a
   program: where one of them is gone, no other can go on. A library's ranks are those of the
   caller's communicator, of which it has a copy; there nothing is called any more behind a failure,
   and what is under way then stays so: its memory is the caller's arena and stage, what `collect`
   was given, and `held`, none of which is given back. */
#include "gcrt.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENVIRONMENT = 3 /* exit code */, HELD = 256 /* numbers */ };

/* What has begun: the parts of collectives, in order. */
typedef struct Part {
  MPI_Request request;
  long of; /* which collective, counted from the start */
} Part;

typedef struct Mpi {
  GcComm c;     /* first: a GcComm * of this file is an Mpi * */
  MPI_Comm all; /* the ranks */
  bool within;  /* of a library: the process is the caller's */
  Part *flying;
  int first, last, room; /* those not over are [first, last) of `room` */
  int *runs;             /* by part: lengths and places of what each rank has, 2 * ranks */
  long collectives;      /* that have begun */
  int held[HELD];        /* a small message: its sender's may be gone before it is over */
  char why[2 * MPI_MAX_ERROR_STRING];
} Mpi;

static Mpi *mpi_of(const GcComm *c) { return (Mpi *)(uintptr_t)c; }

static void stop(const GcComm *c, int code) {
  fflush(stdout);
  MPI_Abort(mpi_of(c)->all, code);
  _Exit(code);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Machines speak one after the other. True: a signal has come meanwhile, which is mpirun's, since
   another machine has spoken. A signal that was there `before` says nothing. */
static bool another_speaks(const GcComm *c, int before) {
  enum { TURN = 2 /* seconds that mpirun needs to end the ranks */, TURNS = 4, NAP = 10000000 };
  const int turn = gcrt_near_turn(c), seconds = TURN * (turn < TURNS ? turn : TURNS);
  for (const double end = now() + seconds; now() < end;) {
    if (!before && c->signal && c->signal()) return true;
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
  }
  return false;
}

/* A program says it and ends; a library's caller hears of it. before: a signal that is known. */
static void fail_behind(const GcComm *c, int before, const char *why, const char *hint) {
  Mpi *m = mpi_of(c);
  if (m->within) {
    m->c.failure = why;
    return;
  }
  if (another_speaks(c, before)) stop(c, ENVIRONMENT);
  if (gcrt_near_speaks(c))
    fprintf(stderr, "rank %d: %s%s%s\n", c->rank, why, *hint ? "\nhint: " : "", hint);
  stop(c, gcrt_near_said(c, ENVIRONMENT));
}

static void fail(const GcComm *c, const char *why, const char *hint) {
  fail_behind(c, c->signal ? c->signal() : 0, why, hint);
}

/* True: nothing has failed, now or before. */
static bool check(const GcComm *c, int error) {
  Mpi *m = mpi_of(c);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (error == MPI_SUCCESS || c->failure) return !c->failure;
  MPI_Error_string(error, text, &length);
  snprintf(m->why, sizeof m->why, "MPI failed: %s", text);
  fail(c, m->why, "");
  return false;
}

static void late(const GcComm *c, int before) {
  Mpi *m = mpi_of(c);
  snprintf(m->why, sizeof m->why,
           "the other ranks have not answered for %g seconds: one of them has ended, or is that "
           "much slower",
           c->timeout);
  fail_behind(c, before, m->why, "--timeout S waits longer");
}

/* Polls, and gives the processor away more and more: ranks may be more than processors. */
static void wait_for(const GcComm *c, MPI_Request *q) {
  enum { SPINS = 2000, YIELDS = 20000, NAP = 50000 /* ns */ };
  double from = 0;
  int done = 0, before = 0;
  for (long n = 0; !c->failure; n++) {
    if (!check(c, MPI_Test(q, &done, MPI_STATUS_IGNORE)) || done) return;
    if (n < SPINS) continue;
    if (n < YIELDS) {
      sched_yield();
      continue;
    }
    if (!from) from = now();
    if (now() - from > c->timeout) late(c, before);
    if (c->signal) before = c->signal();
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
  }
}

static MPI_Datatype type_of(GcDtype dt) {
  switch (dt) {
  case GC_F32: return MPI_FLOAT;
  case GC_F64: return MPI_DOUBLE;
  case GC_I32: return MPI_INT32_T;
  default: return MPI_INT64_T;
  }
}

static size_t size_of(GcDtype dt) { return dt == GC_F32 || dt == GC_I32 ? 4 : 8; }

/* Of one part more, which begins now; gc has counted how many there are at most. */
static MPI_Request *part(Mpi *m) {
  static MPI_Request lost;
  if (m->first == m->last) m->first = m->last = 0;
  if (m->last == m->room) {
    fail(&m->c, "more messages are under way than were planned; this is a bug of gc", "");
    return &lost;
  }
  m->flying[m->last].of = m->collectives;
  return &m->flying[m->last++].request;
}

static void begun(const GcComm *c) { mpi_of(c)->collectives++; }

static void end(const GcComm *c) {
  Mpi *m = mpi_of(c);
  if (m->first == m->last) return;
  const double from = now();
  for (long of = m->flying[m->first].of; m->first < m->last && m->flying[m->first].of == of;
       m->first++)
    wait_for(c, &m->flying[m->first].request);
  m->c.waited += now() - from;
}

/* A test lets all requests go on; of one that is over, and so is none any more, it says so. */
static bool poll(const GcComm *c) {
  Mpi *m = mpi_of(c);
  int done = 1;
  for (int i = m->first; i < m->last && done && !c->failure; i++)
    check(c, MPI_Test(&m->flying[i].request, &done, MPI_STATUS_IGNORE));
  return !done && !c->failure;
}

/* Counts of MPI are of type int. */
static void sum(const GcComm *c, void *out, const void *in, int64_t n, GcDtype dt) {
  Mpi *m = mpi_of(c);
  for (int64_t at = 0; at < n && !c->failure; at += GC_MESSAGE) {
    int count = n - at < GC_MESSAGE ? (int)(n - at) : GC_MESSAGE;
    char *to = (char *)out + (size_t)at * size_of(dt);
    const char *from = (const char *)in + (size_t)at * size_of(dt);
    check(c, MPI_Iallreduce(from == to ? MPI_IN_PLACE : from, to, count, type_of(dt), MPI_SUM,
                            m->all, part(m)));
  }
}

/* Where counts of MPI do not reach. */
static void too_large(const GcComm *c, const char *what, int64_t bytes) {
  Mpi *m = mpi_of(c);
  snprintf(m->why, sizeof m->why, "a tensor is too large to be %s: %lld bytes of each rank", what,
           (long long)bytes);
  fail(c, m->why, "");
}

/* What each rank has of `all` in runs of n, and where; MPI reads it up to the end of the part. */
static int *runs_of(Mpi *m, const MPI_Request *of, int64_t n, int64_t all) {
  const int ranks = m->c.ranks, at = (int)((const Part *)(const void *)of - m->flying);
  int *runs = m->runs + (size_t)at * 2 * (size_t)ranks;
  for (int r = 0; r < ranks; r++) {
    int64_t from = r * n < all ? r * n : all;
    runs[r] = (int)(all - from < n ? all - from : n);
    runs[ranks + r] = (int)from;
  }
  return runs;
}

static void scatter(const GcComm *c, void *out, const void *in, int64_t n, int64_t all,
                    GcDtype dt) {
  Mpi *m = mpi_of(c);
  const bool equal = n * c->ranks == all;
  if ((equal ? n : all) > INT_MAX) too_large(c, "scattered", n * (int64_t)size_of(dt));
  MPI_Request *q = c->failure ? NULL : part(m);
  if (c->failure) return;
  if (equal) {
    check(c, MPI_Ireduce_scatter_block(in, out, (int)n, type_of(dt), MPI_SUM, m->all, q));
    return;
  }
  const int *runs = runs_of(m, q, n, all);
  const size_t own = (size_t)runs[c->rank];
  memset((char *)out + own * size_of(dt), 0, ((size_t)n - own) * size_of(dt));
  check(c, MPI_Ireduce_scatter(in, out, runs, type_of(dt), MPI_SUM, m->all, q));
}

static void spread(const GcComm *c, void *at, int64_t n, int root) {
  Mpi *m = mpi_of(c);
  for (int64_t from = 0; from < n && !c->failure; from += GC_MESSAGE) {
    int bytes = n - from < GC_MESSAGE ? (int)(n - from) : GC_MESSAGE;
    check(c, MPI_Ibcast((char *)at + from, bytes, MPI_BYTE, root, m->all, part(m)));
  }
}

static void broadcast(const GcComm *c, void *at, int64_t bytes, int root) {
  Mpi *m = mpi_of(c);
  MPI_Request q;
  if (c->failure) return;
  bool small = bytes <= (int64_t)sizeof m->held;
  void *there = small ? memcpy(m->held, at, (size_t)bytes) : at;
  if (check(c, MPI_Ibcast(there, (int)bytes, MPI_BYTE, root, m->all, &q))) wait_for(c, &q);
  if (small && !c->failure) memcpy(at, there, (size_t)bytes);
}

/* One block of which the last ranks have less. */
static void gather_runs(const GcComm *c, void *out, const void *in, int64_t bytes, int64_t all) {
  Mpi *m = mpi_of(c);
  MPI_Request *q = part(m);
  if (c->failure) return;
  const int *runs = runs_of(m, q, bytes, all);
  check(c, MPI_Iallgatherv(in, runs[c->rank], MPI_BYTE, out, runs, runs + c->ranks, MPI_BYTE,
                           m->all, q));
}

static void gather(const GcComm *c, void *out, const void *in, int64_t outer, int64_t bytes,
                   int64_t all) {
  Mpi *m = mpi_of(c);
  MPI_Datatype block, strided, rank;
  if (outer > INT_MAX || bytes > INT_MAX || bytes * c->ranks > INT_MAX)
    too_large(c, "gathered", outer * bytes);
  if (c->failure) return;
  if (all < bytes * c->ranks) {
    gather_runs(c, out, in, bytes, all);
    return;
  }
  check(c, MPI_Type_contiguous((int)bytes, MPI_BYTE, &block));
  check(c, MPI_Type_vector((int)outer, 1, c->ranks, block, &strided));
  check(c, MPI_Type_create_resized(strided, 0, (MPI_Aint)bytes, &rank));
  check(c, MPI_Type_commit(&block));
  check(c, MPI_Type_commit(&rank));
  check(c, MPI_Iallgather(in, (int)outer, block, out, 1, rank, m->all, part(m)));
  MPI_Type_free(&rank);
  MPI_Type_free(&strided);
  MPI_Type_free(&block);
}

static int max(const GcComm *c, int value) {
  Mpi *m = mpi_of(c);
  MPI_Request q;
  if (c->failure) return value;
  m->held[0] = value;
  if (check(c, MPI_Iallreduce(MPI_IN_PLACE, m->held, 1, MPI_INT, MPI_MAX, m->all, &q)))
    wait_for(c, &q);
  return c->failure ? value : m->held[0];
}

static void collect(const GcComm *c, int *every, int n) {
  MPI_Request q;
  if (!c->failure &&
      check(c, MPI_Iallgather(MPI_IN_PLACE, n, MPI_INT, every, n, MPI_INT, mpi_of(c)->all, &q)))
    wait_for(c, &q);
}

/* Where the caller has ended MPI, the communicator is left; where ranks are lost, all is. */
static void close_all(const GcComm *c) {
  Mpi *m = mpi_of(c);
  int over = 0;
  if (c->failure) return;
  MPI_Finalized(&over);
  if (!over && m->within) MPI_Comm_free(&m->all);
  if (!m->within) MPI_Finalize();
  gcrt_near_free(m->c.near);
  free(m->runs);
  free(m->flying);
  free(m);
}

const char *const gcrt_comm_ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                       "SLURM_PROCID", NULL};

static void prepare(Mpi *m, double timeout) {
  m->c = (GcComm){.sum = sum,
                  .scatter = scatter,
                  .broadcast = broadcast,
                  .gather = gather,
                  .spread = spread,
                  .begun = begun,
                  .end = end,
                  .poll = poll,
                  .max = max,
                  .collect = collect,
                  .sum_local = gcrt_near_sum,
                  .close = close_all,
                  .stop = stop,
                  .timeout = timeout};
}

/* Of the ranks of m->all. */
static GcComm *begin(Mpi *m) {
  GcComm *c = &m->c;
  if (c->failure) return c;
  check(c, MPI_Comm_set_errhandler(m->all, MPI_ERRORS_RETURN));
  check(c, MPI_Comm_rank(m->all, &c->rank));
  check(c, MPI_Comm_size(m->all, &c->ranks));
  if (!c->failure && !gcrt_near_find(c, !m->within)) fail(c, "no memory to communicate", "");
  if (!c->failure) m->runs = calloc((size_t)m->room + 1, 2 * sizeof *m->runs * (size_t)c->ranks);
  if (!c->failure && !m->runs) fail(c, "no memory to communicate", "");
  return c;
}

static Mpi *make(char *why, size_t size) {
  Mpi *m = calloc(1, sizeof *m);
  for (const GcProgram *p = &gc_program; p; p = p->next)
    if (m && p->messages > m->room) m->room = p->messages;
  if (m) m->flying = malloc(((size_t)m->room + 1) * sizeof *m->flying);
  if (m && m->flying) return m;
  snprintf(why, size, "no memory to communicate");
  free(m);
  return NULL;
}

GcComm *gcrt_comm_open(double timeout, char *why, size_t size) {
  int threads;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads) != MPI_SUCCESS) {
    snprintf(why, size, "MPI does not start");
    return NULL;
  }
  Mpi *m = make(why, size);
  if (!m) return NULL;
  m->all = MPI_COMM_WORLD;
  prepare(m, timeout);
  return begin(m);
}

/* MPI is the caller's, and may be used by this thread. */
static bool may_be_called(char *why, size_t size) {
  int began = 0, over = 0, level = 0, first = 0;
  const char *wrong = NULL;
  MPI_Initialized(&began);
  MPI_Finalized(&over);
  if (!began || over) {
    snprintf(why, size, "MPI %s",
             over ? "has ended: MPI_Finalize was called"
                  : "has not begun: call MPI_Init_thread first");
    return false;
  }
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&first);
  if (level < MPI_THREAD_FUNNELED)
    wrong = "MPI was started for one thread, and a model has several: call MPI_Init_thread with "
            "MPI_THREAD_FUNNELED or more";
  else if (level == MPI_THREAD_FUNNELED && !first)
    wrong = "MPI was started with MPI_THREAD_FUNNELED, and this is not the thread that started it";
  if (wrong) snprintf(why, size, "%s", wrong);
  return !wrong;
}

/* A copy: what the caller sends meets nothing of this. */
GcComm *gcrt_comm_within(const void *communicator, int device, double timeout, char *why,
                         size_t size) {
  (void)device; /* the host */
  MPI_Comm of = *(const MPI_Comm *)communicator;
  if (!may_be_called(why, size)) return NULL;
  if (of == MPI_COMM_NULL) {
    snprintf(why, size, "the communicator is MPI_COMM_NULL");
    return NULL;
  }
  Mpi *m = make(why, size);
  if (!m) return NULL;
  m->within = true;
  prepare(m, timeout);
  MPI_Request q;
  MPI_Comm_rank(of, &m->c.rank);
  if (MPI_Comm_idup(of, &m->all, &q) != MPI_SUCCESS) {
    snprintf(why, size, "MPI does not copy the communicator");
    free(m->flying);
    free(m);
    return NULL;
  }
  wait_for(&m->c, &q); /* the others may come late, or not at all */
  return begin(m);
}
