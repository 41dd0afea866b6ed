/* What a command line asks for as output: its kind, its name, the files that are read and written
   beside it. Contract: see settings.c; no file is written that another option reads or writes. */
#include "codegen/build/output.h"
#include "lang/driver/compilation.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Of --emit; before and after: the name of the .g file, where no -o gives the output's. */
static const struct {
  const char *name;
  Emit emit;
  const char *what, *before, *after; /* NULL: text, which goes to the screen */
} emits[] = {{"exe", EMIT_EXE, "executable", "", ""},
             {"lib", EMIT_LIB, "library", "lib", ".so"},
             {"python", EMIT_PYTHON, "module", "", ".py"},
             {"wheel", EMIT_WHEEL, "wheel", "", NULL}, /* codegen_wheel_suffix */
             {"g", EMIT_G, NULL, NULL, NULL},
             {"onnx", EMIT_ONNX, "model", "", ".onnx"},
             {"ast", EMIT_AST, NULL, NULL, NULL},
             {"ir", EMIT_IR, NULL, NULL, NULL},
             {"plan", EMIT_PLAN, NULL, NULL, NULL}};
enum { EMITS = sizeof emits / sizeof emits[0] };

Emit settings_emit(const Options *o) {
  const char *name = option_value(o, OPT_EMIT, "exe");
  for (int i = 0; i < EMITS; i++)
    if (strcmp(emits[i].name, name) == 0) return emits[i].emit;
  return EMIT_FORM;
}

static bool is_library(Emit e) { return e == EMIT_LIB || e == EMIT_PYTHON || e == EMIT_WHEEL; }

bool settings_makes_program(Emit e) { return e == EMIT_EXE || is_library(e); }

/* "--dump-plan=html -o page.html" means the plan, but -o names what is compiled. */
static bool is_named_as_plan(const Options *o, const char *output) {
  const char *form = option_value(o, OPT_DUMP_PLAN, NULL), *dot = strrchr(output, '.');
  return form && dot && strcmp(dot + 1, form) == 0;
}

const char *settings_weights_beside(Ctx *c, const char *output) {
  if (!output || strcmp(output, "-") == 0 || !output_is_replaceable(output)) return NULL;
  size_t n = strlen(output);
  if (n > 2 && strcmp(output + n - 2, ".g") == 0) n -= 2;
  return intern_printf(c, "%.*s.safetensors", (int)n, output);
}

int settings_files(Compilation *r, bool looks) {
  bool program = settings_makes_program(r->emit), python = r->emit == EMIT_PYTHON;
  bool temps = program && option_given(&r->o, OPT_SAVE_TEMPS);
  bool screen = !r->output || strcmp(r->output, "-") == 0;
  const char *out = r->output, *module = NULL;
  if (python) module = out, out = codegen_module_library(r->c, module);
  const char *input = intern_printf(r->c, "the input %s", r->o.input);
  const char *weights = settings_weights(r->c, &r->o, NULL),
             *beside = settings_weights_beside(r->c, out);
  FileUse *use = ARENA_ARRAY(ctx_arena(r->c), FileUse, 8 + CODEGEN_FACES + r->targets.n);
  int n = 0;
  use[n++] = (FileUse){.option = input, .path = r->o.input};
  use[n++] = (FileUse){.option = "gc itself", .path = "/proc/self/exe"};
  if (looks || (screen && !program))
    use[n++] =
        (FileUse){"the standard output", "/proc/self/fd/1", .writes = true, .by_shell = true};
  if (!screen) use[n++] = (FileUse){python ? "the library" : "the output", out, .writes = true};
  if (python) use[n++] = (FileUse){"the module", module, .writes = true};
  if (weights) use[n++] = (FileUse){.option = "--weights", .path = weights};
  if (r->emit == EMIT_G && beside) use[n++] = (FileUse){"the weights", beside, .writes = true};
  for (int i = 0; r->emit == EMIT_LIB && i < CODEGEN_FACES; i++)
    use[n++] = (FileUse){codegen_face_what(i), codegen_face(r->c, out, i), .writes = true};
  for (int i = r->targets.n; temps && i-- > 0;)
    use[n++] = (FileUse){"--save-temps", codegen_saved_source(r->c, out, &r->targets.part[i]),
                         .writes = true};
  if (temps && r->emit != EMIT_EXE)
    use[n++] = (FileUse){"--save-temps", codegen_saved_api(r->c, out), .writes = true};
  return files_check(use, n);
}

bool settings_wants_times(const Options *o) {
  return strncmp(option_value(o, OPT_STATS, ""), "time", 4) == 0;
}

const Backend *settings_timed_device(const Compilation *r, const char **name) {
  const char *what = option_value(&r->o, OPT_STATS, ""), *list = "";
  for (int i = 0; i < BACKENDS; i++) {
    const char *const *devices = backends[i]->devices;
    if (!devices) continue;
    if (strcmp(what, "time") == 0) return *name = devices[0], backends[i];
    for (int k = 0; devices[k]; k++) {
      *name = devices[k];
      if (strncmp(what, "time:", 5) == 0 && strcmp(what + 5, *name) == 0) return backends[i];
      list = intern_printf(r->c, "%s, time:%s", list, *name);
    }
  }
  usage_error("--stats takes no value, or time%s; not '%s'", list, what);
  return NULL;
}

/* DIR/libNAME.so of DIR/NAME.g, and so on. */
static int name_output(Compilation *r, const char *what, const char *before, const char *after) {
  const char *input = r->o.input;
  size_t n = strlen(input), name_at = 0;
  for (size_t i = 0; i < n; i++)
    if (input[i] == '/') name_at = i + 1;
  const bool onnx = input_kind(&r->o) == INPUT_ONNX;
  const char *ending = onnx ? ".onnx" : ".g";
  size_t end = strlen(ending);
  bool named = n > name_at + end && strcmp(input + n - end, ending) == 0;
  if (!named && access(intern_printf(r->c, "%s.g", input), F_OK) == 0)
    return usage_error("%s is not named NAME.g; did you mean %s.g?", input, input);
  if (!named && is_directory(input))
    return usage_error("%s is a directory; gc compiles one file NAME.g", input);
  if (!named && strcmp(input, "-") != 0 && access(input, F_OK) != 0)
    return usage_error("cannot read %s: %s", input, strerror(errno));
  if (!named)
    return usage_error("%s is not named NAME%s; if it is a %s, name the %s with -o", input, ending,
                       onnx ? "model" : "program", what);
  r->output = intern_printf(r->c, "%.*s%s%.*s%s", (int)name_at, input, before,
                            (int)(n - end - name_at), input + name_at, after);
  return EXIT_DONE;
}

/* What is no text has a file, and each kind a name of its own. */
static int check_program_output(Compilation *r) {
  int i = 0;
  while (emits[i].emit != r->emit) i++;
  bool wheel = r->emit == EMIT_WHEEL;
  const char *after = wheel ? codegen_wheel_suffix() : emits[i].after;
  int code = r->output ? EXIT_DONE : name_output(r, emits[i].what, emits[i].before, after);
  if (code) return code;
  const char *out = r->output;
  if (r->emit == EMIT_EXE && is_named_as_plan(&r->o, out))
    return usage_error("-o %s would be the executable, and the plan goes to the screen; for a file "
                       "leave -o out and write >%s",
                       out, out);
  if ((r->emit == EMIT_EXE || r->emit == EMIT_ONNX) && strcmp(out, "-") == 0)
    return usage_error("%s cannot go to the standard output",
                       r->emit == EMIT_EXE ? "an executable" : "a model of ONNX");
  if (r->emit != EMIT_EXE && r->codegen.images)
    return usage_error("--images is for executables; a library takes arrays");
  if (r->emit != EMIT_EXE && r->codegen.tokens)
    return usage_error("--tokens is for executables; a library takes arrays");
  if (r->emit == EMIT_LIB && !codegen_lib_name(r->c, out))
    return usage_error("a library is named libNAME.so, and its header NAME.h beside it; not %s",
                       out);
  if (r->emit == EMIT_PYTHON && !codegen_module_library(r->c, out))
    return usage_error("a Python module is named NAME.py, with letters, digits and _ in NAME, and "
                       "as no keyword or module that it needs; not %s: name it with -o",
                       out);
  if (wheel && !codegen_is_wheel_name(r->c, out))
    return usage_error("a wheel is named NAME-VERSION-py3-none-PLATFORM.whl, as digits%s, with "
                       "letters, digits and _ in NAME, and as no keyword or module that it needs; "
                       "not %s: name it with -o",
                       codegen_wheel_suffix(), out);
  if (wheel && option_given(&r->o, OPT_SAVE_TEMPS))
    return usage_error("--save-temps has no place in a wheel; --emit=python makes its files");
  return EXIT_DONE;
}

int settings_output(Compilation *r) {
  const Options *o = &r->o;
  bool only_looks = option_given(o, OPT_CHECK) || option_given(o, OPT_DUMP_PLAN) ||
                    option_given(o, OPT_PRINT_LIVENESS) || option_given(o, OPT_MEMORY_CURVE) ||
                    option_given(o, OPT_MEMORY_REPORT) || option_given(o, OPT_PRINT_SCHEDULES) ||
                    option_given(o, OPT_MEMORY_PER_RANK) || settings_wants_times(o);
  r->emit = only_looks && !option_given(o, OPT_OUTPUT) && !option_given(o, OPT_EMIT)
                ? EMIT_NONE
                : settings_emit(o);
  const char *name = option_value(o, OPT_EMIT, NULL);
  const Backend *of_form = name ? backend_of_form(name, &r->form) : NULL;
  r->main = of_form ? targets_part(&r->targets, of_form) : targets_shown(&r->targets, o);
  r->output = option_value(o, OPT_OUTPUT, NULL);
  if (r->emit == EMIT_G && input_kind(o) != INPUT_ONNX)
    return usage_error("--emit=g writes the program of an ONNX model; %s is none", o->input);
  const char *train = option_value(o, OPT_TRAIN_ONNX, NULL);
  if (train && input_kind(o) != INPUT_ONNX)
    return usage_error("--train-onnx trains an ONNX model; a program has entries that train");
  if (train && r->emit == EMIT_ONNX)
    return usage_error("--train-onnx makes an entry that trains, which --emit=onnx does not write");
  const char *wrong = train ? onnx_train_wrong(r->c, train) : NULL;
  if (wrong) return usage_error("--train-onnx: %s", wrong);
  int code = settings_check_weights(r);
  if (code) return code;
  bool program = settings_makes_program(r->emit), file = program || r->emit == EMIT_ONNX;
  if (r->form && r->form->image && r->main->narch != 1)
    return usage_error("--emit=%s is for one architecture: --arch=%s", name,
                       r->main->backend->one_arch);
  if (r->form && r->main->one_of_several)
    return usage_error("--emit=%s is for one level of instructions: -march=%s", name,
                       r->main->march);
  if (r->form && r->form->binary && (!r->output || strcmp(r->output, "-") == 0))
    return usage_error("a %s cannot go to the screen: name it with -o", name);
  code = file ? check_program_output(r) : EXIT_DONE;
  if (!code) code = settings_files(r, only_looks);
  if (!code && file && !output_is_replaceable(r->output))
    return usage_error("%s is no file that can be replaced; name the %s with -o", r->output,
                       r->emit == EMIT_EXE    ? "executable"
                       : r->emit == EMIT_ONNX ? "model"
                                              : "library");
  if (!code && program && !output_can_replace(r->output)) {
    const int folder = (int)output_missing_folder(r->output);
    diag(r->c, SEV_ERROR, (Loc){0}, "cannot write '%s': %s", r->output, strerror(errno));
    if (folder)
      diag(r->c, SEV_HINT, (Loc){0}, "make its folder first: mkdir -p %.*s", folder, r->output);
    return EXIT_ENVIRONMENT;
  }
  return code;
}
