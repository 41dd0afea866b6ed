/* Passes: transformations of a module, the memory plan and its checker.
   A pipeline is a string that a user can print and write: "fold,cse,dce,autodiff,share{match=16}".
   A pass states in passes.def what it needs, forbids, gives and keeps; running one whose need
   nobody gave is an error that says which pass gives it, and so is one that comes too late. */
#ifndef GC_PASSES_PASSES_H
#define GC_PASSES_PASSES_H
#include "ir/ir.h"
#include "passes/plan.h"
#include "passes/target.h"

/* What is known of a module: bits that passes need, give and keep. */
typedef enum Property {
  HAS_NO_GRAD = 1,   /* no grad or stop_gradient op is left */
  HAS_FUSION = 2,    /* groups are kernel ops */
  HAS_LAYOUT = 4,    /* every value has the layout the target wants */
  HAS_ORDER = 8,     /* the order of ops is the order of execution */
  HAS_LIVENESS = 16, /* plan_of(entry) holds first and last steps */
  HAS_ALIASES = 32,  /* in-place decisions are in the plan */
  HAS_OFFSETS = 64,  /* every value has bytes */
  HAS_PROOF = 128    /* plan-verify accepted it */
} Property;

/* What an entry's arena may take: bytes, or a share of what it takes without a limit. */
typedef struct MemoryLimit {
  uint64_t bytes; /* 0: none */
  double share;   /* 0: none; 0.5 is half */
  bool bare;      /* the bytes were given without a unit */
} MemoryLimit;

typedef struct PassOptions {
  const Target *target;
  int streams;         /* at most so many; 0 is one, too */
  Link link;           /* between ranks; zeros: that of the target */
  const char *memory;  /* "none" "inplace" "pool" "color" "pack": what share uses by default */
  double plan_seconds; /* of searching for an entry's offsets; counted in steps, not in time */
  MemoryLimit limit;   /* that remat meets */
  bool trial;          /* a limit that is not met is no error */
  bool probe;       /* the same, but passes rewrite for the limit as if a user had asked for it */
  bool brief;       /* little search for what meets it */
  FILE *curve;      /* where remat prints memory against added work, or NULL */
  bool lowered;     /* the module comes from behind the pass autodiff of another pipeline */
  bool verify_each; /* module_verify after every pass */
  bool time_passes, stats, print_changed, print_liveness;
  const char *print_after;      /* pass name, "all" or NULL */
  _Atomic(const char *) *stage; /* where the name of the pass that runs is left; NULL: nowhere */
  unsigned remarks;             /* bits of RemarkKind */
  FILE *out;                    /* for everything these switches print: stderr by default */
  /* The elements of a param in a file that the program takes, malloc'ed; NULL: it has none. */
  float *(*floats)(void *data, const Global *g);
  void *floats_data;
} PassOptions;

typedef enum RemarkKind { /* names for --remarks=NAME are in remark_kind_names */
                          REMARK_INPLACE = 1,
                          REMARK_SHARE = 2,
                          REMARK_FUSE = 4,
                          REMARK_REMAT = 8,
                          REMARK_STREAMS = 16,
                          REMARK_SAVED = 32,
                          REMARK_COMM = 64,
                          REMARK_QUANTIZE = 128,
                          REMARK_AHEAD = 256,
                          REMARK_ALL = 511
} RemarkKind;
bool remark_parse(const char *name, unsigned *out); /* "inplace", … or "all" */

/* What a pass gets while it runs. */
typedef struct PassRun {
  Module *m;
  const PassOptions *opt;
  Arena *scratch;                  /* dropped after the pass */
  const char *args;                /* "match=16" of "share{match=16}", or "" */
  int64_t changes;                 /* count them here: --stats prints, --print-changed asks */
  const struct Pipeline *pipeline; /* the whole, in which the pass is stage `stage` */
  uint32_t stage;
  bool ends;                  /* set it where the stages behind have run already */
  const char *entry, *headed; /* whose remarks follow, by its name; whose heading stands there */
} PassRun;

/* The remarks that follow are about this entry. */
void remarks_of(PassRun *r, const Entry *e);

/* Prints "mnist.g:6:7: remark: relu reuses … [inplace]" where remarks of that kind are on; tag is
   "inplace", "inplace-missed", "share", "fuse", "fuse-missed", … */
void remark(PassRun *r, RemarkKind kind, const char *tag, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* "match=16": the integer behind a key, or otherwise. */
int64_t pass_arg_int(const PassRun *r, const char *key, int64_t otherwise);
/* the word behind a key copied into the scratch arena, or otherwise */
const char *pass_arg_str(const PassRun *r, const char *key, const char *otherwise);

/* Runs a pipeline over all entries and init. False after diagnostics: a mistake in the string
   (exit 2 is the caller's), a pass that comes too late for the program's layouts, or a failing
   verifier or plan checker. */
bool passes_run(Module *m, const char *pipeline, const PassOptions *opt);
/* The pipeline of -O0 … -O3, a static string. */
const char *passes_pipeline(int level);
/* The first stage of a pass in the pipeline, with its arguments; NULL: there is none. */
const char *passes_stage(const char *pipeline, const char *pass, size_t *length);
/* IR that was printed behind the pass layout has them; what is left to do for it is the rest of a
   pipeline. */
bool passes_has_layouts(const Module *m);
const char *passes_behind_layout(const char *pipeline);
/* A value or global whose layout no pass gives for this target, so that its kernels do not read it;
   NULL: there is none. */
const char *passes_foreign_layout(const Module *m, const Target *t);
/* A pipeline with one of the same passes for another precision of products: "f32", "tf32", "bf16".
 */
const char *passes_with_precision(Ctx *c, const char *pipeline, const char *precision);
typedef struct RanksHow {
  int ranks;         /* one or none: the pipeline itself */
  const char *shard; /* "optimizer", "gradients"; NULL: nothing */
  bool exact;        /* with the bits of one process */
  bool local_norm;   /* batch norm by each rank's own rows */
} RanksHow;
/* The same for so many ranks. */
const char *passes_with_ranks(Ctx *c, const char *pipeline, RanksHow how);
/* The batches of entries that train have equal shares for so many ranks; false after errors. */
bool passes_check_ranks(const Module *m, int ranks);
/* With bits that do not depend on how many rows or iterations there are at most, whatever the arena
   takes. */
const char *passes_with_exact(Ctx *c, const char *pipeline);
/* Sizes decide in which order sums are added up. */
const char *passes_with_reassociation(Ctx *c, const char *pipeline);
/* What these paths name, with + between them, is stored where a run can look at it; and the first
   of them that names no value, layer or global of the module, or NULL. */
const char *passes_with_watched(Ctx *c, const char *pipeline, const char *paths);
/* The op computes what one of the paths names: a value, the gradient of a param, or a layer. */
bool passes_watched(const Op *op, const Entry *e, const char *paths);
const char *passes_watches_nothing(const Module *m, const char *paths);
/* With the pass ahead: what is prepared of the next batch is decided by the work; with `always`
   whatever can be. */
const char *passes_with_ahead(Ctx *c, const char *pipeline, bool always);
/* The same for a program that holds the matrices of its products in few bits: the
   argument is that of the pass quantize-weights. */
const char *passes_with_quantized(Ctx *c, const char *pipeline, const char *argument);
/* Of paths with + between them, the first that no matrix of the program's params is below; or NULL.
 */
const char *passes_leaves_nothing_out(const Module *m, const char *paths);
/* The path of the scales of the activations that a param is multiplied by, which calibration finds;
   and whether a global is those of a param of the module. */
const char *passes_input_scale(Ctx *c, const char *param);
bool passes_is_input_scale(const Module *m, const Global *g);
/* Leaves out the entries that train, as they change what is quantized; an error where all do. */
bool passes_leave_out_training(Module *m);
void passes_list(FILE *f); /* --list-passes: a table with needs, forbids, gives, keeps */
/* Syntax and needs only; reports. IR may have been through a part of them. */
bool passes_check(Ctx *c, const char *pipeline, bool is_ir);

/* --print-liveness: a line an op, in order:
   "%d = tanh %a   live_in = {%a, %f}   live_out = {%d, %f}", in order of definition. */
void liveness_print(FILE *f, const Entry *e);

/* `gc --pack FILE.csv`: packs any buffers, writes them with their offsets to `out` and what can be
   said of them to `note`. Returns the exit code; capacity and timeout: 0 none. */
int pack_command(Ctx *c, const char *file, uint64_t capacity, double timeout, FILE *out,
                 FILE *note);
#endif
