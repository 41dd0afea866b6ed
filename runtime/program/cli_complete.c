/* The command line as a whole: what options need of one another, and what the entry's inputs lack.
   Contract: the options have been read one by one; an Err of exit code 2, or that of a file that is
   not there. */
#include "runtime/program/cli.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Of "FOLDER" or "FOLDER[a:b]". */
static bool names_folder(const char *text) {
  char path[PATH_MAX];
  size_t n = strlen(text);
  const char *open = n && text[n - 1] == ']' ? strrchr(text, '[') : NULL;
  if (images_are(text)) return true;
  if (!open || (size_t)(open - text) >= sizeof path) return false;
  memcpy(path, text, (size_t)(open - text));
  path[open - text] = 0;
  return images_are(path);
}

/* A folder of images holds their labels, too: it fills the one input of integers that is missing.
 */
static void add_labels(const GcEntry *en, const char **inputs) {
  int folder = -1, label = -1;
  for (int i = 0; i < en->ninputs; i++) {
    const GcTensor *t = &en->inputs[i];
    bool whole = t->rank == 1 && t->dtype >= GC_U8 && t->dtype <= GC_I64;
    if (!inputs[i] && (label >= 0 || !whole)) return;
    if (!inputs[i]) label = i;
    if (!inputs[i] || !names_folder(inputs[i])) continue;
    if (folder >= 0) return;
    folder = i;
  }
  if (folder >= 0 && label >= 0) inputs[label] = inputs[folder];
}

/* What --validate, --save-best and --patience need of one another. */
static bool complete_validation(const Options *o, Err *e) {
  const GcEntry *v = o->validate;
  if (v && !validation_check(v, e)) return false;
  if (v) add_labels(v, o->validation_files);
  char missing[512] = "";
  int at = 0;
  for (int i = 0; v && i < v->ninputs && at < 400; i++)
    if (!o->validation_files[i])
      at += snprintf(missing + at, sizeof missing - (size_t)at, "%s--validate.%.60s %s",
                     at ? " " : "", v->inputs[i].name, cli_input_value(&v->inputs[i]));
  if (at) {
    err_set(e, EXIT_USAGE, "--validate %s needs %s", v->name, missing);
    return err_hint(e, "they are the rows that are held out of training");
  }
  for (int i = 0; i < 2 && !v; i++) {
    int id = i ? OPT_PATIENCE : OPT_SAVEBEST;
    if (!o->given[id]) continue;
    err_set(e, EXIT_USAGE, "--%s: nothing is validated", cli_opts[id].name);
    return err_hint(e, "add --validate ENTRY with the files of its inputs");
  }
  if (o->given[OPT_SAVEBEST] && !o->given[OPT_SAVE]) {
    err_set(e, EXIT_USAGE, "--save-best: no file is named for the weights");
    return err_hint(e, "add --save FILE");
  }
  return true;
}

/* What --bench would ignore is refused. */
static bool bench_alone(const Options *o, Err *e) {
  static const int ignored[] = {OPT_EPOCHS, OPT_STEPS, OPT_SAVE,   OPT_CHECKPOINT,
                                OPT_RESUME, OPT_LOG,   OPT_PLOT,   OPT_VALIDATE,
                                OPT_EXPECT, OPT_TEXT,  OPT_FINITE, OPT_WATCH};
  const char *name = NULL;
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored && !name; i++)
    if (o->given[ignored[i]]) name = cli_opts[ignored[i]].name;
  for (int i = 0; i < o->entry->noutputs && !name; i++)
    if (o->outputs[i].save) name = o->entry->outputs[i].name;
  if (!name) return true;
  err_set(e, EXIT_USAGE, "--%s and --bench exclude each other", name);
  return err_hint(e, "--bench N times N steps on one batch and keeps nothing of them");
}

/* --steps 0 writes the initial weights, or those of --load. */
static bool makes_no_step(const Options *o) {
  return o->entry->training && o->given[OPT_STEPS] && o->count[OPT_STEPS] == 0;
}

bool cli_reads_no_data(const Options *o) {
  bool any = o->given[OPT_RESUME] || o->given[OPT_CHECKPOINT]; /* which are tied to the data */
  for (int i = 0; i < o->entry->ninputs; i++) any = any || o->inputs[i];
  return makes_no_step(o) && !any;
}

/* A file that is not there, by its plain name: a folder of images would have given the labels, too.
 */
static bool is_there(const char *text, Err *e) {
  File f;
  if (!text || strpbrk(text, "[]:~+,") || access(text, F_OK) == 0) return true;
  if (!file_open(&f, text, e)) return false;
  file_close(&f);
  return true;
}

bool cli_complete(const Options *o, Err *e) {
  const GcEntry *en = o->entry;
  if (o->given[OPT_EPOCHS] && o->given[OPT_STEPS]) {
    cli_usage(e, "--epochs and --steps exclude each other", NULL);
    return false;
  }
  if (o->given[OPT_SHUFFLE] && o->given[OPT_NOSHUFFLE])
    return cli_usage(e, "--shuffle and --no-shuffle exclude each other", NULL);
  if (o->given[OPT_BENCH] && !bench_alone(o, e)) return false;
  if (o->given[OPT_LOAD] && o->given[OPT_RESUME]) {
    cli_usage(e, "--load and --resume exclude each other", NULL);
    return err_hint(e, "a checkpoint holds the weights already");
  }
  if (o->given[OPT_EPOCHS] && en->ninputs == 0) {
    cli_usage(e, "--epochs: the entry has no inputs, so that there is no data to pass over", NULL);
    return err_hint(e, "say how often it runs with --steps N");
  }
  if (o->given[OPT_STEPS] && o->count[OPT_STEPS] == 0 && !en->training) {
    err_set(e, EXIT_USAGE,
            "--steps 0 writes the initial weights by an entry that trains, which %s does not",
            en->name);
    return err_hint(e, "info lists the entries; %s --save FILE writes weights behind its last run",
                    en->name);
  }
  if (o->given[OPT_STEPS] && !en->training && en->ninputs > 0) {
    cli_usage(e, "--steps: the entry runs over all rows of its files, once", NULL);
    return err_hint(e, "choose rows with FILE[a:b]");
  }
  if (makes_no_step(o) && !o->given[OPT_SAVE] && !o->given[OPT_CHECKPOINT]) {
    cli_usage(e, "--steps 0: nothing is trained, and no file is named for the weights", NULL);
    return err_hint(e, "add --save FILE for the initial weights");
  }
  char missing[512] = "";
  int at = 0;
  if (!cli_reads_no_data(o)) add_labels(en, o->inputs);
  for (int i = 0; i < en->ninputs && at < 400 && !cli_reads_no_data(o); i++)
    if (!o->inputs[i])
      at += snprintf(missing + at, sizeof missing - (size_t)at, "%s--%.60s %s", at ? " " : "",
                     en->inputs[i].name, cli_input_value(&en->inputs[i]));
  for (int i = 0; at && i < en->ninputs; i++)
    if (!is_there(o->inputs[i], e)) return false;
  if (at) {
    err_set(e, EXIT_USAGE, "%s needs %s", en->name, missing);
    return err_hint(e,
                    "an input is an .npy, .npz, .csv or IDX file, a folder of images, or flat "
                    "text; types are listed by %s --help",
                    en->name);
  }
  return complete_validation(o, e);
}

int cli_yes_or_no(const Options *o, int id, Err *e) {
  const char *text = o->given[id] ? o->text[id] : "no";
  bool yes = strcmp(text, "yes") == 0;
  if (yes || strcmp(text, "no") == 0) return yes;
  err_set(e, EXIT_USAGE, "--%s %s: yes or no is expected", cli_opts[id].name, text);
  return -1;
}
