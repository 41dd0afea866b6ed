/* Collectives between GPUs by NCCL, found when the program runs. They are in the stream that the
   plan gives them; captured, they are nodes of the step's graph. Contract: a failed call is
   reported once, with its name, NCCL's words and what to do; while this thread is in NCCL or waits
   for a collective, another one watches. */
#include "runtime/cuda/cuda.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { NCCL_LEAST = 21600 }; /* 2.16: the first for CUDA 12 */
enum { IN_PROGRESS = 7, SUM = 0 };

typedef struct Symbol {
  const char *call, *symbol;
  size_t at; /* in NcclApi */
} Symbol;
static const Symbol symbols[] = {
#define NCCL(type, name, symbol, params) {#name, symbol, offsetof(NcclApi, name)},
#include "runtime/cuda/nccl.def"
#undef NCCL
};

static const int types[] = {[GC_BOOL] = 1, [GC_U8] = 1,  [GC_I8] = 0,  [GC_I32] = 2, [GC_I64] = 4,
                            [GC_F16] = 6,  [GC_F32] = 7, [GC_F64] = 8, [GC_BF16] = 9};

/* "unhandled system error: …" */
static void explain(const Cuda *c, NcclResult code, char *text, size_t size) {
  const char *what = c->nccl.api.GetErrorString(code);
  const char *more = c->nccl.api.GetLastError(c->nccl.comm);
  snprintf(text, size, "%s (%d)%s%s", what ? what : "an error without a name", code,
           more && *more ? ": " : "", more && *more ? more : "");
}

bool nccl_done(Cuda *c, NcclResult code, const char *call) {
  const char *symbol = call;
  char text[400];
  if (code == 0) return true;
  if (c->base.broken) return false;
  c->base.broken = true;
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (strcmp(symbols[i].call, call) == 0) symbol = symbols[i].symbol;
  explain(c, code, text, sizeof text);
  err_set(c->err, EXIT_ENV, "%s failed: %s", symbol, text);
  return err_hint(c->err,
                  "each rank needs a GPU of its own, which all others reach; NCCL_DEBUG=WARN "
                  "says more");
}

bool nccl_find(Cuda *c, Err *e) {
  Nccl *n = &c->nccl;
  int version = 0;
  n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!n->library) {
    const char *why = dlerror();
    err_set(e, EXIT_ENV, "NCCL was not found, by which the ranks of this program talk: %s",
            why ? why : "libnccl.so.2 is missing");
    return err_hint(e,
                    "install NCCL 2 (libnccl2, or the wheel nvidia-nccl-cu12), and name its folder "
                    "in LD_LIBRARY_PATH");
  }
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *f = dlsym(n->library, symbols[i].symbol);
    if (!f) {
      err_set(e, EXIT_ENV, "this NCCL is too old: it has no %s", symbols[i].symbol);
      return err_hint(e, "install NCCL 2.16 or a later one");
    }
    memcpy((char *)&n->api + symbols[i].at, &f, sizeof f);
  }
  if (!NCCL_CALL(c, GetVersion, &version)) return false;
  if (version >= NCCL_LEAST) return true;
  const int major = version < 10000 ? 1000 : 10000; /* 2.8 is 2800, and 2.9 is 20900 */
  err_set(e, EXIT_ENV, "this NCCL is too old: it is version %d.%d", version / major,
          version % major / 100);
  return err_hint(e, "install NCCL 2.16 or a later one");
}

/* ---- watched ---- */

static bool failed(void *arg, char *text, size_t size) {
  const Cuda *c = arg;
  NcclResult now = 0;
  const NcclComm comm = c->nccl.comm;
  if (!comm) return false;
  NcclResult code = c->nccl.api.CommGetAsyncError(comm, &now);
  if (code == 0) code = now;
  if (code == 0 || code == IN_PROGRESS) return false;
  char why[400];
  explain(c, code, why, sizeof why);
  snprintf(text, size, "NCCL failed: %s", why);
  return true;
}

/* The thread that is watched waits meanwhile, and finds no communicator when it comes back. */
static void abort_all(void *arg) {
  Cuda *c = arg;
  const NcclComm comm = atomic_exchange(&c->nccl.comm, NULL);
  if (comm) c->nccl.api.CommAbort(comm);
}

void nccl_watch(Cuda *c, bool on) {
  const GcComm *with = c->nccl.with;
  if (with && with->watch) with->watch(with, on ? &c->nccl.watched : NULL);
}

/* ---- the ranks ---- */

static bool connect(NcclErrand *e) {
  e->result = e->api.CommInitRank(&e->comm, e->ranks, e->id, e->rank);
  return e->result == 0;
}

static bool destroy(NcclErrand *e) {
  e->result = e->api.CommDestroy(e->comm);
  return e->result == 0;
}

static bool abort_it(NcclErrand *e) {
  e->result = e->api.CommAbort(e->comm);
  return e->result == 0;
}

bool nccl_late(Cuda *c, NcclEnd end, double seconds) {
  c->base.broken = true;
  c->nccl.hangs |= end == NCCL_LATE;
  if (end == NCCL_NO_THREAD)
    return err_set(c->err, EXIT_ENV, "no thread can be started to wait for the other ranks");
  return err_set(c->err, EXIT_ENV,
                 "the other ranks have not answered for %g seconds: one of them has ended, or is "
                 "that much slower",
                 seconds);
}

/* Of a library, whose process goes on where other ranks do not come. */
static bool connect_within(Cuda *c, const GcComm *with, NcclId id) {
  const double seconds = with->timeout;
  NcclErrand what = {.id = id, .ranks = with->ranks, .rank = with->rank};
  c->nccl.with = with;
  c->nccl.watched = (GcWatched){failed, abort_all, c};
  const NcclEnd end = nccl_within(c, seconds, &what, connect);
  if (end > NCCL_FAILED) return nccl_late(c, end, seconds);
  if (!nccl_done(c, what.result, "CommInitRank")) return false;
  c->nccl.comm = what.comm;
  return true;
}

bool nccl_connect(Cuda *c, const GcComm *with, NcclId id) {
  if (c->hosted) return connect_within(c, with, id);
  Nccl *n = &c->nccl;
  NcclComm comm = NULL; /* nobody else's until it is made */
  n->with = with;
  n->watched = (GcWatched){failed, abort_all, c};
  nccl_watch(c, true);
  bool ok = NCCL_CALL(c, CommInitRank, &comm, with->ranks, id, with->rank);
  nccl_watch(c, false);
  if (ok) n->comm = comm;
  return ok;
}

bool nccl_join(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  if (!c->nccl.library || !s->env.comm) return true;
  const GcComm *with = s->env.comm;
  struct {
    NcclId id;
    bool made;
  } first = {.made = true};
  Err *was = cuda_set_sink(c, e);
  if (with->rank == 0) first.made = NCCL_CALL(c, GetUniqueId, &first.id);
  /* rank 0 of a program ends the others; those of a library hear of it */
  if (first.made || c->hosted) with->broadcast(with, &first, sizeof first, 0);
  if (!first.made && with->rank) err_set(e, EXIT_ENV, "rank 0 has no id of NCCL for the model");
  return cuda_restore_sink(c, was, first.made && nccl_connect(c, with, first.id));
}

/* Of a library: no rank that is gone keeps the caller. What hangs is aborted, and left if that
   hangs, too. */
static void leave_within(Cuda *c, NcclComm comm, bool well) {
  enum { ABORT_SECONDS = 5 };
  NcclErrand what = {.comm = comm};
  NcclEnd end = NCCL_LATE;
  if (well) end = nccl_within(c, c->nccl.with->timeout, &what, destroy);
  if (end > NCCL_FAILED) end = nccl_within(c, ABORT_SECONDS, &what, abort_it);
  c->nccl.hangs |= end == NCCL_LATE;
}

void nccl_leave(Cuda *c, bool well) {
  Nccl *n = &c->nccl;
  const NcclComm comm = atomic_exchange(&n->comm, NULL); /* nobody asks what is being freed */
  if (!comm) return;
  if (c->hosted) {
    leave_within(c, comm, well);
    return;
  }
  nccl_watch(c, true);
  if (well)
    (void)NCCL_CALL(c, CommDestroy, comm);
  else
    n->api.CommAbort(comm);
  nccl_watch(c, false);
}

/* ---- collectives ---- */

static bool begin(Cuda *c, int64_t calls) { return calls == 1 || NCCL_CALL(c, GroupStart); }
static bool end(Cuda *c, int64_t calls, bool ok) {
  return (calls == 1 || NCCL_CALL(c, GroupEnd)) && ok;
}

/* NCCL has equal runs alone. If the last ones are short, what all ranks have goes by way of
   scratch, which is behind operand and result and has room for equal ones. */
static bool by_scratch(Cuda *c, const GcCollective *g, const CuAddress *at, CuStream stream) {
  Nccl *n = &c->nccl;
  const uint64_t size = (uint64_t)elem_info[(Elem)g->dtype].size, all = (uint64_t)g->all * size;
  const uint64_t room = (uint64_t)g->n[0] * size * (uint64_t)n->with->ranks;
  const CuAddress scratch = at[2];
  if (g->kind == GC_REDUCE_SCATTER)
    return CUDA_CALL(c, MemcpyDtoDAsync, scratch, at[0], all, stream) &&
           CUDA_CALL(c, MemsetD8, scratch + all, 0, room - all, stream) &&
           NCCL_CALL(c, ReduceScatter, scratch, at[1], (size_t)g->n[0], types[g->dtype], SUM,
                     n->comm, stream);
  return NCCL_CALL(c, AllGather, at[0], scratch, (size_t)g->n[0], types[g->dtype], n->comm,
                   stream) &&
         CUDA_CALL(c, MemcpyDtoDAsync, at[1], scratch, all, stream);
}

static bool has_equal_runs(const Cuda *c, const GcCollective *g) {
  return g->n[0] * c->nccl.with->ranks == g->all;
}

/* NCCL puts what ranks have one behind the other: of several blocks each is gathered by itself. */
static bool gather(Cuda *c, const GcCollective *g, CuAddress from, CuAddress to, CuStream stream) {
  Nccl *n = &c->nccl;
  const uint64_t bytes = (uint64_t)g->n[0] * (uint64_t)elem_info[(Elem)g->dtype].size;
  const uint64_t ranks = (uint64_t)n->with->ranks;
  bool ok = begin(c, g->blocks);
  if (!ok) return false;
  for (uint64_t b = 0; ok && b < (uint64_t)g->blocks; b++)
    ok = NCCL_CALL(c, AllGather, from + b * bytes, to + b * bytes * ranks, (size_t)g->n[0],
                   types[g->dtype], n->comm, stream);
  return end(c, g->blocks, ok);
}

/* The parts from i on that are one message: each begins where the one before ends, but for what
   rounds that up, which no other value has. Returns the part behind them. */
static int together(const GcCollective *g, const CuAddress *at, int i, uint64_t *n) {
  const uint64_t size = (uint64_t)elem_info[(Elem)g->dtype].size;
  const CuAddress *from = at, *to = at + g->parts;
  const int first = i;
  for (*n = (uint64_t)g->n[i++]; i < g->parts; i++) {
    uint64_t next = align_up(*n * size, DEVICE_ALIGN);
    if (from[i] != from[first] + next || to[i] != to[first] + next) break;
    *n = next / size + (uint64_t)g->n[i];
  }
  return i;
}

static bool reduce(Cuda *c, const GcCollective *g, const CuAddress *at, CuStream stream) {
  uint64_t n;
  int calls = 0;
  for (int i = 0; i < g->parts; calls++) i = together(g, at, i, &n);
  bool ok = begin(c, calls);
  if (!ok) return false;
  for (int i = 0, first = 0; ok && i < g->parts; first = i) {
    i = together(g, at, i, &n);
    ok = NCCL_CALL(c, AllReduce, at[first], at[g->parts + first], n, types[g->dtype], SUM,
                   c->nccl.comm, stream);
  }
  return end(c, calls, ok);
}

bool nccl_queue(Cuda *c, const GcCollective *g, const CuAddress *at, CuStream stream) {
  Nccl *n = &c->nccl;
  if (n->with->failure) return false; /* of a library: nothing is called any more */
  switch (g->kind) {
  case GC_ALL_REDUCE: return reduce(c, g, at, stream);
  case GC_REDUCE_SCATTER:
    if (!has_equal_runs(c, g)) return by_scratch(c, g, at, stream);
    return NCCL_CALL(c, ReduceScatter, at[0], at[1], (size_t)g->n[0], types[g->dtype], SUM, n->comm,
                     stream);
  case GC_BROADCAST:
    return NCCL_CALL(c, Broadcast, at[0], at[1], (size_t)g->n[0], types[g->dtype], g->root, n->comm,
                     stream);
  case GC_ALL_GATHER: break;
  }
  if (!has_equal_runs(c, g)) return by_scratch(c, g, at, stream);
  return gather(c, g, at[0], at[1], stream);
}
