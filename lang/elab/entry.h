/* The entry under construction: its params, states and random numbers. */
#ifndef GC_LANG_ENTRY_H
#define GC_LANG_ENTRY_H
#include "lang/elab/scope.h"

typedef struct ScanLevel ScanLevel;   /* loop/loop.h */
typedef struct IndexRange IndexRange; /* … */

typedef enum BuilderKind { BUILD_ENTRY, BUILD_INIT, BUILD_LET } BuilderKind;

typedef struct KeyCount {
  const char *path;
  uint64_t n;
  const Extent *after; /* a scan over it has drawn: n is that of its bound; or NULL */
} KeyCount;

/* The counter of a random op: its key and draw; in a loop an offset is added to the draw. */
typedef struct RandomKey {
  const char *key;
  int64_t draw;
  ValueId offset; /* i32[], NO_ID outside of loops */
} RandomKey;

typedef struct StoredGlobal {
  int global;
  Loc loc; /* of the last assignment */
  const char *scope;
} StoredGlobal;

/* A param that a minimize of this entry has updated. */
typedef struct Updated {
  int global;
  ValueId value; /* after it; no gradient flows into the update */
  Loc loc;       /* of the minimize */
} Updated;

struct EntryBuilder {
  BuilderKind kind;
  Entry *entry;
  const Decl *inputs_of; /* while its inputs are added: the declaration; else NULL */
  Builder *b;
  bool training;
  VEC(ValueId) current;          /* by global: its value here and now, NO_ID before the first use */
  VEC(StoredGlobal) stored;      /* globals assigned, in order of the first time */
  VEC(uint32_t) stored_at;       /* by global: its index in stored + 1, 0: it is not there */
  VEC(bool) weak_name;           /* by value: its name comes from the prelude */
  struct Congruence *congruence; /* loop/congruent.c; NULL until two calls are compared */
  VEC(KeyCount) keys;            /* random ops so far, by path */
  NameIndex key_index;
  ScanLevel *scan;                /* the innermost open one, or NULL */
  VEC(const IndexRange *) ranges; /* by value, for the first ones */
  VEC(Updated) updated;
  Map declared; /* of an entry that trains: the paths of its params so far */
  bool minimized;
  Loc minimize;      /* of the first one */
  ValueId next_step; /* the step counter's new value; NO_ID without minimize */
  ValueId step_due;  /* bool[]: whether it counts this run; NO_ID: it does */
};

typedef struct GlobalInfo { /* beside module->globals, by index */
  Loc loc;
  const char *init;  /* the initialiser as canonical text */
  const char *entry; /* that declared it first */
  ValueId value;     /* the initial one, of the entry init; NO_ID: a hyper */
} GlobalInfo;

/* ---- initial.c ---- */
/* Evaluates the initialiser into the entry `init`, unless the path is initialised already; *text:
   as text, by which others of the path are compared with it. */
Val initial_value(Elab *e, const Expr *x, const char *path, const Type *type, const char **text);
/* ---- variable.c: params, states, hypers ---- */
/* The error that the frame's call would declare the path a second time. */
void global_declared_again(Elab *e, const Frame *f, const char *path);
/* The name and the turn of `from "h.{l}.weight"'` for a param or state of type t; false after an
   error. */
bool origin_eval(Elab *e, const Origin *o, const Type *t, GlobalOrigin *out);
/* Makes it the global's; warns where another global has it, too. */
void origin_take(Elab *e, int global, const GlobalOrigin *o, Loc loc);
void declare_variable(Elab *e, const Stmt *s);
void assign_variable(Elab *e, const Stmt *s);
ValueId *global_current(Elab *e, int global); /* NO_ID before the first use */
ValueId global_read(Elab *e, int global, Loc loc);
void global_write(Elab *e, int global, ValueId v);
int global_add(Elab *e, GlobalKind kind, const char *path, Val init, const char *text, Loc loc);
/* Assigns to a global after the checks of `:=`: place is the assignment's, loc the value's. */
void global_assign(Elab *e, int global, Val v, Loc place, Loc loc);
/* A param, state or optimizer's state of zeros, made at first use. */
int global_zeros(Elab *e, GlobalKind kind, const char *path, const Type *t);
int global_step(Elab *e); /* the counter of training steps, made at first use */
void elab_begin(Elab *e, EntryBuilder *r, BuilderKind kind, const char *name, Loc loc);
void elab_store_all(Elab *e, Loc loc); /* at the end of an entry */
RandomKey draw_next(Elab *e);          /* for one more random op here */

/* ---- accumulate.c: e->accumulate is more than 1 ---- */
ValueId accumulate_due(Elab *e, Loc loc); /* bool[]: this run ends in an update */
Val accumulate_step(Elab *e, Loc loc);    /* updates so far */
/* The gradient of the param at path, averaged so far. */
Val accumulate_add(Elab *e, ValueId due, const char *path, Val g, Loc loc);
/* The globals' values as they are; what has been assigned since takes effect where an update is
 * due.
 */
ValueId *update_before(Elab *e);
void update_choose(Elab *e, ValueId due, const ValueId *before, int n, Loc loc);
#endif
