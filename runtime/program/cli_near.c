/* Names on the command line that are none: the option of another program that has another name
   here, or else the nearest name. Contract: capitals count as small letters, and _ as -. */
#include "runtime/program/cli.h"
#include <string.h>

enum { NAME = 60 }; /* bytes of a name; longer ones are like none */

static char plain(char c) {
  return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int distance(const char *a, const char *b) { /* Levenshtein, one row */
  size_t n = strlen(a), m = strlen(b);
  if (n > NAME || m > NAME) return NAME;
  int row[NAME + 1];
  for (size_t j = 0; j <= m; j++) row[j] = (int)j;
  for (size_t i = 1; i <= n; i++) {
    int diag = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= m; j++) {
      int best = diag + (plain(a[i - 1]) != plain(b[j - 1]));
      diag = row[j];
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      row[j] = best;
    }
  }
  return row[m];
}

/* About half of a short name may be wrong: beyond that a suggestion is a guess. */
Near near_begin(const char *want) {
  int half = (int)strnlen(want, 6) / 2;
  return (Near){.want = want, .d = half + 1};
}

void near_try(Near *n, const char *name) {
  int d = distance(n->want, name);
  if (d < n->d) n->d = d, n->best = name;
}

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
    if (distance(habits[i].name, name) == 0 && is_here(en, &habits[i])) return &habits[i];
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
