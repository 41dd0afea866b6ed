/* The command line as a whole: what options need of one another, and what the entry's inputs lack.
   Contract: the options have been read one by one; an Err of exit code 2. */
#include "runtime/program/cli.h"

/* What --validate, --save-best and --patience need of one another. */
static bool complete_validation(const Options *o, Err *e) {
  const GcEntry *v = o->validate;
  char missing[512] = "";
  int at = 0;
  for (int i = 0; v && i < v->ninputs && at < 400; i++)
    if (!o->held[i])
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
  if (o->given[OPT_STEPS] && !en->training && en->ninputs > 0) {
    cli_usage(e, "--steps: the entry runs over all rows of its files, once", NULL);
    return err_hint(e, "choose rows with FILE[a:b]");
  }
  char missing[512] = "";
  int at = 0;
  for (int i = 0; i < en->ninputs && at < 400; i++)
    if (!o->inputs[i])
      at += snprintf(missing + at, sizeof missing - (size_t)at, "%s--%.60s %s", at ? " " : "",
                     en->inputs[i].name, cli_input_value(&en->inputs[i]));
  if (at) {
    err_set(e, EXIT_USAGE, "%s needs %s", en->name, missing);
    return err_hint(
        e, "an input is an .npy, .npz or IDX file, or flat text; types are listed by %s --help",
        en->name);
  }
  return complete_validation(o, e);
}
