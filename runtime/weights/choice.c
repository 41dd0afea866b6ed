/* Which globals a file of weights has: by their kind, and by paths, as in FILE,scope=PATH.
   Contract: see weights.h. A name of a path that is * stands for one name or more; the compiler
   has the same rule for paths of trees. */
#include "runtime/weights/weights.h"
#include <stdlib.h>
#include <string.h>

static bool is_below(const char *path, const char *at) {
  size_t n = strcspn(at, ".");
  bool any = n == 1 && *at == '*';
  for (;;) {
    size_t k = strcspn(path, ".");
    if (!any && (k != n || memcmp(path, at, n) != 0)) return false;
    if (!at[n]) return true;
    if (!path[k]) return false;
    if (is_below(path + k + 1, at + n + 1)) return true;
    if (!any) return false;
    path += k + 1;
  }
}

static bool in_scope(const GcGlobal *g, const WeightsView *s) {
  return !s || ((!s->scope || is_below(g->t.name, s->scope)) &&
                !(s->without && is_below(g->t.name, s->without)));
}

bool is_step_counter(const GcGlobal *g) {
  return g->t.rank == 0 && g->t.dtype == GC_I64 && strcmp(g->t.name, "step") == 0;
}

bool choose_all(const GcGlobal *g, const WeightsView *s) { return in_scope(g, s); }

bool choose_none(const GcGlobal *g, const WeightsView *s) { return false; }

bool choose_params(const GcGlobal *g, const WeightsView *s) {
  return g->kind == GC_PARAM && in_scope(g, s);
}

/* Optimizer state and the step counter belong to a run, not to the model: checkpoints have them. */
bool choose_saved(const GcGlobal *g, const WeightsView *s) {
  return g->kind != GC_OPTIMIZER && !is_step_counter(g) && in_scope(g, s);
}

/* ---- FILE[,scope=PATH][,without=PATH][,names=published] ---- */

static const char *const words[] = {",scope=", ",without=", ",names="};
enum { WORDS = sizeof words / sizeof *words };

/* The first of the options in s, and which one. */
static char *next_option(char *s, int *which) {
  char *first = NULL;
  for (int i = 0; i < WORDS; i++) {
    char *at = strstr(s, words[i]);
    if (at && (!first || at < first)) first = at, *which = i;
  }
  return first;
}

static bool read_options(WeightsName *out, const char *text, Err *e) {
  const char *names = NULL, **value[WORDS] = {&out->part.scope, &out->part.without, &names};
  int which = 0;
  for (char *at = next_option(out->path, &which), *end; at; at = end) {
    const char **to = value[which], *word = words[which] + 1;
    char *begin = at + strlen(words[which]);
    *at = 0;
    end = next_option(begin, &which);
    if (*to || !*begin || end == begin) {
      err_set(e, EXIT_USAGE, "%s: %s %s", text, word, *to ? "is given twice" : "has no value");
      return err_hint(e, "as in FILE,scope=net.fc1: info lists the paths");
    }
    *to = begin;
  }
  if (!*out->path) return err_set(e, EXIT_USAGE, "%s: no file is named", text);
  if (names && strcmp(names, "published") != 0) {
    err_set(e, EXIT_USAGE, "%s: names=%s", text, names);
    return err_hint(e, "names=published writes the names that 'from' declares; without it, paths");
  }
  out->part.published = names != NULL;
  return true;
}

bool weights_name(WeightsName *out, const char *text, Err *e) {
  *out = (WeightsName){.path = strdup(text)};
  if (!out->path) return err_set(e, EXIT_ENV, "no memory for a file name");
  if (read_options(out, text, e)) return true;
  weights_name_free(out);
  return false;
}

void weights_name_free(WeightsName *name) {
  free(name->path);
  *name = (WeightsName){0};
}

static bool no_globals(const WeightsView *v, const char *option, Err *e) {
  if (v->scope && v->without)
    err_set(e, EXIT_USAGE, "--%s: the program has no parameters below %s and not below %s", option,
            v->scope, v->without);
  else if (v->scope)
    err_set(e, EXIT_USAGE, "--%s: the program has no parameters below %s", option, v->scope);
  else if (v->without)
    err_set(e, EXIT_USAGE, "--%s: the program has no parameters but those below %s", option,
            v->without);
  else
    return true;
  return err_hint(e, "info lists the parameters");
}

/* In a file of published names. */
static const char *written_name(const GcGlobal *g) {
  return g->origin && !g->quantized ? g->origin : g->t.name;
}

/* A name of `from` stands in a file as it is, and once. */
static bool name_fits(const GcGlobal *g, const WeightsView *v, const char *option, Err *e) {
  for (const char *s = g->origin; *s; s++)
    if (*s == '"' || *s == '\\' || (unsigned char)*s < 0x20)
      return err_set(e, EXIT_USAGE,
                     "--%s: the published name of %s has a quote, a backslash or a "
                     "control character",
                     option, g->t.name);
  for (const GcGlobal *h = gc_program.globals; h < gc_program.globals + gc_program.nglobals; h++)
    if (h != g && choose_saved(h, v) && strcmp(written_name(g), written_name(h)) == 0)
      return err_set(e, EXIT_USAGE, "--%s: %s and %s would have one name in the file, %s", option,
                     g->t.name, h->t.name, written_name(g));
  return true;
}

bool weights_name_check(const WeightsName *name, bool saves, Err *e) {
  const WeightsView *v = &name->part;
  const char *option = saves ? "save" : "load";
  bool any = false, named = false;
  if (v->published && !saves) {
    err_set(e, EXIT_USAGE, "--load: names=published is for --save");
    return err_hint(e, "a file's names are found: paths, or those that 'from' declares");
  }
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (!choose_saved(g, v)) continue;
    any = true, named |= g->origin && !g->quantized;
    if (v->published && g->origin && !name_fits(g, v, option, e)) return false;
  }
  if (!any) return no_globals(v, option, e);
  if (!v->published || named) return true;
  err_set(e, EXIT_USAGE, "--%s: nothing that the file is to have has a published name", option);
  return err_hint(e, "'from' behind a param declares its name; without names=published the file "
                     "has paths");
}

bool weights_name_whole(const char *text, const char *option, Err *e) {
  for (int i = 0; i < WORDS; i++)
    if (strstr(text, words[i])) {
      err_set(e, EXIT_USAGE, "--%s: a checkpoint has all weights, under their paths", option);
      return err_hint(e, "%.*s is for --save and --load", (int)strlen(words[i]) - 1, words[i] + 1);
    }
  return true;
}
