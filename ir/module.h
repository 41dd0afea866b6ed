/* A module: globals and entries; an entry: blocks of ops in SSA form. Values and ops are dense ids
   into arrays of their entry.
   Ownership: everything lives in the module's arena. */
#ifndef GC_IR_MODULE_H
#define GC_IR_MODULE_H
#include "ir/layout.h"
#include "ir/op_table.h"
#include "ir/support/map.h"

struct Op {
  OpKind kind;
  OpId id;
  int noperands, nresults, nblocks;
  const ValueId *operands;
  const ValueId *results;
  Attr attr[MAX_ATTRS];
  struct Block **blocks;
  struct Block *parent;
  Loc loc;
  const char *scope; /* interned parameter path of the call, "" at the top: "net.fc1" */
  bool backward;     /* in the backward pass of a gradient; of a kernel: one of its ops is */
};

typedef struct Value {
  const Type *type;
  const char *name;    /* the user's name or NULL; unique in text: %logits, %logits.1 */
  OpId def;            /* NO_ID: a block argument */
  uint32_t index;      /* which result or argument */
  struct Block *block; /* of an argument; NULL for a result */
  const Layout *layout;
} Value;

typedef struct Block {
  struct Op *op; /* the parent op, NULL for an entry's body */
  VEC(OpId) ops; /* in order; the last one is the terminator */
  VEC(ValueId) args;
} Block;

struct Entry {
  Module *module;
  const char *name;
  bool training;       /* has a minimize */
  bool differentiated; /* behind the pass autodiff */
  int ranks;           /* of a data-parallel program that share its batch; 0: each has the whole */
  Loc loc;
  Block *body; /* arguments are the inputs, named; ends with `return` */
  /* Its preparation: makes of the same inputs what the entry has behind them as inputs of its own,
     in the order of its outputs; NULL: there is none. The pass ahead makes it. */
  Entry *ahead;
  VEC(Op *) ops;
  VEC(Value) values;
  struct Names *names;         /* of the values in text, see names.h; NULL until first used */
  struct AnalysisCache *cache; /* analyses of the passes; NULL once it is rebuilt */
  struct EntryNotes *notes;    /* decisions of passes for later passes */
};

typedef enum GlobalKind { GLOBAL_PARAM, GLOBAL_STATE, GLOBAL_OPTIMIZER, GLOBAL_HYPER } GlobalKind;

/* The tensor of published weights that a param or state is read from: a name in a file. */
typedef struct GlobalOrigin {
  const char *name;  /* interned; NULL: the path alone */
  const char *other; /* interned: the name in other files; NULL: there is none */
  bool transposed;   /* the file has the matrix transposed */
} GlobalOrigin;

/* A param that has become integers and scales: what it was, as files have it. */
typedef struct QuantizedGlobal {
  const char *path;
  const Type *type;
  int axis, bits, group;
  bool scales; /* the global is the scales; else the integers */
} QuantizedGlobal;
/* Of the elements of one, the root of the mean square of what quantization changes, as a part of
   that of the elements. */
double quantized_error(const QuantizedGlobal *q, const float *x);

typedef struct Global {
  GlobalKind kind;
  const char *path;     /* interned: "net.fc1.w"; a hyper's name */
  const Type *type;     /* of a hyper: one that hyper_holds takes */
  const Layout *layout; /* chosen by the pass layout for all entries; NULL row-major */
  double value;         /* a hyper's default; of a bool 0 or 1 */
  GlobalOrigin origin;
  bool transient;      /* a state that belongs to a run: not among the weights that are saved */
  const Attr *table;   /* a transient state that is constant: its elements in row-major order, each
                          as the value of a const; neither an entry nor init stores it; or NULL */
  uint64_t weights_at; /* bytes from the beginning of a page to its tensor in the program's own
                          weights, which has its dtype and axes; 0: there is none */
  const QuantizedGlobal *quantized; /* or NULL */
  const char *master; /* interned: the path of the param that this one is a copy of, in another
                         dtype, or of all ranks' runs; or NULL */
  const Type *whole;  /* of a data-parallel program in which each rank has a run of its elements,
                         in row-major order, and `type` is that of a run; or NULL */
  Loc loc;
} Global;

/* Of n that ranks share in equal runs, of which the last may be short: those of the longest. */
static inline int64_t slice_rows(int64_t n, int64_t ranks) { return (n + ranks - 1) / ranks; }
/* Some number of ranks has that. */
static inline bool slice_fits(int64_t n, int64_t rows) {
  return rows > 0 && slice_rows(n, rows) > 0 && rows == slice_rows(n, slice_rows(n, rows));
}

/* Invariants, kept by every pass and checked by the verifier: in a block a global is loaded at most
   once and stored at most once, and its load comes first, so a load names the value at entry;
   every use follows its definition; every type is what the op's shape rule says. Initial values of
   params and states are computed by `init`, an entry without inputs that stores every one of them.
   Of a param of which each rank has a run, a copy may have all of it, of the time when `gather`, an
   entry without inputs, has stored it last. Entries that train do not load such a copy, and run
   `gather` no more than others: what they store there is of the step before, as they have gathered
   it. */
struct Module {
  Ctx *ctx;
  Arena *arena;
  const char *source; /* "mnist.g" */
  uint64_t identity;  /* hash of the training program: module_identify */
  uint64_t initial;   /* hash of what computes initial values: the same */
  VEC(Global) globals;
  VEC(Entry *) entries;
  Entry *init;               /* NULL if there are no params or states */
  Entry *gather;             /* NULL if no global is a copy of all ranks' runs */
  struct ModuleNotes *notes; /* what passes have found out about the whole; or NULL */
  Map by_path;               /* from a global's path to its index */
};

Module *module_new(Ctx *c, const char *source);
void module_free(Module *m);
/* Sets m->identity, which checkpoints hold: equal for programs with the same training; and
   m->initial, which images of weights hold: equal for programs with the same initial values. */
void module_identify(Module *m);
/* h and what a type is, or an op of its kind with its attributes, but for its operands: the same
   numbers in every run. */
uint64_t type_identity(uint64_t h, const Type *t);
uint64_t op_identity(uint64_t h, const Op *op);
int module_find_global(const Module *m, const char *path); /* -1 if none */
int module_add_global(Module *m, Global g);
/* Leaves out all globals but the first n. */
void module_keep_globals(Module *m, uint32_t n);
/* g can be the copy of this one, in another dtype or of all ranks' runs. */
bool global_is_copy(const Global *g, const Global *master);
/* The param of whose runs on all ranks the global is a copy; -1: it is none. */
int global_gathered(const Module *m, int global);
/* The entry loads such a copy. */
bool entry_reads_gathered(const Entry *e);
/* Entry k of the module, behind them init, gather, and the preparations of entries. NULL behind the
   end. */
static inline Entry *module_entry(const Module *m, uint32_t k) {
  if (k < m->entries.n) return m->entries.at[k];
  k -= m->entries.n;
  if (m->init && k-- == 0) return m->init;
  if (m->gather && k-- == 0) return m->gather;
  for (uint32_t i = 0; i < m->entries.n; i++)
    if (m->entries.at[i]->ahead && k-- == 0) return m->entries.at[i]->ahead;
  return NULL;
}
/* How many there are. */
static inline uint32_t module_entries(const Module *m) {
  uint32_t n = m->entries.n;
  while (module_entry(m, n)) n++;
  return n;
}
/* The inputs that whoever runs it gives. */
static inline uint32_t entry_inputs(const Entry *e) {
  return e->ahead ? e->ahead->body->args.n : e->body->args.n;
}
/* Whether a hyper may be of a type, a scalar of f32, i32 or bool, and the type holds a number: an
   f32 rounds it. */
bool hyper_is_type(const Type *t);
bool hyper_holds(const Type *t, double value);
Entry *entry_new(Module *m, const char *name,
                 Loc loc); /* with an empty body; not yet in m->entries */
ValueId entry_add_input(Entry *e, const char *name, const Type *t);
const char *entry_ahead_name(const Entry *e); /* of its preparation */
/* The extents of its inputs' axes, in the order of the inputs: how many, and the number of one, or
   -1. */
enum { ENTRY_EXTENTS = 8 };
int entry_extents(const Entry *e, const Extent *out[ENTRY_EXTENTS]);
int entry_extent(const Entry *e, const Extent *x);
/* The extent of the batch, by which files of data are cut: the first that is an input's first axis,
   and neither another axis of any input nor in a sum as n + 1. NULL: no extent is; the batch is the
   first axis of the first input that has one, unless that is bounded. */
const Extent *entry_batch(const Entry *e);
/* All factors are extents of inputs, or parts of such axes. */
bool entry_has_extent(const Entry *e, const Extent *x);

/* How an output of batches makes that of all their rows. */
typedef enum Aggregate {
  AGGREGATE_NONE, /* it does not, or the output has an element of each row */
  AGGREGATE_MEAN,
  AGGREGATE_SUM,
  AGGREGATE_MAX,
  AGGREGATE_MIN,
  AGGREGATE_EXP_MEAN, /* the exponential of a mean, or a power of a number above 1 */
  AGGREGATE_RMS,      /* the root of a mean */
  AGGREGATES
} Aggregate;
extern const char *const aggregate_name[AGGREGATES];
/* Finds those of an entry that does not train, once its return stands there. */
void entry_find_aggregates(Builder *b);
/* "mean,each" has so many; -1: a word is none. The first n of them are written to `out`. */
int aggregates_read(const char *list, Aggregate *out, int n);
Aggregate output_aggregate(const Entry *e, int output);

/* An argument at the end of a block's list; type, name and layout are those of `like`. */
ValueId block_add_arg(Entry *e, Block *b, Value like);

static inline Op *op_at(const Entry *e, OpId id) { return e->ops.at[id]; }
static inline Value *value_at(const Entry *e, ValueId v) { return &e->values.at[v]; }
static inline const Type *value_type(const Entry *e, ValueId v) { return e->values.at[v].type; }
static inline Op *value_def(const Entry *e, ValueId v) {
  OpId d = e->values.at[v].def;
  return d == NO_ID ? NULL : e->ops.at[d];
}
/* The block in which a value is defined. */
static inline Block *value_block(const Entry *e, ValueId v) {
  const Value *x = &e->values.at[v];
  return x->def == NO_ID ? x->block : e->ops.at[x->def]->parent;
}
bool op_parse_kind(const char *mnemonic, OpKind *out);
/* The scalar text of an element-wise op calls a function. */
bool op_calls_function(OpKind k);
/* The accumulator operand of a sum, conv_filter_grad or gather_grad, or -1. The op continues the
   sum in the order of its parts, so a sum in two steps has the bits of the whole if the first ends
   where a part ends. */
int op_accumulator(const Op *op);
/* Of a scan: how many carries it has, and how many iterations, at the bound of the extent. */
static inline int scan_carries(const Op *scan) { return (int)scan->attr[AT_CARRIES].i; }
static inline int64_t scan_trips(const Op *scan) { return scan->attr[AT_TRIPS].i; }
/* The extent that the iterations are a multiple of; NULL: their number is static. */
const Extent *scan_extent(const Entry *e, const Op *scan);
/* The iterations as a dim of what is stacked. */
int64_t scan_axis(const Entry *e, const Op *scan);

#endif
