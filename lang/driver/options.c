/* Reads the command line by the table options.def.
   Contract: see options.h. No option is ignored: what is not built yet is an error that says so. */
#include "lang/driver/option_rows.h"
#include "lang/elab/elab.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* --emit and --target take what the table of targets has. */
static const char EMIT_KINDS[] = "exe|lib|python|wheel"
#define BACKEND(id, emit) "|" emit
#include "codegen/backends.def"
#undef BACKEND
                                 "|g|onnx|ast|ir|plan";
static const char TARGET_LIST[] =
#define BACKEND(id, emit) "|" #id
#include "codegen/backends.def"
#undef BACKEND
    ;
#define TARGET_NAMES (TARGET_LIST + 1)

const OptionRow option_rows[OPTIONS] = {
#define GROUP(title)
#define OPTION(id, spelling, form, value, choices, pack, help)                                     \
  {spelling, value, choices, help, OPT_##id, FORM_##form, pack},
#include "lang/driver/options.def"
#undef GROUP
#undef OPTION
};

int usage_error(const char *fmt, ...) {
  fputs("gc: error: ", stderr);
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fputc('\n', stderr);
  return 2;
}

/* ---- choices: "exe|lib|ir" ---- */

bool next_choice(const char **rest, Choice *out) {
  if (!**rest) return false;
  out->at = *rest;
  out->n = strcspn(out->at, "|");
  *rest = out->at + out->n + (out->at[out->n] == '|');
  return true;
}

static bool choice_is(const Choice *ch, const char *s, size_t n) {
  return ch->n == n && strncmp(ch->at, s, n) == 0;
}

enum { MAX_CHOICES = 16 };

/* The choices of a row as an array of names, for messages and for the nearest one. */
static int choice_names(Ctx *c, const OptionRow *r, const char **names) {
  Choice ch;
  int n = 0;
  for (const char *rest = r->choices; n < MAX_CHOICES && next_choice(&rest, &ch);)
    names[n++] = intern_n(c, ch.at, ch.n);
  return n;
}

static bool check_choice(Ctx *c, const OptionRow *r, const char *value, size_t n) {
  Choice ch;
  for (const char *rest = r->choices; next_choice(&rest, &ch);)
    if (choice_is(&ch, value, n)) return true;
  const char *names[MAX_CHOICES], *list = "";
  static const char *const drawn[] = {"svg", "html", "json", "csv", "trace", NULL};
  for (int i = 0; r->id == OPT_EMIT && drawn[i]; i++)
    if (strlen(drawn[i]) == n && strncmp(drawn[i], value, n) == 0)
      return !usage_error("--emit makes no %s; --dump-plan=%s draws or writes the plan so",
                          drawn[i], drawn[i]);
  int count = choice_names(c, r, names);
  for (int i = 0; i < count; i++)
    list = intern_printf(c, "%s%s%s", list, i == 0 ? "" : i + 1 == count ? " or " : ", ", names[i]);
  return !usage_error("%s takes %s, not '%.*s'", r->spelling, list, (int)n, value);
}

/* One of the choices, or for LIST several with commas. */
static bool check_value(Ctx *c, const OptionRow *r, const char *value) {
  if (!r->choices) return true;
  bool list = strcmp(r->value, "LIST") == 0;
  for (;;) {
    size_t n = list ? strcspn(value, ",") : strlen(value);
    if (!check_choice(c, r, value, n)) return false;
    if (!value[n]) return true;
    value += n + 1;
  }
}

/* ---- parsing ---- */

static bool add_define(Ctx *c, Options *o, const char *text) {
  const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  const char *at = text + strspn(text, "0123456789");
  int64_t times = 1;
  const bool multiple = at > text && at - text < 10 && *at == '*';
  if (multiple) times = strtoll(text, NULL, 10);
  at = multiple ? at + 1 : text;
  size_t n = strspn(at, letters);
  bool bound = at[n] == '<';
  const char *value = at + n + bound + 1;
  if (n == 0 || (at[0] >= '0' && at[0] <= '9') || at[n + bound] != '=' || !*value || !times ||
      (multiple && !bound))
    return !usage_error(
        "-D takes NAME=VALUE, or of a dimension of an ONNX model NAME<=BOUND, not '%s'", text);
  const char *name = intern_n(c, at, n);
  for (uint32_t i = 0; i < o->defines.n; i++)
    if (o->defines.at[i].name == name) return !usage_error("-D %s is given twice", name);
  vec_push(ctx_arena(c), &o->defines,
           (Define){.name = name, .value = value, .bound = bound, .times = times});
  return true;
}

static bool set_option(Ctx *c, Options *o, const OptionRow *r, const char *value) {
  if (r->id == OPT_DEFINE) {
    if (!add_define(c, o, value)) return false;
  } else if (r->id == OPT_CONFIG) {
    vec_push(ctx_arena(c), &o->configs, value);
  } else if (o->value[r->id]) {
    return !usage_error("%s is given twice", r->spelling);
  }
  bool missing = value[0] == 0 && r->form != FORM_FLAG && r->id != OPT_PASSES;
  if (missing && r->form != FORM_MAYBE)
    return !usage_error("%s needs a value: %s%s%s", r->spelling, r->spelling,
                        r->form == FORM_WORD    ? " "
                        : r->form == FORM_LEVEL ? ""
                                                : "=",
                        r->value);
  if (value[0] && !check_value(c, r, value)) return false;
  o->value[r->id] = value;
  return true;
}

/* The length of the option's name at the start of arg; 0: it is another option. */
static size_t match(const OptionRow *r, const char *arg) {
  size_t n = strlen(r->spelling);
  if (strncmp(arg, r->spelling, n) != 0) return 0;
  switch (r->form) {
  case FORM_FLAG: return arg[n] == 0 || arg[n] == '=' ? n : 0;
  case FORM_WORD: return arg[0] == '-' && arg[1] == '-' && arg[n] ? 0 : n;
  case FORM_JOINED:
  case FORM_MAYBE: return arg[n] == 0 || arg[n] == '=' ? n : 0;
  case FORM_LEVEL: return n;
  }
  return 0;
}

/* Options of other compilers and of programs, and what gc has in their place. */
static const struct {
  const char *option, *here;
} habits[] = {
#define BATCH "a batch is a number of the program: -D N=8 overrides its 'let N'"
#define OUTPUT "-o FILE names the output"
#define DEVICE "--target says what the program runs on; gc --help lists the targets"
#define HALF "--precision=bf16 computes products of 16-bit numbers"
#define HYPER "a hyper is an option of the program that gc makes: ./PROGRAM ENTRY --lr V"
#define QUANTIZED "--weights=q8 keeps matrices of products as integers of 8 bits, q4 of 4"
#define RUN "gc makes a program, which runs its entries: ./PROGRAM ENTRY"
    {"batch", BATCH},
    {"batch-size", BATCH},
    {"output", OUTPUT},
    {"out", OUTPUT},
    {"device", DEVICE},
    {"j", "--jobs=N bounds how many C compilers run at a time"},
    {"input-shape", "shapes stand in the entry: entry predict(x : f32[1, 784])"},
    {"graph", "--dump-plan=html draws the plan, --emit=ir prints the operations"},
    {"explain", "--remarks says why, --dump-plan what"},
    {"bf16", HALF},
    {"fp16", HALF},
    {"half", HALF},
    {"amp", HALF},
    {"dtype", HALF},
    {"lr", HYPER},
    {"hyper", HYPER},
    {"learning-rate", HYPER},
    {"train", RUN},
    {"run", RUN},
    {"quantize", QUANTIZED},
    {"quantization", QUANTIZED},
    {"int8", QUANTIZED},
    {"lib", "--emit=lib makes a library"},
    {"shared", "--emit=lib makes a library"},
    {"python", "--emit=python makes a Python module"},
    {"onnx", "--emit=onnx writes an entry as a model of ONNX"},
    {"verbose", "-v prints the commands that gc runs"},
    {"optimize", "-O3 searches longer for a plan than -O2, the default"},
#undef BATCH
#undef OUTPUT
#undef DEVICE
#undef HALF
#undef HYPER
#undef QUANTIZED
#undef RUN
};

static const char *habit_of(Ctx *c, const char *word) {
  char *name = arena_printf(ctx_arena(c), "%s", word + strspn(word, "-"));
  for (char *p = name; *p; p++)
    if (*p == '_') *p = '-';
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    if (strcmp(habits[i].option, name) == 0) return habits[i].here;
  if (!program_has_option(name)) return NULL;
  return intern_printf(c, "it is one of the program that gc makes: ./PROGRAM ENTRY --%s", name);
}

static bool unknown(Ctx *c, const char *arg) {
  const char *names[OPTIONS];
  for (int i = 0; i < OPTIONS; i++) names[i] = option_rows[i].spelling;
  const bool jobs = strncmp(arg, "-j", 2) == 0 && strspn(arg + 2, "0123456789") == strlen(arg + 2);
  const char *word = jobs ? "-j" : intern_n(c, arg, strcspn(arg, "="));
  const char *near = nearest_name(c, word, names, OPTIONS);
  if (near && strlen(near) <= 2) near = NULL; /* one letter is near to any other */
  const char *habit = habit_of(c, word);
  if (habit) return !usage_error("unknown option '%s'; %s", word, habit);
  if (!near && arg[1] && strchr("WfgIlL", arg[1]))
    return !usage_error("unknown option '%s'; options of the C compiler stand in the environment: "
                        "CC=\"cc %s\" gc …",
                        word, arg);
  if (!near && arg[1] != '-') /* -target for --target */
    near = nearest_name(c, intern_printf(c, "-%s", word), names, OPTIONS);
  if (near && strlen(near) <= 2) near = NULL;
  if (near) return !usage_error("unknown option '%s'; did you mean %s?", word, near);
  return !usage_error("unknown option '%s'; see gc --help", word);
}

/* Takes the option at argv[*i] and its value; advances *i to the last word it used. */
static bool take_option(Ctx *c, int argc, char **argv, int *i, Options *o) {
  const char *arg = argv[*i];
  for (int k = 0; k < OPTIONS; k++) {
    const OptionRow *r = &option_rows[k];
    size_t n = match(r, arg);
    if (!n) continue;
    const char *rest = arg + n;
    switch (r->form) {
    case FORM_FLAG:
      if (*rest) return !usage_error("%s takes no value", r->spelling);
      return set_option(c, o, r, "");
    case FORM_WORD:
      if (!*rest && *i + 1 < argc) rest = argv[++*i];
      return set_option(c, o, r, rest);
    case FORM_JOINED:
      if (*rest == '=') return set_option(c, o, r, rest + 1);
      return !usage_error("%s needs a value: %s=%s", r->spelling, r->spelling, r->value);
    case FORM_MAYBE:
      if (*rest == '=' && !rest[1])
        return !usage_error("%s= needs a value; without one write %s", r->spelling, r->spelling);
      return set_option(c, o, r, *rest ? rest + 1 : rest);
    case FORM_LEVEL: return set_option(c, o, r, rest);
    }
  }
  return unknown(c, arg);
}

/* What is written or printed after the elaboration, at which --check stops. */
static const OptionId printing[] = {
    OPT_OUTPUT,        OPT_EMIT,           OPT_SAVE_TEMPS,      OPT_MEMORY_CURVE,   OPT_DUMP_PLAN,
    OPT_MEMORY_REPORT, OPT_PRINT_LIVENESS, OPT_PRINT_SCHEDULES, OPT_REMARKS,        OPT_PRINT_AFTER,
    OPT_PRINT_CHANGED, OPT_TIME_PASSES,    OPT_STATS,           OPT_MEMORY_PER_RANK};

/* An option that compiles nothing, and up to two options that mean something beside it. */
static bool goes_alone(const Options *o, OptionId id, OptionId also, OptionId or_also) {
  for (int i = 0; option_given(o, id) && i < OPTIONS; i++)
    if (option_given(o, (OptionId)i) && i != (int)id && i != (int)also && i != (int)or_also &&
        i != OPT_DIAGNOSTICS)
      return !usage_error("%s does not go with %s", option_rows[i].spelling,
                          option_rows[id].spelling);
  return true;
}

/* The name of an entry behind the program. */
static bool is_entry(const char *word) { return access(word, F_OK) != 0 && !strpbrk(word, "./"); }

static bool two_files(const Options *o, const char *a, const char *b) {
  const int curve = option_given(o, OPT_MEMORY_CURVE), report = option_given(o, OPT_MEMORY_REPORT);
  if ((is_entry(a) || is_entry(b)) && (curve || report))
    return !usage_error("%s is no file; if it is an entry of %s, --memory-%s is about all entries",
                        is_entry(b) ? b : a, is_entry(b) ? a : b, curve ? "curve" : "report");
  if (is_entry(a))
    return !usage_error("%s is no file; gc %s makes a program, which runs its entries: "
                        "./PROGRAM ENTRY",
                        a, b);
  if (is_entry(b))
    return !usage_error(
        "%s is no file; if it is an entry of %s, the program that gc makes runs it: "
        "./PROGRAM %s",
        b, a, b);
  return !usage_error("two input files, '%s' and '%s'; one program reads others with 'use'", a, b);
}

static bool check_together(const Options *o) {
  bool pack = option_given(o, OPT_PACK);
  if (o->entry && strcmp(option_value(o, OPT_EMIT, ""), "onnx") != 0 &&
      !option_given(o, OPT_DUMP_PLAN))
    return two_files(o, o->input, o->entry);
  for (int i = 0; i < OPTIONS; i++) {
    if (!o->value[i] || option_rows[i].pack == 2 || option_rows[i].pack == pack) continue;
    return pack ? !usage_error("%s does not go with --pack", option_rows[i].spelling)
                : !usage_error("%s goes with --pack only", option_rows[i].spelling);
  }
  if (!goes_alone(o, OPT_FORMAT, OPT_OUTPUT, OPT_OUTPUT) ||
      !goes_alone(o, OPT_LSP, OPT_LSP, OPT_LSP) ||
      !goes_alone(o, OPT_CHECK_GRADIENTS, OPT_DEFINE, OPT_LANGUAGE))
    return false;
  if (option_given(o, OPT_LSP) && o->input)
    return !usage_error("--lsp takes no file: the editor names those that it opens");
  for (size_t i = 0; option_given(o, OPT_CHECK) && i < sizeof printing / sizeof printing[0]; i++)
    if (option_given(o, printing[i]))
      return !usage_error("--check reports errors and warnings only: leave out %s",
                          option_rows[printing[i]].spelling);
  if (option_given(o, OPT_CHECK) && option_given(o, OPT_MEMORY_LIMIT))
    return !usage_error("--check makes no plan, so it does not say whether --memory-limit can be "
                        "met: --dump-plan in place of --check does");
  return true;
}

bool options_parse(Ctx *c, int argc, char **argv, Options *o) {
  *o = (Options){0};
  bool only_files = false; /* after "--" */
  for (int i = 1; i < argc; i++) {
    const char *arg = argv[i];
    if (!only_files && strcmp(arg, "--") == 0) {
      only_files = true;
    } else if (!only_files && strcmp(arg, "-h") == 0) {
      o->value[OPT_HELP] = "";
    } else if (!only_files && arg[0] == '-' && arg[1]) {
      if (!take_option(c, argc, argv, &i, o)) return false;
    } else if (!arg[0]) {
      return !usage_error("the name of the input file is empty");
    } else if (o->entry) {
      return two_files(o, o->input, arg);
    } else {
      *(o->input ? &o->entry : &o->input) = arg;
    }
  }
  return check_together(o);
}

const char *option_value(const Options *o, OptionId id, const char *otherwise) {
  return o->value[id] && o->value[id][0] ? o->value[id] : otherwise;
}
