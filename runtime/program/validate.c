/* Validation during training: another entry runs over held-out rows, in the same process and the
   same memory. Contract: its figures are those of a run of its own with the weights of that step,
   bit for bit, and training goes on as if nothing had run between: the entry assigns no global, its
   random numbers are keyed by its own batches, and the arena holds nothing from one run to the
   next. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

bool validation_measures(const GcTensor *t) {
  return t->rank == 0 && elem_info[t->dtype].cls == ELEM_FLOATS;
}

/* ---- the metric ---- */

/* Words of a name stand between underscores, with or without a number behind: top5_err. */
static bool has_word(const char *name, const char *const *words, size_t n) {
  for (size_t at = 0; name[at]; at += name[at] == '_') {
    size_t all = strcspn(name + at, "_"), bare = all;
    while (bare && name[at + bare - 1] >= '0' && name[at + bare - 1] <= '9') bare--;
    for (size_t i = 0; i < n; i++) {
      size_t m = strlen(words[i]);
      if ((m == all || m == bare) && strncmp(name + at, words[i], m) == 0) return true;
    }
    at += all;
  }
  return false;
}

#define HAS_WORD(name, words) has_word(name, words, sizeof words / sizeof *words)

/* -1: less is better; 1: more is; 0: the name does not say. */
static int direction_of(const char *name) {
  static const char *const falls[] = {"loss", "perplexity", "error", "err", "nll",
                                      "mse",  "rmse",       "mae",   "xent"};
  static const char *const rises[] = {"acc",    "accuracy", "f1",     "precision",
                                      "recall", "auc",      "iou",    "miou",
                                      "psnr",   "top",      "reward", "likelihood"};
  static const char *const turns[] = {"neg", "negative", "minus", "no", "not"};
  if (HAS_WORD(name, turns)) return 0;
  return HAS_WORD(name, rises) - HAS_WORD(name, falls);
}

static bool no_metric(const GcEntry *v, const char *name, Err *e) {
  char all[400] = "";
  size_t at = 0;
  for (int i = 0; i < v->noutputs && at < 300; i++)
    if (validation_measures(&v->outputs[i]))
      at += (size_t)snprintf(all + at, sizeof all - at, "%s%.60s", at ? ", " : "",
                             v->outputs[i].name);
  err_set(e, EXIT_USAGE, "--save-best %s: %s returns no float scalar of this name", name, v->name);
  return err_hint(e, "it returns %s", all);
}

/* The output named, or `loss`, or the first. */
static bool choose_metric(Command *cmd, Err *e) {
  const GcEntry *v = cmd->validation.entry;
  const char *text = cmd->options.text[OPT_SAVEBEST];
  char sign = text && (*text == '-' || *text == '+') ? *text : 0;
  const char *name = text && *text ? text + (sign != 0) : NULL;
  int chosen = -1;
  for (int i = 0; i < v->noutputs; i++) {
    const char *found = v->outputs[i].name;
    if (!validation_measures(&v->outputs[i])) continue;
    if (name ? strcmp(found, name) == 0 : chosen < 0 || strcmp(found, "loss") == 0) chosen = i;
  }
  if (chosen < 0) return no_metric(v, name, e);
  name = v->outputs[chosen].name;
  int direction = direction_of(name);
  bool chooses = cmd->options.given[OPT_SAVEBEST] || cmd->options.given[OPT_PATIENCE];
  if (chooses && !sign && !direction) {
    err_set(e, EXIT_USAGE, "whether a better %s is higher or lower is not known", name);
    return err_hint(e, "write --save-best +%s if it rises, --save-best -%s if it falls", name,
                    name);
  }
  cmd->validation.metric = (Metric){chosen, sign ? sign == '-' : direction < 0};
  return true;
}

static bool has_figures(const GcEntry *v) {
  for (int i = 0; i < v->noutputs; i++)
    if (validation_measures(&v->outputs[i])) return true;
  return false;
}

bool validation_check(const GcEntry *v, Err *e) {
  if (v->training) {
    err_set(e, EXIT_USAGE, "--validate %s: the entry trains", v->name);
    return err_hint(e, "name an entry without minimize");
  }
  if (v->assigns) {
    err_set(e, EXIT_USAGE, "--validate %s: the entry assigns %s, which would change the training",
            v->name, v->assigns);
    return err_hint(e, "name an entry that assigns no state");
  }
  if (has_figures(v)) return true;
  err_set(e, EXIT_USAGE, "--validate %s: the entry returns no float scalar", v->name);
  return err_hint(e, "return one, such as accuracy = mean(argmax(logits) == label)");
}

bool validation_prepare(Command *cmd, const DataRequest *q, Err *e) {
  const GcEntry *v = cmd->options.validate;
  if (!v) return true;
  Validation *h = &cmd->validation;
  h->entry = &cmd->session.device->program->entries[v - gc_program.entries];
  Labels labels = {0};
  DataRequest request = *q;
  request.shuffle = false;
  request.whole = false; /* --drop-last is the training's */
  request.labels = &labels;
  bool ok = choose_metric(cmd, e) && labels_of_training(cmd, q->labels, &labels, e) &&
            dataset_open(&h->data, h->entry, cmd->options.validation_files, &request, e);
  labels_free(&labels);
  return ok;
}

bool validation_takes(const GcEntry *v) { return has_figures(v) && !v->training && !v->assigns; }

/* ---- runs ---- */
bool validation_due(const Command *cmd, uint64_t done, bool epoch) {
  uint64_t every = cmd->options.validate_every;
  return cmd->validation.entry && (every ? done % every == 0 : epoch);
}

static bool go_through(Command *cmd) {
  Session *s = &cmd->session;
  Validation *h = &cmd->validation;
  const GcEntry *v = h->entry;
  uint64_t runs = h->data.n ? h->data.batches : 1;
  for (int i = 0; i < v->noutputs; i++) aggregate_begin(v->outputs[i].aggregate, &h->means[i]);
  for (uint64_t run = 0; run < runs; run++) {
    bool ends = command_signal(cmd) != 0;
    if (ends && !s->device->in_flight) return false;
    uint64_t batch = h->data.n ? run : NO_BATCH;
    const RunRequest q = {
        .batch = batch, .more = !ends && run + 1 < runs, .next = h->data.n ? run + 1 : NO_BATCH};
    s->env.step = run;
    inspect_begin(cmd, &h->data, batch);
    session_run(s, s->entries[1], &q);
    if (!ranks_finite(cmd)) return false;
    ranks_signal(cmd);
    if (dataset_trouble(&h->data, batch, &cmd->err)) return false;
    if (session_fault(s, v, batch)) {
      cmd->err = s->err;
      return false;
    }
    inspect_end(cmd);
    for (int i = 0; i < v->noutputs; i++)
      if (validation_measures(&v->outputs[i]))
        aggregate_add(v->outputs[i].aggregate, &h->means[i], output_scalar(cmd, &v->outputs[i]),
                      h->data.n ? dataset_weight(&h->data, run, run + 1) : 1);
  }
  double weight = h->data.n ? dataset_weight(&h->data, 0, runs) : (double)runs;
  for (int i = 0; i < v->noutputs; i++)
    h->means[i] = validation_measures(&v->outputs[i])
                      ? aggregate_of(v->outputs[i].aggregate, h->means[i], weight)
                      : NAN;
  return true;
}

static bool is_better(const Validation *h, double now) {
  if (!isfinite(now)) return false;
  return isnan(h->best) || (h->metric.falls ? now < h->best : now > h->best);
}

/* The best weights are written at once: what comes next may fail. */
static bool keep_best(Command *cmd) {
  Err e = {0};
  if (!cmd->options.given[OPT_SAVEBEST] || !cmd->options.text[OPT_SAVE]) return true;
  if (!write_weights(cmd, &e)) {
    cmd->err = e;
    return false;
  }
  return cmd->validation.saved = true;
}

static void print(Command *cmd, uint64_t done, bool best) {
  const Validation *h = &cmd->validation;
  if (cmd->options.given[OPT_QUIET]) return;
  printf("%s  step %" PRIu64, h->entry->name, done);
  for (int i = 0; i < h->entry->noutputs; i++)
    if (validation_measures(&h->entry->outputs[i]))
      printf("  %.40s %.6g", h->entry->outputs[i].name, h->means[i]);
  printf("%s\n", best ? "  best" : "");
  fflush(stdout);
}

bool validation_run(Command *cmd, uint64_t done) {
  Session *s = &cmd->session;
  Validation *h = &cmd->validation;
  s->data = &h->data;
  bool ok = go_through(cmd);
  s->data = &cmd->data;
  h->owed = !ok;
  if (!ok) return false;
  h->at = done;
  history_validation(cmd, done);
  double now = h->means[h->metric.output];
  bool best = is_better(h, now);
  if (best) h->best = now, h->best_step = done, h->waited = 0;
  if (!best) h->waited++;
  print(cmd, done, best && (cmd->options.given[OPT_SAVEBEST] || cmd->options.given[OPT_PATIENCE]));
  return !best || keep_best(cmd);
}

void validation_metric(const Command *cmd, char *text, size_t size) {
  const Validation *h = &cmd->validation;
  *text = 0;
  if (h->entry)
    snprintf(text, size, "%c%s.%s", h->metric.falls ? '-' : '+', h->entry->name,
             h->entry->outputs[h->metric.output].name);
}

static bool holds_something(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > 0);
}

void validation_resume(Command *cmd, const char *was, const char *now) {
  Validation *h = &cmd->validation;
  const char *from = cmd->options.text[OPT_RESUME], *best = cmd->saved.path;
  bool keeps = cmd->options.given[OPT_SAVEBEST], other = strcmp(was, now) != 0;
  if (!h->entry) return;
  if (other) {
    if (!isnan(h->best) && (keeps || cmd->options.given[OPT_PATIENCE]))
      note(cmd, "%s: its best figure is of another metric (%s, here %s); the best begins anew",
           from, was, now);
    h->waited = 0;
  } else if (keeps && !isnan(h->best) && !holds_something(best)) {
    note(cmd,
         "%s: has no weights of the best validation, that of step %" PRIu64
         " of %s; the best begins anew",
         best, h->best_step, from);
    other = true;
  } else if (keeps && !isnan(h->best)) {
    note(cmd,
         "%s: is taken as the weights of the best validation so far, that of step %" PRIu64
         " of %s",
         best, h->best_step, from);
  }
  if (other) h->best = NAN, h->best_step = 0;
}

bool validation_ends(const Command *cmd) {
  return cmd->options.given[OPT_PATIENCE] &&
         cmd->validation.waited >= cmd->options.count[OPT_PATIENCE];
}

void validation_end(Command *cmd, bool early) {
  const Validation *h = &cmd->validation;
  if (!h->entry) return;
  const char *name = h->entry->outputs[h->metric.output].name;
  if (early && validation_ends(cmd))
    note(cmd, "training ended early: %" PRIu64 " validation%s without a better %s", h->waited,
         h->waited == 1 ? "" : "s", name);
  if (cmd->options.given[OPT_SAVEBEST] && !isnan(h->best))
    note(cmd, "%s %s the weights of step %" PRIu64 ": %s %.6g", cmd->save.path,
         h->saved ? "has" : "keeps", h->best_step, name, h->best);
}
