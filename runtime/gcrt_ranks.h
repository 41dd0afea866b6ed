/* The part of gcrt.h about data parallelism: processes, the ranks, that share the batch of an
   entry, and how they talk. Contract: only gcrt.h includes it, behind its tables. */
#ifndef GCRT_RANKS_H
#define GCRT_RANKS_H

/* What a rank that waits for its device is asked meanwhile, by another thread. */
typedef struct GcWatched {
  /* Why the device's collectives have failed, in `text`; false: they have not. */
  bool (*failed)(void *arg, char *text, size_t size);
  void (*abort)(void *arg); /* ends what waits for other ranks */
  void *arg;
} GcWatched;

/* How ranks talk. A function that fails says why and ends all ranks with exit code 3; in a library
   it sets `failure` instead, and those called after it do nothing. All ranks call the same
   functions in the same order, from the thread that opened it. */
typedef struct GcComm GcComm;
typedef struct GcNear GcNear;
struct GcComm {
  int rank, ranks; /* of this process, from 0; how many there are */
  int local;       /* of them on this machine */
  int local_rank;  /* of this one among those; of GPUs: which device it takes */
  /* sum to poll: of the host's memory; NULL where only a device has collectives. The first four
     begin, and leave all bytes to `end`. Of a collective with several parts each begins, then
     `begun` says that there are no more. out = the sum of the n elements at `in` of all ranks, the
     same on each; out may be in. */
  void (*sum)(const GcComm *c, void *out, const void *in, int64_t n, GcDtype dt);
  /* The same of `all` elements in runs of n, of which this rank gets its own; those of the last
     ranks may be short: there `out` ends in zeros. It is not in `in`. */
  void (*scatter)(const GcComm *c, void *out, const void *in, int64_t n, int64_t all, GcDtype dt);
  /* `outer` blocks of `bytes` of each rank: block o of rank r becomes block o * ranks + r of out.
     `all`: those of all ranks; fewer, of one block: what is behind them is left out. */
  void (*gather)(const GcComm *c, void *out, const void *in, int64_t outer, int64_t bytes,
                 int64_t all);
  /* n bytes become those of `root`. */
  void (*spread)(const GcComm *c, void *at, int64_t n, int root);
  void (*begun)(const GcComm *c);
  void (*end)(const GcComm *c);  /* waits for the first collective that has begun and not ended */
  bool (*poll)(const GcComm *c); /* lets those that have begun go on; false: all are over */
  /* What `root` has there, at most 1 GiB; it is over on return, as what follows is. */
  void (*broadcast)(const GcComm *c, void *at, int64_t bytes, int root);
  int (*max)(const GcComm *c, int value); /* the largest of all ranks' */
  /* Of ranks * n numbers each rank has given those from rank * n on; all of them are everyone's on
     return. NULL: of a program, which needs none. */
  void (*collect)(const GcComm *c, int *all, int n);
  /* Each of the n numbers becomes its sum over the ranks on this machine. */
  void (*sum_local)(const GcComm *c, int *at, int n);
  void (*close)(const GcComm *c);          /* at the end of all of them */
  void (*stop)(const GcComm *c, int code); /* at the end of this one: no other goes on */
  /* This thread waits for a device whose collectives are these, up to the next call with NULL: so
     long the other ranks are watched. NULL: no device has collectives. */
  void (*watch)(const GcComm *c, const GcWatched *w);
  _Atomic double timeout; /* seconds that a rank waits for another one */
  int (*signal)(void);    /* which one has come, or 0; NULL: of a library, which looks for none */
  double waited; /* seconds that collectives of the host's memory were waited for in `end` */
  GcNear *near;  /* which ranks are on one machine; NULL: gcrt_near_find was not called */
  const char
      *_Atomic failure; /* of a library's: why other ranks are not heard any more; NULL: they are */
};
/* Sets near and local. speaks: the ranks of a machine get a word that they share, if the system
   allows it. False: there is no memory. */
bool gcrt_near_find(GcComm *c, bool speaks);
void gcrt_near_free(GcNear *n);
void gcrt_near_sum(const GcComm *c, int *at, int n); /* as sum_local */
/* Ranks that may speak at the same time have one turn: those of a machine that share a word, its
   number; else the rank. */
int gcrt_near_turn(const GcComm *c);
/* Before a rank says why all end. False: another one on this machine has said why. */
bool gcrt_near_speaks(const GcComm *c);
/* Behind that, and of those that were silent: the exit code of the first. */
int gcrt_near_said(const GcComm *c, int code);
/* One name in all containers of a machine, of less than 64 bytes. */
void gcrt_machine_name(char out[64]);

/* Of a program that was compiled with --data-parallel; weak: others have none. A rank that no other
   answers for so many seconds ends all. NULL: `why` says it, with a remedy behind a line's end; ""
   where another rank does. */
GcComm *gcrt_comm_open(double timeout, char *why, size_t size) __attribute__((weak));
/* Of a library: of the ranks of a communicator of the caller's: an MPI_Comm, or those who have the
   id or communicator of a GcNcclRank, each on the device of that number. They may come so late. */
typedef struct GcNcclRank {
  const void *id; /* an ncclUniqueId; not used with a communicator, which knows the rank, too */
  int rank;
  void *comm; /* an ncclComm_t, which is used while the ranks meet; NULL: there is an id */
} GcNcclRank;
GcComm *gcrt_comm_within(const void *communicator, int device, double timeout, char *why,
                         size_t size);
bool gcrt_nccl_id(void *id, char *why, size_t size); /* a new one, of 128 bytes */
/* ... and the variables of the environment, up to a NULL, of which the first that is set is its
   rank. */
extern const char *const gcrt_comm_ranks[] __attribute__((weak));
/* From kernels, on one thread: a collective begins, and the first that has begun ends. Parts of an
   all_reduce that follow one another, each at the next multiple of GC_PART_ALIGN behind the one
   before, are one message. */
enum { GC_PART_ALIGN = 64, GC_MESSAGE = 1 << 28 /* elements, or bytes */ };
void gcrt_all_reduce(const GcEnv *env, int parts, void *const *out, const void *const *in,
                     const int64_t *n, GcDtype dt);
void gcrt_reduce_scatter(const GcEnv *env, void *out, const void *in, int64_t n, int64_t all,
                         GcDtype dt);
void gcrt_all_gather(const GcEnv *env, void *out, const void *in, int64_t outer, int64_t bytes,
                     int64_t all);
void gcrt_broadcast(const GcEnv *env, void *out, const void *in, int64_t bytes, int root);
void gcrt_await(const GcEnv *env);
#endif
