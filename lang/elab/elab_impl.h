/* The inside of the elaboration: values, names, frames, runs and what its files share.
   A Val is what an expression gives while the program is read: a number, a list, a function, or a
   tensor of the entry at hand. A Frame is one level of the parameter paths, an Env the names of one
   activation of a function. A EntryBuilder is the entry that ops are appended to.
   Contract: VAL_ERROR follows a reported error and silences what depends on it. */
#ifndef GC_LANG_ELAB_IMPL_H
#define GC_LANG_ELAB_IMPL_H
#include "ir/support/map.h"
#include "lang/elab/elab.h"

typedef struct Elab Elab;
typedef struct EntryBuilder EntryBuilder;
typedef struct Frame Frame;
typedef struct Func Func;
typedef struct ValList ValList;
typedef struct Builtin Builtin;

/* ---------------------------------------------------------------- values --- */

typedef enum ValKind {
  VAL_ERROR, /* an error was reported */
  VAL_NONE,  /* none: what stands for an optional argument that is not there */
  VAL_VOID,  /* what a function without return gives; no expression may use it */
  VAL_INT,   /* i: exact */
  VAL_NUM,   /* f */
  VAL_BOOL,  /* b */
  VAL_STR,   /* str */
  VAL_DTYPE, /* dtype */
  VAL_LIST,  /* list */
  VAL_TUPLE, /* list: the several results of a call */
  VAL_FUNC,  /* func */
  VAL_TENSOR /* tensor */
} ValKind;

typedef struct Val {
  ValKind kind;
  Loc loc; /* where it was made: the other place of a shape error */
  union {
    int64_t i;
    double f;
    bool b;
    const char *str;
    Dtype dtype;
    const ValList *list;
    const Func *func;
    struct {
      ValueId id;
      const Type *type;
      const EntryBuilder *run; /* the entry that it belongs to */
    } tensor;
  };
} Val;

struct ValList {
  int n;
  Val *at;
  int room;  /* values that fit there */
  int *used; /* ... of them some list has; lists that grew out of one another share them */
};

static const Val error_value = {.kind = VAL_ERROR};

static inline bool val_is_number(Val v) { return v.kind == VAL_INT || v.kind == VAL_NUM; }
static inline double val_number(Val v) { return v.kind == VAL_INT ? (double)v.i : v.f; }
static inline Val val_int(int64_t i, Loc loc) { return (Val){.kind = VAL_INT, .loc = loc, .i = i}; }
static inline Val val_num(double f, Loc loc) { return (Val){.kind = VAL_NUM, .loc = loc, .f = f}; }
static inline Val val_bool(bool b, Loc loc) { return (Val){.kind = VAL_BOOL, .loc = loc, .b = b}; }
Val val_list(Elab *e, ValKind kind, const Val *at, int n, Loc loc);
Val val_joined(Elab *e, const ValList *a, const ValList *b, Loc loc); /* a, then b */
Val val_ints(Elab *e, const int64_t *at, int n, Loc loc);
Val val_tensor(Elab *e, ValueId id); /* of the current run, made where the builder stands */
/* For messages: "f32[64,10]", "the number 3", "a list of 2"; interned. */
const char *val_str(Elab *e, Val v);
/* The value as text that is equal exactly where the values are: "3", "[1, 2]", "def relu". */
const char *val_canon(Elab *e, Val v);
bool val_equal(Elab *e, Val a, Val b); /* compile-time values */

/* A value where a tensor is needed: a number becomes a constant f32[] or i32[]. Poison after an
   error that names `what`. */
Val val_to_tensor(Elab *e, Val v, const char *what, Loc loc);
/* A compile-time number or bool as a constant of type t; error_value after an error where it does
 * not fit. */
Val val_to_const(Elab *e, Val v, const Type *t, Loc loc);
Val val_convert(Elab *e, Val v, Dtype dt); /* a tensor */
/* After an error that v is no compile-time value: that it comes from a hyper, if so, else the hint,
   or NULL. */
void val_hint_known(Elab *e, Val v, const char *hint);
/* False after the error that a run-time value cannot be what is needed; hint: or NULL. */
bool val_is_known(Elab *e, Val v, const char *what, const char *hint, Loc loc);
/* A compile-time integer of at least `least`; false after an error. */
bool val_to_int(Elab *e, Val v, int64_t least, const char *what, Loc loc, int64_t *out);
/* A list of them, or one alone; the result is interned; NULL after an error. */
const Ints *val_to_ints(Elab *e, Val v, int64_t least, const char *what, Loc loc);

/* ---------------------------------------------------------------- names ---- */

typedef enum FuncKind { FUNC_DEF, FUNC_BUILTIN, FUNC_CONVERT } FuncKind;

struct Func {
  FuncKind kind;
  const char *name;
  const Decl *decl;       /* FUNC_DEF; of FUNC_BUILTIN with the arguments and no body */
  const Builtin *builtin; /* FUNC_BUILTIN */
  Dtype dtype;            /* FUNC_CONVERT */
  bool prelude;           /* written in the prelude */
};

typedef struct Binding {
  const char *name;
  Val val;
  int global; /* >= 0: the name stands for the current value of that param or state */
  Loc loc;
} Binding;

/* Where the names of a list's first n items are. */
typedef struct NameIndex {
  Map map;
  uint32_t n;
} NameIndex;

/* Where the yields of a loop go. */
typedef struct Yields {
  struct Yields *up;
  int targets;
  VEC(Val) at; /* targets of them an iteration */
  Loc loc;     /* of the last yield */
  bool seen;   /* in this iteration */
} Yields;

typedef struct Env { /* one activation of a function or an entry */
  VEC(Binding) names;
  NameIndex index;   /* of names */
  VEC(Binding) gone; /* bound in a loop that is over: for the hint */
  const Func *func;  /* NULL: an entry */
  bool prelude, returned;
  int scans;         /* of this activation whose bodies are being read … */
  const Frame *loop; /* … and the frame that the innermost stands in */
  Val result;
  Yields *yields;
  VEC(Ident) outputs; /* of an entry */
} Env;

typedef struct Actual Actual;
typedef struct Child { /* an instance name reached in one activation */
  const char *name;
  Loc loc;
  const Func *func; /* what was called with which arguments */
  const Actual *arg;
  int n;
} Child;

struct Frame {
  Frame *up;
  Env *env;         /* of the function; a scope shares it with the frame above */
  const char *path; /* "net.fc1" */
  Loc call;         /* the call that made it; line 0: an entry */
  Loc user;         /* of code of the prelude: the user's call; else line 0 */
  bool scope;       /* no call: scope h[l] {…}, or an instance name of a built-in function */
  bool in_scan;     /* the call stands in the body of a scan */
  bool again;       /* an unnamed call whose name was taken already in the frame above, or that a
                       scan makes in each iteration */
  Loc first;        /* ... there */
  struct ScanLevel *repeats; /* the loop whose iterations make this unnamed call, perhaps with other
                                arguments, or NULL … */
  const Actual *arg;         /* … than these */
  int n;
  VEC(Child) calls, variables;
  NameIndex call_index, variable_index;
};

/* ---------------------------------------------------------------- runs ----- */

typedef enum RunKind { RUN_ENTRY, RUN_INIT, RUN_LET } RunKind;

typedef struct KeyCount {
  const char *path;
  uint64_t n;
} KeyCount;

/* The numbers of a random op: its key, its draw, and in a loop what is added to the draw. */
typedef struct RandomKey {
  const char *key;
  int64_t draw;
  ValueId place; /* i32[], NO_ID outside of loops */
} RandomKey;

typedef struct Stored {
  int global;
  Loc loc; /* of the last assignment */
  const char *scope;
} Stored;

/* An argument of a loop's block that stands for a value from outside while the body is read. */
typedef struct Capture {
  ValueId arg, outer;
  ValueId next;   /* what the iteration makes of it; NO_ID: nothing */
  ValueId result; /* after the loop, of what is carried */
  int global;     /* that it is the value of; -1: of a name */
  bool fixed;     /* no iteration gives the name another value */
  bool asked;     /* a grad of the body is by it */
} Capture;

/* An argument of a loop's block that stands for the draws of a path in earlier iterations. */
typedef struct DrawsBefore {
  ValueId arg;
  uint32_t key;  /* into the run's keys */
  uint64_t from; /* draws of the path before the loop */
  ValueId outer; /* the same of the loop around this one, or NO_ID */
} DrawsBefore;

/* An unnamed call in the body that declares something. */
typedef struct Repeat {
  Frame *frame;
  const char *path; /* of what it declares */
  const Actual *arg;
  int n;
} Repeat;

/* A scan whose body is being read. */
typedef struct ScanLevel {
  struct ScanLevel *up;
  int64_t trips;
  Block *block, *outer;
  VEC(Capture) captures;
  VEC(ValueId) current; /* as in EntryBuilder, in this body */
  VEC(ValueId) stacked; /* what the iteration yields */
  VEC(DrawsBefore) draws;
  VEC(Repeat) repeats;
} ScanLevel;

/* An integer that is made of counters of loops and constants alone. */
typedef struct IndexRange {
  bool known;  /* it is such a one */
  bool linear; /* base + the sum of by[d] * counter of the loop of depth d: lo and hi are taken */
  int64_t lo, hi; /* within i32, as all that it is made of */
  int64_t base;
  int depth;   /* loops that by speaks of ... */
  int64_t *by; /* ... from the outermost on */
} IndexRange;

/* A param that a minimize of this entry has updated. */
typedef struct Updated {
  int global;
  ValueId value; /* after it; no gradient flows into the update */
  Loc loc;       /* of the minimize */
} Updated;

struct EntryBuilder {
  RunKind kind;
  Entry *entry;
  Builder *b;
  bool training;
  VEC(ValueId) current;          /* by global: its value here and now, NO_ID before the first use */
  VEC(Stored) stored;            /* globals assigned, in order of the first time */
  VEC(uint32_t) stored_at;       /* by global: its place in stored + 1, 0: it is not there */
  VEC(bool) weak_name;           /* by value: it has only a name of the prelude's */
  struct Congruence *congruence; /* loop/congruent.c; NULL until two calls are compared */
  VEC(KeyCount) keys;            /* random ops so far, by path */
  NameIndex key_index;
  ScanLevel *scan;                 /* the innermost, NULL outside of all */
  VEC(const IndexRange *) counted; /* by value, as far as was asked for */
  VEC(Updated) updated;
  bool minimized;
  Loc minimize;      /* where first */
  ValueId next_step; /* ... the step counter's new value */
};

typedef struct GlobalInfo { /* beside module->globals, by index */
  Loc loc;
  const char *init;  /* the initialiser as canonical text */
  const char *entry; /* that declared it first */
} GlobalInfo;

typedef enum TopState { TOP_NEW, TOP_BUSY, TOP_DONE } TopState;

typedef struct Top { /* a declaration by name */
  const Decl *decl;
  TopState state;
  Val val;    /* of a let */
  int global; /* of a hyper */
  bool read;  /* ... which an entry reads */
  Func func;  /* of a def */
} Top;

struct Elab {
  Ctx *c;
  Arena *a;
  Module *m;
  const ElabOptions *options;
  VEC(Top *) user, prelude;             /* declarations */
  uint16_t prelude_first, prelude_last; /* of its files, added one behind the other */
  VEC(const Func *) builtins;           /* in the order of builtins.def */
  VEC(GlobalInfo) info;
  EntryBuilder *run, init, let;
  Frame *frame;
  const Ints *init_shape;     /* inside an initialiser: the declared shape; else NULL */
  Dtype init_dtype;           /* ... and dtype */
  int64_t accumulate;         /* inside a minimize: runs that an update takes; else 0 */
  const char *optimizer_path; /* inside an optimizer: the path of its param; else NULL */
  bool callers_fault;         /* what is wrong is an argument, so the call itself is no way to it */
  bool muted;                 /* the last error was a repetition: so are its notes */
  int64_t unrolled;           /* iterations of all loops and inlined calls so far */
  int depth;                  /* of statements and expressions being evaluated */
  int repeated;               /* errors that were not said, since the same one had been */
  struct {
    const char *fmt;
    Loc loc;
  } * reported;
  uint32_t nreported, reported_cap;
};

/* ---- diag.c: errors with the path of calls ---- */
/* Reports at loc; an error inside the prelude is reported at the user's call. The same message at
   the same place is said once. Notes and hints follow, then elab_trace says by which calls one got
   there. */
/* Errors so far, those that were not said again included. */
int elab_errors(const Elab *e);
void elab_error(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void elab_note(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void elab_hint(Elab *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
Val elab_trace(Elab *e); /* gives error_value */
/* The same as elab_error, but the program is right as it is. */
void elab_warning(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* error and trace */
Val fail(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void elab_note_tensor(Elab *e, const char *what, Val v); /* "left is f32[3,4], made here" */
const char *source_slice(Elab *e, Loc loc);              /* the text under the caret range */
/* Sets the builder's place and scope for what is built next. */
Builder *at(Elab *e, Loc loc);

/* ---- scope.c: names and frames ---- */
Env *env_new(Elab *e, const Func *f, bool prelude);
/* The item of that name in a list whose n items begin with their names, or n: constant time. What
   lies behind the list's end may be dropped and replaced from one search to the next. */
uint32_t name_find(Elab *e, NameIndex *index, const void *list, uint32_t n, size_t size,
                   const char *name);
#define NAME_FIND(e, index, list, name)                                                            \
  name_find(e, index, (list)->at, (list)->n, sizeof *(list)->at, name)
Binding *env_find(Elab *e, Env *env, const char *name); /* NULL: not a local name */
void env_bind(Elab *e, const char *name, Val v, int global, Loc loc);
void env_drop(Elab *e, Env *env, uint32_t n); /* forgets all but the first n names */
bool name_is_known(Elab *e, const char *name);
Val name_lookup(Elab *e, const char *name, Loc loc);
/* What a call's name stands for; NULL after an error. */
const Func *func_lookup(Elab *e, Ident callee);
Top *top_find(Elab *e, const char *name); /* as seen from the current function */
Val let_value(Elab *e, Top *t);
void unknown_name(Elab *e, const char *kind, const char *name, Loc loc);
/* A frame named `name` below the current one becomes the current one. */
Frame *frame_push(Elab *e, const char *name, Loc call, Env *env, bool prelude);
void frame_pop(Elab *e);
const char *instance_name(Elab *e, const Instance *as); /* "stage.0.1"; NULL after an error */
/* Remembers a call by its instance name; the earlier one of that name in this activation, or NULL.
 */
const Child *frame_reach(Elab *e, Frame *f, Child call);

/* ---- expr.c ---- */
/* Counts one more statement or expression within others; false after an error, where they are too
   many for the stack. The caller takes it back: e->depth--. */
bool elab_deeper(Elab *e, Loc loc);
Val eval(Elab *e, const Expr *x);
/* One value, neither none nor a tuple; error_value after an error. */
Val eval_one(Elab *e, const Expr *x);
/* The error where an `if` asks something else than a bool. */
Val not_a_bool(Elab *e, const Expr *test, Val found);
Val expr_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc);
/* ---- const_eval.c: compile-time arithmetic ---- */
Val number_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc);
Val number_function(Elab *e, OpKind k, Val x, Loc loc); /* VAL_NONE: not defined for numbers */
/* ---- arith.c: tensor arithmetic ---- */
Val tensor_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc);
Val tensor_power(Elab *e, Val l, Val r, Loc loc);
Val tensor_elementwise(Elab *e, OpKind k, Val *v, int n, const char *what, Loc loc);
/* Builds an op after its shape rule; error_value after an error that names `what` and the operands.
 */
Val build_checked(Elab *e, OpKind k, const Val *v, int n, const Attr *attr, const Type *given,
                  const char *what, Loc loc);
/* What a shape rule says without the op's name: the user wrote another word, perhaps. */
const char *without_op(OpKind k, const char *why);
/* ---- matmul.c ---- */
Val tensor_matmul(Elab *e, Val l, Val r, Loc loc);
Val transpose_last(Elab *e, Val v);
/* ---- index.c ---- */
Val expr_index(Elab *e, const Expr *x);
/* ---- type.c: types as written ---- */
/* The type, all dims known; dtype where none is written: dt. NULL after an error. */
const Type *type_eval(Elab *e, const TypeExpr *t, Dtype dt);
typedef struct CallSite CallSite;
/* Checks v against t; a number is good for a type without dims. bind: lone names that mean
   nothing yet are bound to the dims. False after an error about `name`, an argument of the call s
   if that is not NULL. */
bool type_match(Elab *e, const TypeExpr *t, Val *v, bool bind, const char *name, const CallSite *s,
                Loc loc);
/* ---- kind.c: words in the place of types ---- */
/* The same for such a word; v gets the form that it promises, as ints are always a list. */
bool kind_match(Elab *e, const TypeExpr *t, Val *v, const char *name, const CallSite *s, Loc loc);
/* ---- call.c: calls, defs ---- */
struct Actual { /* an argument as it stands in a call */
  Ident name;   /* name.name == NULL: positional */
  Val v;
  Loc loc;
  int global; /* the parameter that an optimizer may assign; else -1 */
};
struct CallSite {
  const Func *f;
  const Actual *arg;
  int n, hidden; /* arguments; how many of them the user did not write */
  Loc loc;
};
typedef struct Bound { /* an argument as the function gets it, by its place in the signature */
  Val v;
  Loc loc;
  int global; /* as in Actual */
  bool given; /* in the call; else its default */
} Bound;
Val expr_call(Elab *e, const Expr *x);
Actual *call_args(Elab *e, const Args *args, int room, bool *ok); /* room: unused places in front */
/* Inlines f in the current frame's env-less frame, which the caller has pushed. */
Val call_def(Elab *e, const CallSite *s);
/* ---- bind.c ---- */
/* What the call gives each parameter, NULL after an error. */
Bound *bind_given(Elab *e, const CallSite *s);
/* The value of a parameter that the call does not give. */
Val bind_default(Elab *e, const CallSite *s, const Param *p);
/* Checks an argument against the type that the parameter has; false after an error. */
bool bind_match(Elab *e, const CallSite *s, const Param *p, Bound *b);
/* Integers one by one where a list of them is taken, as in zeros(8, 4): what to write instead, or
   NULL. */
const char *one_list(Elab *e, const CallSite *s);
/* ---- stmt.c ---- */
enum { MAX_UNROLL = 1 << 17 }; /* iterations and calls of a whole program: more is a mistake */
void exec_body(Elab *e, const Body *b);
bool body_has_minimize(const Body *b);
void bind_name(Elab *e, Ident name, Val v);
/* A bound of a for or scan; false after an error. */
bool loop_bound(Elab *e, const Expr *x, int64_t least, const char *what, int64_t *out);
/* ---- loop/scan.c ---- */
void exec_scan(Elab *e, const Stmt *s);
/* What iterations before this one add to the number of a draw, all loops counted. */
ValueId scan_draws_before(Elab *e, uint32_t key);
/* Inside of a scan: the global's value there, at its first use. */
ValueId scan_read_global(Elab *e, int global, Loc loc);
/* The yield of a loop, through which one comes to what its iterations compute; NULL of other ops.
 */
const Op *scan_end(const Entry *en, const Op *op);
/* A grad of the body is by the value. If that is from outside, the body gets a copy of its own,
   so that what this iteration makes of it is told from what others do. */
void scan_ask(Elab *e, ValueId v);
/* ---- loop/induction.c ---- */
/* In a scan: what is known of an integer in every iteration. */
const IndexRange *index_range_of(Elab *e, ValueId v);
/* Whether it is surely outside of -n to n - 1 once, and the first such value. */
bool index_range_outside(Elab *e, const IndexRange *c, int64_t n, int64_t *which);
/* Whether a statement of the body, at any depth, gives the name a value. */
bool body_assigns(const Body *b, const char *name);
/* ---- loop/invariant_call.c ---- */
/* The arguments as they are outside of all loops: equal where they are the same values there. */
const Actual *scan_origin(Elab *e, const Actual *arg, int n);
/* What a value stands for outside of all loops. */
ValueId scan_outward(Elab *e, ValueId v);
/* Whether the body's unnamed calls are the same in each iteration; false after an error. */
bool scan_repeats(Elab *e, const ScanLevel *l);
/* ---- loop/congruent.c ---- */
/* Where nothing is trained: the unnamed call of f is the one before once more. */
bool calls_congruent(Elab *e, const Child *before, const Func *f, const Actual *arg, int n);
/* ---- variable.c: params, states, hypers ---- */
/* The error that the frame's call would declare the path a second time. */
void global_declared_again(Elab *e, const Frame *f, const char *path);
void declare_variable(Elab *e, const Stmt *s);
void assign_variable(Elab *e, const Stmt *s);
ValueId *global_current(Elab *e, int global); /* NO_ID before the first use */
ValueId global_read(Elab *e, int global, Loc loc);
void global_write(Elab *e, int global, ValueId v);
/* A param, state or optimizer's state of zeros, made at first use. */
int global_zeros(Elab *e, GlobalKind kind, const char *path, const Type *t);
int global_step(Elab *e); /* the counter of training steps, made at first use */
void run_begin(Elab *e, EntryBuilder *r, RunKind kind, const char *name, Loc loc);
void run_store_all(Elab *e, Loc loc); /* at the end of an entry */
RandomKey draw_next(Elab *e);         /* for one more random op here */
/* ---- grad.c ---- */
/* By value: a gradient of the loss can flow to it. */
bool *grad_reach(Elab *e, ValueId loss);
/* A loss is a single float; false after an error. */
bool grad_loss(Elab *e, Val loss, const char *what, Loc loc);
/* ---- loop/grad_dependence.c ---- */
/* The grads in the body of an outermost scan count what the unrolled loop would; else an error. */
void grad_check_scan(Elab *e, const Op *scan);
/* Outside of loops: false after an error, if x was carried and the loss, from which gradients reach
   the values that are set, may depend on it also as another result, or by another name. */
bool grad_check_result(Elab *e, ValueId loss, const bool *reach, ValueId x, Loc loc);
/* ---- minimize.c ---- */
/* What minimize itself takes from the arguments of its optimizer. */
typedef enum MinimizeArg {
  MINIMIZE_CLIP,
  MINIMIZE_ONLY,
  MINIMIZE_ACCUMULATE,
  MINIMIZE_ARGS
} MinimizeArg;
extern const char *const minimize_arg[MINIMIZE_ARGS];
void exec_minimize(Elab *e, const Stmt *s);
/* What a read of a global that is `now` gives: through an update no gradient flows. */
ValueId minimize_read(Elab *e, int global, ValueId now, Loc loc);
/* ---- accumulate.c: e->accumulate is more than 1 ---- */
ValueId accumulate_due(Elab *e, Loc loc); /* bool[]: this run ends in an update */
Val accumulate_step(Elab *e, Loc loc);    /* updates so far */
/* The gradient of the param at path, averaged so far. */
Val accumulate_add(Elab *e, ValueId due, const char *path, Val g, Loc loc);
/* The globals' values as they are; what has been assigned since takes effect where an update is
 * due.
 */
ValueId *accumulate_before(Elab *e);
void accumulate_choose(Elab *e, ValueId due, const ValueId *before, int n, Loc loc);
/* ---- builtin/builtin.c ---- */
typedef struct BuiltinCall { /* one call of a built-in function */
  Elab *e;
  const Builtin *f;
  const char *name;
  Loc loc;
  const Func *signature;
  const Bound *bound; /* the arguments, checked against their kinds */
} BuiltinCall;
/* An argument by its name; VAL_NONE where it is optional and not there. */
Val arg(const BuiltinCall *s, const char *name);
Loc arg_loc(const BuiltinCall *s, const char *name); /* of the call, if it is not given */
bool arg_is_given(const BuiltinCall *s, const char *name);
Val arg_tensor(const BuiltinCall *s, const char *name); /* a number as a constant */
/* The axis of x that an argument names, or the axes, ascending, all for none; false after an error.
 */
bool arg_axis(const BuiltinCall *s, const char *name, Val x, int64_t *out);
bool arg_axes(const BuiltinCall *s, const char *name, Val x, const Ints **out);
typedef Val Handler(BuiltinCall *s);
struct Builtin {
  const char *name, *args;
  Handler *run;
  int data; /* an OpKind or a variant */
  const char *help;
};
void builtins_init(Elab *e);
Val call_builtin(Elab *e, const CallSite *s);
Val convert_call(Elab *e, const CallSite *s);
/* As a user would write them: "x, axis = none". */
const char *signature_text(Ctx *c, const Decl *d);
/* An axis within rank, negative from the end; false after an error. */
bool axis_of(Elab *e, int64_t axis, int rank, Val x, const char *what, Loc loc, int64_t *out);
#endif
