/* Calls: types of arguments, binding of arguments to parameters, inlining of defs. */
#ifndef GC_LANG_CALL_H
#define GC_LANG_CALL_H
#include "lang/elab/scope.h"

/* ---- type.c: types as written ---- */
/* The type, all dims known; dtype where none is written: dt. NULL after an error. */
const Type *type_eval(Elab *e, const TypeExpr *t, Dtype dt);
/* Of an entry's input, f32 if not written: `n <= 64` declares an extent. */
const Type *type_of_input(Elab *e, const TypeExpr *t);
typedef struct CallSite CallSite;
/* Checks v against t; a number matches a type without dims. bind: unbound lone names are bound to
   the dims. False after an error about `name`, an argument of the call s if that is not NULL. */
bool type_match(Elab *e, const TypeExpr *t, Val *v, bool bind, const char *name, const CallSite *s,
                Loc loc);
/* ---- kind.c: kinds of arguments ---- */
/* The same for a kind; v is brought to the kind's form: ints, for example, become a list. */
bool kind_match(Elab *e, const TypeExpr *t, Val *v, const char *name, const CallSite *s, Loc loc);
/* ---- call.c: calls, defs ---- */
struct Actual { /* an argument as written in a call */
  Ident name;   /* name.name == NULL: positional */
  Val v;
  Loc loc;
  int global; /* the parameter that an optimizer may assign; else -1 */
};
struct CallSite {
  const Func *f;
  const Actual *arg;
  int n, hidden; /* arguments; those among them that the user did not write */
  Loc loc;
};
typedef struct Bound { /* an argument as the function gets it, in the order of the signature */
  Val v;
  Loc loc;
  int global; /* as in Actual */
  bool given; /* in the call; else its default */
} Bound;
Val expr_call(Elab *e, const Expr *x);
Actual *call_args(Elab *e, const Args *args, int before,
                  bool *ok); /* before: unused items in front */
/* Inlines s->f in the current frame, which the caller has pushed. */
Val call_def(Elab *e, const CallSite *s);
/* ---- logits.c ---- */
/* Warns if the argument of a function that takes logits has been through softmax or sigmoid. */
void check_logits(Elab *e, const char *function, const char *argument, Val v, Loc loc);
/* ---- bind.c ---- */
/* The arguments that the call gives, by parameter; NULL after an error. */
Bound *bind_given(Elab *e, const CallSite *s);
/* The value of a parameter that the call does not give. */
Val bind_default(Elab *e, const CallSite *s, const Param *p);
/* Checks an argument against the type that the parameter has; false after an error. */
bool bind_match(Elab *e, const CallSite *s, const Param *p, Bound *b);
/* The hint for integers one by one in place of a list, as in zeros(8, 4): the correct call, or
 * NULL.
 */
const char *one_list(Elab *e, const CallSite *s);
#endif
