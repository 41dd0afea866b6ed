/* What the command line says of processors: --target, --arch and -march.
   Contract: whether a target's compiler knows an architecture is that compiler's to say. Without
   --target an executable is for this machine: for its processor, and for a device that it has. */
#include "codegen/codegen.h"
#include "lang/driver/compilation.h"

#include <string.h>

CodegenPart *targets_part(Targets *t, const Backend *b) {
  for (int i = 0; i < t->n; i++)
    if (t->part[i].backend == b) return &t->part[i];
  return NULL;
}

/* How many parts a target has. */
static int targets_levels(const Targets *t, const Backend *b) {
  int n = 0;
  for (int i = 0; i < t->n; i++) n += t->part[i].backend == b;
  return n;
}

int targets_complete(Ctx *c, Targets *t, const Backend *b, CodegenOptions *o) {
  CodegenPart *first = targets_part(t, b);
  const char *march = NULL;
  int at, n = targets_levels(t, b);
  if (!b->levels || !n) return EXIT_DONE;
  if (!b->levels(c, first, n, o, &at, &march)) return o->failed;
  if (!march) return EXIT_DONE;
  CodegenPart *added = first + at + 1;
  memmove(added + 1, added, (size_t)(t->part + t->n - added) * sizeof *added);
  t->n++;
  *added = (CodegenPart){.backend = b, .march = march, .implied = true};
  added->target = b->target(c, added, o);
  return added->target ? EXIT_DONE : o->failed;
}

/* The host's parts: a level for each name of the list. */
static void add_levels(Ctx *c, Targets *t, const char *list) {
  int first = t->n;
  do {
    size_t n = strcspn(list, ",");
    t->part[t->n++] = (CodegenPart){.backend = backend_host(), .march = intern_n(c, list, n)};
    list += n;
  } while (*list++);
  for (int i = first; i < t->n; i++) t->part[i].one_of_several = t->n > first + 1;
}

/* Adds a name of --arch to the part whose name it can be. */
static int add_arch(Ctx *c, Targets *t, const char *arch) {
  CodegenPart *p = NULL, *any = NULL;
  for (int i = 0; i < t->n; i++) {
    const Backend *b = t->part[i].backend;
    if (b->is_arch && !any) any = &t->part[i];
    if (b->is_arch && b->is_arch(arch) && !p) p = &t->part[i];
  }
  if (!p)
    return usage_error("--arch takes names such as %s, not '%s'", any->backend->arch_example, arch);
  const char **more = ARENA_ARRAY(ctx_arena(c), const char *, p->narch + 1);
  for (int i = 0; i < p->narch; i++) {
    if (strcmp(p->arch[i], arch) == 0) return usage_error("--arch: %s is given twice", arch);
    more[i] = p->arch[i];
  }
  more[p->narch++] = arch;
  p->arch = more;
  return EXIT_DONE;
}

/* A list with commas; `one`: no more than its first name. */
static int add_archs(Ctx *c, Targets *t, const char *list, bool one) {
  int code = EXIT_DONE;
  for (const char *s = list; *s && !code;) {
    size_t n = strcspn(s, ",");
    code = add_arch(c, t, intern_n(c, s, n));
    if (one) break;
    s += n + (s[n] == ',');
  }
  return code;
}

static int count(const char *s, char letter) {
  int n = 0;
  for (; s && *s; s++) n += *s == letter;
  return n;
}

static bool lacks_name(const char *list) {
  for (size_t n; (n = strcspn(list, ",")); list += n + 1)
    if (!list[n]) return false;
  return true;
}

/* The first target of the list that has architectures; NULL: none has. */
static const Backend *with_arch(const bool *chosen, bool all) {
  for (int i = 0; i < BACKENDS; i++)
    if ((all || chosen[i]) && backends[i]->is_arch) return backends[i];
  return NULL;
}

static bool names_target(const char *list, const Backend *b) {
  for (const char *s = list; *s;) {
    size_t n = strcspn(s, ",");
    if (backend_named(s, n) == b) return true;
    s += n + (s[n] == ',');
  }
  return false;
}

CodegenPart *targets_shown(Targets *t, const Options *o) {
  const char *list = option_value(o, OPT_TARGET, NULL);
  const Backend *host = backend_host();
  CodegenPart *p = !list || names_target(list, host) ? targets_part(t, host) : NULL;
  return p ? p : &t->part[0];
}

int targets_choose(Ctx *c, const Options *o, Targets *out) {
  const char *how = option_value(o, OPT_DATA_PARALLEL, NULL);
  const Backend *ranks = how ? backend_of_ranks(how) : NULL; /* which talk on one target alone */
  const char *emit = option_value(o, OPT_EMIT, "exe"),
             *list = option_value(o, OPT_TARGET, ranks ? ranks->name : NULL);
  bool program = settings_makes_program(settings_emit(o));
  bool here = !list && !option_given(o, OPT_ARCH) && strcmp(emit, "exe") == 0;
  bool chosen[BACKENDS] = {false};
  const char *arch_here[BACKENDS] = {NULL};
  const BackendForm *form = NULL;
  const Backend *host = backend_host(), *of_form = backend_of_form(emit, &form);
  for (int i = 0; i < BACKENDS; i++) {
    const Backend *b = backends[i];
    chosen[i] = list && names_target(list, b);
    if (here && b->is_here) chosen[i] |= b->is_here(c, &arch_here[i]);
    if (b == of_form && list && !chosen[i])
      return usage_error("--emit=%s is for --target=%s, not %s", emit, b->name, list);
    chosen[i] |=
        b == of_form || (b == host && (!ranks || b == ranks) && (program || (!list && !of_form)));
  }
  const char *levels = option_value(o, OPT_MARCH, NULL);
  if (levels && lacks_name(levels))
    return usage_error("-march=%s: a name is missing beside a comma", levels);
  /* one more for a level that is implied */
  *out =
      (Targets){.part = ARENA_ARRAY(ctx_arena(c), CodegenPart, BACKENDS + count(levels, ',') + 1)};
  for (int i = 0; i < BACKENDS; i++)
    if (chosen[i] && backends[i] != host) out->part[out->n++].backend = backends[i];
  for (int i = 0; i < BACKENDS; i++) {
    if (!chosen[i] || backends[i] != host) continue;
    if (levels)
      add_levels(c, out, levels);
    else
      out->part[out->n++].backend = host;
  }
  if (option_given(o, OPT_ARCH)) {
    const Backend *any = with_arch(chosen, true);
    if (!with_arch(chosen, false))
      return usage_error("--arch is for --target=%s", any ? any->name : "");
    return add_archs(c, out, option_value(o, OPT_ARCH, ""), false);
  }
  for (int i = 0; i < BACKENDS; i++) {
    const char *archs = arch_here[i] ? arch_here[i] : backends[i]->default_arch;
    bool one = form && form->image && !form->binary && !arch_here[i];
    int code = chosen[i] && archs ? add_archs(c, out, archs, one) : EXIT_DONE;
    if (code) return code;
  }
  return EXIT_DONE;
}
