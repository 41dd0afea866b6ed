/* Which globals a file of weights has: by their kind, and by paths, as in FILE,scope=PATH.
   Contract: see weights.h. */
#include "runtime/base/paths.h"
#include "runtime/weights/weights.h"
#include <stdlib.h>
#include <string.h>

static bool is_left_out(const GcGlobal *g, const WeightsView *s) {
  for (int i = 0; i < s->nwithout; i++)
    if (path_is_below(g->t.name, s->without[i])) return true;
  return false;
}

static bool in_scope(const GcGlobal *g, const WeightsView *s) {
  return !s || ((!s->scope || path_is_below(g->t.name, s->scope)) && !is_left_out(g, s));
}

bool is_step_counter(const GcGlobal *g) {
  return g->t.rank == 0 && g->t.dtype == GC_I64 && strcmp(g->t.name, "step") == 0;
}

/* Copies are made of what a file has, and tables are the program's. */
bool choose_all(const GcGlobal *g, const WeightsView *s) {
  return !g->master && !g->table && in_scope(g, s);
}

bool choose_own(const GcGlobal *g, const WeightsView *s) { return !g->master && !g->transient; }

bool choose_none(const GcGlobal *g, const WeightsView *s) { return false; }

bool choose_params(const GcGlobal *g, const WeightsView *s) {
  return g->kind == GC_PARAM && choose_all(g, s);
}

/* Optimizer state, transient states and the step counter belong to a run, not to the model:
   checkpoints have them. Published weights have the states that `from` names, and no others. */
bool choose_saved(const GcGlobal *g, const WeightsView *s) {
  bool unnamed = s && s->published && g->kind == GC_STATE && !g->origin;
  return g->kind != GC_OPTIMIZER && !g->transient && !is_step_counter(g) && !unnamed &&
         choose_all(g, s);
}

/* ---- FILE[,scope=PATH][,without=PATH]…[,names=published][,image=FILE] ---- */

enum { SCOPE, WITHOUT, NAMES, IMAGE, WORDS };
static const char *const words[] = {",scope=", ",without=", ",names=", ",image="};
static const char *const word_is_for[] = {"--save and --load", "--save and --load", "--save",
                                          "--load"};

/* The first of the options in s, and which one. */
static char *next_option(char *s, int *which) {
  char *first = NULL;
  for (int i = 0; i < WORDS; i++) {
    char *at = strstr(s, words[i]);
    if (at && (!first || at < first)) first = at, *which = i;
  }
  return first;
}

static bool wrong_option(const char *text, const char *word, const char *what, Err *e) {
  err_set(e, EXIT_USAGE, "%s: %s %s", text, word, what);
  return err_hint(e, "as in FILE,scope=net.fc1: info lists the paths");
}

static bool read_options(WeightsName *out, const char *text, Err *e) {
  WeightsView *v = &out->part;
  const char *names = NULL;
  int which = 0;
  for (char *at = next_option(out->path, &which), *end; at; at = end) {
    const char **to = which == SCOPE     ? &v->scope
                      : which == WITHOUT ? &out->without[v->nwithout++]
                      : which == NAMES   ? &names
                                         : &out->image;
    char *begin = at + strlen(words[which]);
    const char *word = words[which] + 1;
    *at = 0;
    end = next_option(begin, &which);
    if (*to) return wrong_option(text, word, "is given twice", e);
    if (!*begin || end == begin) return wrong_option(text, word, "has no value", e);
    *to = begin;
  }
  if (!*out->path) return err_set(e, EXIT_USAGE, "%s: no file is named", text);
  if (names && strcmp(names, "published") != 0) {
    err_set(e, EXIT_USAGE, "%s: names=%s", text, names);
    return err_hint(e, "names=published writes the names that 'from' declares; without it, paths");
  }
  v->published = names != NULL;
  return true;
}

bool weights_name(WeightsName *out, const char *text, Err *e) {
  size_t most = 0; /* options */
  for (const char *s = text; (s = strchr(s, ',')); s++) most++;
  *out = (WeightsName){.path = strdup(text), .without = calloc(most + 1, sizeof *out->without)};
  out->part.without = out->without;
  if (out->path && out->without) {
    if (read_options(out, text, e)) return true;
  } else {
    err_set(e, EXIT_ENV, "no memory for a file name");
  }
  weights_name_free(out);
  return false;
}

void weights_name_free(WeightsName *name) {
  free(name->path);
  free(name->without);
  *name = (WeightsName){0};
}

/* path: no parameter is at or below it; NULL: there is none that is meant. */
static bool list_parameters(const char *path, Err *e) {
  enum { LONGEST = 60 };
  char best[LONGEST + 1] = "";
  Near near = near_begin(path ? path : "");
  for (int i = 0; path && i < gc_program.nglobals; i++) {
    const char *name = gc_program.globals[i].t.name;
    for (size_t n = 1; n <= LONGEST && choose_saved(&gc_program.globals[i], NULL); n++) {
      char prefix[LONGEST + 1];
      const int before = near.d;
      n += strcspn(name + n, ".");
      if (n > LONGEST) break;
      snprintf(prefix, sizeof prefix, "%.*s", (int)n, name);
      near_try(&near, prefix);
      if (near.d < before) memcpy(best, prefix, sizeof best);
      if (!name[n]) break;
    }
  }
  if (*best) return err_hint(e, "did you mean %s? info lists the parameters", best);
  return err_hint(e, "info lists the parameters");
}

/* That each path of without= leaves something out, as one that is misspelt does not. */
static bool leaves_out(const WeightsView *v, const char *option, Err *e) {
  for (int i = 0; i < v->nwithout; i++) {
    const WeightsView one = {.scope = v->without[i]};
    bool any = false;
    for (int k = 0; k < gc_program.nglobals; k++) any |= choose_saved(&gc_program.globals[k], &one);
    if (any) continue;
    err_set(e, EXIT_USAGE,
            "--%s: without=%s leaves nothing out: the program has no such parameters", option,
            v->without[i]);
    return list_parameters(v->without[i], e);
  }
  return true;
}

static bool no_globals(const WeightsView *v, const char *option, Err *e) {
  char all[200] = "";
  for (int i = 0, at = 0; i < v->nwithout && at < (int)sizeof all; i++)
    at += snprintf(all + at, sizeof all - (size_t)at, "%s%s", i ? " or " : "", v->without[i]);
  if (v->scope && v->nwithout)
    err_set(e, EXIT_USAGE, "--%s: the program has no parameters below %s and not below %s", option,
            v->scope, all);
  else if (v->scope)
    err_set(e, EXIT_USAGE, "--%s: the program has no parameters below %s", option, v->scope);
  else if (v->nwithout)
    err_set(e, EXIT_USAGE, "--%s: the program has no parameters but those below %s", option, all);
  else
    return true;
  return list_parameters(v->nwithout ? NULL : v->scope, e);
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
    err_set(e, EXIT_USAGE, "--load: names=published is for what is saved");
    return err_hint(e, "a file's names are found: paths, or those that 'from' declares");
  }
  if (name->image && saves) {
    err_set(e, EXIT_USAGE, "--save: image= is for --load");
    return err_hint(e, "the image of what --load reads is written beside it");
  }
  if (name->image && gc_program.ranks)
    return err_set(e, EXIT_USAGE, "--load: image= is not for a program with ranks");
  if (!leaves_out(v, option, e)) return false;
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

bool weights_name_image(const WeightsName *names, int n, const char **image, Err *e) {
  *image = NULL;
  for (int i = 0; i < n; i++) {
    if (!names[i].image) continue;
    if (*image) {
      err_set(e, EXIT_USAGE, "--load: image= is named twice");
      return err_hint(e, "one image has what all files of --load give together");
    }
    *image = names[i].image;
  }
  return true;
}

bool weights_name_whole(const char *text, const char *option, Err *e) {
  for (int i = 0; i < WORDS; i++)
    if (strstr(text, words[i])) {
      err_set(e, EXIT_USAGE, "--%s: a checkpoint has all weights, under their paths", option);
      return err_hint(e, "%.*s is for %s", (int)strlen(words[i]) - 1, words[i] + 1, word_is_for[i]);
    }
  return true;
}
