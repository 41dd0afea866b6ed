/* A program on a device: its memory, its thread pool, its entries with all addresses resolved. What
   a command and a library's handle share.
   Contract: session_open makes all memory, session_start all threads; then runs follow, from one
   thread at a time; sessions know nothing of each other. */
#ifndef GCRT_SESSION_H
#define GCRT_SESSION_H
#include "runtime/data/dataset.h"
#include "runtime/exec/adapt.h"
#include "runtime/exec/device.h"
#include "runtime/exec/memory.h"
#include "runtime/exec/pool.h"
#include "runtime/exec/trace.h"
#include "runtime/weights/image.h"

typedef struct Fault { /* what a kernel reported; the first one of a run stays */
  _Atomic int claimed, ready;
  int site;
  int64_t at, value, limit;
} Fault;

typedef struct SessionPlan { /* known before anything is opened */
  const GcProgram *program;
  const DeviceOps *ops;
  const GcEntry *entries; /* that will run */
  int n;
  int threads;     /* at most */
  uint64_t tables; /* bytes that the caller takes of the memory */
  bool trace;      /* of the first entry */
} SessionPlan;

/* The storage of a step's argument, in the host's memory; NULL after a call of a device that
   failed, which is reported. It is there up to the next call. */
typedef const void *FetchArg(void *from, int arg);

struct Session {
  SessionPlan plan;
  const GcProgram *program;
  Device *device; /* the session closes it */
  Memory memory;  /* of the host */
  Pool *pool;
  bool drawn;                     /* globals have values */
  Exec **entries, *init, *gather; /* init, gather: NULL where the program has none */
  bool gathered;                  /* since params have changed `gather` has run */
  GcEnv env;                      /* without a workspace, which each thread adds to a copy */
  const int64_t *step; /* the program's step counter in the host's memory; NULL: it is not there */
  uint8_t *stage;      /* STAGE_BYTES */
  const Dataset *data; /* that batches are taken from */
  const char *labels;  /* of labels_text, for files of weights; or NULL */
  Trace *trace;        /* NULL: none is recorded */
  bool poison;
  bool adapts; /* other programs may have some of its CPUs */
  bool claims; /* threads take parts of long steps as they become free */
  Adapt adapt;
  /* Called on thread 0 behind each step of a run of an entry, while all others wait; NULL: steps do
     not stop. */
  void (*inspect)(void *arg, const GcEntry *e, int step, FetchArg *fetch, void *from);
  void *inspect_arg;
  void (*note)(void *arg, const char *text); /* hears what is only slower; NULL: nobody does */
  void *note_arg;
  Fault fault;
  Err err; /* of a run: a fault, or a device that failed */
};

/* It is init or gather, which nobody asked for. */
static inline bool session_own(const Session *s, const Exec *x) {
  return x == s->init || x == s->gather;
}

bool session_sizes(const SessionPlan *p, Sizes *s, Err *e);
/* Owns the device from here on, also where it fails. */
bool session_open(Session *s, const SessionPlan *p, Device *d, Err *e);
bool session_start(Session *s, int threads, bool pin, Err *e); /* pin: as of pool_start */
/* Fills every global with its initial value, or with that of the program's own weights, except
   those of the kinds of `skip`, 1 << GcGlobalKind, which may have any values. False: s->err says
   why. */
bool session_initialize(Session *s, uint64_t seed, unsigned skip);
/* ours: false in the child of a fork, which may touch neither threads nor device. False: a call of
   the device failed that none had reported. Closing again does nothing. */
bool session_close(Session *s, bool ours, Err *e);

/* What files give, after initial values if there are none yet: as session_initialize makes them, of
   the seed in `env`, without those that the files make needless. What does not fit changes nothing.
 */
bool session_load(Session *s, const WeightsRequest *q, int n, unsigned skip, Err *e);
/* Initial values and what files give in any case: by mapping an image of both, which is written
   first if there is none that fits: *written. `why`: of one that did not; else NULL. */
bool session_load_image(Session *s, const ImageOf *of, bool *written, const char **why, Err *e);

void session_run(Session *s, Exec *x, const RunRequest *q);
/* Of params of which each rank has a run an entry that trains changes this, and others read copies:
   these are made here, if x reads them. session_run does it, too; a caller that puts inputs where
   the next run finds them does it before. */
void session_gather_copies(Session *s, const Exec *x);
/* The entry's extents in a run. A batch of the data has its own number of rows; what has none
   leaves the session's extents as they are, at first at their bounds. */
void session_extents(const Session *s, const GcEntry *e, uint64_t batch, int32_t *extents);
/* Of the batch, the first row that this process has; without one that of the run before. */
int32_t session_first_row(const Session *s, uint64_t batch);
/* True: a kernel or the device reported a fault in the last run, and s->err says it. */
bool session_fault(Session *s, const GcEntry *entry, uint64_t batch);
bool session_recover(Session *s, Err *e); /* after a fault: the next run may come */
void session_fill(Session *s, const Exec *x, uint64_t batch);
/* Gathers a batch, on as many threads as are worth it. */
void session_gather(Session *s, const GcEntry *entry, uint8_t *inputs, uint64_t batch);
void *session_at(const Session *s, const GcTensor *t); /* of a global, an input or an output */
/* By index; the host's, until they are uploaded. */
double session_hyper(const Session *s, int hyper);
void session_set_hyper(Session *s, int hyper, double value);
bool session_upload_hypers(Session *s, Err *e);
bool session_download(Session *s, Err *e);
bool session_upload(Session *s, Err *e);
Globals session_globals(const Session *s); /* as the host has them */

/* ---- touch.c ---- */
/* Globals of these kinds, 1 << GcGlobalKind, lie near the threads that will read them, if nothing
   has been written to them. tables: also those of which data choose rows, which no thread owns.
   From thread 0, between runs. */
void session_touch(const Session *s, unsigned kinds, bool tables);

/* ---- cpu.c: the host's processor ---- */
extern const DeviceOps cpu_device;

/* ---- fault.c ---- */
void fault_report(Session *s, const GcEntry *entry, uint64_t batch, const Fault *f);
#endif
