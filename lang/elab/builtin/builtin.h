/* The handlers of builtins.def. A handler gets its arguments by name, checked against their kinds:
   arg(s, "axis"). */
#ifndef GC_LANG_ELAB_BUILTIN_H
#define GC_LANG_ELAB_BUILTIN_H
#include "lang/elab/elab_impl.h"

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
/* The op whose operands are the two arguments, in their order. */
Val op_of_arguments(BuiltinCall *s, OpKind k);
/* The type of the argument `shape`, or of an initialiser's parameter; NULL after an error. */
const Type *type_of_shape(BuiltinCall *s, const char *shape, Dtype dt);
/* max or min of two values, numbers or tensors. */
Val min_or_max(Elab *e, OpKind k, Val a, Val b, const char *what, Loc loc);
/* The sum of the squares of all elements of n tensors: in f32, of f64 in f64. In reduce.c. */
Val sum_of_squares(Elab *e, const Val *x, int n, Loc loc);
typedef Val Handler(BuiltinCall *s);
struct Builtin {
  const char *name, *args;
  Handler *run;
  int data; /* an OpKind or a variant */
  const char *help;
};
/* All rows as one program of defs without a body, in the same order. */
const Program *builtin_signatures(Ctx *c);
void builtins_init(Elab *e, const Program *signatures);
Val call_builtin(Elab *e, const CallSite *s);
Val convert_call(Elab *e, const CallSite *s);
/* A number that is known at compile time as one of the dtype: an integer, a float or a bool. */
Val number_as(Elab *e, Val v, Dtype dt, Loc loc);
/* A tensor of the numbers of a list, which may have lists in it; in constant.c. */
Val tensor_of_list(Elab *e, Val list, Dtype dt, Loc loc);
/* As a user would write them: "x, axis = none". */
const char *signature_text(Ctx *c, const Decl *d);
/* An axis within rank, negative from the end; false after an error. */
bool axis_of(Elab *e, int64_t axis, int rank, Val x, const char *what, Loc loc, int64_t *out);

#define BUILTIN(NAME, ARGS, HANDLER, ...) Handler HANDLER;
#include "lang/elab/builtin/builtins.def"
#undef BUILTIN

/* x with this axis and the last one exchanged; x itself for the last. In sort.c. */
ValueId swap_last(Elab *e, ValueId x, int64_t axis);
#endif
