/* `grad(L, x)`: the gradient of a scalar, as one op that the pass autodiff expands. In the body of
   a scan the op is built whether or not L depends on x, since the carries are known only at the
   body's end; loop/grad_dependence.c then checks the dependence. */
#include "lang/elab/builtin/builtin.h"
#include "lang/elab/loop/loop.h"

bool *grad_reach(Elab *e, ValueId loss) {
  const Entry *en = e->run->entry;
  bool *seen = ARENA_ARRAY(e->a, bool, en->values.n);
  VEC(ValueId) todo = {0};
  seen[loss] = true;
  vec_push(e->a, &todo, loss);
  while (todo.n > 0) {
    const Op *op = value_def(en, todo.at[--todo.n]);
    if (!op || (!op_info[op->kind].grad && op->kind != OP_GRAD)) continue;
    for (const Op *o = op; o; o = scan_end(en, o))
      for (int i = 0; i < o->noperands; i++) {
        ValueId v = o->operands[i];
        if (seen[v] || !dtype_is_float(value_type(en, v)->dtype)) continue;
        seen[v] = true;
        vec_push(e->a, &todo, v);
      }
  }
  return seen;
}

bool grad_loss(Elab *e, Val loss, const char *what, Loc loc) {
  if (loss.kind == VAL_ERROR) return false;
  if (loss.kind == VAL_TENSOR && loss.tensor.type->rank == 0 &&
      dtype_is_float(loss.tensor.type->dtype))
    return true;
  elab_error(e, loc, "%s needs a single float, found %s", what, val_str(e, loss));
  if (loss.kind == VAL_TENSOR) {
    elab_note_tensor(e, "it", loss);
    if (dtype_is_float(loss.tensor.type->dtype)) elab_hint(e, "take the mean or sum: mean(loss)");
  }
  if (loss.kind == VAL_FUNC)
    elab_hint(e, "a gradient is of a value: loss = %s(x), then grad(loss, x)", loss.func->name);
  elab_trace(e);
  return false;
}

Val builtin_grad(BuiltinCall *s) {
  Elab *e = s->e;
  Val loss = arg(s, "loss"), list = arg(s, "x");
  bool tree = list.kind == VAL_TREE, many = tree || list.kind == VAL_LIST;
  if (!grad_loss(e, loss, "grad", arg_loc(s, "loss"))) return error_value;
  Val one = arg(s, "x");
  if (!many) list = val_list(e, VAL_LIST, &one, 1, arg_loc(s, "x"));
  int n = list.list->n, k = 0;
  if (n == 0)
    return elab_fail(e, arg_loc(s, "x"), "grad needs at least one value to differentiate by");
  ValueId *operand = ARENA_ARRAY(e->a, ValueId, n + 1);
  const Type **types = ARENA_ARRAY(e->a, const Type *, n + 1);
  const bool *seen = grad_reach(e, loss.tensor.id);
  bool *reach = ARENA_ARRAY(e->a, bool, n);
  operand[0] = loss.tensor.id;
  const char *unread = NULL; /* of a tree: the first path that the loss does not depend on */
  int unread_n = 0;
  for (int i = 0; i < n; i++) {
    Val x = list.list->at[i];
    if (x.kind == VAL_ERROR) return error_value;
    if (x.kind != VAL_TENSOR || !dtype_is_float(x.tensor.type->dtype))
      return elab_fail(e, arg_loc(s, "x"), "grad differentiates by float tensors, not by %s",
                       val_str(e, x));
    reach[i] = e->run->scan || seen[x.tensor.id];
    if (!e->run->scan && !grad_check_result(e, loss.tensor.id, seen, x.tensor.id, s->loc))
      return error_value;
    if (reach[i]) {
      scan_grad_target(e, x.tensor.id);
      types[k] = x.tensor.type;
      operand[++k] = x.tensor.id;
    } else if (tree) {
      unread = unread ? unread : list.list->keys->path[i];
      unread_n++;
    } else {
      diag(e->c, SEV_WARNING, e->frame->user.line ? e->frame->user : arg_loc(s, "x"),
           "the first argument does not depend on this%s: its gradient is zero",
           many ? intern_printf(e->c, " (number %d of the list)", i + 1) : "");
    }
  }
  if (unread)
    elab_warning(e, arg_loc(s, "x"),
                 "the first argument does not depend on %s%s: the gradient is zero there", unread,
                 unread_n > 1 ? intern_printf(e->c, " and %d more of the tree", unread_n - 1) : "");
  const Op *op = k ? build_op(elab_at(e, s->loc), OP_GRAD, operand, k + 1, NULL, types, k) : NULL;
  Val *out = ARENA_ARRAY(e->a, Val, n);
  k = 0;
  elab_at(e, s->loc);
  for (int i = 0; i < n; i++) {
    Val x = list.list->at[i];
    out[i] = reach[i] ? val_tensor(e, op->results[k++])
                      : val_to_const(e, val_int(0, s->loc), x.tensor.type, s->loc);
  }
  if (tree) return tree_of_leaves(e, list, out, s->loc);
  return many ? val_list(e, VAL_LIST, out, n, s->loc) : out[0];
}
