/* A libcuda.so.1 for the twin program alone: kernels are the C functions of the hand-written
   program, device memory is the host's. What it is for is order: operations wait in their streams
   until an event is waited for, and then only what that event needs is done (MOCK_ORDER=late), or
   all is done at once (early); a wait that is missing, or memory that is used again too soon, gives
   other results in one of them. MOCK_FAIL=CALL:N:CODE lets the Nth call of CALL fail; MOCK_LOG=FILE
   lists the calls. */
#include "gcrt.h"
#define gc_program mock_program
#include "../runtime/handmade.c"
#undef gc_program
#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, INVALID = 1, NO_MEMORY = 2, STICKY_FROM = 700, STICKY_TO = 719, PARAMS = 16 };
typedef uint64_t Address;
typedef int Result;
#define CALL __attribute__((visibility("default")))

typedef struct Event Event;
typedef struct Op { /* of a stream or a graph */
  enum { COPY, FILL, KERNEL, RECORD, WAIT, GRAPH } kind;
  void *to;
  const void *from; /* NULL: the copy in `kept` */
  void *kept;
  size_t bytes;
  int value;
  GcKernel *kernel;
  void *params[PARAMS];
  GcEnv *env;
  GcDeviceFault *fault;
  Event *event;
  uint64_t version;
  struct Graph *graph;
} Op;
typedef struct List {
  Op *ops;
  size_t n, done, room;
} List;
typedef struct Graph {
  List ops;
} Graph;
typedef struct Stream {
  List queue;
  Graph *capture;
} Stream;
struct Event {
  Stream *stream;
  uint64_t version, reached; /* records that were asked for, and that are done */
};
typedef struct Block {
  char *base;
  size_t bytes;
} Block;

static struct Mock {
  Block pinned[8], device[8];
  int npinned, ndevice, sticky;
  size_t used;
  struct {
    char name[48];
    int n;
  } counts[64];
  int ncounts;
  GcDeviceFault *fault;
  FILE *log;
} mock;

static long setting(const char *name, long otherwise) {
  const char *s = getenv(name);
  return s ? atol(s) : otherwise;
}

static bool early(void) {
  const char *s = getenv("MOCK_ORDER");
  return s && strcmp(s, "early") == 0;
}

static Result enter(const char *name) {
  if (!mock.log && getenv("MOCK_LOG")) mock.log = fopen(getenv("MOCK_LOG"), "w");
  if (mock.log) fprintf(mock.log, "%s\n", name), fflush(mock.log);
  if (mock.sticky) return mock.sticky;
  int i = 0;
  while (i < mock.ncounts && strcmp(mock.counts[i].name, name) != 0) i++;
  if (i == mock.ncounts) snprintf(mock.counts[mock.ncounts++].name, 48, "%s", name);
  int k = ++mock.counts[i].n, at = 0, code = 0;
  const char *fail = getenv("MOCK_FAIL");
  char which[48];
  if (!fail || sscanf(fail, "%47[^:]:%d:%d", which, &at, &code) != 3) return SUCCESS;
  if (strcmp(which, name) != 0 || at != k) return SUCCESS;
  if (code >= STICKY_FROM && code <= STICKY_TO) mock.sticky = code;
  return code;
}
#define ENTER()                                                                                    \
  do {                                                                                             \
    Result entered = enter(__func__);                                                              \
    if (entered) return entered;                                                                   \
  } while (0)

/* ---- streams ---- */

void gcrt_fault(int site, int64_t at, int64_t value, int64_t limit) {
  GcDeviceFault *f = mock.fault;
  if (f->site < 0) *f = (GcDeviceFault){.site = site, .at = at, .value = value, .limit = limit};
}

static void stream_reach(Stream *s, const Event *e, uint64_t version);

static void op_run(const Op *o) {
  switch (o->kind) {
  case COPY: memcpy(o->to, o->from ? o->from : o->kept, o->bytes); break;
  case FILL: memset(o->to, o->value, o->bytes); break;
  case KERNEL:
    mock.fault = o->fault;
    o->kernel(o->params, o->env, 0, 1);
    break;
  case RECORD: o->event->reached = o->version; break;
  case WAIT:
    if (o->event->reached < o->version) stream_reach(o->event->stream, o->event, o->version);
    break;
  case GRAPH:
    for (size_t i = 0; i < o->graph->ops.n; i++) op_run(&o->graph->ops.ops[i]);
    break;
  }
}

static void stream_step(Stream *s) {
  Op o = s->queue.ops[s->queue.done++];
  op_run(&o);
  free(o.kept);
  if (s->queue.done == s->queue.n) s->queue.done = s->queue.n = 0;
}

static void stream_reach(Stream *s, const Event *e, uint64_t version) {
  while (e->reached < version) {
    if (s->queue.n == 0) abort(); /* never recorded */
    stream_step(s);
  }
}

static void add(List *l, Op o) {
  if (l->n == l->room) {
    l->room = l->room ? 2 * l->room : 64;
    l->ops = realloc(l->ops, l->room * sizeof o);
    if (!l->ops) abort();
  }
  l->ops[l->n++] = o;
}

static void push(Stream *s, Op o) {
  if (s->capture) {
    add(&s->capture->ops, o);
    return;
  }
  add(&s->queue, o);
  while (early() && s->queue.n) stream_step(s);
}

static bool inside(const Block *b, int n, const void *p, size_t bytes) {
  for (int i = 0; i < n; i++)
    if ((const char *)p >= b[i].base && (const char *)p + bytes <= b[i].base + b[i].bytes)
      return true;
  return false;
}
static bool on_device(Address a, size_t n) {
  return inside(mock.device, mock.ndevice, (void *)a, n);
}
static bool is_pinned(const void *p, size_t n) { return inside(mock.pinned, mock.npinned, p, n); }

/* ---- the driver's functions ---- */

CALL Result cuGetErrorName(Result code, const char **name) {
  static const struct {
    int code;
    const char *name;
  } names[] = {{1, "CUDA_ERROR_INVALID_VALUE"},
               {2, "CUDA_ERROR_OUT_OF_MEMORY"},
               {34, "CUDA_ERROR_STUB_LIBRARY"},
               {100, "CUDA_ERROR_NO_DEVICE"},
               {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
               {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
               {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
               {719, "CUDA_ERROR_LAUNCH_FAILED"},
               {999, "CUDA_ERROR_UNKNOWN"}};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) {
      *name = names[i].name;
      return SUCCESS;
    }
  return INVALID;
}
CALL Result cuInit(unsigned flags) {
  ENTER();
  return flags ? INVALID : SUCCESS;
}
CALL Result cuDriverGetVersion(int *version) {
  ENTER();
  *version = (int)setting("MOCK_VERSION", 13000);
  return SUCCESS;
}
CALL Result cuDeviceGetCount(int *count) {
  ENTER();
  *count = (int)setting("MOCK_DEVICES", 1);
  return SUCCESS;
}
CALL Result cuDeviceGet(int *device, int ordinal) {
  ENTER();
  *device = ordinal;
  return SUCCESS;
}
CALL Result cuDeviceGetName(char *name, int size, int device) {
  ENTER();
  snprintf(name, (size_t)size, "Mock %d", device);
  return SUCCESS;
}
CALL Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER();
  long cc = setting("MOCK_CC", 90);
  *value = (int)(attribute == 75 ? cc / 10 : attribute == 76 ? cc % 10 : 0);
  return SUCCESS;
}
CALL Result cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTER();
  *context = &mock;
  return SUCCESS;
}
CALL Result cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER();
  for (int i = 0; i < mock.ndevice; i++) free(mock.device[i].base);
  for (int i = 0; i < mock.npinned; i++) free(mock.pinned[i].base);
  mock.ndevice = mock.npinned = 0;
  return SUCCESS;
}
CALL Result cuCtxSetCurrent(void *context) {
  ENTER();
  return context == &mock ? SUCCESS : INVALID;
}
/* What only a library's model asks for. */
CALL Result cuCtxPushCurrent_v2(void *context) { return cuCtxSetCurrent(context); }
CALL Result cuCtxPopCurrent_v2(void **context) { return SUCCESS; }
CALL Result cuModuleUnload(void *module) { return SUCCESS; }
CALL Result cuMemFree_v2(Address address) { return SUCCESS; }
CALL Result cuMemFreeHost(void *memory) { return SUCCESS; }
CALL Result cuStreamSynchronize(void *stream) { return SUCCESS; }
CALL Result cuStreamDestroy_v2(void *stream) { return SUCCESS; }
CALL Result cuEventDestroy_v2(void *event) { return SUCCESS; }
CALL Result cuGraphExecDestroy(void *exec) { return SUCCESS; }
CALL Result cuModuleLoadData(void **module, const void *image) {
  ENTER();
  *module = &mock;
  return SUCCESS;
}
typedef struct Named {
  const char *name;
  GcKernel *kernel;
  int nargs;
} Named;
static const Named named[] = {{"init", init, 1},          {"forward", forward, 4},
                              {"loss", loss, 4},          {"update", update, 8},
                              {"classes", classes, 2},    {"generate", generate, 2},
                              {"copy_rows", copy_rows, 3}};
CALL Result cuModuleGetFunction(const void **function, void *module, const char *name) {
  ENTER();
  for (unsigned i = 0; i < sizeof named / sizeof *named; i++)
    if (strcmp(named[i].name, name) == 0) {
      *function = &named[i];
      return SUCCESS;
    }
  return 500;
}
CALL Result cuFuncSetAttribute(const void *function, int attribute, int value) {
  ENTER();
  return attribute == 8 ? SUCCESS : INVALID;
}
CALL Result cuMemGetInfo_v2(size_t *have, size_t *all) {
  ENTER();
  *all = (size_t)setting("MOCK_MEMORY", 1 << 26);
  *have = *all - mock.used;
  return SUCCESS;
}
static void *block(Block *b, int *n, size_t bytes) {
  char *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p || *n == 8) abort();
  memset(p, 0xA5, bytes); /* neither zero nor NaN */
  b[(*n)++] = (Block){p, bytes};
  return p;
}
CALL Result cuMemAlloc_v2(Address *address, size_t bytes) {
  ENTER();
  if (bytes == 0) return INVALID;
  mock.used += bytes;
  *address = (Address)block(mock.device, &mock.ndevice, bytes);
  return SUCCESS;
}
CALL Result cuMemAllocHost_v2(void **memory, size_t bytes) {
  ENTER();
  *memory = block(mock.pinned, &mock.npinned, bytes);
  return SUCCESS;
}
CALL Result cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void *stream) {
  ENTER();
  if (!on_device(to, bytes)) return INVALID;
  push(stream, (Op){.kind = FILL, .to = (void *)to, .value = value, .bytes = bytes});
  return SUCCESS;
}
CALL Result cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) {
  ENTER();
  if (!on_device(from, bytes)) return INVALID;
  memcpy(to, (void *)from, bytes);
  return SUCCESS;
}
CALL Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) {
  ENTER();
  if (!on_device(to, bytes)) return INVALID;
  Op o = {.kind = COPY, .to = (void *)to, .from = from, .bytes = bytes};
  if (!is_pinned(from, bytes)) {
    o.kept = malloc(bytes);
    if (!o.kept) abort();
    memcpy(o.kept, from, bytes);
    o.from = NULL;
  }
  push(stream, o);
  return SUCCESS;
}
CALL Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) {
  ENTER();
  if (!on_device(from, bytes) || !is_pinned(to, bytes)) return INVALID;
  push(stream, (Op){.kind = COPY, .to = to, .from = (void *)from, .bytes = bytes});
  return SUCCESS;
}
CALL Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream) {
  ENTER();
  if (!on_device(from, bytes) || !on_device(to, bytes)) return INVALID;
  push(stream, (Op){.kind = COPY, .to = (void *)to, .from = (void *)from, .bytes = bytes});
  return SUCCESS;
}
CALL Result cuStreamCreate(void **stream, unsigned flags) {
  ENTER();
  *stream = calloc(1, sizeof(Stream));
  return *stream ? SUCCESS : NO_MEMORY;
}
CALL Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  ENTER();
  Event *e = event;
  push(stream, (Op){.kind = WAIT, .event = e, .version = e->version});
  return SUCCESS;
}
CALL Result cuStreamBeginCapture_v2(void *stream, int mode) {
  ENTER();
  Stream *s = stream;
  s->capture = calloc(1, sizeof *s->capture);
  return s->capture ? SUCCESS : NO_MEMORY;
}
CALL Result cuStreamEndCapture(void *stream, void **graph) {
  Stream *s = stream;
  *graph = s->capture;
  s->capture = NULL;
  ENTER();
  return SUCCESS;
}
CALL Result cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  ENTER();
  *exec = graph;
  return SUCCESS;
}
CALL Result cuGraphDestroy(void *graph) {
  ENTER();
  return SUCCESS;
}
CALL Result cuGraphLaunch(void *exec, void *stream) {
  ENTER();
  push(stream, (Op){.kind = GRAPH, .graph = exec});
  return SUCCESS;
}
CALL Result cuEventCreate(void **event, unsigned flags) {
  ENTER();
  *event = calloc(1, sizeof(Event));
  return *event ? SUCCESS : NO_MEMORY;
}
CALL Result cuEventRecord(void *event, void *stream) {
  ENTER();
  Event *e = event;
  e->stream = stream;
  push(stream, (Op){.kind = RECORD, .event = e, .version = ++e->version});
  return SUCCESS;
}
CALL Result cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  return flags ? INVALID : cuEventRecord(event, stream);
}
CALL Result cuEventSynchronize(void *event) {
  ENTER();
  Event *e = event;
  if (e->reached < e->version) stream_reach(e->stream, e, e->version);
  return SUCCESS;
}
CALL Result cuEventElapsedTime(float *ms, void *from, void *to) {
  ENTER();
  const Event *a = from, *b = to;
  *ms = 0.25F;
  return a->version && b->version && a->reached == a->version && b->reached == b->version ? SUCCESS
                                                                                          : 600;
}
CALL Result cuTensorMapEncodeTiled(void *map, int type, unsigned rank, uint64_t address,
                                   const uint64_t *size, const uint64_t *strides,
                                   const uint32_t *box, const uint32_t *steps, int interleave,
                                   int swizzle, int promotion, int fill) {
  ENTER();
  memset(map, 1, 128);
  return SUCCESS;
}
#ifndef MOCK_OLD
typedef struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned nattributes;
} LaunchConfig;
CALL Result cuLaunchKernelEx(const LaunchConfig *c, const void *function, void **params,
                             void **extra) {
  ENTER();
  const Named *k = function;
  Op o = {.kind = KERNEL, .kernel = k->kernel};
  if (!c->grid[0] || !c->block[0] || c->block[0] > 1024 || c->grid[1] != 1 || c->grid[2] != 1 ||
      c->block[1] != 1 || c->block[2] != 1 || c->nattributes)
    return INVALID;
  for (int i = 0; i < k->nargs; i++) {
    o.params[i] = *(void **)params[i];
    if (!on_device((Address)o.params[i], 1)) return INVALID;
  }
  o.env = *(GcEnv **)params[k->nargs];
  o.fault = *(GcDeviceFault **)params[k->nargs + 1];
  if (!on_device((Address)o.env, sizeof *o.env) || !on_device((Address)o.fault, sizeof *o.fault))
    return INVALID;
  push(c->stream, o);
  return SUCCESS;
}
#endif
