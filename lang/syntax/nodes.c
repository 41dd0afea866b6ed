/* Builds the nodes of expressions, and checks everything that does not depend on names: operands
   of "as" and "|>", the order of arguments, the depth of the tree. statements.c builds the others.
   Contract: always returns a node, so the grammar's actions need no tests; errors are reported. */
#include "lang/syntax/hints.h"
#include "lang/syntax/parse_impl.h"

/* A name or call followed by "as" but without arguments: only a stage of "|>" may be that. Within
   the parser alone it is a call with this many arguments. */
enum { NO_ARGS_YET = -1 };

Loc loc_join(Loc a, Loc b) {
  if (a.line != b.line || a.file != b.file) return a;
  uint32_t end_a = a.col + a.len, end_b = b.col + b.len;
  if (b.col < a.col) a.col = b.col;
  uint32_t len = (end_a > end_b ? end_a : end_b) - a.col;
  a.len = (uint16_t)(len > UINT16_MAX ? UINT16_MAX : len);
  return a;
}

void check_depth(Parser *ps, int depth, Loc loc) {
  if (depth <= AST_MAX_DEPTH || ps->stopped) return;
  parse_error(ps, loc, "this is nested more than %d deep", AST_MAX_DEPTH);
  parse_note(ps, SEV_HINT, (Loc){0}, "give names to parts of it");
  ps->stopped = true;
}

static int deepest(int depth, const Expr *e) { return e && e->depth > depth ? e->depth : depth; }

static int deepest_of(int depth, Exprs list) {
  for (int i = 0; i < list.n; i++) depth = deepest(depth, list.at[i]);
  return depth;
}

/* ---- expressions ---- */

Expr *make_expr(Parser *ps, ExprKind kind, Loc loc) {
  Expr *e = ARENA_NEW(ps->arena, Expr);
  e->kind = kind;
  e->loc = loc;
  e->depth = 1;
  return e;
}

static Expr *set_depth(Parser *ps, Expr *e, int of_parts) {
  e->depth = of_parts + 1;
  check_depth(ps, e->depth, e->loc);
  return e;
}

Expr *make_unary(Parser *ps, UnaryOp op, Expr *operand, Loc loc) {
  Expr *e = make_expr(ps, EX_UNARY, loc);
  e->unary.op = op;
  e->unary.operand = operand;
  return set_depth(ps, e, operand->depth);
}

Expr *make_binary(Parser *ps, BinaryOp op, Loc op_loc, Expr *left, Expr *right) {
  Expr *e = make_expr(ps, EX_BINARY, loc_join(left->loc, right->loc));
  e->binary.op = op;
  e->binary.op_loc = op_loc;
  e->binary.left = left;
  e->binary.right = right;
  return set_depth(ps, e, deepest(left->depth, right));
}

Expr *make_cond(Parser *ps, Expr *then, Expr *test, Expr *other) {
  Expr *e = make_expr(ps, EX_COND, loc_join(then->loc, other->loc));
  e->cond.then = then;
  e->cond.test = test;
  e->cond.other = other;
  return set_depth(ps, e, deepest(deepest(then->depth, test), other));
}

Expr *make_list(Parser *ps, Exprs list, Loc loc) {
  Expr *e = make_expr(ps, EX_LIST, loc);
  e->list = list;
  return set_depth(ps, e, deepest_of(0, list));
}

static int depth_of_call(const Expr *call) {
  int depth = deepest_of(0, call->call.as.index);
  for (int i = 0; i < call->call.args.n; i++) depth = deepest(depth, call->call.args.at[i].value);
  return depth;
}

/* np.sum(x).item(): the field behind it has its own message. */
static bool is_of_field(const Parser *ps, Loc callee) {
  return ps->field.line == callee.line && ps->field.col == callee.col + callee.len;
}

Expr *make_call(Parser *ps, Expr *callee, Args args, Loc loc) {
  Expr *e = make_expr(ps, EX_CALL, loc);
  if (callee->kind == EX_NAME || callee->kind == EX_DTYPE) {
    e->call.callee = (Ident){callee->name, callee->loc};
  } else {
    bool first = !ps->reader->failed;
    if (!is_of_field(ps, callee->loc))
      parse_error(ps, callee->loc, "only a function's name can be called");
    const bool called = callee->kind == EX_CALL;
    const char *known = called ? hint_for_name(callee->call.callee.name) : NULL;
    if (called && strcmp(callee->call.callee.name, "grad") == 0)
      known = "a gradient is of a value: loss = f(x), then grad(loss, x)";
    if (known || (called && first))
      parse_note(ps, SEV_HINT, (Loc){0}, "%s",
                 known ? known : "a layer takes its input first, as in linear(x, 10)");
    e->call.callee = (Ident){intern(ps->c, "?"), callee->loc};
    set_depth(ps, e, callee->depth);
  }
  e->call.args = args;
  return set_depth(ps, e, depth_of_call(e));
}

Expr *make_named(Parser *ps, Expr *call, Instance as, Loc loc) {
  if (call->kind == EX_NAME || call->kind == EX_DTYPE) {
    Expr *e = make_call(ps, call, (Args){.n = NO_ARGS_YET}, loc);
    e->call.as = as;
    return e;
  }
  if (call->kind != EX_CALL) {
    parse_error(ps, as.loc, "'as' gives a name to a call, as in linear(x, 10) as out");
    return call;
  }
  if (call->call.as.name.name) {
    parse_error(ps, as.loc, "this call has a name already");
    parse_note(ps, SEV_NOTE, call->call.as.loc, "given here");
    return call;
  }
  call->call.as = as;
  call->loc = loc;
  return set_depth(ps, call, depth_of_call(call));
}

Expr *make_index(Parser *ps, Expr *base, Indices at, Loc loc) {
  Expr *e = make_expr(ps, EX_INDEX, loc);
  e->index.base = base;
  e->index.at = at.at;
  e->index.n = at.n;
  int depth = base->depth;
  for (int i = 0; i < at.n; i++)
    depth = deepest(deepest(deepest(deepest(depth, at.at[i].at), at.at[i].start), at.at[i].stop),
                    at.at[i].step);
  return set_depth(ps, e, depth);
}

Expr *make_transpose(Parser *ps, Expr *operand, Loc loc) {
  Expr *e = make_expr(ps, EX_TRANSPOSE, loc);
  e->operand = operand;
  return set_depth(ps, e, operand->depth);
}

static bool is_parenthesised(const Expr *call) {
  return call->loc.line != call->call.callee.loc.line || call->loc.col != call->call.callee.loc.col;
}

/* x |> f(a)'[0] is f(x, a)'[0]: the argument goes to the call where the stage begins. */
Expr *make_pipe(Parser *ps, Expr *left, Expr *stage, Loc loc) {
  Expr **at = &stage;
  while ((*at)->kind == EX_INDEX || (*at)->kind == EX_TRANSPOSE)
    at = (*at)->kind == EX_INDEX ? &(*at)->index.base : &(*at)->operand;
  Expr *call = *at;
  if (call->kind == EX_NAME || call->kind == EX_DTYPE)
    call = *at = make_call(ps, call, (Args){0}, call->loc);
  if (call->kind != EX_CALL || is_parenthesised(call)) {
    parse_error(ps, call->loc, "expected a function right of '|>': f, f(args) or f(args) as name");
    return stage;
  }
  Args args = {0};
  vec_push(ps->arena, &args, (Arg){{0}, left});
  for (int i = 0; i < call->call.args.n; i++) vec_push(ps->arena, &args, call->call.args.at[i]);
  call->call.args = args;
  call->call.piped = true;
  set_depth(ps, call, depth_of_call(call));
  for (Expr *e = stage; e != call; e = e->kind == EX_INDEX ? e->index.base : e->operand) {
    e->loc = loc_join(loc, e->loc);
    e->depth += call->depth; /* a bound is enough: it is the left side that may be deep */
    check_depth(ps, e->depth, e->loc);
  }
  call->loc = loc_join(loc, call->loc);
  return stage;
}

Expr *check_operand(Parser *ps, Expr *e) {
  if (e->kind == EX_CALL && e->call.args.n == NO_ARGS_YET) {
    parse_error(ps, e->loc, "'as' gives a name to a call, and '%s' is not called here",
                e->call.callee.name);
    parse_note(ps, SEV_HINT, (Loc){0}, "write %s(...) as %s, or x |> %s as %s", e->call.callee.name,
               e->call.as.name.name, e->call.callee.name, e->call.as.name.name);
    e->call.args.n = 0;
  }
  return e;
}

void args_add(Parser *ps, Args *args, Arg arg) {
  if (!arg.name.name && args->n && args->at[args->n - 1].name.name)
    parse_error(ps, arg.value->loc, "an argument without a name cannot follow one with a name");
  for (int i = 0; arg.name.name && i < args->n; i++) {
    if (args->at[i].name.name != arg.name.name) continue;
    parse_error(ps, arg.name.loc, "argument '%s' is given twice", arg.name.name);
    parse_note(ps, SEV_NOTE, args->at[i].name.loc, "first given here");
    break;
  }
  vec_push(ps->arena, args, arg);
}
