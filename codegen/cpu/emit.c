/* The whole C file of a program: what every program starts with, one function for each distinct
   kernel, and the tables that the runtime runs (codegen/program/tables.c).
   Contract: no byte of the user's text reaches the file but in comments and string literals, both
   escaped. The same module gives the same bytes. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"
#include "codegen/program/tables.h"

/* ---- which printer ---- */

static void print_group(Gen *g, const Group *gr) {
  switch (gr->form) {
  case FORM_MAP: cpu_map(g, gr); return;
  case FORM_ROWS: cpu_rows(g, gr); return;
  case FORM_COLS:
  case FORM_REDUCE: cpu_reduce(g, gr); return;
  case FORM_MATMUL: cpu_matmul(g, gr); return;
  case FORM_WINDOW: cpu_window(g, gr); return;
  case FORM_NONE: return;
  case FORM_SINGLE: break;
  }
  switch ((int)gr->op->kind) {
  case OP_ATTENTION:
  case OP_ATTENTION_GRAD: cpu_attention(g, gr); return;
  case OP_CUMSUM:
  case OP_ARGSORT: cpu_order(g, gr); return;
  case OP_DYNAMIC_UPDATE:
  case OP_GATHER:
  case OP_GATHER_GRAD:
  case OP_ONE_HOT: cpu_index(g, gr); return;
  case OP_RANDOM_UNIFORM:
  case OP_RANDOM_NORMAL: cpu_random(g, gr); return;
  default: cpu_move(g, gr);
  }
}

/* ---- functions, one for equal texts ---- */

typedef struct Function {
  const char *body, *name;
} Function;

typedef struct Program {
  Gen g;
  VEC(Function) functions;
  Text kernels;
} Program;

static const char *function_of(Program *p, const Entry *e, const Launch *l) {
  Arena *a = p->g.a;
  const char *text =
      arena_printf(a, "%s%s", text_str(&l->kernel->head), text_str(&l->kernel->text));
  const char *body = intern(p->g.ctx, text); /* equal texts are one: programs can have very many */
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (p->functions.at[i].body == body) return p->functions.at[i].name;
  const char *name =
      arena_printf(a, "k%d_%s", (int)p->functions.n, text_mangled(a, l->kernel->name));
  vec_push(a, &p->functions, (Function){body, name});
  Text *x = &p->kernels;
  Ctx *c = p->g.ctx;
  const char *scope = l->op->scope && *l->op->scope ? l->op->scope : "";
  text_line(x, "/* %s%s%s%s%s: %s */", text_comment(a, e->name), *scope ? ", " : "",
            text_comment(a, scope), l->op->loc.line ? ", " : "",
            l->op->loc.line ? text_comment(a, loc_str(c, l->op->loc)) : "",
            text_comment(a, l->kernel->name));
  text_line(x, "static void %s(void *const *p, const GcEnv *env, int t, int nt) {", name);
  text_add(x, "%s}\n\n", body);
  return name;
}

static StepText step_of(Tables *t, const Entry *e, const Launch *l) {
  return (StepText){.kernel = function_of(t->target, e, l)};
}

bool codegen_c(Module *m, const Target *t, const CodegenOptions *o, FILE *f) {
  Arena *a = arena_new();
  Program p = {.g = {.ctx = m->ctx, .m = m, .target = t, .opt = o, .a = a}};
  p.kernels = text_new(a, 0);
  Tables tables = {.g = &p.g, .print = print_group, .step = step_of, .target = &p};
  tables_make(&tables);

  fprintf(f, "/* %s, compiled by gc %s for %s. */\n", text_comment(a, m->source),
          o->version ? o->version : "", t->name);
  cpu_prelude(f, o);
  fputs("#include <string.h>\n\n", f);
  for (uint32_t i = 0; i < p.g.helpers.n; i++) fprintf(f, "%s\n", p.g.helpers.at[i]);
  fputs("/* ---- kernels ---- */\n\n", f);
  fputs(text_str(&p.kernels), f);
  tables_write(&tables, f, o->gpu ? CPU_PROGRAM : "gc_program", cpu_target(t)->features, "");
  arena_free(a);
  return !ferror(f);
}
