/* Builds the nodes of types, signatures, statements and declarations, and checks what of them
   depends on no names: names that stand twice, defaults, numbers of values, where each may stand.
   Contract: as nodes.c. */
#include "lang/syntax/parse_impl.h"

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
  if (ps->braceless && s->loc.col > 1) return;
  parse_error(ps, s->loc, "a statement stands outside of 'def' and 'entry'");
  const bool model =
      s->kind == ST_ASSIGN && s->assign.values.n == 1 && s->assign.values.at[0]->kind == EX_CALL;
  if (model && s->assign.names.n == 1)
    parse_note(ps, SEV_HINT, (Loc){0},
               "a model is a function: def %s(x) { return linear(x, 10) as out }",
               s->assign.names.at[0].name);
  else if (s->kind == ST_ASSIGN && s->assign.names.n == 1)
    parse_note(ps, SEV_HINT, (Loc){0}, "a constant is declared with 'let %s = ...'",
               s->assign.names.at[0].name);
  if (s->kind == ST_PARAM || s->kind == ST_STATE)
    parse_note(
        ps, SEV_HINT, (Loc){0},
        "move it into a 'def': entries that call net(x) share what def net(x) { … } declares");
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
