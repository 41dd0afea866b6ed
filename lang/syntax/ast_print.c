/* Prints a syntax tree as a program in one canonical form: one statement a line, every operation in
   parentheses, calls made by "|>" written as calls. Contract: the output reads back to the same
   tree, so printing it again gives the same text. */
#include "lang/syntax/ast.h"

#include <math.h>
#include <stdlib.h>

#define AST_ROW(name, spelling) spelling,
static const char *const unary_text[] = {AST_UNARY_OPS(AST_ROW)};
static const char *const binary_text[] = {AST_BINARY_OPS(AST_ROW)};
#undef AST_ROW

const char *unary_spelling(UnaryOp op) { return unary_text[op]; }
const char *binary_spelling(BinaryOp op) { return binary_text[op]; }

static void print_expr(FILE *f, const Expr *e);

static void print_number(FILE *f, double v) {
  if (isinf(v)) {
    fputs("inf", f);
    return;
  }
  char text[40];
  for (int digits = 1; digits <= 17; digits++) { /* the shortest that reads back the same */
    snprintf(text, sizeof text, "%.*g", digits, v);
    if (strtod(text, NULL) == v) break;
  }
  fprintf(f, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void print_string(FILE *f, const char *bytes, size_t n) {
  fputc('"', f);
  for (size_t i = 0; i < n; i++) {
    if (bytes[i] == '\n')
      fputs("\\n", f);
    else if (bytes[i] == '\t')
      fputs("\\t", f);
    else if (bytes[i] == '"' || bytes[i] == '\\')
      fprintf(f, "\\%c", bytes[i]);
    else
      fputc(bytes[i], f);
  }
  fputc('"', f);
}

static void print_exprs(FILE *f, Exprs list) {
  for (int i = 0; i < list.n; i++) {
    if (i) fputs(", ", f);
    print_expr(f, list.at[i]);
  }
}

static void print_instance(FILE *f, const Instance *as) {
  fputs(as->name.name, f);
  for (int i = 0; i < as->index.n; i++) {
    fputc('[', f);
    print_expr(f, as->index.at[i]);
    fputc(']', f);
  }
  if (as->shared) fputs(" shared", f);
}

static void print_call(FILE *f, const Expr *e) {
  const Instance *as = &e->call.as;
  if (as->name.name) fputc('(', f);
  fprintf(f, "%s(", e->call.callee.name);
  for (int i = 0; i < e->call.args.n; i++) {
    const Arg *arg = &e->call.args.at[i];
    if (i) fputs(", ", f);
    if (arg->name.name) fprintf(f, "%s = ", arg->name.name);
    print_expr(f, arg->value);
  }
  fputc(')', f);
  if (as->name.name) {
    fputs(" as ", f);
    print_instance(f, as);
    fputc(')', f);
  }
}

static void print_index(FILE *f, const Expr *e) {
  print_expr(f, e->index.base);
  fputc('[', f);
  for (int i = 0; i < e->index.n; i++) {
    const Index *at = &e->index.at[i];
    if (i) fputs(", ", f);
    switch (at->kind) {
    case INDEX_AT: print_expr(f, at->at); break;
    case INDEX_ELLIPSIS: fputs("...", f); break;
    case INDEX_SLICE:
      if (at->start) print_expr(f, at->start);
      fputc(':', f);
      if (at->stop) print_expr(f, at->stop);
      if (at->step) {
        fputc(':', f);
        print_expr(f, at->step);
      }
      break;
    }
  }
  fputc(']', f);
}

static void print_expr(FILE *f, const Expr *e) {
  switch (e->kind) {
  case EX_INT: fprintf(f, "%lld", (long long)e->integer); break;
  case EX_FLOAT: print_number(f, e->number); break;
  case EX_BOOL: fputs(e->boolean ? "true" : "false", f); break;
  case EX_STRING: print_string(f, e->string.bytes, e->string.n); break;
  case EX_NAME:
  case EX_DTYPE: fputs(e->name, f); break;
  case EX_LIST:
    fputc('[', f);
    print_exprs(f, e->list);
    fputc(']', f);
    break;
  case EX_UNARY:
    fprintf(f, "(%s%s", unary_spelling(e->unary.op), e->unary.op == UN_NOT ? " " : "");
    print_expr(f, e->unary.operand);
    fputc(')', f);
    break;
  case EX_BINARY:
    fputc('(', f);
    print_expr(f, e->binary.left);
    fprintf(f, " %s ", binary_spelling(e->binary.op));
    print_expr(f, e->binary.right);
    fputc(')', f);
    break;
  case EX_COND:
    fputc('(', f);
    print_expr(f, e->cond.then);
    fputs(" if ", f);
    print_expr(f, e->cond.test);
    fputs(" else ", f);
    print_expr(f, e->cond.other);
    fputc(')', f);
    break;
  case EX_CALL: print_call(f, e); break;
  case EX_INDEX: print_index(f, e); break;
  case EX_TRANSPOSE:
    print_expr(f, e->operand);
    fputc('\'', f);
    break;
  }
}

static void print_type(FILE *f, const TypeExpr *t) {
  if (!t) return;
  if (t->kind != ARG_TYPED) {
    fprintf(f, " : %s", arg_kind_word[t->kind]);
    return;
  }
  fprintf(f, " : %s", t->dtype ? t->dtype : "");
  if (t->dtype && !t->n) return;
  fputc('[', f);
  for (int i = 0; i < t->n; i++) {
    if (i) fputs(", ", f);
    if (t->dims[i].ellipsis)
      fputs("...", f);
    else
      print_expr(f, t->dims[i].expr);
  }
  fputc(']', f);
}

/* ---- statements ---- */

static void print_body(FILE *f, const Body *b, int indent);

static void print_idents(FILE *f, Idents names) {
  for (int i = 0; i < names.n; i++) fprintf(f, "%s%s", i ? ", " : "", names.at[i].name);
}

static void print_branch(FILE *f, const Stmt *s, int indent) {
  fputs("if ", f);
  print_expr(f, s->branch.test);
  print_body(f, &s->branch.then, indent);
  if (!s->branch.has_else) return;
  fputs(" else", f);
  print_body(f, &s->branch.other, indent);
}

static void print_outs(FILE *f, const Stmt *s) {
  for (int i = 0; i < s->outs.n; i++) {
    const Out *out = &s->outs.at[i];
    if (i) fputs(", ", f);
    if (out->name.name) fprintf(f, "%s = ", out->name.name);
    print_expr(f, out->value);
    print_type(f, out->type);
  }
}

static void print_recipe(FILE *f, const Recipe *r) {
  for (int i = 0; i < r->n; i++) {
    if (i) fputs(", ", f);
    print_expr(f, r->at[i].call);
    if (!r->at[i].condition) continue;
    fputs(" if ", f);
    print_expr(f, r->at[i].condition);
  }
  for (int i = 0; i < r->clauses.n; i++) {
    fprintf(f, ", %s = ", r->clauses.at[i].name.name);
    print_expr(f, r->clauses.at[i].value);
  }
}

static void print_variable(FILE *f, const Stmt *s) {
  fprintf(f, "%s%s %s", s->variable.transient ? "transient " : "",
          s->kind == ST_PARAM ? "param" : "state", s->variable.name.name);
  print_type(f, s->variable.type);
  fputs(" = ", f);
  print_expr(f, s->variable.init);
  if (!s->variable.origin.name) return;
  fputs(" from ", f);
  print_string(f, s->variable.origin.name, strlen(s->variable.origin.name));
  if (s->variable.origin.transposed) fputc('\'', f);
}

static void print_loop(FILE *f, const Stmt *s, int indent) {
  print_idents(f, s->loop.targets);
  fprintf(f, "%s%s %s in ", s->loop.targets.n ? " = " : "", s->kind == ST_FOR ? "for" : "scan",
          s->loop.var.name);
  print_expr(f, s->loop.from);
  fputs(" .. ", f);
  print_expr(f, s->loop.to);
  print_body(f, &s->loop.body, indent);
}

static void print_stmt(FILE *f, const Stmt *s, int indent) {
  fprintf(f, "%*s", indent, "");
  switch (s->kind) {
  case ST_ASSIGN:
    print_idents(f, s->assign.names);
    fputs(" = ", f);
    print_exprs(f, s->assign.values);
    print_type(f, s->assign.type);
    break;
  case ST_UPDATE:
    fprintf(f, "%s := ", s->update.name.name);
    print_expr(f, s->update.value);
    break;
  case ST_PARAM:
  case ST_STATE: print_variable(f, s); break;
  case ST_FOR:
  case ST_SCAN: print_loop(f, s, indent); break;
  case ST_IF: print_branch(f, s, indent); break;
  case ST_SCOPE:
    fputs("scope ", f);
    print_instance(f, &s->scope.path);
    print_body(f, &s->scope.body, indent);
    break;
  case ST_WITH:
    fputs("with ", f);
    print_exprs(f, s->with.trees);
    print_body(f, &s->with.body, indent);
    break;
  case ST_MINIMIZE:
  case ST_TRAIN:
    fputs(s->kind == ST_TRAIN ? "update " : "minimize ", f);
    print_expr(f, s->train.what);
    fputs(" with ", f);
    print_recipe(f, &s->train.recipe);
    break;
  case ST_RETURN:
    fputs("return ", f);
    print_outs(f, s);
    break;
  case ST_YIELD:
    fputs("yield ", f);
    print_exprs(f, s->values);
    break;
  case ST_CALL: print_expr(f, s->call); break;
  }
  fputc('\n', f);
}

static void print_body(FILE *f, const Body *b, int indent) {
  fputs(" {\n", f);
  for (int i = 0; i < b->n; i++) print_stmt(f, b->at[i], indent + 2);
  fprintf(f, "%*s}", indent, "");
}

static void print_function(FILE *f, const Decl *d) {
  fprintf(f, "%s %s(", d->kind == DECL_DEF ? "def" : "entry", d->name.name);
  for (int i = 0; i < d->function.n; i++) {
    const Param *p = &d->function.params[i];
    fprintf(f, "%s%s%s", i ? ", " : "", p->rest ? "..." : "", p->name.name);
    print_type(f, p->type);
    if (!p->init) continue;
    fputs(" = ", f);
    print_expr(f, p->init);
  }
  fputc(')', f);
  print_body(f, &d->function.body, 0);
}

void ast_print(FILE *f, const Program *prog) {
  for (uint32_t i = 0; i < prog->decls.n; i++) {
    const Decl *d = prog->decls.at[i];
    switch (d->kind) {
    case DECL_LET:
    case DECL_HYPER:
      fprintf(f, "%s %s", d->kind == DECL_LET ? "let" : "hyper", d->name.name);
      print_type(f, d->type);
      fputs(" = ", f);
      print_expr(f, d->value);
      break;
    case DECL_STATE:
      fprintf(f, "state %s = like ", d->name.name);
      print_expr(f, d->value);
      break;
    case DECL_DEF:
    case DECL_ENTRY: print_function(f, d); break;
    }
    fputc('\n', f);
  }
}
