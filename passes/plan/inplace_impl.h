/* The in-place pass's state, and what it says of it. */
#ifndef GC_PASSES_INPLACE_IMPL_H
#define GC_PASSES_INPLACE_IMPL_H
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

typedef struct Inplace {
  const Entry *e;
  const Target *t;
  Plan *p;
  const GlobalsPlan *g;
  PassRun *r;       /* for remarks; NULL: silent */
  ValueId *parent;  /* union-find over values that share bytes; the root is the first of them */
  int *last;        /* by root: the last step that reads the bytes; nsteps: they are kept */
  int *kept_global; /* by root: the global whose bytes they are from now on, or -1 */
  int *taken;       /* by root: the last step at which a result took the bytes, or -1 */
  ValueId *load_of; /* by global: the value of its load, or NO_ID */
  int *carry_last;  /* by value, of carries: the last step that reads it, views included */
} Inplace;

/* The first of the values that share the bytes of v. */
ValueId inplace_root(Inplace *w, ValueId v);
/* The value is some rows of what lies there. */
bool inplace_is_part(Inplace *w, ValueId v);
static inline Place *inplace_place(Inplace *w, ValueId v) { return &w->p->place[v]; }

/* ---- inplace_remarks.c ---- */
/* Somebody asked for them. */
bool inplace_says(const Inplace *w);
/* The value cannot be computed in the global's bytes, whatever lives: why it is copied there. */
void remark_store_refused(Inplace *w, const Op *store, ValueId v);
/* An op still reads the global's old value. */
void remark_store_missed(Inplace *w, const Op *store, int global, ValueId head);
void remark_stored(Inplace *w, const Op *store, int global, ValueId v);
void remark_taken(Inplace *w, const Op *op, int operand);
/* taken: v is computed in the carry or in its slice of the stack, which `what` says; else it is
 * copied. */
void remark_yield(Inplace *w, const Op *yield, const char *what, ValueId of, ValueId v, bool taken);
/* The operand's bytes would do, but for its life. */
void remark_missed(Inplace *w, const Op *op, int operand);
/* No operand's bytes would do, whatever its life. */
void remark_never(Inplace *w, int step, const Op *op, int result);
#endif
