/* Training in an entry: the recipe of a minimize or update (recipe.c), the update of params by
   their gradients (update.c), and the two statements (minimize.c). */
#ifndef GC_LANG_TRAIN_H
#define GC_LANG_TRAIN_H
#include "lang/elab/builtin/builtin.h"

typedef struct Trained { /* a param that a statement trains */
  int global;
  const char *path;
  ValueId value; /* what the loss read */
  Val g;
} Trained;
typedef struct Choice { /* an optimizer with its arguments */
  const Func *f;
  const Expr *x;
  const Expr *condition; /* NULL: for all params */
  Actual *arg;           /* p and g, then n from the user */
  int n;
} Choice;
typedef struct Training {
  Choice *opt;
  int n;
  bool update;                  /* else minimize */
  Actual clause[TRAIN_CLAUSES]; /* VAL_NONE: not given */
} Training;

static inline const char *train_keyword(const Stmt *s) {
  return s->kind == ST_TRAIN ? "update" : "minimize";
}

/* ---- recipe.c ---- */
/* The optimizers and clauses of a minimize or update. False after an error. */
bool read_recipe(Elab *e, const Stmt *s, Training *t);
/* ---- update.c ---- */
/* The update of the params by their gradients. */
void update_by_gradients(Elab *e, const Stmt *s, const Training *t, Trained *p, int count);
#endif
