/* Names on the command line that are none: the option of another program that has another name
   here, or else the nearest name. */
#include "runtime/program/cli.h"
#include <string.h>

typedef struct Habit {
  const char *name, *here, *text; /* here: an option or a hyper; or NULL and what to do */
} Habit;
static const Habit habits[] = {
#define HABIT(name, here) {name, here, NULL},
#define SAYING(name, text) {name, NULL, text},
#include "runtime/program/habits.def"
#undef HABIT
#undef SAYING
};

static bool is_here(const GcEntry *en, const Habit *h) {
  int option = h->here ? cli_find_option(h->here) : -1;
  OptWhere of = en->training ? INFER : TRAIN; /* what the entry does not take */
  if (option >= 0) return cli_opts[option].where != of;
  return h->text || cli_find_hyper(h->here) >= 0;
}

static const Habit *habit_of(const GcEntry *en, const char *name) {
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    if (spelling_distance(habits[i].name, name) == 0 && is_here(en, &habits[i])) return &habits[i];
  return NULL;
}

bool cli_unknown(const GcEntry *en, const char *name, Err *e) {
  Near n = near_begin(name);
  for (int i = 0; i < OPT_COUNT; i++) near_try(&n, cli_opts[i].name);
  for (int i = 0; i < en->ninputs; i++) near_try(&n, en->inputs[i].name);
  for (int i = 0; i < en->noutputs; i++) near_try(&n, en->outputs[i].name);
  for (int i = 0; i < gc_program.nhypers; i++) near_try(&n, gc_program.hypers[i].name);
  const Habit *h = n.d ? habit_of(en, name) : NULL;
  const char *best = h ? h->here : n.best;
  err_set(e, EXIT_USAGE, "unknown option --%s", name);
  if (best)
    return err_hint(e, "did you mean --%s? The options of %s are listed by %s --help", best,
                    en->name, en->name);
  if (h)
    return err_hint(e, "%s; the options of %s are listed by %s --help", h->text, en->name,
                    en->name);
  return err_hint(e, "the options of %s are listed by %s --help", en->name, en->name);
}
