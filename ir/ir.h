/* The intermediate representation: what a .g program is between the parser and the kernels.
   SSA: a module holds globals and entries; an entry holds a block of ops; an op has operands,
   results, attributes, a source location, a scope and sometimes nested blocks. Values and ops
   are dense ids into arrays of their entry, so an analysis is a plain array indexed by id.
   Ownership: everything lives in the module's arena. Nothing here is thread-safe. */
#ifndef GC_IR_IR_H
#define GC_IR_IR_H
#include "ir/support/arena.h"
#include "ir/support/checked.h"
#include "ir/support/ctx.h"
#include "ir/support/map.h"

/* ---------------------------------------------------------------- types ---- */

typedef enum Dtype {
  DT_BOOL,
  DT_U8,
  DT_I8,
  DT_I32,
  DT_I64,
  DT_F16,
  DT_BF16,
  DT_F32,
  DT_F64,
  DTYPES
} Dtype;

/* An extent that is known when the program runs: n of `n <= 64`, a part of an axis, or a product of
   such. A part has the elements of the axis from `first` to `first + bound` that a run has; it may
   have none. One that begins in front of the axis has more elements: n + 2 begins at -2, as n - 1
   begins at 1 and both end with the axis. Interned. */
typedef struct Extent {
  const char *name;                   /* of a product: "n * t"; of a part: "(n<=64)[16:32]" */
  int64_t bound;                      /* 2 or more */
  int index;                          /* in the context */
  int nfactors;                       /* 1: itself */
  const struct Extent *const *factor; /* in the order of their indices; one may be there twice */
  int64_t whole;                      /* of a part: the axis as type_get takes it; else 0 */
  int64_t first;                      /* of a part */
} Extent;

typedef struct Type { /* interned: equality is == */
  Dtype dtype;
  int rank;
  int64_t numel;  /* product of dims; 1 for rank 0 */
  uint64_t bytes; /* numel times the dtype's size, in the logical row-major layout */
  /* by axis: the extent that the axis is a multiple of, NULL where it is static; NULL: all are */
  const Extent *const *extent;
  int64_t dim[]; /* of a bounded axis: at its bound, as numel, bytes and strides are */
} Type;

enum { SMALL_RANK = 8 }; /* up to this rank, scratch dims lie on the stack */
/* NULL if the size overflows 2^62 bytes or a dim is negative: the caller reports it. */
const Type *type_get(Ctx *c, Dtype dt, int rank, const int64_t *dim);
const Type *type_scalar(Ctx *c, Dtype dt);
/* ---- bounded dimensions ---- */
const Extent *extent_get(Ctx *c, const char *name, int64_t bound);
enum { EXTENT_FACTORS = 8 };
/* NULL if its bound is not below 2^31 or it has too many factors; if y is no factor of x. */
const Extent *extent_product(Ctx *c, const Extent *x, const Extent *y);
const Extent *extent_quotient(Ctx *c, const Extent *x, const Extent *y); /* of different extents */
/* The dim of a bounded axis as type_get takes it, in place of a number: so many times the extent. A
   negative number, from which type_axis and axis_extent read it back. */
int64_t axis_of_extent(const Extent *x, int64_t multiple);
static inline bool axis_is_bounded(int64_t axis) { return axis <= -(INT64_C(1) << 32); }
const Extent *axis_extent(Ctx *c, int64_t axis); /* NULL: it is static */
int64_t axis_multiple(int64_t axis);             /* of a bounded one */
const char *axis_str(Ctx *c, int64_t axis);      /* "64", "n", "4 n * t" */
/* The dim of n elements of a bounded axis, those from `first` on, at the bounds: so many times a
   part of its extent if that has two or more, else a part of the axis. 0: n is below 2. */
int64_t axis_part(Ctx *c, int64_t axis, int64_t first, int64_t n);
/* The dim of so many elements more, fewer if `more` is negative, and none where a run has fewer
   than those. 0: that is no part of the axis, or has a bound below 2. */
int64_t axis_and_more(Ctx *c, int64_t axis, int64_t more);
/* A run may have fewer elements than `axis_and_more` would take away. */
bool axis_may_lack(Ctx *c, int64_t axis, int64_t elements);
/* Of a dim that ends with its axis: the axis, and what it has more; false: it is another one. */
bool axis_is_more(Ctx *c, int64_t axis, int64_t *of, int64_t *more);
/* `part` is such a part of the axis; where it begins. */
bool axis_is_part(Ctx *c, int64_t axis, int64_t part, int64_t *first);
/* n, 4 n, or so many elements more: an input may have it. */
bool axis_is_of_input(Ctx *c, int64_t axis);
/* The dim of axes one after the other: multiples of one extent, and so many elements more. 0: their
   sum is no dim. */
int64_t axis_joined(Ctx *c, const int64_t *axis, int n);
/* The dim of two axes that are joined; 0: it is too large. */
int64_t axis_product(Ctx *c, int64_t a, int64_t b);
/* The number of a part among equal ones, one after the other; 0 of one that is not among such. */
static inline int64_t extent_number(const Extent *part) {
  return part->first > 0 && part->first % part->bound == 0 ? part->first / part->bound : 0;
}
static inline const Extent *type_extent(const Type *t, int i) {
  return t->extent ? t->extent[i] : NULL;
}
/* The dim as type_get takes it. */
static inline int64_t type_axis(const Type *t, int i) {
  const Extent *x = type_extent(t, i);
  return x ? axis_of_extent(x, t->dim[i] / x->bound) : t->dim[i];
}
/* Fills `axis` with all of them. */
const int64_t *type_axes(const Type *t, int64_t *axis);
/* ---- */
const Type *type_with_dtype(Ctx *c, const Type *t, Dtype dt);             /* same shape */
const Type *type_with_extent(Ctx *c, const Type *t, int axis, int64_t n); /* of that one axis */
/* The axes up to the last bounded one as one, which a run has side by side; the type itself if what
   is bounded is the outermost axis; NULL if the axis is too long. */
const Type *type_joined(Ctx *c, const Type *t);
const Type *type_stacked(Ctx *c, const Type *row, int64_t n); /* behind a new first axis */
const char *type_str(Ctx *c, const Type *t);                  /* "f32[64,256]", "f32[]"; interned */
const char *type_text(Ctx *c, const Type *t); /* the same in a message: parts are n - 1 */
/* numpy's broadcasting of two shapes; dtype is a's. NULL where they do not fit. */
const Type *type_broadcast(Ctx *c, const Type *a, const Type *b);
bool type_same_dims(const Type *a, const Type *b); /* whatever their dtypes */
/* A reshape from one to the other moves no element, whatever the extents: each bounded axis is the
   outermost of the axes that become others together. */
bool type_same_elements(const Type *a, const Type *b);
/* So many elements, and the last axis is the same: [M, N] and [B, T, N]. */
bool type_same_rows(const Type *a, const Type *b);

int dtype_size(Dtype dt); /* bytes */
/* The dtype of accumulators of elements of dt: f32 for half precisions, whose range and precision a
   sum soon exceeds; else dt itself. */
Dtype dtype_sum(Dtype dt);
const char *dtype_name(Dtype dt);
bool dtype_parse(const char *s, Dtype *out);
static inline bool dtype_is_float(Dtype dt) { return dt >= DT_F16 && dt <= DT_F64; }
static inline bool dtype_is_half(Dtype dt) { return dt == DT_F16 || dt == DT_BF16; }
static inline bool dtype_is_int(Dtype dt) { return dt >= DT_U8 && dt <= DT_I64; }
static inline bool dtype_is_byte(Dtype dt) { return dt <= DT_I8; } /* bool is one, too */

/* The memory layout of a value's elements; NULL is row-major. Interned. The axes are stored in
   `order`. With panels, the last of them is split into runs of nr, which are the outermost axis: a
   matrix [K, N] is stored as [ceil(N/nr)][K][nr], the tail filled with zeros, in the order in which
   a product reads its right operand. Images [N, C, H, W] in order 0,2,3,1 are NHWC.
   Filters [O, I, 3, 3] may lie transformed for Winograd's convolution F(2x2, 3x3): 4 x 4 numbers
   for each 3 x 3, so that only a copy writes and only a convolution reads them. */
typedef struct Layout {
  const Ints *order; /* axes, the outermost first; NULL: as they are numbered */
  int nr;            /* columns of a panel; 0: no panels */
  bool winograd;     /* G f G^T in place of each filter f */
} Layout;
/* NULL where that is row-major. order: n axes or NULL. */
const Layout *layout_get(Ctx *c, const int64_t *order, int n, int nr);
/* Panels of nr columns in this order of four axes, of transformed filters. */
const Layout *layout_winograd(Ctx *c, const int64_t *order, int nr);
const Layout *layout_panels(Ctx *c, int nr);
/* The layout has the axes of this type; panels need at least a matrix. */
bool layout_fits(const Type *t, const Layout *l);
int layout_axis(const Layout *l, int i); /* the i-th axis of storage */
/* Every element of the type has the same offset in both layouts. */
bool layout_same(const Type *t, const Layout *a, const Layout *b);
/* The strides of all axes in elements; in panels, within one. Returns the elements of a panel, or
 * 0.
 */
int64_t layout_strides(const Type *t, const Layout *l, int64_t *stride);
/* Elements from one row to the next, where rows lie one after the other, each followed by padding
   or not: a panel that is as wide as a row, or wider. 0: rows lie otherwise, or there are none. */
int64_t layout_row(const Type *t, const Layout *l);
/* A reshape from one to the other moves no row: both have rows of one length at one distance. */
bool layout_same_rows(const Type *a, const Layout *x, const Type *b, const Layout *y);
/* Bytes of a value's storage, padding included; false on overflow. */
bool layout_bytes(const Type *t, const Layout *l, uint64_t *out);

/* ---------------------------------------------------------------- ops ------ */

typedef uint32_t ValueId, OpId;
#define NO_ID UINT32_MAX

typedef enum OpKind {
#define OP(KIND, ...) OP_##KIND,
#include "ops.def"
#undef OP
  OP_KINDS
} OpKind;

typedef enum AttrKind { ATTR_NONE, ATTR_INT, ATTR_BOOL, ATTR_NUM, ATTR_INTS, ATTR_STR } AttrKind;

/* ATTR_NUM is a scalar of the result's dtype: f for floats, i for integers and bool. Hash-consing
   and equality compare the 64 bits of i, so NaN equals itself and -0 differs from 0. */
typedef union Attr {
  int64_t i;
  double f;
  const Ints *ints; /* interned */
  const char *str;  /* interned */
} Attr;

enum { MAX_ATTRS = 7 };

typedef struct AttrSpec {
  const char *name; /* "axes"; the printer leaves out attributes that are zero or NULL */
  AttrKind kind;
} AttrSpec;

typedef struct Op Op;
typedef struct Entry Entry;
typedef struct Module Module;
typedef struct Builder Builder;
typedef void RebuildFn(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data);

/* The class of an op, for passes and targets. */
typedef enum OpClass {
  CLASS_LEAF,       /* without tensor operands: const, iota, random */
  CLASS_GLOBAL,     /* load, store */
  CLASS_ELEMENT,    /* same shape in and out, element by element */
  CLASS_VIEW,       /* moves elements: reshape, transpose, broadcast, slice, … */
  CLASS_REDUCE,     /* fewer elements out */
  CLASS_CONTRACT,   /* matmul */
  CLASS_ATTENTION,  /* attention and its gradient */
  CLASS_WINDOW,     /* windows over images: convolutions, pools */
  CLASS_INDEX,      /* run-time indices: gather, scatter */
  CLASS_ORDER,      /* sequential along one axis: cumsum, argsort */
  CLASS_COLLECTIVE, /* communication between ranks */
  CLASS_ROWS,       /* along the last axis, row by row: softmax, xent */
  CLASS_COMPOSITE,  /* has its own gradient rule; autodiff then decomposes it */
  CLASS_REGION,     /* kernel, scan */
  CLASS_META        /* grad, stop_gradient, yield, return: no arithmetic of their own */
} OpClass;

typedef enum OpFlags {
  OPF_COMMUTATIVE = 1,
  OPF_EFFECT = 2,       /* not removed, merged or moved over another effect on the same global */
  OPF_TYPED = 4,        /* the result type is part of the op, not inferred: const, broadcast, … */
  OPF_TERMINATOR = 8,   /* ends a block */
  OPF_BOOL_RESULT = 16, /* element-wise with a bool result of the operands' shape */
  OPF_POSITION = 32,    /* element-wise, but depends on the element's index: no scalar text */
  OPF_LIBRARY =
      64 /* of f64 it takes a function of the C library, each of which rounds its own way */
} OpFlags;

enum {
  WHY_BYTES = 256,   /* of the reason that a shape rule gives */
  SMALL_OPERANDS = 8 /* up to as many, a list of operands or results lies on the stack */
};

/* Shape inference. Returns the type of one result, or NULL with a one-line reason in why. The same
   function serves the elaborator, which reports the reason, the builder and the verifier. */
typedef struct ShapeIn {
  Ctx *ctx;
  OpKind kind;
  int result; /* which one is asked for */
  int n;
  const Type *const *type; /* of each operand */
  const Attr *attr;
  const Type *given;  /* OPF_TYPED: the wanted result; else NULL */
  const Type *wanted; /* the result that the caller has or asks for, if any: what decides where a
                         rule leaves the choice of a bounded axis */
  char *why;          /* WHY_BYTES */
} ShapeIn;
typedef const Type *ShapeFn(const ShapeIn *in);

/* Gradient rule of y = f(x…): dy is the gradient of y. The rule builds the gradient of every
   operand that grad_needs and passes it to grad_to. The forward values that it reads are saved. For
   an op with several results, dy is the gradient of the first, NO_ID if it has none; grad_of gives
   the others. */
typedef struct GradCtx GradCtx;
typedef void GradFn(GradCtx *g, const Op *op, ValueId dy);

/* The decomposition of a composite into primitive ops, on operands x, with op's attributes, to a
   result of this type. */
typedef ValueId ExpandFn(Builder *b, const Op *op, const Type *to, const ValueId *x);

/* Reference semantics; see interp.h. */
typedef struct EvalCtx EvalCtx;
typedef void EvalFn(EvalCtx *e, const Op *op);

typedef struct OpInfo {
  const char *name; /* mnemonic in text */
  OpClass cls;
  int operands; /* count; -1: any */
  int results;  /* count; -1: any */
  int blocks;   /* nested blocks */
  int flags;    /* OpFlags */
  AttrSpec attr[MAX_ATTRS];
  ShapeFn *shape; /* NULL: the caller of build_op gives the types (regions, meta) */
  GradFn *grad;   /* NULL: no gradient flows (comparisons, indices, randoms) */
  EvalFn *eval;
  ExpandFn *expand;  /* CLASS_COMPOSITE, and contractions that not every target has */
  const char *expr;  /* CLASS_ELEMENT: scalar C text over a, b, c for floats; see ops.def */
  const char *iexpr; /* the same for integers and bool; NULL: not defined for them */
  const char *help;  /* one line for docs and --help=ops */
} OpInfo;

extern const OpInfo op_info[OP_KINDS];

/* The slots of the attributes by name, AT_AXES and so on: op->attr[AT_AXES]. */
#include "ir/attributes.h"

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
  const char *name; /* interned; NULL: the path alone */
  bool transposed;  /* the file has the matrix transposed */
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

/* ---------------------------------------------------------------- builder -- */

/* Appends ops to a block. Pure ops are folded (fold.c) and hash-consed as they are built, so equal
   ops are one op and constants never pile up; with fold = false both are off (-O0, reader). */
struct Builder {
  Module *m;
  Entry *e;
  Block *b;
  Loc loc; /* of the next ops … */
  const char *scope;
  bool backward;
  const char *name; /* wanted name of the next result, cleared by it */
  bool fold;
  struct ConsTable *cons; /* per builder; NULL at first */
  RebuildFn *each;        /* while an entry is rebuilt: also of the ops in the bodies of loops */
  void *data;
};

Builder *builder_new(Entry *e, Block *b); /* in the module's arena */
/* The next ops are appended to the block; hash-consing is within that block. */
void builder_at(Builder *b, Block *block);
/* The next ops get the op's location, scope and direction. */
void builder_like(Builder *b, const Op *op);

/* The general way; of several results the first. attr may be NULL. type: the wanted result, which
   OPF_TYPED ops need and where a pad takes which axes are bounded from; or NULL. A shape that does
   not fit is an internal error here: callers with user input call op_shape first. */
ValueId build(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr,
              const Type *type);
/* For ops with several results or blocks: results' types are given, blocks are attached by the
   caller. Never folded or merged. */
Op *build_op(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr,
             const Type *const *types, int nresults);
/* The same, with the types that the op's shape rule gives. */
Op *build_several(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr);
/* Shape of an op on these operand types; NULL and a reason in why (WHY_BYTES) if they do not fit.
   op_shape_of: of one of several results. */
const Type *op_shape(Ctx *c, OpKind k, const Type *const *types, int n, const Attr *attr,
                     const Type *given, char *why);
const Type *op_shape_of(Ctx *c, OpKind k, int result, const Type *const *types, int n,
                        const Attr *attr, const Type *given, char *why);

ValueId build1(Builder *b, OpKind k, ValueId x);
ValueId build2(Builder *b, OpKind k, ValueId x, ValueId y); /* same shape and dtype */
ValueId build3(Builder *b, OpKind k, ValueId x, ValueId y, ValueId z);
ValueId build_const(Builder *b, const Type *t,
                    double v); /* every element v, rounded to the dtype */
ValueId build_const_int(Builder *b, const Type *t, int64_t v);
ValueId build_convert(Builder *b, ValueId x, Dtype dt);        /* x itself if it is of that dtype */
ValueId build_broadcast(Builder *b, ValueId x, const Type *t); /* numpy's rule; dtype must agree */
/* A reshape between these types moves elements of bounded axes, so that it is no view. */
bool reshape_moves(const Type *from, const Type *to);
ValueId build_reshape(Builder *b, ValueId x, const Type *t);
/* n elements of an axis; zeros before and behind the elements of an axis. */
ValueId build_slice(Builder *b, ValueId x, int axis, int64_t from, int64_t n);
ValueId build_pad(Builder *b, ValueId x, int axis, int64_t before, int64_t behind);
/* Writes a part at a place of a whole that has so many elements along the axis, as type_get takes
   them. The first part, at 0, makes the whole: `whole` is NO_ID, and the rest of it is zeros. */
ValueId build_part(Builder *b, ValueId whole, ValueId part, int axis, int64_t at, int64_t extent);
ValueId build_transpose(Builder *b, ValueId x, const int64_t *perm);
ValueId build_reduce(Builder *b, OpKind k, ValueId x, const int64_t *axes,
                     int n); /* axes dropped */
/* The same, but reduced axes stay with extent 1. */
ValueId build_reduce_keep(Builder *b, OpKind k, ValueId x, const int64_t *axes, int n);
/* Sums x down to type t, the inverse of broadcasting t to x's type. */
ValueId build_unbroadcast(Builder *b, ValueId x, const Type *t);
/* x with zeros, or with this value of its dtype, behind what a run has of a bounded axis, which is
   static then. */
ValueId build_at_bound(Builder *b, ValueId x, int axis);
ValueId build_filled(Builder *b, ValueId x, int axis, Attr value);
/* Along axes that may be bounded: the elements of an axis in the other order; so many elements, as
   type_get takes them, from `from` times the axis' extent on; tensors one after the other, whose
   dims `axis_joined` adds up. */
ValueId build_reversed(Builder *b, ValueId x, int axis);
ValueId build_part_of(Builder *b, ValueId x, int axis, int64_t from, int64_t n);
ValueId build_joined(Builder *b, const ValueId *x, int n, int axis);
/* Bounded columns of y are multiplied at their bound. */
ValueId build_matmul(Builder *b, ValueId x, ValueId y, bool ta, bool tb);
/* The same with the sums in f32 as the result, of half precisions; f32 operands are from tf32 ops.
 */
ValueId build_matmul_narrow(Builder *b, ValueId x, ValueId y, bool ta, bool tb);
ValueId build_extent(Builder *b, const Extent *x); /* i32[] */
ValueId build_load(Builder *b, int global);
void build_store(Builder *b, int global, ValueId v);
void build_return(Builder *b, const ValueId *v, const char *const *names, int n);
/* The number of outputs; *values and *names (interned), unless these are NULL, in the order of the
   return's operands. */
int entry_outputs(const Entry *e, const ValueId **values, const char *const **names);

/* A constant's value: true and *out if v is a const op. */
bool value_const(const Entry *e, ValueId v, Attr *out);

/* Copies an op of one entry into a builder (same module, perhaps another entry), its operands
   mapped through map[old value] -> new value; sets map for its results; nested blocks are copied
   deeply. Pure single-result ops go through folding and hash-consing. Keeps names, locations and
   scopes. */
void build_copy(Builder *b, const Entry *from, const Op *op, ValueId *map);
/* Rebuilds an entry op by op: `each` may copy the op (build_copy), replace it or leave it out. The
   ops of a loop's body come up one by one while the loop is copied; those of a kernel do not.
   Values and ops are dense again afterwards; dead pure ops are dropped if drop_dead. The entry
   pointer stays. */
void entry_rebuild(Entry *e, RebuildFn *each, void *data, bool fold, bool drop_dead);
/* Copies all ops to new blocks, with ids in the order of the text. A copy of *e from before stays
   valid. */
void entry_copy(Entry *e);

/* ---------------------------------------------------------------- gradient - */

struct GradCtx {
  Builder *b;
  const Entry *e; /* where op lives: also the builder's entry */
  void *state;    /* of the caller: the pass autodiff, a test */
  bool (*needs)(const GradCtx *g, const Op *op, int operand);   /* behind grad_needs */
  ValueId (*of)(const GradCtx *g, const Op *op, int result);    /* behind grad_of */
  void (*to)(GradCtx *g, const Op *op, int operand, ValueId d); /* behind grad_to */
  void (*region)(GradCtx *g, const Op *op); /* the backward pass of an op with a block */
};
bool grad_needs(const GradCtx *g, const Op *op, int operand);
ValueId grad_of(const GradCtx *g, const Op *op, int result);    /* NO_ID: none */
void grad_to(GradCtx *g, const Op *op, int operand, ValueId d); /* d has the operand's type */

/* ---------------------------------------------------------------- text ----- */

/* Prints in the text form, which module_read reads back exactly. With a plan, each op's line ends
   in
   `; ws+0x4000 live 12..31 in place of %7`, through the hook that passes/ gives. */
typedef struct PrintOptions {
  bool locs; /* source locations and scopes */
  /* Called at the end of each op's line, may write "   ; text" without a newline; may be NULL. */
  void (*note)(FILE *f, const Entry *e, const Op *op, void *data);
  void *data;
} PrintOptions;
void module_print(FILE *f, const Module *m, const PrintOptions *o);
void entry_print(FILE *f, const Entry *e, const PrintOptions *o);
/* Names used in text, unique in the entry: "%logits", "%logits.1", "%12". Interned. */
const char *value_str(const Entry *e, ValueId v);
/* Reads IR text added as a source; NULL after diagnostics. */
Module *module_read(Ctx *c, uint16_t file);

/* ---------------------------------------------------------------- verifier - */

/* Checks every invariant above; false after printing each violation ("op %12 matmul: …"). */
bool module_verify(const Module *m,
                   const char *after); /* after: pass name for the message, or NULL */
bool entry_verify(const Entry *e, const char *after);
/* The op table is complete and consistent; called once by gc and by a unit test. */
bool op_table_check(FILE *f);
/* Prints docs/ops.md: every op, by class, from the table. */
void op_table_markdown(FILE *f);

#endif
