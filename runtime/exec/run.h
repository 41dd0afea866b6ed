/* One run of a generated program: command line, memory, thread pool, and the drivers that loop.
   Contract: all memory is made before the pool starts; a driver runs on thread 0 and returns the
   process's exit code. */
#ifndef GCRT_RUN_H
#define GCRT_RUN_H
#include "runtime/data/dataset.h"
#include "runtime/exec/pool.h"

/* ---- cli.c ---- */
enum {
#define OPT(id, ...) OPT_##id,
#include "runtime/program/options.def"
#undef OPT
  OPT_COUNT
};
typedef struct OutputOption { /* what is asked for one output */
  const char *save, *expect;
  bool text;
} OutputOption;
typedef struct Options {
  bool info, help, version;
  const GcEntry *entry; /* NULL: `info` of all */
  bool given[OPT_COUNT];
  const char *text[OPT_COUNT];
  uint64_t count[OPT_COUNT]; /* COUNT and SEED */
  double real[OPT_COUNT];
  const char **inputs; /* as written, by index of the entry's input */
  OutputOption *outputs;
  float *hypers;
  bool *hyper_given; /* on the command line */
} Options;
bool cli_parse(Options *o, int argc, char **argv, Err *e);
void cli_help(const Options *o, const char *program);
void cli_free(Options *o);

/* ---- files.c ---- */
struct Run;
/* Whether no file that the command line has the run write is another one that it names;
   `checkpoint` and `load` are those options' paths, or NULL. */
bool files_check(const struct Run *r, const char *checkpoint, const char *load, Err *e);

/* ---- exec.c: an entry with all addresses resolved ---- */
typedef struct ExecStep {
  GcKernel *kernel;
  void *const *args;
  bool wait;  /* for all threads, before it runs */
  bool moves; /* with the iterations of the loops around it */
} ExecStep;
typedef struct CudaExec CudaExec;
typedef struct Streams Streams; /* streams.c */
typedef struct Exec {
  const GcEntry *entry;
  ExecStep *steps;
  uint8_t *lanes; /* of an entry with loops: lane_bytes for each thread */
  uint64_t lane_bytes;
  Streams *streams; /* NULL: there is one */
  CudaExec *cuda;   /* on a GPU: instead of the steps */
} Exec;
typedef struct Fault { /* what a kernel reported; the first one of a run stays */
  _Atomic int taken, ready;
  int site;
  int64_t at, value, limit;
} Fault;
typedef struct Profile Profile;
typedef struct Metas Metas; /* checkpoint.c: the metadata of a checkpoint */

/* ---- memory.c: the one allocation ---- */
typedef struct Sizes { /* bytes, known before anything runs */
  uint64_t globals, inputs, arena, hypers, work, tables, total;
} Sizes;
typedef struct Memory {
  uint8_t *base;
  uint8_t *region[GC_REGIONS];
  uint8_t *work;         /* of all threads: memory_work */
  uint8_t *tables, *end; /* bump pointer of what the runtime itself needs */
  bool overdrawn;        /* it needed more than was counted */
  Sizes sizes;
} Memory;
enum { STAGE_BYTES = 1 << 18 }; /* staging of files that are written or read */
/* From the bytes of the regions, and of the runtime's tables, for so many threads that run kernels.
 */
bool memory_sum(const GcProgram *p, uint64_t arena, uint64_t inputs, uint64_t tables, int threads,
                Sizes *s, Err *e);
/* The workspace of a thread: GcProgram.work_bytes that it shares with no other one. */
char *memory_work(const Memory *m, const GcProgram *p, int thread);
/* Where the program runs on a GPU: of the host, which has a copy of the globals. */
bool memory_sizes(const GcProgram *p, const GcEntry *entry, int threads, bool profile, Sizes *s,
                  Err *e);
/* Lays the regions over zeroed pages of sizes.total bytes. */
bool memory_map(Memory *m, const Sizes *sizes, Err *e);
bool memory_make(Memory *m, const GcProgram *p, const GcEntry *entry, int threads, bool profile,
                 Err *e);
/* NULL: memory_sizes has counted too little, which stays so and memory_sound reports. Who takes
   several asks m->overdrawn before it writes to any. */
void *memory_take(Memory *m, uint64_t bytes);
bool memory_sound(const Memory *m, Err *e);

typedef struct Cuda Cuda;
typedef struct Run {
  const char *program; /* argv[0], for messages */
  const GcProgram *p;  /* the one of gc_program's chain that runs */
  Cuda *cuda;          /* NULL: on the CPU */
  Options o;
  Err err;
  Memory mem;
  Pool *pool;
  Exec init, entry;
  Fault fault;
  GcEnv env; /* without a workspace, which each thread adds to a copy */
  Dataset data;
  Profile *profile; /* NULL: none */
  uint8_t *stage;   /* STAGE_BYTES */
  double *sums;     /* of each output, over the epoch so far */
  OutFile save, checkpoint, *outputs;
  uint64_t checkpoint_every; /* steps; 0: each epoch */
  Metas *metas;              /* made before the run starts */
  const int64_t *step;       /* the program's step counter, or NULL; a GPU reads its own */
  bool more;                 /* the run after this one may begin before this one is read: */
  uint64_t next;             /* it takes this batch, and nothing but outputs is read between */
  FILE *log;
  int failed; /* exit code of a failure that did not stop the run */
} Run;

uint64_t exec_table_bytes(const GcEntry *e, int threads); /* the most that will run it */
bool exec_resolve(Exec *x, const GcEntry *e, Memory *m, int threads, Err *err);
void exec_threads(Exec *x, Pool *pool); /* settles who runs what, and which barriers are needed */
/* Runs the entry once on all threads; `batch` first fills the inputs, UINT64_MAX leaves them. */
void exec_run(Run *r, const Exec *x, uint64_t batch);
void fault_say(Run *r, const GcEntry *entry, uint64_t batch, const Fault *f); /* fault.c */
bool exec_fault(Run *r, const GcEntry *entry,
                uint64_t batch); /* true: a kernel or the device reported one, r->err says it */
/* A run that more let begin: it must be asked for before the globals are what the last one left. */
bool exec_ahead(const Run *r);
/* Fills the inputs with a batch that NO_BATCH then leaves, or fills again. */
void exec_stay(Run *r, uint64_t batch);
void exec_gather(Run *r, uint8_t *inputs, uint64_t batch); /* on as many threads as are worth it */
bool exec_fetch(Run *r, Err *e);                           /* before the host reads globals */
bool exec_push(Run *r, Err *e); /* after it wrote some; it must have fetched them before */
void *run_at(const Run *r, const GcTensor *t); /* of a global or an output */
#define NO_BATCH UINT64_MAX

/* ---- device.c, cuda_exec.c: where it runs ---- */
const GcProgram *program_for(const char *target); /* NULL: the program holds no code for it */
bool device_choose(Run *r, Err *e); /* by --device: sets r->p, r->o.entry and r->cuda */
/* Whether a name is a device's, "cpu", "cuda" or "cuda:n", its target, and which of the GPUs. */
bool device_parse(const char *name, const char **target, int *ordinal, Err *e);
typedef enum CudaUse {
  CUDA_LOOK, /* at the device alone */
  CUDA_RUN,  /* the process is the program's own */
  CUDA_HOST  /* it is another's: context, environment and memory are left as they were */
} CudaUse;
Cuda *cuda_open(const GcProgram *p, int ordinal, CudaUse use, Err *e);
bool cuda_close(Cuda *c, Err *e); /* false: a call failed that none had told of */
/* Hosted: around all that is asked of it the context is the thread's; cuda_open ends inside. */
bool cuda_enter(Cuda *c, Err *e);
void cuda_leave(Cuda *c);
bool cuda_broken(const Cuda *c);
/* Memory for the n entries, and their tables, which become those of x[0], x[1], …; and init's. */
bool cuda_prepare(Run *r, Exec *x, const GcEntry *entry, int n, Err *e);
bool cuda_begin(Run *r, Err *e);   /* zeros, and the hypers */
bool cuda_hypers(Run *r, Err *e);  /* those of the host, which changed */
bool cuda_unfault(Run *r, Err *e); /* a kernel's report has been read */
void cuda_run(Run *r, const Exec *x, uint64_t batch);
bool cuda_ahead(const Cuda *c);
void cuda_stay(Run *r, uint64_t batch);
bool cuda_fetch(Run *r, Err *e);
bool cuda_push(Run *r, Err *e);
void *cuda_at(const Run *r, const GcTensor *t);
const char *cuda_name(const Cuda *c); /* the device's */

/* ---- profile.c ---- */
uint64_t profile_bytes(const GcEntry *e, int threads);
Profile *profile_make(Memory *m, const GcEntry *e, int threads, Err *err);
void profile_begin(Profile *p, int t);
void profile_step(Profile *p, int t, int step, double from, double to);
bool profile_write(const Profile *p, const char *path, Err *e);
double clock_now(void); /* seconds */

/* ---- weights.c, checkpoint.c: safetensors ---- */
typedef struct Meta { /* of __metadata__; a checkpoint has them all */
  const char *key;
  char value[64];
  bool seen;
} Meta;
typedef bool GlobalChoice(const GcGlobal *g, const void *arg);
bool weights_write(Run *r, OutFile *out, GlobalChoice *choose, const Meta *meta, int nmeta, Err *e);
/* need: must be in the file; others of the file are ignored if `partial`, else an error. */
bool weights_read(Run *r, const char *path, GlobalChoice *want, GlobalChoice *need, const void *arg,
                  bool partial, Meta *meta, int nmeta, Err *e);
uint64_t weights_bytes(GlobalChoice *choose);
uint32_t weights_sum(Run *r, const Meta *meta, int nmeta); /* of all globals and the metadata */
bool weights_finite(Run *r, Err *e);
bool is_step_counter(const GcGlobal *g);
bool choose_saved(const GcGlobal *g, const void *arg);
bool choose_all(const GcGlobal *g, const void *arg);
bool weights_load(Run *r, Err *e); /* --load */
bool weights_save(Run *r, Err *e); /* --save: only weights that are finite */

typedef struct Position { /* where a training run stands */
  uint64_t epoch, batch;  /* both from 0: what comes next */
  uint64_t done;          /* steps done in all */
  uint64_t epoch_steps;   /* steps summed in r->sums */
  uint64_t batches;       /* of an epoch */
} Position;
bool checkpoint_prepare(Run *r, Err *e); /* --checkpoint and --resume */
void checkpoint_free(Run *r);
bool checkpoint_write(Run *r, const Position *p, Err *e);
bool checkpoint_read(Run *r, Position *p, Err *e);

/* ---- the drivers ---- */
int train_run(Run *r);
int infer_run(Run *r);
uint64_t infer_bytes(const GcEntry *e); /* of its tables */
int bench_run(Run *r);
void info_version(void); /* the line that begins info, and is all of --version */
int info_print(const Options *o, int threads, Err *e);

/* ---- signals.c ---- */
void signals_catch(void);

/* ---- progress.c ---- */
typedef struct Progress {
  bool terminal;
  double start, last; /* clock */
  uint64_t begin;     /* steps done before this process */
} Progress;
void progress_start(Run *r, Progress *g, const Position *p);
void progress_step(Run *r, Progress *g, const Position *p, uint64_t total);
void progress_epoch(Run *r, Progress *g, const Position *p, uint64_t total);
bool log_open(Run *r, const Position *p, Err *e); /* --log: kept up to the position, or new */
void log_step(Run *r, const Position *p);
bool log_close(Run *r, Err *e);

/* ---- show.c ---- */
double output_scalar(const Run *r, const GcTensor *t);
void output_print(Run *r, const GcTensor *t); /* name = values */
void note(const Run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* unless --quiet */
#endif
