/* Reads a tool's command line. Contract: see arguments.h. */
#include "runtime/text/arguments.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Argument *find(const Arguments *a, const char *name) {
  for (Argument *x = a->at; x->name; x++)
    if (strcmp(x->name, name) == 0) return x;
  return NULL;
}

const Argument *argument_in(const Argument *list, const char *name) {
  return find(&(Arguments){.at = (Argument *)list}, name);
}

double argument_real(const Argument *list, const char *name, double missing) {
  const Argument *x = argument_in(list, name);
  return x->given ? x->number : missing;
}

uint64_t argument_count(const Argument *list, const char *name, uint64_t missing) {
  const Argument *x = argument_in(list, name);
  return x->given ? x->count : missing;
}

const char *argument_text(const Argument *list, const char *name) {
  return argument_in(list, name)->text;
}

static void help(const Arguments *a, const char *program) {
  printf("usage: %s %s %s\n\noptions\n", program, a->tool, a->usage);
  for (const Argument *x = a->at; x->name; x++) {
    char left[80];
    snprintf(left, sizeof left, "%s%s%s", x->name, x->metavar ? " " : "",
             x->metavar ? x->metavar : "");
    printf("  %-26s %s\n", left, x->help);
  }
  printf("  %-26s %s\n", "--help", "print this text");
}

static bool read_count(const char *s, const Argument *x, uint64_t *out) {
  char *end;
  errno = 0;
  unsigned long long n = strtoull(s, &end, 10);
  *out = n;
  return *s >= '0' && *s <= '9' && !*end && !errno && (double)n >= x->least && (double)n <= x->most;
}

static bool set(Argument *x, const char *value, Err *e) {
  char *end;
  if (x->kind == ARG_LIST) {
    if (x->count == sizeof x->list / sizeof *x->list)
      return err_set(e, EXIT_USAGE, "%s: at most %" PRIu64 " at a time", x->name, x->count);
    x->list[x->count++] = value;
  } else if (x->given) {
    return err_set(e, EXIT_USAGE, "given twice: %s", x->name);
  }
  x->given = true;
  x->text = value;
  if (x->kind == ARG_COUNT && !read_count(value, x, &x->count))
    return err_set(e, EXIT_USAGE, "%s needs a whole number from %.0f to %.0f, not %s", x->name,
                   x->least, x->most, value);
  if (x->kind != ARG_REAL) return true;
  x->number = strtod(value, &end);
  if (end != value && !*end && x->number >= x->least && x->number <= x->most) return true;
  return err_set(e, EXIT_USAGE, "%s needs a number from %g to %g, not %s", x->name, x->least,
                 x->most, value);
}

static bool read_one(Arguments *a, const char *program, int argc, char **argv, int *at, Err *e) {
  const char *word = argv[*at], *eq = strchr(word, '=');
  char name[64];
  if (word[0] != '-' || !word[1]) {
    a->files[a->nfiles++] = argv[*at];
    return true;
  }
  size_t n = eq ? (size_t)(eq - word) : strlen(word);
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), word);
  Argument *x = find(a, strcmp(name, "-o") == 0 ? "--output" : name);
  if (!x) {
    err_set(e, EXIT_USAGE, "unknown option %s", name);
    return err_hint(e, "the options are listed by %s %s --help", program, a->tool);
  }
  if (x->kind == ARG_FLAG) {
    if (eq) return err_set(e, EXIT_USAGE, "takes no value: %s", word);
    return set(x, "", e);
  }
  const char *value = eq ? eq + 1 : *at + 1 < argc ? argv[++*at] : NULL;
  return value ? set(x, value, e) : err_set(e, EXIT_USAGE, "a value is missing after %s", word);
}

bool arguments_read(Arguments *a, const char *program, int argc, char **argv, int *code, Err *e) {
  a->files = argv; /* files move to its beginning */
  *code = 0;
  for (int i = 0; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      return help(a, program), false;
  *code = EXIT_USAGE;
  for (int i = 0; i < argc; i++)
    if (!read_one(a, program, argc, argv, &i, e)) return *code = e->code, false;
  for (const Argument *x = a->at; x->name; x++) {
    if (!x->needed || x->given) continue;
    err_set(e, EXIT_USAGE, "%s needs %s %s", a->tool,
            strcmp(x->name, "--output") == 0 ? "-o" : x->name, x->metavar);
    return err_hint(e, "the options are listed by %s %s --help", program, a->tool);
  }
  return true;
}
