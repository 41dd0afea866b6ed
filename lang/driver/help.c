/* What gc says of itself: --help and its topics, --version, --list-passes. All of it is printed
   from the tables that the compiler runs on. Contract: answers on the standard output, which main
   flushes. */
#include "codegen/codegen.h"
#include "lang/driver/command.h"
#include "lang/editor/editor.h"
#include "lang/elab/elab.h"
#include "passes/passes.h"

static void print_ops(Ctx *c, FILE *f) {
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

static void put_options(Ctx *c, FILE *f) { options_help(f); }
static void put_passes(Ctx *c, FILE *f) { passes_list(f); }
static void put_options_markdown(Ctx *c, FILE *f) { options_markdown(f); }
static void put_ops_markdown(Ctx *c, FILE *f) { op_table_markdown(f); }
static void put_man(Ctx *c, FILE *f) { man_page(f); }
static void put_bash(Ctx *c, FILE *f) { completion_bash(f); }
static void put_zsh(Ctx *c, FILE *f) { completion_zsh(f); }
static void put_fish(Ctx *c, FILE *f) { completion_fish(f); }
static void put_vim(Ctx *c, FILE *f) { syntax_vim(f, c); }
static void put_textmate(Ctx *c, FILE *f) { syntax_textmate(f, c); }

typedef struct Topic {
  const char *name;
  void (*print)(Ctx *c, FILE *f);
  bool in_all;
} Topic;

static const Topic topics[] = {
    {"options", put_options, true},
    {"passes", put_passes, true},
    {"builtins", print_builtins, true},
    {"ops", print_ops, true},
    {"options-md", put_options_markdown, false},
    {"ops-md", put_ops_markdown, false},
    {"builtins-md", builtins_markdown, false},
    {"man", put_man, false},
    {"bash", put_bash, false},
    {"zsh", put_zsh, false},
    {"fish", put_fish, false},
    {"vim", put_vim, false},
    {"textmate", put_textmate, false},
};

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
    for (size_t i = 0, n = 0; i < sizeof topics / sizeof topics[0]; i++) {
      if (all ? !topics[i].in_all : strcmp(topic, topics[i].name) != 0) continue;
      if (n++) putchar('\n');
      topics[i].print(c, stdout);
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
