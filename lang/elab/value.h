/* The value of an expression during elaboration: a number, a list, a function, or a tensor of the
   entry under construction.
   Contract: VAL_ERROR follows a reported error; expressions that depend on it report nothing. */
#ifndef GC_LANG_VALUE_H
#define GC_LANG_VALUE_H
#include "ir/ir.h"
#include "lang/syntax/ast.h"

typedef struct Elab Elab;
typedef struct EntryBuilder EntryBuilder;
typedef struct Func Func;
typedef struct ValList ValList;
typedef struct TreeKeys TreeKeys;
typedef struct Top Top;

typedef enum ValKind {
  VAL_ERROR,  /* an error was reported */
  VAL_NONE,   /* none: an optional argument that is missing */
  VAL_VOID,   /* of a function without return; no expression may use it */
  VAL_INT,    /* i: exact */
  VAL_NUM,    /* f */
  VAL_BOOL,   /* b */
  VAL_EXTENT, /* extent: a number that is known only when the program runs */
  VAL_STR,    /* str */
  VAL_DTYPE,  /* dtype */
  VAL_LIST,   /* list */
  VAL_TUPLE,  /* list: the several results of a call */
  VAL_TREE,   /* list: a value for each of its paths */
  VAL_FUNC,   /* func */
  VAL_TENSOR  /* tensor */
} ValKind;

typedef struct Val {
  ValKind kind;
  Loc loc; /* of its definition, for the notes of a shape error */
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
      const char *path;        /* of the param or state whose value it is; else NULL */
    } tensor;
    struct {
      int64_t axis; /* as type_get takes it, where it is a multiple of one extent; else 0 */
      ValueId id;   /* else: an i64[] of the entry, or an f64[] if it is real */
      bool real;
    } extent;
  };
} Val;

struct ValList {
  int n;
  Val *at;
  int capacity;         /* capacity of at */
  int *used;            /* elements that some list has; lists that share `at` share it */
  const TreeKeys *keys; /* of a tree; else NULL */
};

struct TreeKeys {
  const char **path; /* of each value, ascending, interned */
  const Top *state;  /* the declaration whose states the values are; else NULL */
};

static const Val error_value = {.kind = VAL_ERROR};

static inline bool val_is_number(Val v) { return v.kind == VAL_INT || v.kind == VAL_NUM; }
static inline double val_number(Val v) { return v.kind == VAL_INT ? (double)v.i : v.f; }
static inline Val val_int(int64_t i, Loc loc) { return (Val){.kind = VAL_INT, .loc = loc, .i = i}; }
static inline Val val_num(double f, Loc loc) { return (Val){.kind = VAL_NUM, .loc = loc, .f = f}; }
static inline Val val_bool(bool b, Loc loc) { return (Val){.kind = VAL_BOOL, .loc = loc, .b = b}; }
Val val_list(Elab *e, ValKind kind, const Val *at, int n, Loc loc);
/* The kinds with a list. */
static inline bool val_has_items(Val v) {
  return v.kind == VAL_LIST || v.kind == VAL_TUPLE || v.kind == VAL_TREE;
}
/* As many other values in the place of v's: a list, a tuple or a tree of the same paths. */
Val val_with_items(Elab *e, Val v, const Val *at);
Val val_joined(Elab *e, const ValList *a, const ValList *b, Loc loc); /* a, then b */
Val val_ints(Elab *e, const int64_t *at, int n, Loc loc);
Val val_tensor(Elab *e, ValueId id); /* of the current run, made where the builder stands */
/* For messages: "f32[64,10]", "the number 3", "a list of 2"; interned. */
const char *val_str(Elab *e, Val v);
/* The value as canonical text, equal if and only if the values are: "3", "[1, 2]", "relu". */
const char *val_canon(Elab *e, Val v);
bool val_equal(Elab *e, Val a, Val b); /* compile-time values */

/* The value as a tensor: a number becomes a constant f32[] or i32[]. error_value after an error
   that names `what`. */
Val val_to_tensor(Elab *e, Val v, const char *what, Loc loc);
/* A compile-time number or bool as a constant of type t; error_value after an error where it does
 * not fit. */
bool val_int_fits(int64_t i, Dtype dt); /* an integer dtype holds it */
Val val_to_const(Elab *e, Val v, const Type *t, Loc loc);
/* A number or bool as an element of a tensor of that type, not rounded; false after an error. */
bool val_to_element(Elab *e, Val v, const Type *t, Loc loc, Attr *out);
Val val_convert(Elab *e, Val v, Dtype dt); /* a tensor */
/* ---- extent.c: VAL_EXTENT ---- */
Val val_dim(int64_t axis, Loc loc); /* a dim of a type: a number or an extent */
/* The number as a tensor of type t; error_value after an error where it does not fit. */
Val extent_tensor(Elab *e, Val v, const Type *t, Loc loc);
/* One of the operands is an extent, the other one a number or an extent. */
Val extent_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc);
Val extent_function(Elab *e, OpKind k, Val v, Loc loc);
Val extent_best(Elab *e, OpKind k, Val a, Val b, Loc loc); /* OP_MIN, OP_MAX */
Val extent_convert(Elab *e, Val v, Dtype dt, Loc loc);     /* f32(n) */
const char *extent_str(Elab *e, Val v);                    /* for messages */
/* x is `n <= 64`: binds n, and gives its axis, or -1 after an error. False: it is something else.
 */
bool extent_declared(Elab *e, const Expr *x, int64_t *axis);
/* The dim `n <= 64` of the entry whose inputs are being added, also behind the input at hand; NULL:
   none declares that name. */
const Expr *extent_of_inputs(Elab *e, const char *name);
/* ---- */
/* The hint after an error that v is not a compile-time value: that it comes from a hyper, if so;
   else the hint given, which may be NULL. */
void val_hint_known(Elab *e, Val v, const char *hint);
/* False after the error that a run-time value cannot be what is needed; hint: or NULL. */
bool val_is_known(Elab *e, Val v, const char *what, const char *hint, Loc loc);
/* A compile-time integer of at least `least`; false after an error. */
bool val_to_int(Elab *e, Val v, int64_t min, const char *what, Loc loc, int64_t *out);
/* The dims of a new tensor, as type_get takes them: extents, too; NULL after an error. */
const Ints *val_to_dims(Elab *e, Val v, const char *what, Loc loc);
/* A list of them, or one alone; the result is interned; NULL after an error. */
const Ints *val_to_ints(Elab *e, Val v, int64_t min, const char *what, Loc loc);
#endif
