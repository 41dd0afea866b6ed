/* `grad(L, x)`: the gradient of a scalar, as one op that the pass autodiff expands.
   Contract: in the body of a scan a gradient counts what the iteration itself computes. That is
   what the unrolled loop would count, or it is an error: when the outermost scan is read, ways from
   x to L through earlier iterations or past the loop are looked for. */
#include "lang/elab_builtin.h"

/* The yield of a loop: through it one comes to what its iterations compute. */
static const Op *body_end(const Entry *en, const Op *op) {
  if (op->kind != OP_SCAN) return NULL;
  const Block *b = op->blocks[0];
  return op_at(en, b->ops.at[b->ops.n - 1]);
}

static bool is_inside(const Entry *en, ValueId v, const Block *body) {
  const Block *b = value_block(en, v);
  while (b && b != body) b = b->op ? b->op->parent : NULL;
  return b != NULL;
}

/* A walk against the flow of gradients. */
typedef struct Walk {
  Elab *e;
  bool *seen; /* by value */
  VEC(ValueId) todo;
  const Block *body; /* stops where its iteration does not compute a value; NULL: nowhere */
  ValueId stop;      /* stops here as well; NO_ID: nowhere */
} Walk;

static Walk walk_new(Elab *e, const Block *body, ValueId stop) {
  return (Walk){
      .e = e, .seen = ARENA_ARRAY(e->a, bool, e->run->entry->values.n), .body = body, .stop = stop};
}

static void walk_to(Walk *w, ValueId v) {
  if (w->seen[v] || !dtype_is_float(value_type(w->e->run->entry, v)->dtype)) return;
  w->seen[v] = true;
  vec_push(w->e->a, &w->todo, v);
}

/* What an argument of a loop's block is at first and later. */
static void walk_around(Walk *w, ValueId arg) {
  const Entry *en = w->e->run->entry;
  const Block *b = value_block(en, arg);
  int k = (int)value_at(en, arg)->index - 1; /* the counter is the first argument */
  if (b->op && k >= 0) {
    walk_to(w, b->op->operands[k]);
    if (k < (int)b->op->attr[AT_CARRIES].i) walk_to(w, body_end(en, b->op)->operands[k]);
  } else if (!b->op) {
    ValueId outer = scan_stands_for(w->e, arg); /* the loop is being read */
    if (outer != NO_ID) walk_to(w, outer);
  }
}

static void walk(Walk *w) {
  const Entry *en = w->e->run->entry;
  while (w->todo.n > 0) {
    ValueId v = w->todo.at[--w->todo.n];
    if (v == w->stop || (w->body && !is_inside(en, v, w->body))) continue;
    const Op *op = value_def(en, v);
    if (!op) {
      if (!w->body || value_block(en, v) != w->body) walk_around(w, v);
      continue;
    }
    if (!op_info[op->kind].grad && op->kind != OP_GRAD) continue;
    for (const Op *o = op; o; o = body_end(en, o))
      for (int i = 0; i < o->noperands; i++) walk_to(w, o->operands[i]);
  }
}

bool *grad_reach(Elab *e, ValueId loss) {
  Walk w = walk_new(e, NULL, NO_ID);
  walk_to(&w, loss);
  walk(&w);
  return w.seen;
}

bool grad_loss(Elab *e, Val loss, const char *what, Loc loc) {
  if (loss.kind == VAL_POISON) return false;
  if (loss.kind == VAL_TENSOR && loss.tensor.type->rank == 0 &&
      dtype_is_float(loss.tensor.type->dtype))
    return true;
  elab_error(e, loc, "%s needs a single float, found %s", what, val_str(e, loss));
  if (loss.kind == VAL_TENSOR) {
    elab_note_tensor(e, "it", loss);
    if (dtype_is_float(loss.tensor.type->dtype)) elab_hint(e, "take the mean or sum: mean(loss)");
  }
  elab_trace(e);
  return false;
}

/* ---- in the body of a scan ---- */

/* By value: what the loss reads that the iteration does not compute. */
static bool *leaves(Elab *e, const Op *grad, ValueId x) {
  const Entry *en = e->run->entry;
  const Block *body = grad->parent;
  Walk w = walk_new(e, body, x);
  walk_to(&w, grad->operands[0]);
  walk(&w);
  for (ValueId v = 0; v < en->values.n; v++) {
    bool carry = !value_def(en, v) && value_block(en, v) == body;
    if (v == x || (is_inside(en, v, body) && !carry)) w.seen[v] = false;
  }
  return w.seen;
}

/* x, which the loop carries: a way from what it was made of to the leaf. Equal constants are not
   one and the same. */
static bool older_carry(Elab *e, const Block *body, ValueId x, ValueId leaf) {
  const Entry *en = e->run->entry;
  const Op *scan = body->op, *yield = body_end(en, scan);
  uint32_t at = value_at(en, x)->index - 1;
  if (value_block(en, leaf) == body) { /* carried as well */
    uint32_t k = value_at(en, leaf)->index - 1;
    Walk same = walk_new(e, body, NO_ID); /* of the iteration before */
    walk_to(&same, yield->operands[k]);
    walk(&same);
    if (same.seen[yield->operands[at]]) return true;
    leaf = scan->operands[k];
  }
  const Op *made = value_def(en, scan->operands[at]);
  if (made && op_info[made->kind].cls == CLASS_LEAF) return false;
  return grad_reach(e, leaf)[scan->operands[at]];
}

static const char *quoted(Elab *e, ValueId v, const char *otherwise) {
  const char *name = value_at(e->run->entry, v)->name;
  return name ? intern_printf(e->c, "'%s'", name) : otherwise;
}

static void older(Elab *e, const Op *grad, ValueId x, ValueId leaf, bool same) {
  const char *name = value_at(e->run->entry, leaf)->name;
  elab_error(e, grad->loc,
             "grad in a scan counts what the iteration computes: the loss depends on %s also by "
             "way of %s, which is older",
             quoted(e, x, "it"),
             same ? "its value under another name" : quoted(e, leaf, "a value"));
  elab_hint(e, "stop_gradient(%s) leaves that way out; a for, which is unrolled, counts it",
            name && !same ? name : "…");
  elab_trace(e);
}

static void check_by(Elab *e, const Op *grad, ValueId x) {
  const Entry *en = e->run->entry;
  const Op *copy = value_def(en, x);
  if (copy && copy->kind != OP_COPY) return; /* this iteration makes x: nothing older knows it */
  ValueId from = x;
  for (const Op *o = copy; o && o->kind == OP_COPY; o = value_def(en, from)) from = o->operands[0];
  const bool *leaf = leaves(e, grad, x);
  for (ValueId v = 0; v < en->values.n; v++) {
    if (!leaf[v]) continue;
    if (copy ? !grad_reach(e, v)[from] : !older_carry(e, grad->parent, x, v)) continue;
    older(e, grad, x, v,
          v == (copy ? from : grad->parent->op->operands[value_at(en, x)->index - 1]));
    return;
  }
}

void grad_check_scan(Elab *e, const Op *scan) {
  const Block *b = scan->blocks[0];
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e->run->entry, b->ops.at[i]);
    for (int k = 1; op->kind == OP_GRAD && k < op->noperands; k++) check_by(e, op, op->operands[k]);
    if (op->kind == OP_SCAN) grad_check_scan(e, op);
  }
}

/* ---- behind a scan ---- */

/* Results of one scan are apart, though its last iteration may have made one of another. x is
   carried: a result that the loss depends on and that is made of it there is an error. */
static bool check_result(Elab *e, ValueId loss, ValueId x, Loc loc) {
  const Entry *en = e->run->entry;
  const Op *scan = value_def(en, x);
  int at = (int)value_at(en, x)->index;
  if (!scan || scan->kind != OP_SCAN || at >= (int)scan->attr[AT_CARRIES].i) return true;
  const Op *yield = body_end(en, scan);
  Walk w = walk_new(e, NULL, x);
  walk_to(&w, loss);
  walk(&w);
  for (int k = 0; k < scan->nresults; k++) {
    ValueId other = scan->results[k];
    if (k == at || !w.seen[other]) continue;
    Walk last = walk_new(e, scan->blocks[0], NO_ID);
    walk_to(&last, yield->operands[k]);
    walk(&last);
    if (!last.seen[yield->operands[at]]) continue;
    const char *name = value_at(en, other)->name;
    elab_error(e, loc,
               "grad counts what follows a scan: the loss depends on %s also by way of %s, which "
               "the last iteration made of it",
               quoted(e, x, "what is carried"), quoted(e, other, "what is yielded"));
    elab_hint(e, "stop_gradient(%s) leaves that way out; a for, which is unrolled, counts it",
              name ? name : "…");
    (void)elab_trace(e);
    return false;
  }
  return true;
}

/* ---- the function ---- */

Val builtin_grad(Site *s) {
  Elab *e = s->e;
  Val loss = s->v[0], list = s->v[1];
  bool many = list.kind == VAL_LIST;
  if (!grad_loss(e, loss, "grad", s->at[0])) return poison;
  if (!many) list = val_list(e, VAL_LIST, &s->v[1], 1, s->at[1]);
  int n = list.list->n, k = 0;
  if (n == 0) return fail(e, s->at[1], "grad needs at least one value to differentiate by");
  ValueId *operand = ARENA_ARRAY(e->a, ValueId, n + 1);
  const Type **types = ARENA_ARRAY(e->a, const Type *, n + 1);
  const bool *seen = grad_reach(e, loss.tensor.id);
  bool *reach = ARENA_ARRAY(e->a, bool, n);
  operand[0] = loss.tensor.id;
  for (int i = 0; i < n; i++) {
    Val x = list.list->at[i];
    if (x.kind == VAL_POISON) return poison;
    if (x.kind != VAL_TENSOR || !dtype_is_float(x.tensor.type->dtype))
      return fail(e, s->at[1], "grad differentiates by float tensors, not by %s", val_str(e, x));
    /* by whatever name, in whatever loop: what is no way of this iteration is an error later */
    for (ValueId v = x.tensor.id; v != NO_ID; v = scan_stands_for(e, v)) reach[i] |= seen[v];
    if (reach[i] && !check_result(e, loss.tensor.id, x.tensor.id, s->loc)) return poison;
    if (reach[i]) {
      scan_ask(e, x.tensor.id);
      types[k] = x.tensor.type;
      operand[++k] = x.tensor.id;
    } else {
      diag(e->c, SEV_WARNING, e->frame->user.line ? e->frame->user : s->at[1],
           "the first argument does not depend on this%s: its gradient is zero",
           many ? intern_printf(e->c, " (number %d of the list)", i + 1) : "");
    }
  }
  const Op *op = k ? build_op(at(e, s->loc), OP_GRAD, operand, k + 1, NULL, types, k) : NULL;
  Val *out = ARENA_ARRAY(e->a, Val, n);
  k = 0;
  at(e, s->loc);
  for (int i = 0; i < n; i++) {
    Val x = list.list->at[i];
    out[i] = reach[i] ? val_tensor(e, op->results[k++])
                      : val_to_const(e, val_int(0, s->loc), x.tensor.type, s->loc);
  }
  return many ? val_list(e, VAL_LIST, out, n, s->loc) : out[0];
}
