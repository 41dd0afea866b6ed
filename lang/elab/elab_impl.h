/* The state of the elaboration, and its functions for expressions and statements. Values, names,
   entries, calls, loops and built-in functions have headers of their own. */
#ifndef GC_LANG_ELAB_IMPL_H
#define GC_LANG_ELAB_IMPL_H
#include "lang/elab/call.h"
#include "lang/elab/elab.h"
#include "lang/elab/entry.h"
#include "runtime/base/paths.h"

typedef struct Reported { /* an error or warning: one message at one location */
  const char *fmt;
  Loc loc;
} Reported;

/* An open block of with. */
typedef struct With {
  struct With *up;
  Val tree;
  const ScanLevel *scan; /* the scan around the block, NULL: none */
  bool read;             /* a call inside has read a leaf */
} With;

/* params(PATH) or states(PATH), to be compared with all params of the program in the end. */
typedef struct TreeUse {
  GlobalKind kind;
  const char *below;
  int n; /* its leaves */
} TreeUse;

struct Elab {
  Ctx *c;
  Arena *a;
  Module *m;
  const Program *program;
  const ElabOptions *options;
  VEC(Top *) user, prelude; /* declarations */
  Map user_by_name, prelude_by_name;
  uint16_t prelude_first, prelude_last; /* of its files, added one behind the other */
  VEC(const Func *) builtins;           /* in the order of builtins.def */
  Map builtin_by_name;
  VEC(GlobalInfo) info;
  EntryBuilder *run, init, let;
  Frame *frame;
  const Ints *init_shape;     /* inside an initialiser: the declared shape; else NULL */
  Dtype init_dtype;           /* ... and dtype */
  int64_t accumulate;         /* inside a minimize: runs that an update takes; else 0 */
  const char *optimizer_path; /* inside an optimizer: the path of its param; else NULL */
  int optimizer_param;        /* ... and the param itself */
  With *with;                 /* the innermost open block, or NULL */
  VEC(TreeUse) tree_uses;
  /* Until the trees are known, blocks of with are read leniently: floats mix, and a tree without
     leaves is no error. The pass that is kept is strict. */
  bool strict, lenient; /* lenient: this pass has read such a block */
  int lenient_blocks;   /* open ones */
  bool of_define;       /* inside the value of a -D, which is for compile time */
  bool callers_fault;   /* errors are about an argument: the trace leaves the call out */
  bool muted;           /* the last error was a repetition: its notes are not printed either */
  int64_t unrolled;     /* iterations of all loops and inlined calls so far */
  int depth;            /* of statements and expressions being evaluated */
  int repeated;         /* errors that were not printed, since the same one had been */
  VEC(Reported) reported;
  HashIndex reported_index;
};

/* ---- diag.c: errors with the path of calls ---- */
/* Reports at loc; an error inside the prelude is reported at the user's call. The same message at
   the same location is printed once. Notes and hints follow, then elab_trace prints the calls that
   led there. */
/* Errors so far, those that were not printed again included. */
int elab_errors(const Elab *e);
void elab_error(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void elab_note(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void elab_hint(Elab *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
Val elab_trace(Elab *e); /* gives error_value */
/* The same as elab_error, but the program is right as it is. */
void elab_warning(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* error and trace */
Val elab_fail(Elab *e, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void elab_note_tensor(Elab *e, const char *what, Val v); /* "left is f32[3,4], made here" */
const char *source_slice(Elab *e, Loc loc);              /* the text under the caret range */
/* Sets the builder's location and scope for the ops built next. */
Builder *elab_at(Elab *e, Loc loc);
/* ---- expr.c ---- */
/* Counts one more statement or expression within others; false after an error, where they are too
   many for the stack. The caller takes it back: e->depth--. */
bool elab_deeper(Elab *e, Loc loc);
Val elab_eval(Elab *e, const Expr *x);
/* One value, neither none nor a tuple; error_value after an error. */
Val elab_eval_one(Elab *e, const Expr *x);
/* A string with what its braces stand for; NULL after an error. */
const char *string_eval(Elab *e, const char *bytes, Loc loc);
/* The error if the test of an `if` is not a bool; trains: what it guards is a step of training. */
Val not_a_bool(Elab *e, const Expr *test, Val found, bool trains, const char *choice);
Val expr_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc);
/* ---- seen.c: for ElabOptions.seen ---- */
void saw_value(Elab *e, const Expr *x, Val v);
/* A name is bound at its place: to a value, or if global >= 0 to that param, state or hyper. */
void saw_binding(Elab *e, Loc at, Val v, int global);
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
/* A shape rule's reason without the op's name: the user may have written another word. */
const char *without_op(OpKind k, const char *why);
/* The common dtype of two tensors; false if they have none, which the hint then explains. */
bool common_dtype(const Elab *e, Dtype a, Dtype b, Dtype *out);
void hint_mixed(Elab *e, Val l, Val r);
/* After an error of op k's shape rule: the hint of mixed dtypes, if operands of one dtype would do.
 */
void hint_of_one_dtype(Elab *e, OpKind k, const Val *v, int n, const Attr *attr, const Type *given);
/* The hint after an error about a list in the place of a tensor; none for another value. In
   builtin/constant.c. */
void hint_list(Elab *e, Val v);
/* ---- matmul.c ---- */
Val tensor_matmul(Elab *e, Val l, Val r, Loc loc);
Val transpose_last(Elab *e, Val v);
/* ---- index.c ---- */
Val expr_index(Elab *e, const Expr *x);
/* ---- stmt.c ---- */
enum { MAX_UNROLL = 1 << 17 }; /* iterations and calls of a whole program: more is a mistake */
void exec_body(Elab *e, const Body *b);
bool body_has_minimize(const Body *b);
void bind_name(Elab *e, Ident name, Val v);
/* The name of a value that nothing reads: it is bound to nothing, and may stand twice on the left.
 */
static inline bool is_discard(const char *name) { return strcmp(name, "_") == 0; }
/* A bound of a for or scan; false after an error. */
/* unrolled: a for, for which a scan may stand */
bool loop_bound(Elab *e, const Expr *x, bool unrolled, int64_t min, const char *what, int64_t *out);
/* ---- tree.c: trees of params and states ---- */
/* Floats may mix here, since a param may have another dtype in the end. */
bool is_lenient(const Elab *e);
/* The current value of `state NAME = like …`. */
Val tree_of_state(Elab *e, Top *t, Loc loc);
void declare_tree_state(Elab *e, Top *t);
/* The results of a function of each leaf of v as a tree; error_value where one of them is. */
Val tree_of_leaves(Elab *e, Val v, const Val *leaf, Loc loc);
/* False after the error that names the first path that only one of two trees has. */
bool trees_agree(Elab *e, Val a, Val b, const char *what, Loc loc);
Val tree_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc);
Val tree_index(Elab *e, Val tree, const Expr *x); /* tree["net.fc1"] */
void tree_assign(Elab *e, Top *t, Val v, Loc loc);
void exec_with(Elab *e, const Stmt *s);
bool tree_replaces(Elab *e, const char *path); /* a with around has a leaf for the param */
/* Binds the name of a declaration to the leaf that replaces it, if there is one. */
void tree_bind(Elab *e, Ident name, int global);
bool trees_are_whole(const Elab *e); /* at the end: every tree had all params of its path */
/* ---- grad.c ---- */
/* By value: a gradient of the loss can flow to it. */
bool *grad_reach(Elab *e, ValueId loss);
/* A loss is a single float; false after an error. */
bool grad_loss(Elab *e, Val loss, const char *what, Loc loc);
/* ---- untrained.c ---- */
/* Warns of a net that entries read at a path where none trains it. */
void check_untrained(Elab *e);
/* ---- minimize.c ---- */
/* What minimize and update take themselves: `clip = 1` after the optimizers. The first ones may
   also stand among an optimizer's arguments. */
typedef enum TrainClause {
  TRAIN_CLIP,
  TRAIN_ONLY,
  TRAIN_ACCUMULATE,
  TRAIN_AMONG_ARGS,
  TRAIN_IF = TRAIN_AMONG_ARGS,
  TRAIN_BY,
  TRAIN_CLAUSES
} TrainClause;
extern const char *const train_clause[TRAIN_CLAUSES];
void exec_train(Elab *e, const Stmt *s); /* minimize and update */
/* The value that a read of a global gives, whose current value is `now`: no gradient flows through
   an update. */
ValueId minimize_read(Elab *e, int global, ValueId now, Loc loc);
#endif
