/* Names: declarations, functions, the bindings of one activation, and the frames that make up the
   paths of parameters. */
#ifndef GC_LANG_SCOPE_H
#define GC_LANG_SCOPE_H
#include "ir/support/map.h"
#include "lang/elab/value.h"

typedef struct Builtin Builtin;
typedef struct Frame Frame;

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

/* From a name to its item in a list, for the list's first n items. */
typedef struct NameIndex {
  Map map;
  uint32_t n;
} NameIndex;

/* The yields of a loop. */
typedef struct Yields {
  struct Yields *up;
  int targets;
  VEC(Val) at; /* targets of them an iteration */
  Loc loc;     /* of the last yield */
  bool seen;   /* in this iteration */
} Yields;

typedef struct Env { /* one activation of a function or an entry */
  VEC(Binding) names;
  NameIndex index;    /* of names */
  VEC(Binding) ended; /* bound in a loop that is over: for the hint */
  NameIndex ended_index;
  const Func *func; /* NULL: an entry */
  const Body *body; /* its statements; NULL: there are none */
  bool prelude, returned;
  int scans;         /* open scans of this activation */
  const Frame *loop; /* the frame around the innermost of them */
  Val result;
  Yields *yields;
  VEC(Ident) outputs; /* of an entry */
} Env;

typedef struct Actual Actual;
typedef struct InstanceRecord { /* the first call of an instance name in one activation */
  const char *name;
  Loc loc;
  const Func *func; /* the callee and its arguments */
  const Actual *arg;
  int n;
} InstanceRecord;

struct Frame {
  Frame *up;
  Env *env;         /* of the function; a scope shares it with the frame above */
  const char *path; /* "net.fc1" */
  Loc call;         /* the call that made it; line 0: an entry */
  Loc user;         /* of code of the prelude: the user's call; else line 0 */
  bool scope;       /* no call: scope h[l] {…}, or an instance name of a built-in function */
  bool in_scan;     /* the call stands in the body of a scan */
  bool duplicate; /* an unnamed call: a second one of its name in the frame above, or one that each
                     iteration of a scan makes */
  Loc first_call; /* the first one */
  bool again;     /* an instance name or scope that was reached before, from first_call */
  bool iterated;  /* ... by an earlier iteration of a for */
  bool shared;    /* ... which is meant: it says shared, or has the same arguments */
  struct ScanLevel *in_loop; /* the innermost scan around this unnamed call, NULL: none */
  const Actual *arg;
  int n;
  VEC(InstanceRecord) calls, variables;
  NameIndex call_index, variable_index;
};

typedef enum TopState { TOP_NEW, TOP_BUSY, TOP_DONE } TopState;

struct Top { /* a declaration by name */
  const Decl *decl;
  TopState state;
  Val val;           /* of a let */
  int global;        /* of a hyper */
  bool read;         /* ... which an entry reads */
  Func func;         /* of a def */
  GlobalKind kind;   /* of a state of a tree: what it is like, params or states … */
  const char *below; /* ... at and below this path; NULL: its declaration was wrong */
};

Env *env_new(Elab *e, const Func *f, bool prelude);
/* The item of that name in a list whose n items begin with their names, or n: constant time. The
   list may be cut and grow again between two searches. */
uint32_t name_find(Elab *e, NameIndex *index, const void *list, uint32_t n, size_t size,
                   const char *name);
#define NAME_FIND(e, index, list, name)                                                            \
  name_find(e, index, (list)->at, (list)->n, sizeof *(list)->at, name)
Binding *env_find(Elab *e, Env *env, const char *name); /* NULL: not a local name */
void env_bind(Elab *e, const char *name, Val v, int global, Loc loc);
void env_drop(Elab *e, Env *env, uint32_t n); /* forgets all but the first n names */
bool name_is_known(Elab *e, const char *name);
Val name_lookup(Elab *e, const char *name, Loc loc);
/* The current value of a param, state or hyper. */
Val run_value(Elab *e, int global, Loc loc);
/* The function that a call's name stands for; NULL after an error. */
const Func *func_lookup(Elab *e, Ident callee);
Top *top_find(Elab *e, const char *name); /* as seen from the current function */
Val let_value(Elab *e, Top *t);
/* After an error about the value of a let that -D has given: how it is given. */
bool hint_define(Elab *e, Val v); /* false: no -D gives it */
void unknown_name(Elab *e, const char *kind, const char *name, Loc loc);
/* A frame named `name` below the current one becomes the current one. */
Frame *frame_push(Elab *e, const char *name, Loc call, Env *env, bool prelude);
void frame_pop(Elab *e);
const char *instance_name(Elab *e, const Instance *as); /* "stage.0.1"; NULL after an error */
/* Records a call by its instance name. Returns the earlier one of that name in this activation, or
   NULL. */
const InstanceRecord *instance_lookup(Elab *e, Frame *f, InstanceRecord call);
#endif
