/* From the input file to a module: parses, checks -D, elaborates; or reads IR text.
   Contract: see command.h; what is wrong has been reported and the exit code set. */
#include "ir/support/clock.h"
#include "lang/driver/command.h"
#include "lang/elab/elab.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

InputKind input_kind(const Options *o) {
  const char *kind = option_value(o, OPT_LANGUAGE, NULL);
  size_t n = strlen(o->input);
  bool named = n > 5 && strcmp(o->input + n - 5, ".onnx") == 0;
  if (!kind) return named ? INPUT_ONNX : INPUT_G;
  return strcmp(kind, "ir") == 0 ? INPUT_IR : strcmp(kind, "onnx") == 0 ? INPUT_ONNX : INPUT_G;
}

/* Files of others that gc is given in the place of a program. */
static const struct {
  const char *ending, *what, *remedy;
} others[] = {
#define TORCH                                                                                      \
  "a file of PyTorch",                                                                             \
      "in Python, torch.onnx.export(model, inputs, \"%s.onnx\") writes a model that "              \
      "gc compiles"
#define KERAS                                                                                      \
  "a Keras model",                                                                                 \
      "in Python, model.export(\"%s.onnx\", format=\"onnx\") writes one that gc compiles"
#define WEIGHTS                                                                                    \
  "weights without a model",                                                                       \
      "they go into a program of it: gc MODEL.g --weights=FILE, or ./PROGRAM … "                 \
      "--load FILE"
    {".pt", TORCH},
    {".pth", TORCH},
    {".ckpt", TORCH},
    {".h5", KERAS},
    {".keras", KERAS},
    {".tflite", "a TensorFlow Lite model", "tf2onnx makes an ONNX model of it, which gc compiles"},
    {".safetensors", WEIGHTS},
    {".gguf", "a GGUF file",
     "gc reads weights as they are published, in .safetensors, for a program of the model"},
    {".py", "a Python program",
     "gc compiles programs in its own language; of a PyTorch model, torch.onnx.export(model, "
     "inputs, \"%s.onnx\") writes one that gc compiles"},
#undef TORCH
#undef KERAS
#undef WEIGHTS
};

/* A file without an ending of gc's, such as a compiled program or a model: text has no NUL, and an
   ONNX file begins with the field 1, a varint. */
static bool is_binary(Ctx *c, const char *path) {
  enum { ONNX_BEGINS = 1 << 3 };
  char head[512];
  struct stat s;
  FILE *f = stat(path, &s) == 0 && S_ISREG(s.st_mode) ? fopen(path, "rb") : NULL;
  const size_t n = f ? fread(head, 1, sizeof head, f) : 0;
  if (f) fclose(f);
  const bool onnx = n && head[0] == ONNX_BEGINS;
  if (!onnx && (!n || !memchr(head, 0, n))) return false;
  const char *source = intern_printf(c, "%s.g", path);
  if (access(source, F_OK) == 0)
    usage_error("%s is no source text; did you mean %s?", path, source);
  else if (onnx)
    usage_error("%s is no source text; if it is an ONNX model, add -x onnx", path);
  else
    usage_error("%s is no source text; gc compiles a program NAME.g or a model NAME.onnx", path);
  return true;
}

bool input_is_other(Ctx *c, const Options *o) {
  const char *slash = strrchr(o->input, '/'), *file = slash ? slash + 1 : o->input;
  const char *dot = strrchr(file, '.');
  if (option_given(o, OPT_LANGUAGE) || access(o->input, F_OK) != 0) return false;
  for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++) {
    if (strcmp(dot, others[i].ending) != 0) continue;
    const char *at = strstr(others[i].remedy, "%s");
    const char *remedy = at ? intern_printf(c, "%.*s%.*s%s", (int)(at - others[i].remedy),
                                            others[i].remedy, (int)(dot - file), file, at + 2)
                            : others[i].remedy;
    usage_error("%s is %s; %s", o->input, others[i].what, remedy);
    return true;
  }
  const bool named = input_kind(o) == INPUT_ONNX || (dot && strcmp(dot, ".g") == 0);
  return !named && is_binary(c, o->input);
}

const OnnxProgram *front_import(Front *f, int *code) {
  const Options *o = f->o;
  uint32_t n = o->defines.n;
  OnnxDim *dims = ARENA_ARRAY(ctx_arena(f->c), OnnxDim, n + 1);
  enum { MOST = 1 << 30 };
  for (uint32_t i = 0; i < n && !f->onnx; i++) {
    const Define *d = &o->defines.at[i];
    char *end;
    long long v = strtoll(d->value, &end, 10);
    if (*end || v < 1 || v > MOST) {
      *code = usage_error("-D %s: a dimension is a number from 1 to %d, not '%s'", d->name, MOST,
                          d->value);
      return NULL;
    }
    if (v % d->times) {
      *code = usage_error("-D '%lld*%s<=%s': the bound is a multiple of %lld, as %lld",
                          (long long)d->times, d->name, d->value, (long long)d->times,
                          (v / d->times + 1) * (long long)d->times);
      return NULL;
    }
    dims[i] = (OnnxDim){d->name, v, d->bound, d->times};
  }
  bool unreadable = false;
  if (!f->onnx)
    f->onnx = onnx_import(f->c, o->input, dims, (int)n, option_value(o, OPT_TRAIN_ONNX, NULL),
                          &unreadable);
  if (!f->onnx) *code = unreadable ? EXIT_USAGE : EXIT_PROGRAM;
  return f->onnx;
}

static Program *parse_input(Front *f, bool *unreadable) {
  int code = EXIT_DONE;
  size_t n;
  *unreadable = false;
  if (input_kind(f->o) != INPUT_ONNX) {
    const ModelReader models = {.read = model_text, .data = f};
    return parse_file(f->c, f->o->input, &models, unreadable);
  }
  if (!front_import(f, &code)) return *unreadable = code == EXIT_USAGE, NULL;
  const char *text = onnx_text(f->onnx, &n);
  return parse_text(f->c, f->o->input, text, n);
}

Program *front_parse(Front *f, int *code) {
  double start = clock_seconds();
  bool unreadable;
  Program *prog = parse_input(f, &unreadable);
  f->parse_seconds = clock_seconds() - start;
  *code = prog ? EXIT_DONE : unreadable ? EXIT_USAGE : EXIT_PROGRAM;
  return prog;
}

static bool has_hyper(const Program *prog, const char *name) {
  for (uint32_t i = 0; i < prog->decls.n; i++)
    if (prog->decls.at[i]->kind == DECL_HYPER && prog->decls.at[i]->name.name == name) return true;
  return false;
}

static const Decl *find_let(const Program *prog, const char *name) {
  for (uint32_t i = 0; i < prog->decls.n; i++)
    if (prog->decls.at[i]->kind == DECL_LET && prog->decls.at[i]->name.name == name)
      return prog->decls.at[i];
  return NULL;
}

/* h in h <= 64 or 4 * h <= 64, a dim of an entry's input; NULL: it is none. */
static const Expr *find_extent(const Program *prog, const char *name) {
  for (uint32_t i = 0; i < prog->decls.n; i++) {
    const Decl *d = prog->decls.at[i];
    for (int k = 0; d->kind == DECL_ENTRY && k < d->function.n; k++) {
      const TypeExpr *t = d->function.params[k].type;
      for (int axis = 0; t && axis < t->n; axis++) {
        const Expr *x = t->dims[axis].expr;
        if (!x || x->kind != EX_BINARY || x->binary.op != BIN_LE) continue;
        const Expr *left = x->binary.left;
        if (left->kind == EX_BINARY && left->binary.op == BIN_MUL) left = left->binary.right;
        if (left->kind == EX_NAME && left->name == name) return x;
      }
    }
  }
  return NULL;
}

static bool wrong_define(const Define *d, const Decl *let) {
  if (d->of_config)
    return !usage_error("--config: %s is %s, which the let %s does not take", d->name, d->value,
                        d->name);
  if (let && let->value->kind == EX_STRING)
    return !usage_error("-D %s takes a string in quotes of its own, as in -D '%s=\"%s\"', not '%s'",
                        d->name, d->name, strpbrk(d->value, "\"'\\") ? "word" : d->value, d->value);
  return !usage_error("-D %s takes a compile-time value, as in -D %s=128, not '%s'", d->name,
                      d->name, d->value);
}

/* A list in a config.json is for a let that is one. */
static bool is_other_value(const Define *d, const Decl *let) {
  return d->of_config && *d->value == '[' && let->value->kind != EX_LIST;
}

/* Every -D must name a "let" of the program; their values in the order given. */
static bool parse_defines(Front *f, const Program *prog, DefineFlag *out, int *count) {
  const Options *o = f->o;
  const char **lets = ARENA_ARRAY(ctx_arena(f->c), const char *, prog->decls.n + 1);
  int n = 0;
  for (uint32_t i = 0; i < prog->decls.n; i++)
    if (prog->decls.at[i]->kind == DECL_LET) lets[n++] = prog->decls.at[i]->name.name;
  for (uint32_t i = 0; i < o->defines.n; i++) {
    const Define *d = &o->defines.at[i];
    if (d->bound)
      return !usage_error(
          "-D '%s<=%s' bounds a dimension of an ONNX model; a program says it itself: %s <= %s",
          d->name, d->value, d->name, d->value);
    const char *name = intern_n(f->c, d->name, strlen(d->name)); /* as this context spells it */
    const Decl *let = find_let(prog, name);
    bool known = let != NULL;
    if (known && is_other_value(d, let)) continue;
    if (!known && d->of_config) {
      config_warn(f->c, o, d);
      continue;
    }
    if (!known) {
      const char *near = nearest_name(f->c, name, lets, n);
      if (has_hyper(prog, name))
        usage_error("-D %s: %s is a hyper, given when the program runs: --%s VALUE", d->name,
                    d->name, d->name);
      else if (find_extent(prog, name))
        usage_error(
            "-D %s: %s is an extent, of which each run of the program has its own; to compile "
            "for one, write %s without its bound, and let %s = %s",
            d->name, d->name, d->name, d->name, d->value);
      else
        usage_error("-D %s: %s has no 'let %s'%s%s%s", d->name, o->input, d->name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
      return false;
    }
    Expr *value = parse_value(f->c, intern_printf(f->c, "-D %s", d->name), d->value);
    if (!value) return wrong_define(d, let);
    out[(*count)++] = (DefineFlag){name, value};
  }
  return true;
}

/* A config.json of which nothing is taken is most likely another model's. */
static bool config_is_of_use(const Options *o, const DefineFlag *taken, int n) {
  bool of_use = !option_given(o, OPT_CONFIG);
  for (uint32_t i = 0; i < o->defines.n; i++)
    for (int k = 0; k < n && o->defines.at[i].of_config; k++)
      of_use |= strcmp(o->defines.at[i].name, taken[k].name) == 0;
  return of_use || !usage_error("--config=%s: nothing in it has the name of a let "
                                "of the program",
                                option_value(o, OPT_CONFIG, ""));
}

static Module *module_from_program(Front *f, int *code) {
  const Program *prog = front_parse(f, code);
  if (!prog) return NULL;
  DefineFlag *defines = ARENA_ARRAY(ctx_arena(f->c), DefineFlag, f->o->defines.n + 1);
  int n = 0;
  bool lets = input_kind(f->o) != INPUT_ONNX; /* those were dimensions */
  if (lets && !(parse_defines(f, prog, defines, &n) && config_is_of_use(f->o, defines, n))) {
    *code = EXIT_USAGE;
    return NULL;
  }
  double start = clock_seconds();
  const char *wrong = NULL;
  ElabOptions eo = {.defines = defines,
                    .n = n,
                    .wrong = &wrong,
                    .imported = !lets,
                    .reassociate = option_given(f->o, OPT_REASSOCIATE)};
  Module *m = elaborate(f->c, prog, &eo);
  if (!m && !lets)
    diag(f->c, SEV_NOTE, (Loc){0},
         "lines of %s are those of the program that gc makes of it: "
         "--emit=g prints it",
         f->o->input);
  f->elaborate_seconds = clock_seconds() - start;
  if (!m) *code = wrong ? EXIT_USAGE : EXIT_PROGRAM;
  for (uint32_t i = 0; !m && wrong && i < f->o->defines.n; i++)
    if (strcmp(f->o->defines.at[i].name, wrong) == 0)
      wrong_define(&f->o->defines.at[i], find_let(prog, wrong));
  return m;
}

static Module *module_from_text(Front *f, int *code) {
  if (f->o->defines.n) {
    *code = usage_error("-D does not go with -x ir: constants are already numbers there");
    return NULL;
  }
  uint16_t file;
  if (!ctx_read_source(f->c, f->o->input, &file)) {
    *code = usage_error("cannot read %s: %s", f->o->input, strerror(errno));
    return NULL;
  }
  Module *m = module_read(f->c, file);
  if (!m) *code = EXIT_PROGRAM;
  return m;
}

Module *front_module(Front *f, int *code) {
  Module *m =
      input_kind(f->o) == INPUT_IR ? module_from_text(f, code) : module_from_program(f, code);
  f->elaborated = m != NULL;
  if (m) module_identify(m);
  return m;
}
