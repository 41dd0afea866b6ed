/* What the in-place pass says: which bytes are reused, and why others are not.
   Contract: reads the pass's state, counts what is reused as changes, and makes no text unless
   somebody asked for it. */
#include "passes/plan/inplace_impl.h"

bool inplace_says(const Inplace *w) { return w->r && w->r->opt->remarks & REMARK_INPLACE; }

/* What is reused counts, whether it is said or not. */
static bool says_of_reuse(Inplace *w) {
  if (w->r) w->r->changes++;
  return inplace_says(w);
}

static const char *where(Inplace *w, Loc loc) {
  return loc.line ? arena_printf(w->r->scratch, " at %s", loc_str(w->r->m->ctx, loc)) : "";
}

/* Why nothing may be written over bytes, whatever their lives, as what is said of the value there;
   NULL where they are of the arena and free to take. */
static const char *not_free(Inplace *w, ValueId root) {
  const Place *x = inplace_place(w, root);
  if (x->region == PLAN_INPUTS) return "is an input";
  if (x->region == PLAN_COUNTS) return "is a loop's counter";
  int global = x->region == PLAN_ARENA ? w->kept_global[root] : x->global;
  if (global < 0) return NULL;
  return arena_printf(w->r->scratch, "is kept in @%s", w->r->m->globals.at[global].path);
}

/* The value cannot be computed in the global's bytes, whatever lives: why it is copied there. */
void remark_store_refused(Inplace *w, const Op *store, ValueId v) {
  if (!inplace_says(w)) return;
  ValueId root = inplace_root(w, v);
  const char *why = not_free(w, root);
  if (!why && inplace_is_part(w, v))
    why = arena_printf(w->r->scratch, "is part of %s", value_str(w->e, root));
  remark(w->r, REMARK_INPLACE, "inplace-missed", store->loc, "store to @%s copies: %s %s",
         w->r->m->globals.at[store->attr[AT_GLOBAL].i].path, value_str(w->e, v),
         why ? why : "has another layout");
}

void remark_store_missed(Inplace *w, const Op *store, int global, ValueId head) {
  if (!inplace_says(w)) return;
  ValueId load = w->load_of[global];
  int last = w->last[inplace_root(w, load)];
  const char *path = w->r->m->globals.at[global].path;
  if (last >= w->p->nsteps) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", store->loc,
           "store to @%s copies: its old value %s is returned", path, value_str(w->e, load));
    return;
  }
  const Op *reader = w->p->steps[last];
  const char *why =
      last > inplace_place(w, head)->first ? "is still read by" : "is read elsewhere by";
  remark(w->r, REMARK_INPLACE, "inplace-missed", store->loc,
         "store to @%s copies: its old value %s %s %s%s", path, value_str(w->e, load), why,
         plan_op_name(reader), where(w, reader->loc));
}

void remark_stored(Inplace *w, const Op *store, int global, ValueId v) {
  char buf[32];
  if (!says_of_reuse(w)) return;
  remark(w->r, REMARK_INPLACE, "inplace", store->loc, "%s is computed in the bytes of @%s (%s)",
         value_str(w->e, v), w->r->m->globals.at[global].path,
         plan_commas(buf, inplace_place(w, v)->bytes));
}

void remark_taken(Inplace *w, const Op *op, int operand) {
  char buf[32];
  if (!says_of_reuse(w)) return;
  ValueId v = op->operands[operand];
  remark(w->r, REMARK_INPLACE, "inplace", op->loc, "%s reuses the bytes of %s (%s)",
         plan_op_name(op), value_str(w->e, v), plan_commas(buf, inplace_place(w, v)->bytes));
}

void remark_yield(Inplace *w, const Op *yield, const char *what, ValueId of, ValueId v,
                  bool taken) {
  char buf[32];
  if (!(taken ? says_of_reuse(w) : inplace_says(w))) return;
  if (taken) {
    remark(w->r, REMARK_INPLACE, "inplace", yield->loc, "%s is computed in the bytes of %s %s (%s)",
           value_str(w->e, v), what, value_str(w->e, of),
           plan_commas(buf, inplace_place(w, v)->bytes));
  } else {
    remark(w->r, REMARK_INPLACE, "inplace-missed", yield->loc,
           "%s is copied to %s %s in every iteration", value_str(w->e, v), what,
           value_str(w->e, of));
  }
}

void remark_missed(Inplace *w, const Op *op, int operand) {
  if (!inplace_says(w)) return;
  ValueId v = op->operands[operand], root = inplace_root(w, v);
  const char *name = value_str(w->e, v), *what = plan_op_name(op);
  const char *why = not_free(w, root);
  if (why) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s %s", what, name,
           why);
  } else if (w->last[root] >= w->p->nsteps) {
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s is returned", what,
           name);
  } else {
    const Op *reader = w->p->steps[w->last[root]];
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc,
           "%s not in place: %s is read again by %s%s", what, name, plan_op_name(reader),
           where(w, reader->loc));
  }
}

/* No operand's bytes would have done, whatever its life: why. The best reason is the one of an
   operand that has as many bytes as the result. */
void remark_never(Inplace *w, int step, const Op *op, int result) {
  uint64_t bytes = inplace_place(w, op->results[result])->bytes;
  const char *what = plan_op_name(op);
  char buf[32];
  if (!inplace_says(w)) return;
  for (int i = 0; i < op->noperands; i++) {
    ValueId v = op->operands[i], root = inplace_root(w, v);
    const char *why = op_inplace_refusal(w->t, w->e, op, result, i);
    if (inplace_place(w, root)->bytes != bytes) continue;
    if (!why && w->taken[root] == step) why = "was taken for another result";
    if (!why) continue; /* another operand has its bytes, too, and must not be written over */
    remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc, "%s not in place: %s %s", what,
           value_str(w->e, v), why);
    return;
  }
  remark(w->r, REMARK_INPLACE, "inplace-missed", op->loc,
         "%s not in place: no operand has as many bytes as %s (%s)", what,
         value_str(w->e, op->results[result]), plan_commas(buf, bytes));
}
