/* Where entries run: a Device is what a kind of processor does for a session. Shared code calls
   these functions and asks no device what it is; program/devices.def lists the kinds.
   Contract: a function that can fail fills an Err and returns false; one that is NULL has nothing
   to do there. A device serves one session, from one thread at a time. */
#ifndef GCRT_DEVICE_H
#define GCRT_DEVICE_H
#include "runtime/base/rt.h"

typedef struct Session Session;
typedef struct Device Device;

typedef struct Exec { /* an entry with all addresses resolved; the device's own data follow */
  const GcEntry *entry;
} Exec;

/* A run of an entry. `batch` of the session's data fills the inputs first; NO_BATCH leaves them. */
#define NO_BATCH UINT64_MAX
typedef struct RunRequest {
  uint64_t batch;
  bool more; /* the next run takes batch `next` and may begin before this one is read: nothing */
  uint64_t next; /* but outputs is read between */
  unsigned skip; /* of init: kinds of globals, 1 << GcGlobalKind, that need no initial values; a
                    device may make them all the same */
} RunRequest;

typedef enum DeviceUse {
  DEVICE_LOOK, /* at the device alone */
  DEVICE_OWN,  /* the process is the program's own */
  DEVICE_HOST  /* it is another's: context, environment and memory are left as they were */
} DeviceUse;

typedef struct DeviceMemory { /* bytes that entries take, of which one runs at a time */
  uint64_t globals, inputs, arena, ahead, total; /* of the device's own memory */
  uint64_t pinned;                               /* of the host, beside a session's */
} DeviceMemory;

typedef struct DeviceState { /* of the first device, for `info` */
  char name[160];
  char arch[32];    /* "sm_90" */
  const char *code; /* the program's code that it would run; NULL: none */
  uint64_t bytes, free;
} DeviceState;

typedef struct DeviceOps {
  bool on_host; /* steps run in the host's memory, and may write to their inputs */
  Device *(*open)(const GcProgram *p, int ordinal, DeviceUse use, Err *e);
  bool (*close)(Device *d, Err *e); /* false: a call failed that none had reported */
  /* DEVICE_HOST: around all that is asked of it; open ends inside. */
  bool (*enter)(Device *d, Err *e);
  void (*leave)(Device *d);

  /* ---- known before anything runs; NULL: it has no memory of its own ---- */
  bool (*look)(const GcProgram *p, DeviceState *state, Err *e);
  bool (*memory)(const GcProgram *p, const GcEntry *entry, int n, DeviceMemory *m, Err *e);
  uint64_t (*table_bytes)(const GcEntry *e, int threads); /* of the host's tables, for an entry */

  /* ---- a session ---- */
  bool (*prepare)(Session *s, Err *e); /* allocates; resolves its entries and init */
  bool (*join)(Session *s, Err *e);    /* when all ranks are prepared: collectives can run */
  bool (*start)(Session *s, Err *e);   /* once the pool runs: zeros, and the hypers */
  void (*run)(Session *s, Exec *x, const RunRequest *q);   /* a failure is the session's err */
  void (*fill)(Session *s, const Exec *x, uint64_t batch); /* inputs, which NO_BATCH then leaves */
  /* The next run reads the input where the caller has it, which it does not change. False: it is to
     be put into its place. */
  bool (*lend)(Session *s, Exec *x, const GcTensor *input, const void *from);
  void *(*at)(const Session *s, const GcTensor *t); /* a global, input or output */
  bool (*download)(Session *s, Err *e);             /* globals, before the host reads them */
  bool (*upload)(Session *s, Err *e); /* after it wrote some; it must have downloaded them */
  bool (*upload_hypers)(Session *s, Err *e);
  bool (*clear_fault)(Session *s, Err *e);                    /* a kernel's report has been read */
  void (*describe)(const Session *s, char *out, size_t size); /* "2 threads", or its name */
} DeviceOps;

struct Device {
  const DeviceOps *ops;
  const GcProgram *program;
  bool broken;    /* a call failed: it may be of no use */
  double waited;  /* seconds in which kernels stood still for other ranks; NaN: not known */
  bool in_flight; /* the next run has begun: it must be asked for before the globals are final */
};
#endif
