/* A libnccl.so.2 over the driver of tests/ptx: ranks are processes, each with a virtual device.
   What a collective moves goes through a file that all ranks map, named by the communicator's id;
   it is work of the stream that it is given, by the driver's own calls: a copy to the host, a host
   function that waits for the other ranks and sums, a copy back. So it is captured where the stream
   is, and runs when the graph does.
   Checked: arguments, buffers, that all ranks make the same calls in the same order, that all calls
   are in one stream, and that no thread asks for errors of a communicator that is being made or
   freed. What is wrong ends the process with code 99, which no program has.
   Environment:
   - FAKENCCL_LOG: a file that gets a line for each call
   - FAKENCCL_FAIL: FUNCTION:N:CODE, its Nth call returns CODE
   - FAKENCCL_ASYNC: N:CODE, the Nth collective that runs never ends, and ncclCommGetAsyncError says
     CODE from then on; CODE 0: it says nothing
   - FAKENCCL_STUCK: ncclCommDestroy does not return before ncclCommAbort is called
   - FAKENCCL_SLOW: milliseconds that a communicator takes to be made, and to be freed
   - FAKENCCL_TAKES: milliseconds that a collective takes
   - FAKENCCL_VERSION: what ncclGetVersion says (22800) */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int Result;
enum { OK = 0, SYSTEM = 2, INVALID = 4, MISUSE = 5, RANKS = 16, WRONG = 99 };
#define API __attribute__((visibility("default")))

/* ---- of the driver ---- */
typedef struct Stream *CuStream;
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, CuStream stream);
extern int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, CuStream stream);
extern int cuLaunchHostFunc(CuStream stream, void (*f)(void *), void *arg);
extern int cuCtxGetCurrent(void **context);

typedef struct Id {
  char file[128];
} Id;

/* ---- what ranks share ---- */
typedef struct Turn { /* of a rank: the collective that it is in */
  _Atomic unsigned long arrived, left;
  char what[64];
  _Atomic size_t offset, bytes; /* of its operand, in its part of the file */
} Turn;
enum { PART = 1 << 26 }; /* bytes of each rank's operands, at most */
typedef struct Meeting {
  _Atomic int here, ranks;
  Turn turn[RANKS];
} Meeting;
enum { HEAD = 1 << 16 };

typedef struct Comm {
  int rank, ranks;
  char *base; /* of the file */
  Meeting *meeting;
  unsigned long made, run; /* collectives */
  CuStream stream;         /* of all of them */
  _Atomic bool aborted;
  struct Collective *next; /* all, to free */
} Comm;

typedef enum Kind { REDUCE, SCATTER, GATHER, BROADCAST } Kind;
typedef struct Collective {
  Comm *comm;
  Kind kind;
  int type, root;
  size_t n, in, out; /* elements given; bytes of operand and result */
  char what[64];
  char *operand, *result;
  struct Collective *next;
} Collective;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
static _Atomic Result failure;
static unsigned long stuck_at;
static char last_error[256];
enum { COMMS = 64 };
static void *_Atomic usable[COMMS]; /* communicators that are made and not freed */

/* Puts `now` where `was` is; false: that is nowhere. */
static bool replace_usable(void *was, void *now) {
  for (int i = 0; i < COMMS; i++) {
    void *there = was;
    if (atomic_compare_exchange_strong(&usable[i], &there, now)) return true;
  }
  return false;
}

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  fprintf(stderr, "fakenccl: ");
  vfprintf(stderr, format, ap);
  fputc('\n', stderr);
  va_end(ap);
  _exit(WRONG);
}

/* What FAKENCCL_FAIL wants of this call. */
static Result enter(const char *name, const char *format, ...) {
  static struct {
    char name[40];
    unsigned long n;
  } calls[32];
  const char *fail = getenv("FAKENCCL_FAIL"), *to = getenv("FAKENCCL_LOG");
  char text[200] = "", of[40];
  unsigned long at;
  int code, i = 0;
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  pthread_mutex_lock(&lock);
  if (to && !log_file) log_file = fopen(to, "a");
  if (log_file) fprintf(log_file, "%s%s\n", name, text), fflush(log_file);
  while (calls[i].name[0] && strcmp(calls[i].name, name) != 0) i++;
  snprintf(calls[i].name, sizeof calls[i].name, "%s", name);
  unsigned long n = ++calls[i].n;
  pthread_mutex_unlock(&lock);
  if (!fail) return OK;
  if (sscanf(fail, "%39[^:]:%lu:%d", of, &at, &code) != 3) wrong("FAKENCCL_FAIL=%s", fail);
  if (strcmp(of, name) != 0 || at != n) return OK;
  snprintf(last_error, sizeof last_error, "%s was told to fail", name);
  return code;
}

/* ---- the communicator ---- */

API Result ncclGetVersion(int *version);
API Result ncclGetVersion(int *version) {
  const char *v = getenv("FAKENCCL_VERSION");
  *version = v ? atoi(v) : 22800;
  return enter("ncclGetVersion", "");
}

API const char *ncclGetErrorString(Result r);
API const char *ncclGetErrorString(Result r) {
  static const char *const names[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error"};
  return r >= 0 && r < (int)(sizeof names / sizeof *names) ? names[r] : "unknown result code";
}
API const char *ncclGetLastError(Comm *c);
API const char *ncclGetLastError(Comm *c) {
  (void)c;
  return last_error;
}

API Result ncclGetUniqueId(Id *id);
API Result ncclGetUniqueId(Id *id) {
  Result r = enter("ncclGetUniqueId", "");
  if (r) return r;
  memset(id, 0, sizeof *id);
  snprintf(id->file, sizeof id->file, "/dev/shm/fakenccl-XXXXXX");
  int fd = mkstemp(id->file);
  if (fd < 0 || ftruncate(fd, HEAD + (off_t)RANKS * PART) != 0) return SYSTEM;
  close(fd);
  return OK;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); }

static void be_slow(const char *variable) {
  const char *slow = getenv(variable);
  for (int i = slow ? 5 * atoi(slow) : 0; i > 0; i--) nap();
}

API Result ncclCommInitRank(Comm **out, int ranks, Id id, int rank);
API Result ncclCommInitRank(Comm **out, int ranks, Id id, int rank) {
  Result r = enter("ncclCommInitRank", " %d of %d", rank, ranks);
  void *context = NULL;
  if (r) return r;
  if (ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks || !out) return INVALID;
  if (cuCtxGetCurrent(&context) != 0 || !context)
    wrong("no context is current in ncclCommInitRank");
  int fd = open(id.file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return SYSTEM;
  char *base = mmap(NULL, HEAD + (size_t)RANKS * PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (base == MAP_FAILED) return SYSTEM;
  Comm *c = calloc(1, sizeof *c);
  if (!c) return SYSTEM;
  *c = (Comm){.rank = rank, .ranks = ranks, .base = base, .meeting = (Meeting *)(void *)base};
  *out = c; /* as NCCL does */
  be_slow("FAKENCCL_SLOW");
  atomic_fetch_add(&c->meeting->here, 1);
  while (atomic_load(&c->meeting->here) < ranks) nap();
  if (rank == 0) unlink(id.file);
  if (!replace_usable(NULL, c)) wrong("more than %d communicators", COMMS);
  return OK;
}

/* What a communicator says of itself. */
static Result ask(const char *name, Comm *c, int *out, int value) {
  Result r = enter(name, "");
  if (!c || !replace_usable(c, c)) wrong("%s is asked of what is no communicator", name);
  if (!r) *out = value;
  return r;
}
API Result ncclCommCount(Comm *c, int *ranks);
API Result ncclCommCount(Comm *c, int *ranks) { return ask("ncclCommCount", c, ranks, c->ranks); }
API Result ncclCommUserRank(Comm *c, int *rank);
API Result ncclCommUserRank(Comm *c, int *rank) {
  return ask("ncclCommUserRank", c, rank, c->rank);
}
API Result ncclCommCuDevice(Comm *c, int *device);
API Result ncclCommCuDevice(Comm *c, int *device) {
  return ask("ncclCommCuDevice", c, device, 0); /* the driver has one context for all */
}

API Result ncclCommGetAsyncError(Comm *c, Result *error);
API Result ncclCommGetAsyncError(Comm *c, Result *error) {
  if (!c || !replace_usable(c, c)) wrong("errors are asked of what is no communicator");
  *error = atomic_load(&failure);
  if (*error) snprintf(last_error, sizeof last_error, "a link went down");
  return OK;
}

API Result ncclCommAbort(Comm *c);
API Result ncclCommAbort(Comm *c) {
  Result r = enter("ncclCommAbort", "");
  if (c && !replace_usable(c, NULL)) wrong("what is aborted is no communicator");
  if (c) atomic_store(&c->aborted, true);
  return r;
}

API Result ncclCommDestroy(Comm *c);
API Result ncclCommDestroy(Comm *c) {
  Result r = enter("ncclCommDestroy", "");
  if (!c || r) return r ? r : INVALID;
  if (getenv("FAKENCCL_STUCK")) {
    while (!atomic_load(&c->aborted)) nap();
    return OK;
  }
  if (!replace_usable(c, NULL)) wrong("what is freed is no communicator");
  be_slow("FAKENCCL_SLOW");
  for (Collective *x = c->next, *next; x; x = next) {
    next = x->next;
    free(x->operand);
    free(x->result);
    free(x);
  }
  munmap(c->base, HEAD + (size_t)RANKS * PART);
  free(c);
  return OK;
}

/* ---- a collective, when it runs ---- */

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

/* All ranks are there with equal words; false: it was aborted. */
static bool wait_until(Comm *c, bool leaving, unsigned long turn) {
  for (int r = 0; r < c->ranks; r++) {
    Turn *t = &c->meeting->turn[r];
    while (atomic_load(leaving ? &t->left : &t->arrived) < turn) {
      if (atomic_load(&c->aborted)) return false;
      nap();
    }
  }
  return true;
}

#define SUM(T)                                                                                     \
  for (size_t i = 0; i < n; i++) {                                                                 \
    T s = 0;                                                                                       \
    for (int r = 0; r < c->ranks; r++) s = (T)(s + ((const T *)(const void *)part[r])[from + i]);  \
    ((T *)(void *)x->result)[i] = s;                                                               \
  }

static void sum(const Collective *x, char *const *part, size_t from, size_t n) {
  const Comm *c = x->comm;
  switch (x->type) {
  case 2: SUM(int32_t) break;
  case 4: SUM(int64_t) break;
  case 7: SUM(float) break;
  case 8: SUM(double) break;
  default: wrong("a sum of type %d", x->type);
  }
}

static void run(void *arg) {
  Collective *x = arg;
  Comm *c = x->comm;
  Turn *mine = &c->meeting->turn[c->rank];
  char *part[RANKS];
  unsigned long turn = ++c->run;
  for (int r = 0; r < c->ranks; r++) part[r] = c->base + HEAD + (size_t)r * PART;
  if (stuck_at && turn == stuck_at) {
    const char *code = strchr(getenv("FAKENCCL_ASYNC"), ':');
    atomic_store(&failure, code ? atoi(code + 1) : 0);
    while (!atomic_load(&c->aborted)) nap();
    return;
  }
  be_slow("FAKENCCL_TAKES");
  memcpy(part[c->rank], x->operand, x->in);
  snprintf(mine->what, sizeof mine->what, "%s", x->what);
  atomic_store(&mine->arrived, turn);
  if (!wait_until(c, false, turn)) return;
  for (int r = 0; r < c->ranks; r++)
    if (strcmp(c->meeting->turn[r].what, x->what) != 0)
      wrong("collective %lu: rank %d does %s, and rank %d %s", turn, c->rank, x->what, r,
            c->meeting->turn[r].what);
  for (int r = 0; x->kind == GATHER && r < c->ranks; r++)
    memcpy(x->result + (size_t)r * x->in, part[r], x->in);
  if (x->kind == REDUCE) sum(x, part, 0, x->n);
  if (x->kind == BROADCAST) memcpy(x->result, part[x->root], x->in);
  if (x->kind == SCATTER) sum(x, part, (size_t)c->rank * x->n, x->n);
  atomic_store(&mine->left, turn);
  (void)wait_until(c, true, turn);
}

/* ---- the calls ---- */

static int group; /* calls of ncclGroupStart that are open */
API Result ncclGroupStart(void);
API Result ncclGroupStart(void) {
  group++;
  return enter("ncclGroupStart", "");
}
API Result ncclGroupEnd(void);
API Result ncclGroupEnd(void) {
  if (group-- < 1) wrong("ncclGroupEnd without a group");
  return enter("ncclGroupEnd", "");
}

/* In place is where the rank's own part of the larger buffer is the smaller one; else they are
   apart. */
static void check_buffers(const Collective *x, uint64_t from, uint64_t to) {
  const Comm *c = x->comm;
  const size_t size = sizes[x->type];
  bool same = x->kind == REDUCE || x->kind == BROADCAST ? from == to
              : x->kind == SCATTER                      ? to == from + (uint64_t)c->rank * x->out
                                                        : from == to + (uint64_t)c->rank * x->in;
  if (from % size || to % size) wrong("%s: a buffer is not aligned", x->what);
  if (!same && from < to + x->out && to < from + x->in) wrong("%s: buffers overlap", x->what);
}

/* op: of sums; of a broadcast the rank that has the bytes. */
static Result add(const char *name, Kind kind, uint64_t from, uint64_t to, size_t n, int type,
                  int op, Comm *c, CuStream stream) {
  static const char *const words[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast"};
  const int root = kind == BROADCAST ? op : 0;
  Result r = enter(name, " %zu of type %d", n, type);
  const char *async = getenv("FAKENCCL_ASYNC");
  if (r) return r;
  if (kind == BROADCAST) op = 0;
  if (!c || !stream || op != 0 || root < 0 || root >= c->ranks || type < 0 || type > 9 || !from ||
      !to)
    return INVALID;
  if (async) stuck_at = strtoul(async, NULL, 10);
  Collective *x = calloc(1, sizeof *x);
  if (!x) return SYSTEM;
  size_t bytes = n * sizes[type], ranks = (size_t)c->ranks;
  *x = (Collective){.comm = c, .kind = kind, .type = type, .n = n, .root = root, .next = c->next};
  x->in = kind == SCATTER ? bytes * ranks : bytes;
  x->out = kind == GATHER ? bytes * ranks : bytes;
  snprintf(x->what, sizeof x->what, "%s of %zu of type %d, %d", words[kind], n, type, root);
  if (x->in > PART) wrong("%s: more than this library has room for", x->what);
  if (c->stream && c->stream != stream)
    wrong("%s is in another stream than the one before", x->what);
  check_buffers(x, from, to);
  c->stream = stream;
  c->next = x;
  x->operand = malloc(x->in + 1), x->result = malloc(x->out + 1);
  if (!x->operand || !x->result) return SYSTEM;
  if (cuMemcpyDtoHAsync_v2(x->operand, from, x->in, stream) != 0)
    wrong("%s: the operand is no device memory", x->what);
  if (cuLaunchHostFunc(stream, run, x) != 0) return 1;
  if (cuMemcpyHtoDAsync_v2(to, x->result, x->out, stream) != 0)
    wrong("%s: the result is no device memory", x->what);
  return OK;
}

API Result ncclAllReduce(uint64_t from, uint64_t to, size_t n, int type, int op, Comm *c,
                         CuStream s);
API Result ncclAllReduce(uint64_t from, uint64_t to, size_t n, int type, int op, Comm *c,
                         CuStream s) {
  return add("ncclAllReduce", REDUCE, from, to, n, type, op, c, s);
}
API Result ncclReduceScatter(uint64_t from, uint64_t to, size_t n, int type, int op, Comm *c,
                             CuStream s);
API Result ncclReduceScatter(uint64_t from, uint64_t to, size_t n, int type, int op, Comm *c,
                             CuStream s) {
  return add("ncclReduceScatter", SCATTER, from, to, n, type, op, c, s);
}
API Result ncclAllGather(uint64_t from, uint64_t to, size_t n, int type, Comm *c, CuStream s);
API Result ncclAllGather(uint64_t from, uint64_t to, size_t n, int type, Comm *c, CuStream s) {
  return add("ncclAllGather", GATHER, from, to, n, type, 0, c, s);
}
API Result ncclBroadcast(uint64_t from, uint64_t to, size_t n, int type, int root, Comm *c,
                         CuStream s);
API Result ncclBroadcast(uint64_t from, uint64_t to, size_t n, int type, int root, Comm *c,
                         CuStream s) {
  return add("ncclBroadcast", BROADCAST, from, to, n, type, root, c, s);
}
