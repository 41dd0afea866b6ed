/* What an editor shows of a program: tells the reader that elaborate() was given what each
   expression and each bound name stood for. Contract: nothing happens where there is no reader. */
#include "lang/elab/elab_impl.h"

static void tell(Elab *e, Loc at, const Type *type, const char *value, int global) {
  const EntryBuilder *run = e->run;
  Seen s = {.at = at,
            .type = type,
            .value = value,
            .entry = run && run->kind == BUILD_ENTRY ? run->entry->name : "",
            .scope = e->frame ? e->frame->path : "",
            .path = global >= 0 ? e->m->globals.at[global].path : NULL};
  e->options->seen(e->options->data, &s);
}

static const Type *type_of(Val v) { return v.kind == VAL_TENSOR ? v.tensor.type : NULL; }

void saw_binding(Elab *e, Loc at, Val v, int global) {
  if (!e->options->seen || !at.line) return;
  if (global >= 0)
    tell(e, at, e->m->globals.at[global].type, type_text(e->c, e->m->globals.at[global].type),
         global);
  else if (v.kind != VAL_ERROR)
    tell(e, at, type_of(v), val_str(e, v), -1);
}

void saw_value(Elab *e, const Expr *x, Val v) {
  if (!e->options->seen || v.kind == VAL_ERROR) return;
  int global = -1;
  if (x->kind == EX_NAME) {
    const Binding *b = env_find(e, e->frame->env, x->name);
    const Top *t = b ? NULL : top_find(e, x->name);
    global = b ? b->global : t && t->decl->kind == DECL_HYPER ? t->global : -1;
  }
  tell(e, x->kind == EX_CALL ? x->call.callee.loc : x->loc, type_of(v), val_str(e, v), global);
}
