/* Builds the nodes of the syntax tree, and checks everything that does not depend on names:
   operands of "as" and "|>", the order of arguments, types of inputs, the depth of the tree.
   Contract: always returns a node, so the grammar's actions need no tests; errors are reported. */
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
    if (first && callee->kind == EX_CALL)
      parse_note(ps, SEV_HINT, (Loc){0}, "a layer takes its input first, as in linear(x, 10)");
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

/* ---- types and signatures ---- */

TypeExpr *make_type(Parser *ps, const char *dtype, Dims dims, Loc loc) {
  TypeExpr *t = ARENA_NEW(ps->arena, TypeExpr);
  *t = (TypeExpr){.dtype = dtype, .dims = dims.at, .n = dims.n, .loc = loc};
  for (int i = 1; i < dims.n; i++)
    if (dims.at[i].ellipsis)
      parse_error(ps, dims.at[i].loc, "'...' stands for leading dims: it can only come first");
  return t;
}

const char *const arg_kind_word[ARG_KINDS] = {
#define KIND(NAME, WORD, WANTED) [ARG_##NAME] = WORD,
#include "lang/syntax/kinds.def"
#undef KIND
};

TypeExpr *make_kind(Parser *ps, Ident word) {
  for (ArgKind k = ARG_TYPED + 1; k < ARG_KINDS; k++) {
    if (strcmp(arg_kind_word[k], word.name) != 0) continue;
    TypeExpr *t = ARENA_NEW(ps->arena, TypeExpr);
    *t = (TypeExpr){.kind = k, .loc = word.loc};
    return t;
  }
  return NULL;
}

void params_add(Parser *ps, Params *params, Param param) {
  for (int i = 0; i < params->n; i++) {
    if (params->at[i].name.name != param.name.name) continue;
    parse_error(ps, param.name.loc, "two arguments are named '%s'", param.name.name);
    parse_note(ps, SEV_NOTE, params->at[i].name.loc, "the first one is here");
    break;
  }
  if (params->n && params->at[params->n - 1].rest)
    parse_error(ps, param.loc, "'...%s' takes all arguments that follow, so none can stand behind",
                params->at[params->n - 1].name.name);
  else if (!param.rest && !param.init && params->n && params->at[params->n - 1].init)
    parse_error(ps, param.loc, "an argument without a default cannot follow one with a default");
  vec_push(ps->arena, params, param);
}

/* ---- statements ---- */

Body make_body(Parser *ps, Stmts stmts, Loc open, Loc close) {
  Body b = {.at = stmts.at, .n = stmts.n, .loc = open, .end = close};
  for (int i = 0; i < b.n; i++)
    if (b.at[i]->depth > b.depth) b.depth = b.at[i]->depth;
  return b;
}

Stmt *make_stmt(Parser *ps, StmtKind kind, Loc loc) {
  Stmt *s = ARENA_NEW(ps->arena, Stmt);
  s->kind = kind;
  s->loc = loc;
  s->depth = 1;
  return s;
}

Stmt *make_assign(Parser *ps, Idents names, Exprs values, TypeExpr *type, Loc loc) {
  Stmt *s = make_stmt(ps, ST_ASSIGN, loc);
  s->assign.names = names;
  s->assign.values = values;
  s->assign.type = type;
  if (values.n > 1 && values.n != names.n)
    parse_error(ps, loc, "%d value%s cannot be bound to %d name%s", values.n,
                values.n == 1 ? "" : "s", names.n, names.n == 1 ? "" : "s");
  if (type && (names.n > 1 || values.n > 1))
    parse_error(ps, type->loc, "a shape is checked for one name at a time");
  return s;
}

static Stmt *set_stmt_depth(Parser *ps, Stmt *s, int of_parts) {
  s->depth = of_parts + 1;
  check_depth(ps, s->depth, s->loc);
  return s;
}

Stmt *make_loop(Parser *ps, StmtKind kind, LoopHead head, Body body, Loc loc) {
  Stmt *s = make_stmt(ps, kind, loc);
  s->loop.var = head.var;
  s->loop.from = head.from;
  s->loop.to = head.to;
  s->loop.body = body;
  return set_stmt_depth(ps, s, body.depth);
}

Stmt *make_branch(Parser *ps, Expr *test, Body then, Body other, bool has_else, Loc loc) {
  Stmt *s = make_stmt(ps, ST_IF, loc);
  s->branch.test = test;
  s->branch.then = then;
  s->branch.other = other;
  s->branch.has_else = has_else;
  return set_stmt_depth(ps, s, then.depth > other.depth ? then.depth : other.depth);
}

Stmt *make_scope(Parser *ps, Instance path, Body body, Loc loc) {
  Stmt *s = make_stmt(ps, ST_SCOPE, loc);
  s->scope.path = path;
  s->scope.body = body;
  return set_stmt_depth(ps, s, body.depth);
}

Stmt *make_with(Parser *ps, Exprs trees, Body body, Loc loc) {
  Stmt *s = make_stmt(ps, ST_WITH, loc);
  s->with.trees = trees;
  s->with.body = body;
  return set_stmt_depth(ps, s, body.depth);
}

Stmt *make_return(Parser *ps, Outs outs, Loc loc) {
  Stmt *s = make_stmt(ps, ST_RETURN, loc);
  s->outs.at = outs.at;
  s->outs.n = outs.n;
  return s;
}

void recipe_add(Parser *ps, Recipe *recipe, Optimizer o) {
  if (o.call->kind != EX_CALL) {
    parse_error(ps, o.call->loc, "expected a call of an optimizer after 'with'");
    parse_note(ps, SEV_HINT, (Loc){0}, "for example: minimize loss with adamw(1e-3)");
    o.call = make_call(ps, make_expr(ps, EX_NAME, o.call->loc), (Args){0}, o.call->loc);
  }
  if (recipe->clauses.n)
    parse_error(ps, o.call->loc, "an optimizer cannot follow a clause such as '%s ='",
                recipe->clauses.at[0].name.name);
  vec_push(ps->arena, recipe, o);
}

Stmt *make_train(Parser *ps, StmtKind kind, Expr *what, Recipe recipe, Loc loc) {
  Stmt *s = make_stmt(ps, kind, loc);
  s->train.what = what;
  s->train.recipe = recipe;
  if (recipe.n == 0) {
    parse_error(ps, recipe.clauses.at[0].name.loc, "expected a call of an optimizer after 'with'");
    parse_note(ps, SEV_HINT, (Loc){0}, "for example: minimize loss with adamw(1e-3)");
  }
  return s;
}

Stmt *make_bare(Parser *ps, Expr *value) {
  Stmt *s = make_stmt(ps, ST_CALL, value->loc);
  s->call = value;
  return s;
}

void stmts_add(Parser *ps, Stmts *stmts, Stmt *s, bool quiet) {
  if (s->kind == ST_CALL && s->call->kind != EX_CALL && !quiet) {
    parse_error(ps, s->loc, "this value is not used: bind it to a name, as in y = ...");
    if (s->call->kind == EX_UNARY && s->call->unary.op == UN_NEG)
      parse_note(ps, SEV_HINT, (Loc){0},
                 "to go on with the line above, end that line with its operator");
  }
  vec_push(ps->arena, stmts, s); // NOLINT(bugprone-sizeof-expression): it holds pointers
}

void stray_stmt(Parser *ps, const Stmt *s) {
  parse_error(ps, s->loc, "a statement stands outside of 'def' and 'entry'");
  if (s->kind == ST_ASSIGN && s->assign.names.n == 1)
    parse_note(ps, SEV_HINT, (Loc){0}, "a constant is declared with 'let %s = ...'",
               s->assign.names.at[0].name);
  if (s->kind == ST_PARAM || s->kind == ST_STATE)
    parse_note(ps, SEV_HINT, (Loc){0},
               "declare it in a 'def': the entries that call that at the same path share it");
}

/* ---- declarations ---- */

Decl *make_tree_state(Parser *ps, StmtKind kind, Ident name, Expr *value, Loc loc) {
  if (kind == ST_PARAM) {
    parse_error(ps, loc, "a tree of params cannot be declared, only one of states");
    parse_note(ps, SEV_HINT, (Loc){0}, "write state %s = like …", name.name);
  }
  return make_constant(ps, DECL_STATE, name, NULL, value, loc);
}

Decl *make_constant(Parser *ps, DeclKind kind, Ident name, TypeExpr *type, Expr *value, Loc loc) {
  Decl *d = ARENA_NEW(ps->arena, Decl);
  d->kind = kind;
  d->name = name;
  d->loc = loc;
  d->value = value;
  d->type = type;
  return d;
}

Decl *make_function(Parser *ps, DeclKind kind, Ident name, Params params, Body body, Loc loc) {
  Decl *d = ARENA_NEW(ps->arena, Decl);
  d->kind = kind;
  d->name = name;
  d->loc = loc;
  d->function.params = params.at;
  d->function.n = params.n;
  d->function.body = body;
  for (int i = 0; kind == DECL_ENTRY && i < params.n; i++) {
    const Param *p = &params.at[i];
    if (!p->type) {
      parse_error(ps, p->loc, "input '%s' of an entry needs a type", p->name.name);
      parse_note(ps, SEV_HINT, (Loc){0}, "for example: %s : f32[64, 784]", p->name.name);
    } else if (p->rest) {
      parse_error(ps, p->loc, "an entry has a fixed number of inputs, so none can be '...%s'",
                  p->name.name);
    } else if (p->init) {
      parse_error(ps, p->init->loc, "input '%s' of an entry cannot have a default", p->name.name);
      parse_note(ps, SEV_HINT, (Loc){0}, "a number that is given at run time is a 'hyper'");
    }
  }
  return d;
}

void nested_decl(Parser *ps, const Decl *d) {
  static const char *const word[] = {"let", "hyper", "a state of a tree", "def", "entry"};
  parse_error(ps, d->loc,
              d->kind == DECL_STATE ? "%s cannot stand inside of a function"
                                    : "'%s' cannot stand inside of a function",
              word[d->kind]);
  if (d->kind == DECL_LET)
    parse_note(ps, SEV_HINT, (Loc){0}, "inside of a function write %s = ...", d->name.name);
  else
    parse_note(ps, SEV_HINT, (Loc){0}, "move it out, to the left margin");
}

void nested_use(Parser *ps, Loc loc) {
  parse_error(ps, loc, "'use' cannot stand inside of a function");
}
