/* Expressions: compile-time values are computed, tensors become ops.
   Contract: each operand is evaluated once, left to right. `and`, `or` and `if` evaluate only the
   operands that they need if the left side is a compile-time value. */
#include "lang/elab/elab_impl.h"

Val elab_eval_one(Elab *e, const Expr *x) {
  Val v = elab_eval(e, x);
  if (v.kind == VAL_VOID) {
    const char *name = x->kind == EX_CALL ? x->call.callee.name : NULL;
    elab_error(e, x->loc, "a value is needed here, but %s returns nothing", name ? name : "this");
    if (name) elab_hint(e, "what %s gives stands at its end: return VALUE", name);
    return elab_trace(e);
  }
  if (v.kind == VAL_TUPLE) {
    elab_error(e, x->loc, "one value is needed here, but this gives %d", v.list->n);
    elab_hint(e, "take them apart first, as in a, b = %s(…)",
              x->kind == EX_CALL ? x->call.callee.name : "f");
    return elab_trace(e);
  }
  return v;
}

static bool is_bool(Val v) {
  return v.kind == VAL_BOOL || (v.kind == VAL_TENSOR && v.tensor.type->dtype == DT_BOOL);
}

static Val no_bool(Elab *e, Loc loc, BinaryOp op, Val bad) {
  elab_error(e, loc, "'%s' needs bools, found %s", binary_spelling(op), val_str(e, bad));
  if (bad.kind == VAL_TENSOR) elab_hint(e, "compare first, as in x != 0");
  hint_define(e, bad);
  return elab_trace(e);
}

static Val expr_logic(Elab *e, const Expr *x) {
  BinaryOp op = x->binary.op;
  Val l = elab_eval_one(e, x->binary.left);
  if (l.kind == VAL_BOOL) {
    if (l.b == (op == BIN_OR)) return l;
    Val r = elab_eval_one(e, x->binary.right);
    if (is_bool(r) || r.kind == VAL_ERROR) return r;
    return no_bool(e, x->binary.right->loc, op, r);
  }
  Val r = elab_eval_one(e, x->binary.right);
  if (l.kind == VAL_ERROR || r.kind == VAL_ERROR) return error_value;
  const Expr *odd = !is_bool(l) ? x->binary.left : x->binary.right;
  Val bad = !is_bool(l) ? l : r;
  if (!is_bool(l) || !is_bool(r)) return no_bool(e, odd->loc, op, bad);
  return tensor_binary(e, op, l, r, x->binary.op_loc);
}

Val expr_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc) {
  if (l.kind == VAL_ERROR || r.kind == VAL_ERROR) return error_value;
  if (l.kind == VAL_TREE || r.kind == VAL_TREE) return tree_binary(e, op, l, r, loc);
  if ((op == BIN_EQ || op == BIN_NE) && (l.kind == VAL_NONE || r.kind == VAL_NONE))
    return val_bool((l.kind == r.kind) == (op == BIN_EQ), loc);
  if (l.kind != VAL_TENSOR && r.kind != VAL_TENSOR) {
    if (op == BIN_MATMUL)
      return elab_fail(e, loc, "'@' needs tensors, found %s and %s", val_str(e, l), val_str(e, r));
    return number_binary(e, op, l, r, loc);
  }
  if (op == BIN_MATMUL) return tensor_matmul(e, l, r, loc);
  if (op == BIN_POW) return tensor_power(e, l, r, loc);
  return tensor_binary(e, op, l, r, loc);
}

static Val unary(Elab *e, const Expr *x, Val v) {
  if (x->unary.op == UN_NOT) {
    if (v.kind == VAL_BOOL) return val_bool(!v.b, x->loc);
    if (v.kind != VAL_TENSOR) {
      elab_error(e, x->loc, "'not' needs a bool, found %s", val_str(e, v));
      hint_define(e, v);
      return elab_trace(e);
    }
    return build_checked(e, OP_NOT, &v, 1, NULL, NULL, "'not'", x->loc);
  }
  if (val_is_number(v) || v.kind == VAL_EXTENT) return number_function(e, OP_NEG, v, x->loc);
  if (v.kind != VAL_TENSOR)
    return elab_fail(e, x->loc, "'-' needs a number, found %s", val_str(e, v));
  return build_checked(e, OP_NEG, &v, 1, NULL, NULL, "'-'", x->loc);
}

static Val expr_unary(Elab *e, const Expr *x) {
  Val v = elab_eval_one(e, x->unary.operand);
  if (v.kind == VAL_ERROR) return v;
  if (v.kind != VAL_TREE) return unary(e, x, v);
  Val *leaf = ARENA_ARRAY(e->a, Val, v.list->n + 1);
  for (int i = 0; i < v.list->n; i++) leaf[i] = unary(e, x, v.list->at[i]);
  return tree_of_leaves(e, v, leaf, x->loc);
}

Val not_a_bool(Elab *e, const Expr *test, Val found, bool trains, const char *choice) {
  if (e->frame->user.line &&
      test->kind == EX_NAME) /* a condition of the prelude on an argument of its caller */
    elab_error(e, test->loc, "'%s' must be true or false, found %s", test->name, val_str(e, found));
  else
    elab_error(e, test->loc, "the condition of 'if' must be a compile-time bool, found %s",
               val_str(e, found));
  if (found.kind == VAL_TENSOR && trains)
    elab_hint(e, "a clause skips steps when the program runs: minimize loss with sgd(lr), if = %s",
              source_slice(e, test->loc));
  else if (found.kind == VAL_TENSOR)
    val_hint_known(e, found,
                   intern_printf(e->c, "choose element by element with where(%s)", choice));
  hint_define(e, found);
  return elab_trace(e);
}

static Val expr_cond(Elab *e, const Expr *x) {
  Val t = elab_eval_one(e, x->cond.test);
  if (t.kind == VAL_ERROR) return error_value;
  if (t.kind != VAL_BOOL) {
    const bool own = !e->frame->env->prelude && x->cond.then->loc.line == x->cond.other->loc.line;
    const char *parts =
        intern_printf(e->c, "%s, %s, %s", source_slice(e, x->cond.test->loc),
                      source_slice(e, x->cond.then->loc), source_slice(e, x->cond.other->loc));
    return not_a_bool(e, x->cond.test, t, false, own ? parts : "c, a, b");
  }
  return elab_eval(e, t.b ? x->cond.then : x->cond.other);
}

static Val expr_list(Elab *e, const Expr *x) {
  Val *item = ARENA_ARRAY(e->a, Val, x->list.n + 1);
  bool bad = false;
  for (int i = 0; i < x->list.n; i++) {
    item[i] = elab_eval_one(e, x->list.at[i]);
    bad |= item[i].kind == VAL_ERROR;
  }
  return bad ? error_value : val_list(e, VAL_LIST, item, x->list.n, x->loc);
}

static Val eval_transpose(Elab *e, Val v, Loc loc) {
  if (v.kind == VAL_ERROR) return v;
  if (v.kind != VAL_TENSOR)
    return elab_fail(e, loc, "transposing needs a tensor, found %s", val_str(e, v));
  if (v.tensor.type->rank < 2) {
    elab_error(e, loc, "transposing needs at least two axes, this is %s", val_str(e, v));
    elab_note_tensor(e, "it", v);
    return elab_trace(e);
  }
  elab_at(e, loc);
  return transpose_last(e, v);
}

static Val eval_kind(Elab *e, const Expr *x) {
  switch (x->kind) {
  case EX_INT: return val_int(x->integer, x->loc);
  case EX_FLOAT: return val_num(x->number, x->loc);
  case EX_BOOL: return val_bool(x->boolean, x->loc);
  case EX_STRING: {
    const char *text = string_eval(e, x->string.bytes, x->loc);
    return text || !x->string.bytes ? (Val){.kind = VAL_STR, .loc = x->loc, .str = text}
                                    : error_value;
  }
  case EX_NAME: return name_lookup(e, x->name, x->loc);
  case EX_DTYPE: {
    Val v = {.kind = VAL_DTYPE, .loc = x->loc};
    if (!dtype_parse(x->name, &v.dtype)) gc_bug(e->c, "dtype word %s", x->name);
    return v;
  }
  case EX_LIST: return expr_list(e, x);
  case EX_UNARY: return expr_unary(e, x);
  case EX_BINARY: {
    if (x->binary.op == BIN_AND || x->binary.op == BIN_OR) return expr_logic(e, x);
    Val l = elab_eval_one(e, x->binary.left);
    return expr_binary(e, x->binary.op, l, elab_eval_one(e, x->binary.right), x->binary.op_loc);
  }
  case EX_COND: return expr_cond(e, x);
  case EX_CALL: return expr_call(e, x);
  case EX_INDEX: return expr_index(e, x);
  case EX_TRANSPOSE: return eval_transpose(e, elab_eval_one(e, x->operand), x->loc);
  }
  return error_value;
}

bool elab_deeper(Elab *e, Loc loc) {
  enum { MAX_DEPTH = 4000 }; /* the stack holds as many */
  if (e->depth >= MAX_DEPTH)
    return elab_fail(e, loc, "statements, expressions and calls are nested more than %d deep",
                     MAX_DEPTH),
           false;
  e->depth++;
  return true;
}

Val elab_eval(Elab *e, const Expr *x) {
  if (!elab_deeper(e, x->loc)) return error_value;
  Val v = eval_kind(e, x);
  saw_value(e, x, v);
  e->depth--;
  return v;
}
