/* The command line of a generated program: sub-commands are its entries; options are the rows of
   options.def, then the entry's own inputs, hypers and outputs by name.
   Contract: fills Options or an Err of exit code 2; a name that two things share is told apart by
   --input.NAME, --hyper.NAME and --output.NAME. */
#include "runtime/program/cli.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const Opt cli_opts[OPT_COUNT] = {
#define OPT(id, name, metavar, kind, where, help) [OPT_##id] = {name, metavar, kind, where, help},
#include "runtime/program/options.def"
#undef OPT
};

bool cli_usage(Err *e, const char *what, const char *found) {
  return err_set(e, EXIT_USAGE, "%s%s%s", what, found ? ": " : "", found ? found : "");
}

/* ---- values ---- */

/* The name in front of the = is that of no output. */
static bool no_output(const GcEntry *en, const char *value, size_t length, Err *e) {
  char name[100];
  snprintf(name, sizeof name, "%.*s", (int)length, value);
  Near n = near_begin(name);
  for (int i = 0; i < en->noutputs; i++) near_try(&n, en->outputs[i].name);
  cli_usage(e, "--expect: the entry has no such output", name);
  if (n.best) return err_hint(e, "did you mean %s%s?", n.best, value + length);
  return err_hint(e, "the outputs are listed by %s --help", en->name);
}

static bool set_expect(Options *o, const char *value, Err *e) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const GcEntry *en = o->entry;
  const char *eq = strchr(value, '=');
  const size_t length = eq ? (size_t)(eq - value) : 0;
  int which = -1;
  for (int i = 0; i < en->noutputs && eq; i++)
    if (strlen(en->outputs[i].name) == length && strncmp(en->outputs[i].name, value, length) == 0)
      which = i;
  const char *path = which >= 0 ? eq + 1 : value;
  if (which < 0 && length && strspn(value, letters) == length && access(value, F_OK) != 0)
    return no_output(en, value, length, e);
  if (which < 0 && en->noutputs == 1) which = 0;
  if (which < 0) {
    cli_usage(e, "--expect: which output is meant", value);
    return err_hint(e, "write --expect OUTPUT=FILE.npy; the outputs are listed by %s --help",
                    en->name);
  }
  if (o->outputs[which].expect)
    return cli_usage(e, "--expect is given twice for the output", en->outputs[which].name);
  o->outputs[which].expect = path;
  return true;
}

static bool set_text(Options *o, const char *value, Err *e) {
  const GcEntry *en = o->entry;
  for (int i = 0; i < en->noutputs; i++) {
    if (strcmp(en->outputs[i].name, value) != 0) continue;
    if (en->outputs[i].dtype == GC_U8) {
      o->outputs[i].text = true;
      return true;
    }
    cli_usage(e, "--text: the output is not of type u8", value);
    return err_hint(e, "characters are u8: return u8(...) from the entry");
  }
  cli_usage(e, "--text: the entry has no such output", value);
  return err_hint(e, "the outputs are listed by %s --help", en->name);
}

int cli_find_tensor(const GcTensor *t, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(t[i].name, name) == 0) return i;
  return -1;
}

static bool hint_entries(Err *e) {
  char all[400] = "";
  size_t at = 0;
  int shown = 0, n = gc_program.nentries;
  for (; shown < n && at + strlen(gc_program.entries[shown].name) + 16 < sizeof all; shown++)
    at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", shown ? ", " : "",
                           gc_program.entries[shown].name);
  return err_hint(e, "its entries: %s%s; --help describes them", all, shown < n ? ", …" : "");
}

static bool find_entry(const GcEntry **out, const char *name, Err *e) {
  Near n = near_begin(name);
  for (int i = 0; i < gc_program.nentries; i++) {
    near_try(&n, gc_program.entries[i].name);
    if (strcmp(gc_program.entries[i].name, name) == 0) {
      *out = &gc_program.entries[i];
      return true;
    }
  }
  cli_usage(e, "this program has no entry", name);
  if (n.best) return err_hint(e, "did you mean %s? --help lists the entries", n.best);
  return hint_entries(e);
}

/* "ENTRY", "ENTRY:N" or "ENTRY:every N". */
static bool set_validate(Options *o, const char *value, Err *e) {
  char name[128];
  const char *colon = strchr(value, ':');
  size_t n = colon ? (size_t)(colon - value) : strlen(value);
  if (o->validate) return true; /* --validate.INPUT stood before it */
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), value);
  const char *steps = colon ? colon + 1 : "";
  if (strncmp(steps, "every ", 6) == 0) steps += 6;
  if (colon && !cli_count(steps, 1, INT64_MAX, &o->validate_every)) {
    err_set(e, EXIT_USAGE, "--validate %s: %s is no number of steps", value, steps);
    return err_hint(e,
                    "--validate %s:100 validates after every 100 steps, --validate %s after "
                    "each epoch",
                    name, name);
  }
  if (!find_entry(&o->validate, name, e)) return false;
  o->validation_files = calloc((size_t)o->validate->ninputs + 1, sizeof *o->validation_files);
  return o->validation_files || err_set(e, EXIT_ENV, "no memory for the command line");
}

/* --validate.NAME, which may stand before --validate ENTRY. */
static bool set_validation_file(Options *o, int argc, char **argv, const char *name,
                                const char *value, Err *e) {
  const char *entry = NULL;
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], "--validate") == 0 && i + 1 < argc) entry = argv[i + 1];
    if (strncmp(argv[i], "--validate=", 11) == 0) entry = argv[i] + 11;
  }
  if (!entry) {
    err_set(e, EXIT_USAGE, "--validate.%s: no entry validates", name);
    return err_hint(e, "name it with --validate ENTRY");
  }
  if (!set_validate(o, entry, e)) return false;
  int i = cli_find_tensor(o->validate->inputs, o->validate->ninputs, name);
  if (i < 0) {
    err_set(e, EXIT_USAGE, "--validate.%s: the entry %s has no such input", name,
            o->validate->name);
    return err_hint(e, "the inputs are listed by %s --help", o->validate->name);
  }
  if (o->validation_files[i])
    return cli_usage(e, "an input of the validation is given twice", name);
  o->validation_files[i] = value;
  return true;
}

static bool set_option(Options *o, int id, const char *value, Err *e) {
  const Opt *p = &cli_opts[id];
  char text[64];
  snprintf(text, sizeof text, "--%s", p->name);
  if (p->kind != LIST && o->given[id]) return cli_usage(e, "given twice", text);
  o->given[id] = true;
  o->text[id] = value;
  bool training = o->entry && o->entry->training;
  if (o->entry && ((p->where == TRAIN && !training) || (p->where == INFER && training))) {
    err_set(e, EXIT_USAGE, "--%s is for entries that %s; %s %s", p->name,
            training ? "do not train" : "train", o->entry->name, training ? "does" : "does not");
    return err_hint(e, "the options of this entry are listed by %s --help", o->entry->name);
  }
  uint64_t least = id == OPT_STEPS ? 0 : 1; /* 0: the initial weights are saved */
  if (p->kind == COUNT && !cli_count(value, least, INT64_MAX, &o->count[id]))
    return cli_no_count(p->name, value, least, e);
  if (p->kind == SEED && !cli_count(value, 0, UINT64_MAX, &o->count[id])) {
    err_set(e, EXIT_USAGE, "--%s needs a whole number from 0 to 2^64 - 1, not %s", p->name, value);
    return false;
  }
  if (p->kind == REAL && (!cli_real(value, &o->real[id]) || !(o->real[id] >= 0)))
    return cli_no_real(p->name, "a number from 0 on", value, e);
  if (p->kind == TEXT && !*value) return cli_usage(e, "nothing is named after", text);
  if (id == OPT_VALIDATE) return !o->entry || set_validate(o, value, e);
  if (id == OPT_WATCH) {
    size_t most = sizeof o->watch / sizeof *o->watch;
    if ((size_t)o->nwatch == most)
      return err_set(e, EXIT_USAGE, "--watch: at most %zu at a time", most);
    o->watch[o->nwatch++] = value;
  }
  if (id == OPT_LOAD) {
    size_t most = sizeof o->load / sizeof *o->load;
    if ((size_t)o->nload == most) return err_set(e, EXIT_USAGE, "--load: at most %zu files", most);
    o->load[o->nload++] = value;
  }
  if (id == OPT_EXPECT) return o->entry ? set_expect(o, value, e) : true;
  if (id == OPT_TEXT) return o->entry ? set_text(o, value, e) : true;
  return true;
}

/* ---- names of the program ---- */
int cli_find_option(const char *name) {
  for (int i = 0; i < OPT_COUNT; i++)
    if (strcmp(cli_opts[i].name, name) == 0) return i;
  return -1;
}

int cli_find_hyper(const char *name) {
  for (int i = 0; i < gc_program.nhypers; i++)
    if (strcmp(gc_program.hypers[i].name, name) == 0) return i;
  return -1;
}

typedef enum NamedKind { NAMED_NOTHING, NAMED_INPUT, NAMED_HYPER, NAMED_OUTPUT } NamedKind;
typedef struct Named { /* what an option of the entry's own means */
  NamedKind kind;
  int i;
  const char *bare; /* without "input." and the like */
} Named;

static Named find_named(const GcEntry *en, const char *name) {
  bool in = strncmp(name, "input.", 6) == 0, hy = strncmp(name, "hyper.", 6) == 0,
       out = strncmp(name, "output.", 7) == 0;
  const char *bare = in || hy ? name + 6 : out ? name + 7 : name;
  int i = hy || out ? -1 : cli_find_tensor(en->inputs, en->ninputs, bare);
  if (i >= 0) return (Named){NAMED_INPUT, i, bare};
  i = in || out ? -1 : cli_find_hyper(bare);
  if (i >= 0) return (Named){NAMED_HYPER, i, bare};
  i = in || hy ? -1 : cli_find_tensor(en->outputs, en->noutputs, bare);
  return (Named){i >= 0 ? NAMED_OUTPUT : NAMED_NOTHING, i, bare};
}

static bool set_hyper(Options *o, Named x, const char *value, Err *e) {
  static const char *const needs[] = {[GC_BOOL] = "true or false",
                                      [GC_I32] = "a whole number from -2147483648 to 2147483647",
                                      [GC_F32] = "a number"};
  double v = 0;
  bool ok = false;
  if (o->hyper_given[x.i]) return cli_usage(e, "a hyper is given twice", x.bare);
  GcDtype dt = gc_program.hypers[x.i].dtype;
  if (dt == GC_BOOL) ok = (v = strcmp(value, "true") == 0) || strcmp(value, "false") == 0;
  if (dt == GC_I32) ok = cli_i32(value, &v);
  if (dt == GC_F32) ok = cli_real(value, &v) && isfinite((float)v);
  if (!ok) return cli_no_real(x.bare, needs[dt], value, e);
  o->hyper_given[x.i] = true;
  o->hypers[x.i] = dt == GC_F32 ? (float)v : v;
  return true;
}

static bool set_named(Options *o, Named x, const char *value, Err *e) {
  switch (x.kind) {
  case NAMED_NOTHING: return false;
  case NAMED_INPUT:
    if (o->inputs[x.i]) return cli_usage(e, "an input is given twice", x.bare);
    o->inputs[x.i] = value;
    return true;
  case NAMED_HYPER: return set_hyper(o, x, value, e);
  case NAMED_OUTPUT:
    if (o->outputs[x.i].save) return cli_usage(e, "an output is given twice", x.bare);
    if (o->entry->training) {
      err_set(e, EXIT_USAGE, "--%s: the outputs of training are not written as arrays", x.bare);
      return err_hint(e, "--log FILE.csv writes them, a line a step");
    }
    o->outputs[x.i].save = value;
    return true;
  }
  return false;
}

static bool parse_option(Options *o, int argc, char **argv, int *at, Err *e) {
  const char *arg = argv[*at];
  if (strncmp(arg, "--", 2) != 0 || !arg[2]) {
    cli_usage(e, "an option was expected", arg);
    return err_hint(e,
                    "options begin with --; files are given as --INPUT FILE, a pattern in quotes, "
                    "and several words that are one value as well");
  }
  char name[128];
  const char *eq = strchr(arg, '='), *value = NULL;
  size_t len = eq ? (size_t)(eq - arg - 2) : strlen(arg + 2);
  if (len >= sizeof name) return cli_usage(e, "unknown option", arg);
  memcpy(name, arg + 2, len);
  name[len] = 0;
  if (eq) value = eq + 1;
  int id = cli_find_option(name);
  if (id >= 0 && cli_opts[id].kind == FLAG)
    return value ? cli_usage(e, "takes no value", arg) : set_option(o, id, "", e);
  bool known = id >= 0, optional = known && cli_opts[id].kind == OPTIONAL;
  if (optional && !value)
    value = *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0 ? argv[++*at] : "";
  if (optional) return set_option(o, id, value, e);
  if (!value && *at + 1 < argc) value = argv[++*at];
  Named named = {0};
  if (o->entry && strncmp(name, "validate.", 9) == 0 && value && *value)
    return set_validation_file(o, argc, argv, name + 9, value, e);
  if (!known && !o->entry) return cli_usage(e, "unknown option", arg);
  if (!known) named = find_named(o->entry, name);
  if (!known && named.kind == NAMED_NOTHING) return cli_unknown(o->entry, name, e);
  if (!value || !*value) {
    cli_usage(e, "a value is missing after", arg);
    return err_hint(e, "write --%s VALUE", name);
  }
  return known ? set_option(o, id, value, e) : set_named(o, named, value, e);
}

static bool of_info(const char *found, Err *e) {
  return cli_usage(e, "info takes one entry, --threads N and -n N at most", found);
}

/* info -n N: of a program whose plans for other numbers of ranks are known. */
static bool set_ranks(Options *o, const char *value, Err *e) {
  uint64_t n;
  if (!cli_count(value, 1, INT32_MAX, &n))
    return err_set(e, EXIT_USAGE, "-n needs a number of ranks, not %s", value);
  o->ranks = (int)n;
  if (n == 1 && !gc_program.ranks) o->ranks = 0; /* it is alone */
  if (n == 1 || gc_program.ranks) return true;
  err_set(e, EXIT_USAGE, "-n %s: this program has no ranks", value);
  return err_hint(e, "compile it with gc --data-parallel=mpi --ranks=%s, or =nccl for GPUs", value);
}

bool cli_parse(Options *o, int argc, char **argv, Err *e) {
  *o = (Options){0};
  if (argc < 2) {
    cli_usage(e, "which entry is to run", NULL);
    return hint_entries(e);
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    o->help = true;
    return true;
  }
  if (strcmp(argv[1], "--version") == 0) {
    o->version = true;
    return true;
  }
  int at = 2;
  if (strcmp(argv[1], "info") == 0) {
    o->info = true;
    if (at < argc && argv[at][0] != '-' && !find_entry(&o->entry, argv[at++], e)) return false;
    if (at < argc && strcmp(argv[at], "--help") == 0) o->help = true, at++;
    for (; at + 1 < argc; at += 2)
      if (strcmp(argv[at], "--threads") == 0 ? !set_option(o, OPT_THREADS, argv[at + 1], e)
          : strcmp(argv[at], "-n") == 0      ? !set_ranks(o, argv[at + 1], e)
                                             : !of_info(argv[at], e))
        return false;
    return at == argc || of_info(argv[at], e);
  }
  if (!find_entry(&o->entry, argv[1], e)) return false;
  o->inputs = calloc((size_t)o->entry->ninputs + 1, sizeof *o->inputs);
  o->outputs = calloc((size_t)o->entry->noutputs + 1, sizeof *o->outputs);
  o->hypers = calloc((size_t)gc_program.nhypers + 1, sizeof *o->hypers);
  o->hyper_given = calloc((size_t)gc_program.nhypers + 1, sizeof *o->hyper_given);
  bool ok = o->inputs && o->outputs && o->hypers && o->hyper_given;
  if (!ok) err_set(e, EXIT_ENV, "no memory for the command line");
  for (int i = 0; ok && i < gc_program.nhypers; i++) o->hypers[i] = gc_program.hypers[i].value;
  for (; ok && at < argc && !o->help; at++) {
    if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0)
      o->help = true;
    else
      ok = parse_option(o, argc, argv, &at, e);
  }
  return ok && (o->help || cli_complete(o, e));
}

void cli_free(Options *o) {
  free(o->inputs);
  free(o->validation_files);
  free(o->outputs);
  free(o->hypers);
  free(o->hyper_given);
}
