/* Ranks that talk by MPI (MPI 3.1: nonblocking collectives). gc --data-parallel=mpi compiles this
   file beside a program, by the words of mpicc: the implementations of MPI have no common binary
   interface. Contract: all calls come from the thread that called gcrt_comm_open
   (MPI_THREAD_FUNNELED). A call that waits longer than the timeout, or fails, ends all ranks: where
   one of them is gone, no other can go on. */
#include "gcrt.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ENVIRONMENT = 3 }; /* exit code */

static double timeout; /* seconds */
static MPI_Comm local; /* the ranks on this machine */

/* What has begun: the parts of collectives, in order. */
typedef struct Part {
  MPI_Request request;
  long of; /* which collective, counted from the start of the program */
} Part;
static Part *flying;
static int first, last, room; /* those not over are [first, last) */
static long collectives;      /* that have begun */

static void stop(const GcComm *c, int code) {
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, code);
  _Exit(code);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(const GcComm *c, int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (error == MPI_SUCCESS) return;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "rank %d: MPI failed: %s\n", c->rank, text);
  stop(c, ENVIRONMENT);
}

/* Polls, and gives the processor away more and more: ranks may be more than processors. */
static void wait_for(const GcComm *c, MPI_Request *q) {
  enum { SPINS = 2000, YIELDS = 20000, NAP = 50000 /* ns */ };
  double from = 0;
  int done = 0;
  for (long n = 0;; n++) {
    check(c, MPI_Test(q, &done, MPI_STATUS_IGNORE));
    if (done) return;
    if (n < SPINS) continue;
    if (n < YIELDS) {
      sched_yield();
      continue;
    }
    if (!from) from = now();
    if (now() - from > timeout) {
      fprintf(
          stderr,
          "rank %d: the other ranks have not answered for %g seconds: one of them has ended, or is "
          "that much slower\nhint: --timeout S waits longer\n",
          c->rank, timeout);
      stop(c, ENVIRONMENT);
    }
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

/* Room for the request of one part more, which begins now. */
static MPI_Request *part(const GcComm *c) {
  enum { LEAST = 64 };
  if (first == last) first = last = 0;
  if (last == room) {
    Part *more = realloc(flying, (size_t)(room * 2 + LEAST) * sizeof *flying);
    if (!more) {
      fprintf(stderr, "rank %d: no memory to communicate\n", c->rank);
      stop(c, ENVIRONMENT);
    }
    flying = more;
    room = room * 2 + LEAST;
  }
  flying[last].of = collectives;
  return &flying[last++].request;
}

static void begun(const GcComm *c) {
  (void)c;
  collectives++;
}

static void end(const GcComm *c) {
  if (first == last) return;
  for (long of = flying[first].of; first < last && flying[first].of == of; first++)
    wait_for(c, &flying[first].request);
}

/* A test lets all requests go on; those that are over are passed by. */
static void poll(const GcComm *c) {
  int done = 1;
  for (int i = first; i < last && done; i++)
    if (flying[i].request != MPI_REQUEST_NULL)
      check(c, MPI_Test(&flying[i].request, &done, MPI_STATUS_IGNORE));
}

/* Counts of MPI are of type int. */
static void sum(const GcComm *c, void *out, const void *in, int64_t n, GcDtype dt) {
  enum { MOST = 1 << 28 };
  for (int64_t at = 0; at < n; at += MOST) {
    int count = n - at < MOST ? (int)(n - at) : MOST;
    char *to = (char *)out + (size_t)at * size_of(dt);
    const char *from = (const char *)in + (size_t)at * size_of(dt);
    check(c, MPI_Iallreduce(from == to ? MPI_IN_PLACE : from, to, count, type_of(dt), MPI_SUM,
                            MPI_COMM_WORLD, part(c)));
  }
}

/* Where counts of MPI do not reach. */
static void too_large(const GcComm *c, const char *what, int64_t bytes) {
  fprintf(stderr, "rank %d: a tensor is too large to be %s: %lld bytes of each rank\n", c->rank,
          what, (long long)bytes);
  stop(c, ENVIRONMENT);
}

static void scatter(const GcComm *c, void *out, const void *in, int64_t n, GcDtype dt) {
  if (n > INT_MAX) too_large(c, "scattered", n * (int64_t)size_of(dt));
  check(c,
        MPI_Ireduce_scatter_block(in, out, (int)n, type_of(dt), MPI_SUM, MPI_COMM_WORLD, part(c)));
}

static void broadcast(const GcComm *c, void *at, int64_t bytes, int root) {
  MPI_Request q;
  check(c, MPI_Ibcast(at, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD, &q));
  wait_for(c, &q);
}

static void gather(const GcComm *c, void *out, const void *in, int64_t outer, int64_t bytes) {
  MPI_Datatype block, strided, rank;
  if (outer > INT_MAX || bytes > INT_MAX || bytes * c->ranks > INT_MAX)
    too_large(c, "gathered", outer * bytes);
  check(c, MPI_Type_contiguous((int)bytes, MPI_BYTE, &block));
  check(c, MPI_Type_vector((int)outer, 1, c->ranks, block, &strided));
  check(c, MPI_Type_create_resized(strided, 0, (MPI_Aint)bytes, &rank));
  check(c, MPI_Type_commit(&block));
  check(c, MPI_Type_commit(&rank));
  check(c, MPI_Iallgather(in, (int)outer, block, out, 1, rank, MPI_COMM_WORLD, part(c)));
  MPI_Type_free(&rank);
  MPI_Type_free(&strided);
  MPI_Type_free(&block);
}

static int max(const GcComm *c, int value) {
  MPI_Request q;
  int most = value;
  check(c, MPI_Iallreduce(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &q));
  wait_for(c, &q);
  return most;
}

static void sum_local(const GcComm *c, int *at, int n) {
  MPI_Request q;
  check(c, MPI_Iallreduce(MPI_IN_PLACE, at, n, MPI_INT, MPI_SUM, local, &q));
  wait_for(c, &q);
}

static void close_all(const GcComm *c) {
  MPI_Comm_free(&local);
  MPI_Finalize();
}

const char *const gcrt_comm_ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                       "SLURM_PROCID", NULL};

const GcComm *gcrt_comm_open(double seconds, char *why, size_t size) {
  static GcComm c = {.sum = sum,
                     .scatter = scatter,
                     .broadcast = broadcast,
                     .gather = gather,
                     .begun = begun,
                     .end = end,
                     .poll = poll,
                     .max = max,
                     .sum_local = sum_local,
                     .close = close_all,
                     .stop = stop};
  int threads;
  timeout = seconds;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads) != MPI_SUCCESS) {
    snprintf(why, size, "MPI does not start");
    return NULL;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
  check(&c,
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c.rank, MPI_INFO_NULL, &local));
  MPI_Comm_size(local, &c.local);
  return &c;
}
