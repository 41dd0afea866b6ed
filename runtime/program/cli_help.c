/* --help of a generated program and of its entries, from the rows of options.def. */
#include "runtime/program/cli.h"
#include "runtime/program/tools.h"
#include <string.h>

static void help_tensor(const GcEntry *en, const char *title, const GcTensor *t, const char *before,
                        const char *value, const char *gloss) {
  char type[160], left[200];
  tensor_shapes_text(en, t, type, sizeof type);
  snprintf(left, sizeof left, "%s%s%s", before, t->name, value);
  printf("  %-26s %s %s%s\n", left, title, type, gloss);
}

static void help_input(const GcTensor *t) { printf(" --%s %s", t->name, cli_input_value(t)); }

/* Where a name is taken: options come first, then inputs, hypers, outputs (see set_named). */
static bool hyper_is_hidden(const GcEntry *en, int k) {
  return cli_find_tensor(en->inputs, en->ninputs, gc_program.hypers[k].name) >= 0;
}

static bool output_is_hidden(const GcEntry *en, int k) {
  const char *name = en->outputs[k].name;
  return cli_find_option(name) >= 0 || cli_find_hyper(name) >= 0 ||
         cli_find_tensor(en->inputs, en->ninputs, name) >= 0;
}

enum { LINE = 100, MEANING = 29 /* columns: of a line, where the meaning of an option begins */ };

/* The words of a text, in lines that begin in the column where the first one does. */
static void wrapped(const char *text) {
  for (int at = MEANING; *text; text++) {
    int n = (int)strcspn(text, " ");
    if (at > MEANING && at + n > LINE)
      printf("\n%*s", at = MEANING, "");
    else if (at > MEANING)
      putchar(' ');
    printf("%.*s", n, text);
    at += n + 1;
    text += n;
    if (!*text) break;
  }
  putchar('\n');
}

static void help_options(const GcEntry *en) {
  printf("\noptions\n");
  for (int i = 0; i < OPT_COUNT; i++) {
    if (en && ((cli_opts[i].where == TRAIN && !en->training) ||
               (cli_opts[i].where == INFER && en->training)))
      continue;
    char left[80];
    snprintf(left, sizeof left, "--%s%s%s", cli_opts[i].name, cli_opts[i].metavar ? " " : "",
             cli_opts[i].metavar ? cli_opts[i].metavar : "");
    if (strlen(left) < MEANING - 2)
      printf("  %-*s", MEANING - 2, left);
    else
      printf("  %s\n%*s", left, MEANING, "");
    wrapped(cli_opts[i].help);
  }
}

static void help_commands(const char *program) {
  printf("usage: %s info [ENTRY]                    entries, parameters, and the memory that a "
         "run takes\n",
         program);
  if (gc_program.ranks)
    printf("       %s info [ENTRY] -n RANKS           what each of so many ranks takes\n", program);
  printf("       %s ENTRY --INPUT FILE … [options]  runs an entry; ENTRY --help says "
         "more\n",
         program);
  printf("       %s --version                       what it was compiled by, and for\n", program);
  for (const Tool *t = tools(); t->name; t++)
    printf("       %s %s %s\n", program, t->name, t->usage);
  printf("\nentries\n");
  for (int i = 0; i < gc_program.nentries; i++) {
    const GcEntry *x = &gc_program.entries[i];
    printf(x->ninputs || x->training ? "  %-14s" : "  %s", x->name);
    for (int k = 0; k < x->ninputs; k++) help_input(&x->inputs[k]);
    printf("%s\n", x->training ? "   (training)" : "");
  }
}

static void help_hyper(const GcEntry *en, int k) {
  const GcHyper *h = &gc_program.hypers[k];
  if (en->unread && en->unread[k]) return;
  char left[200], value[32];
  snprintf(left, sizeof left, "--%s%s %s", hyper_is_hidden(en, k) ? "hyper." : "", h->name,
           h->dtype == GC_BOOL  ? "true|false"
           : h->dtype == GC_I32 ? "N"
                                : "V");
  hyper_text(value, h, h->value);
  printf("  %-26s hyper (default %s)\n", left, value);
}

static void help_output(const GcEntry *en, int k) {
  const GcTensor *t = &en->outputs[k];
  char what[80] = ", else printed";
  if (infer_aggregates(en, t))
    snprintf(what, sizeof what, ", else the %s over batches is printed",
             aggregate_name(t->aggregate));
  if (en->training)
    help_tensor(en, "output", t, "", "", "");
  else
    help_tensor(en, "output", t, output_is_hidden(en, k) ? "--output." : "--", " FILE.npy", what);
}

static void help_entry(const GcEntry *en, const char *program) {
  printf("usage: %s %s", program, en->name);
  for (int k = 0; k < en->ninputs; k++) help_input(&en->inputs[k]);
  printf(" [options]\n\n");
  for (int k = 0; k < en->ninputs; k++)
    help_tensor(en, "input", &en->inputs[k], "--", en->inputs[k].rank ? " FILE" : " NUMBER", "");
  for (int k = 0; k < gc_program.nhypers; k++) help_hyper(en, k);
  for (int k = 0; k < en->noutputs; k++) help_output(en, k);
}

void cli_help(const Options *o, const char *program) {
  const GcEntry *en = o->entry;
  if (en)
    help_entry(en, program);
  else
    help_commands(program);
  help_options(en);
  printf("\ninput files are told apart by content: .npy, .npz (by the input's name), IDX, each "
         "also\nas .gz, or flat; .csv and .tsv by their names\n"
         "  FILE:NAME,NAME  columns of a CSV file; NAME..NAME is a range\n"
         "  FILE[a:b]  rows a to b, b not included; -n counts from the end\n"
         "  FILE+k     a flat file from element k on\n"
         "  FILE~s     rows of a flat file that begin s elements apart\n"
         "  FILE:type  flat elements of another type, as u16; text is u8, other flat files are of "
         "the\n             input's type\n"
         "  NUMBER     for an input without axes\n"
         "output files: FILE.npy is an array; FILE.csv and FILE.tsv are tables with its rows\n"
         "\nexit codes: 0 done, 1 the data or the program is wrong, 2 the command line is wrong,\n"
         "  3 the environment is (no space, no permission, no such device), 130 and 143 stopped by "
         "a signal\n");
}
