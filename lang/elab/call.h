/* Calls: the types of arguments, which argument each parameter gets, the bodies of defs. */
#ifndef GC_LANG_CALL_H
#define GC_LANG_CALL_H
#include "lang/elab/scope.h"

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
#endif
