/* Running a program's GPU code: the driver's types, a device that is open, its memory, its entries.
   Contract: needs no CUDA header or library; one Cuda serves one session. Layout on the device: one
   allocation of [globals | hypers | faults | block 0 | block 1] and one of the arena; a block is
   what one step is given: [GcEnv | inputs | what is prepared of them]. Steps alternate between the
   blocks, so that the next batch is copied, and prepared, while a step runs; pinned memory of the
   host mirrors the blocks and holds two sets of results. Driver calls: CUDA Driver API, 12.0. */
#ifndef GCRT_CUDA_H
#define GCRT_CUDA_H
#include "runtime/exec/loops.h"
#include "runtime/exec/session.h"

typedef int CuResult;
typedef int CuDevice;
typedef uint64_t CuAddress;
typedef struct CuContextData *CuContext;
typedef struct CuModuleData *CuModule;
typedef struct CuFunctionData *CuFunction;
typedef struct CuStreamData *CuStream;
typedef struct CuEventData *CuEvent;
typedef struct CuGraphData *CuGraph;
typedef struct CuGraphExecData *CuGraphExec;

/* CUlaunchAttribute and CUlaunchConfig of the driver's interface */
typedef struct CuLaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int allowed;
  } value;
} CuLaunchAttribute;
enum { LAUNCH_PROGRAMMATIC = 6 }; /* the grid waits by itself for the one in front */
typedef struct CuLaunchConfig {
  unsigned grid[3], block[3], shared;
  CuStream stream;
  CuLaunchAttribute *attributes;
  unsigned nattributes;
} CuLaunchConfig;

#include "runtime/cuda/nccl.h"

typedef struct CudaApi {
#define CUDA(name, symbol, params) CuResult(*name) params;
#include "runtime/cuda/driver.def"
#undef CUDA
} CudaApi;

enum {
#define CUERR(id, code, remedy) CUERR_##id = code,
#include "runtime/cuda/errors.def"
#undef CUERR
  CUERR_NONE = 0
};

enum { BLOCKS = 2, DEVICE_ALIGN = 256 };
enum { INPUTS_AT = DEVICE_ALIGN }; /* in a block, behind its GcEnv */
/* Of a step, then of the preparation of each block: this one may be of the next step. */
enum { FAULTS = 1 + BLOCKS, FAULT_BYTES = 64 };

/* What the host reads of a step, in front of its outputs. */
typedef struct CudaReport {
  GcDeviceFault fault, ahead; /* in its launches; in those of its preparation */
  int64_t counter; /* of training steps, behind this one; of an entry with a preparation */
} CudaReport;

typedef struct CudaLaunch { /* of one step, with its addresses for one of the blocks */
  CuFunction function;
  void **params; /* pointers to addresses, and to tensor maps behind them */
} CudaLaunch;
typedef struct CudaWait { /* of kernels for a collective */
  CuEvent from, to;
  bool timed; /* both are recorded as the run goes on */
} CudaWait;
enum { TENSOR_MAP = 128, TENSOR_MAP_ALIGN = 64 }; /* bytes */
typedef struct CudaExec {
  Exec base;
  uint64_t *slots; /* of the entry's outputs: place in a set of results; NULL of init */
  CudaLaunch *launches[BLOCKS];
  CuAddress *addresses;
  void **params;
  uint8_t *maps;    /* tensor maps of all launches, then those of the launch at hand */
  CuAddress *moved; /* of the launch at hand, where its addresses move with a loop */
  void **moved_params;
  uint8_t *moved_maps;
  int64_t *at;                        /* the iteration of each loop, by depth */
  CuGraphExec graph[BLOCKS][2];       /* [1]: of runs whose waits are timed */
  CuGraphExec ahead[BLOCKS];          /* of its preparation */
  int32_t looped[BLOCKS][GC_EXTENTS]; /* the extents of loops in the block's last run */
  CuEvent *over; /* by step: recorded behind it, if another stream waits for it; NULL: one stream */
  CudaWait *waits[BLOCKS]; /* by step, and of the end; NULL: there are none */
  uint64_t runs, timed;    /* that have begun; how many until the last that was timed */
  bool mapped;             /* all tensor maps are made */
  bool plain;              /* no graph: it runs once, or capturing failed */
  bool ran;     /* its code is on the device, even where the driver loads code at its first use */
  bool counted; /* env.step is the program's own counter, which only the device knows */
} CudaExec;

typedef struct CudaSizes { /* bytes; of the device, but for the last three */
  uint64_t globals, hypers, counts, inputs, ahead, block, arena, shared_total, total;
  uint64_t results, pinned; /* of the host: one set of results; all */
} CudaSizes;

typedef struct Cuda {
  Device base;
  void *library;
  CudaApi api;
  Err *err;     /* where a failed call is reported: the caller's, NULL between calls */
  bool hosted;  /* the process is another program's: what is taken of the device is given back */
  bool entered; /* hosted: the context is this thread's now */
  int driver;   /* version: 1000 * major + 10 * minor */
  int ordinal, major, minor;
  int multiprocessors;
  char name[128];
  bool retained;
  CuDevice device;
  CuContext context;
  CuModule module;
  int variant; /* of the module's image */
  bool waits;  /* its kernels wait for the grids in front, and the driver lets them */
  CuFunction *functions;
  CudaSizes sizes;
  CuAddress region[GC_REGIONS]; /* GC_INPUTS: of block 0 */
  CuAddress shared, fault, block[BLOCKS];
  uint8_t *pinned, *host_block[BLOCKS], *results[BLOCKS];
  uint8_t *globals; /* the host's copy */
  void *looked;     /* the host's copy of a value that --check-finite or --watch looks at */
  uint64_t looked_bytes;
  bool downloaded;        /* it is what the device has */
  CuStream compute, copy; /* compute is an entry's stream 0, too */
  struct Branch {
    CuStream stream;
    CuEvent joined;
  } * branch; /* the others */
  int nbranches;
  CuEvent fork;
  CuEvent copied[BLOCKS], done[BLOCKS];
  double weight[BLOCKS]; /* how many runs the block's stands for, whose waits are timed; 0: none */
  bool capturing;
  CuEvent *trace_events; /* --profile: before each launch, and one after the last */
  CudaExec **execs;      /* of the entries that can run, and of init */
  int nexecs;
  int64_t counter; /* of training steps, if it is known what the device has: else -1 */
  int current; /* block of the step that is waited for next; base.in_flight: it was begun already */
  int shown_results; /* the set of results that is read */
  Nccl nccl;
} Cuda;

/* Calls a driver's function; a failure is reported in c->err. */
#define CUDA_CALL(c, name, ...) cuda_done(c, (c)->api.name(__VA_ARGS__), #name, NULL)
#define CUDA_CALL_FOR(c, what, name, ...) cuda_done(c, (c)->api.name(__VA_ARGS__), #name, what)
bool cuda_done(Cuda *c, CuResult code, const char *call, const char *what);
/* From here on failures are reported in e, up to cuda_restore_sink with what was returned, which
   gives ok. */
Err *cuda_set_sink(Cuda *c, Err *e);
bool cuda_restore_sink(Cuda *c, Err *was, bool ok);
const char *cuda_error_name(const Cuda *c, CuResult code);

/* ---- driver.c: libcuda.so.1 and the device ---- */
bool cuda_attach(Cuda *c, int ordinal, Err *e);
void cuda_detach(Cuda *c);
/* Hosted: around all that is asked of it the context is the thread's. */
bool cuda_enter(Device *d, Err *e);
void cuda_leave(Device *d);

/* ---- image.c ---- */
/* The images that the device can run, the best first; returns how many. */
int cuda_images(const GcDeviceCode *code, int major, int minor, const GcImage **out);
bool cuda_load(Cuda *c, Err *e);

/* ---- streams.c: false after a call that failed ---- */
bool branches_make(Cuda *c);    /* when the entries are known */
void branches_release(Cuda *c); /* to the driver */
void branches_free(Cuda *c);
CuStream branch_of(const Cuda *c, int stream);
bool branches_fork(Cuda *c, const CudaExec *x);
bool branches_join(Cuda *c, const CudaExec *x);
bool branch_enter(Cuda *c, const CudaExec *x, int step); /* before the step is queued */
bool branch_leave(Cuda *c, const CudaExec *x, int step);
bool branch_leave_loop(Cuda *c, const CudaExec *x, int loop);

/* ---- waits.c: false after a call that failed ---- */
bool waits_make(Cuda *c, CudaExec *x); /* not of a library, which gives events back */
/* Of the next run: how many it stands for, if its waits are to be timed; else 0. */
double waits_weight(CudaExec *x);
void waits_begin(CudaExec *x, int q); /* before the run is queued */
/* Where kernels wait in front of the step, or at the end, for the first time in a run; or NULL. */
CudaWait *waits_of(const CudaExec *x, int q, int step);
bool waits_mark(Cuda *c, CudaWait *w, bool over);   /* w: or NULL */
bool waits_read(Cuda *c, const CudaExec *x, int q); /* of a run that is over */

/* ---- nccl.c ---- */
#define NCCL_CALL(c, name, ...) nccl_done(c, (c)->nccl.api.name(__VA_ARGS__), #name)
bool nccl_done(Cuda *c, NcclResult code, const char *call);
bool nccl_find(Cuda *c, Err *e); /* for entries that have collectives */
/* Makes the communicator of all ranks, who have the same id. */
bool nccl_connect(Cuda *c, const GcComm *with, NcclId id);
/* Says that an errand which has not ended well, and has not failed, took so long. */
bool nccl_late(Cuda *c, NcclEnd end, double seconds);
bool nccl_join(Session *s, Err *e);  /* when all ranks are prepared: connects them */
void nccl_leave(Cuda *c, bool well); /* not well: others may never come */
/* From here on, or no more, this thread is where only other ranks may let it go on. */
void nccl_watch(Cuda *c, bool on);
bool nccl_queue(Cuda *c, const GcCollective *g, const CuAddress *at, CuStream stream);

/* ---- nccl_errand.c ---- */
/* Runs it on a thread of its own, with the device's context, and waits so long at most: what it did
   is in *what. One that is late goes on, with what it was given. */
NcclEnd nccl_within(const Cuda *c, double seconds, NcclErrand *what, bool (*run)(NcclErrand *));

/* ---- memory.c ---- */
/* For n entries, of which one runs at a time. */
bool cuda_sizes(const GcProgram *p, const GcEntry *entry, int n, CudaSizes *s, Err *e);
bool cuda_allocate(Cuda *c, const GcEntry *entry, int n, Err *e);
uint64_t *cuda_slots(const GcEntry *entry); /* to free; NULL: no memory */
void cuda_release(Cuda *c);                 /* of a hosted one: all that it took */

/* ---- info.c: what is known before anything runs ---- */
bool cuda_look(const GcProgram *p, DeviceState *state, Err *e);
bool cuda_memory(const GcProgram *p, const GcEntry *entry, int n, DeviceMemory *m, Err *e);

/* ---- exec.c ---- */
static inline Cuda *cuda_of(const Session *s) { return (Cuda *)(void *)s->device; }
/* Of the variant of the module's image; of a collective one without parts. */
static inline const GcLaunch *cuda_launch_of(const Cuda *c, const GcStep *s) {
  static const GcLaunch none;
  return s->collective ? &none : &s->launch[c->variant];
}
Device *cuda_open(const GcProgram *p, int ordinal, DeviceUse use, Err *e);
bool cuda_close(Device *d, Err *e);
extern const DeviceOps cuda_device;
/* The counter of training steps; NULL: the program has none. */
const GcTensor *cuda_counter(const GcProgram *p);
/* With the inputs of block q. */
CuAddress cuda_address(const Cuda *c, int q, GcRegion region, uint64_t offset);
/* Pointers to the constants of a launch. */
void cuda_constants(const GcLaunch *l, void **params);
/* The maps of a launch with these addresses, and pointers to them. */
bool cuda_encode_maps(Cuda *c, const GcLaunch *l, const CuAddress *address, uint8_t *maps,
                      void **params);
/* Through its launches [first, end); NULL: of a run whose extents are at their bounds. */
bool cuda_walk(CudaExec *x, int first, int end, const int32_t *extents, LoopVisit *visit,
               void *arg);

/* ---- trace.c ---- */
bool trace_make_events(Cuda *c, CudaExec *x);
void trace_read(Session *s, CudaExec *x, int q, double begin); /* of a step that is over */

/* ---- step.c ---- */
/* Of the step that has the block. */
static inline const int32_t *cuda_extents(const Cuda *c, int q) {
  return ((const GcEnv *)(const void *)c->host_block[q])->extents;
}
void cuda_run(Session *s, Exec *x, const RunRequest *q);
void cuda_fill(Session *s, const Exec *x, uint64_t batch);
#endif
