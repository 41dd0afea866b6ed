/* What gc says of itself: --help and its topics, --version, --list-passes. All of it is printed
   from the tables that the compiler runs on. Contract: answers on the standard output, which main
   flushes. */
#include "codegen/codegen.h"
#include "lang/driver/command.h"
#include "lang/elab/elab.h"
#include "passes/passes.h"

static void print_ops(FILE *f) {
  fprintf(f, "%-16s %8s  %s\n", "op", "operands", "meaning");
  for (int k = 0; k < OP_KINDS; k++) {
    const OpInfo *op = &op_info[k];
    char count[12] = "any";
    if (op->operands >= 0) snprintf(count, sizeof count, "%d", op->operands);
    fprintf(f, "%-16s %8s  %s\n", op->name, count, op->help ? op->help : "");
  }
}

static void print_builtins(Ctx *c, FILE *f) {
  const BuiltinDoc *d = builtin_docs(c);
  for (int i = 0; i < builtin_count(); i++)
    fprintf(f, "%s(%s)\n    %s\n", d[i].name, d[i].args, d[i].help);
}

/* A bar ends a table's cell in Markdown; none of the built-ins' lines holds one. */
static void builtins_markdown(Ctx *c, FILE *f) {
  fputs("| function | meaning |\n|---|---|\n", f);
  const BuiltinDoc *d = builtin_docs(c);
  for (int i = 0; i < builtin_count(); i++)
    fprintf(f, "| `%s(%s)` | %s |\n", d[i].name, d[i].args, d[i].help);
}

typedef struct Topic {
  const char *name;
  bool in_all;
} Topic;

static const Topic topics[] = {{"options", true},     {"passes", true},      {"builtins", true},
                               {"ops", true},         {"options-md", false}, {"ops-md", false},
                               {"builtins-md", false}};

static void print_topic(Ctx *c, const char *name) {
  if (strcmp(name, "options") == 0)
    options_help(stdout);
  else if (strcmp(name, "options-md") == 0)
    options_markdown(stdout);
  else if (strcmp(name, "passes") == 0)
    passes_list(stdout);
  else if (strcmp(name, "builtins") == 0)
    print_builtins(c, stdout);
  else if (strcmp(name, "ops") == 0)
    print_ops(stdout);
  else if (strcmp(name, "ops-md") == 0)
    op_table_markdown(stdout);
  else if (strcmp(name, "builtins-md") == 0)
    builtins_markdown(c, stdout);
}

/* Those that programs can be made for here, then what the others lack. */
static void print_targets(Ctx *c) {
  const char *missing = "", *separator = "targets: ";
  for (int i = 0; i < BACKENDS; i++) {
    const Backend *b = backends[i];
    const char *remedy = NULL, *compiler = b->compiler ? b->compiler(c, &remedy) : NULL;
    if (b->compiler && !compiler) {
      missing = intern_printf(c, "%s; for %s %s", missing, b->name, remedy);
      continue;
    }
    printf(compiler ? "%s%s (%s)" : "%s%s", separator, b->name, compiler);
    separator = ", ";
  }
  printf("%s\n", missing);
}

bool help_answer(Ctx *c, const Options *o, int *code) {
  if (option_given(o, OPT_HELP)) {
    const char *topic = option_value(o, OPT_HELP, "options");
    bool all = strcmp(topic, "all") == 0;
    if (!all) print_topic(c, topic);
    for (size_t i = 0, n = 0; all && i < sizeof topics / sizeof topics[0]; i++) {
      if (!topics[i].in_all) continue;
      if (n++) putchar('\n');
      print_topic(c, topics[i].name);
    }
  } else if (option_given(o, OPT_VERSION)) {
    puts("gc " GC_VERSION);
    print_targets(c);
  } else if (option_given(o, OPT_LIST_PASSES)) {
    passes_list(stdout);
  } else {
    return false;
  }
  *code = EXIT_DONE;
  return true;
}
