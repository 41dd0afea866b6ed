/* What a command line asks of a compilation: its output, passes, effort, limits and targets'
   options. Contract: nothing has been read yet but the command line; what does not go together is
   refused here, before anything is done. */
#include "codegen/build/output.h"
#include "lang/driver/compilation.h"

#include <stdlib.h>
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

static const QuantizedForm quantized_forms[] = {{"q8", "bits=8", ""},
                                                {"q4", "bits=4", ""},
                                                {"w8a8", "bits=8,activations=8", ""},
                                                {"w4a8", "bits=4,activations=8", ""},
                                                {"w8a16", "bits=8,activations=16", ""},
                                                {"w4a16", "bits=4,activations=16", ""}};

/* What stands in front of the last comma, or nothing, and what behind it. */
static const char *last_word(Ctx *c, const char *list, const char **before) {
  const char *comma = strrchr(list, ',');
  *before = comma ? intern_n(c, list, (size_t)(comma - list)) : NULL;
  return comma ? comma + 1 : list;
}

static bool belongs_to_form(const char *word) {
  return strcmp(word, "errors") == 0 || (strncmp(word, "without=", 8) == 0 && word[8]);
}

/* "FILE,q8,errors,without=PATH": a form, what belongs to it, and in front of it a file, or not. */
const char *settings_weights(Ctx *c, const Options *o, const QuantizedForm **form) {
  const char *value = option_value(o, OPT_WEIGHTS, NULL), *without = "", *errors = "", *before;
  const char *list = value ? value : "", *word = last_word(c, list, &before);
  if (form) *form = NULL;
  for (; before && belongs_to_form(word); word = last_word(c, list = before, &before))
    if (strcmp(word, "errors") == 0)
      errors = ",errors=1";
    else
      without = intern_printf(c, "%s%s%s", word + 8, *without ? "+" : "", without);
  for (size_t i = 0; i < sizeof quantized_forms / sizeof *quantized_forms; i++) {
    if (strcmp(word, quantized_forms[i].word) != 0) continue;
    QuantizedForm *found = ARENA_NEW(ctx_arena(c), QuantizedForm);
    *found = quantized_forms[i];
    found->argument =
        intern_printf(c, "%s%s%s%s", found->argument, errors, *without ? ",without=" : "", without);
    found->without = without;
    if (form) *form = found;
    return before && *before ? before : NULL;
  }
  return value;
}

/* "q6", "w8", "w8a4". */
static bool looks_quantized(const char *word) {
  static const char digits[] = "0123456789";
  if (*word != 'q' && *word != 'w') return false;
  size_t n = strspn(word + 1, digits);
  const char *rest = word + 1 + n;
  if (n && *word == 'w' && *rest == 'a' && rest[1]) rest += 1 + strspn(rest + 1, digits);
  return n && !*rest;
}

/* "FILE,q6", "q6,errors" and "w8a4", which name no file; NULL: neither. */
static const char *wrong_quantization(Ctx *c, const Options *o) {
  const char *list = option_value(o, OPT_WEIGHTS, NULL), *before;
  if (!list || access(list, F_OK) == 0) return NULL;
  const char *word = last_word(c, list, &before);
  while (before && belongs_to_form(word)) word = last_word(c, list = before, &before);
  bool file = before && access(before, F_OK) == 0;
  return file || looks_quantized(word) ? word : NULL;
}

/* "q8,eror" and "FILE,q8,without=": what belongs to no form, behind one. */
static const char *wrong_behind_form(Ctx *c, const Options *o) {
  Options front = *o;
  const QuantizedForm *form = NULL;
  const char *value = option_value(o, OPT_WEIGHTS, NULL), *before = NULL;
  const char *word = value && access(value, F_OK) != 0 ? last_word(c, value, &before) : NULL;
  front.value[OPT_WEIGHTS] = before;
  (void)settings_weights(c, &front, &form);
  return form ? word : NULL;
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
  const char *ending = input_kind(&r->o) == INPUT_ONNX ? ".onnx" : ".g";
  size_t end = strlen(ending);
  bool named = n > name_at + end && strcmp(input + n - end, ending) == 0;
  if (!named && access(intern_printf(r->c, "%s.g", input), F_OK) == 0)
    return usage_error("%s is not named NAME.g; did you mean %s.g?", input, input);
  if (!named)
    return usage_error(is_directory(input)
                           ? "%s is a directory; gc compiles one file NAME.g"
                           : "%s is not named NAME.g; if it is a program, name the %s with -o",
                       input, what);
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
  const Backend *first = targets_part(&r->targets, backend_host()) ? backend_host() : NULL;
  r->main = of_form ? targets_part(&r->targets, of_form)
            : first ? targets_part(&r->targets, first)
                    : &r->targets.part[0];
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
  const QuantizedForm *form;
  const char *weights = settings_weights(r->c, o, &form);
  const char *how = form ? NULL : wrong_quantization(r->c, o);
  if (how)
    return usage_error("--weights quantizes to q8, q4, w8a8, w4a8, w8a16 or w4a16, not to %s", how);
  how = form ? NULL : wrong_behind_form(r->c, o);
  if (how)
    return usage_error("behind the form of --weights stand errors and without=PATH, not '%s'", how);
  if (train && form)
    return usage_error("--train-onnx makes an entry that trains, which --weights=%s leaves out",
                       form->word);
  if (weights && input_kind(o) == INPUT_ONNX)
    return usage_error("--weights does not go with an ONNX model, which has its own");
  bool program = settings_makes_program(r->emit), file = program || r->emit == EMIT_ONNX;
  if (weights && !file)
    return usage_error("--weights goes into a program, a library or a model of ONNX");
  if (form && r->emit == EMIT_ONNX)
    return usage_error("--weights=%s goes into a program or a library, not a model of ONNX",
                       form->word);
  if (r->form && r->form->image && r->main->narch != 1)
    return usage_error("--emit=%s is for one architecture: --arch=%s", name,
                       r->main->backend->one_arch);
  if (r->form && r->main->one_of_several)
    return usage_error("--emit=%s is for one level of instructions: -march=%s", name,
                       r->main->march);
  if (r->form && r->form->binary && (!r->output || strcmp(r->output, "-") == 0))
    return usage_error("a %s cannot go to the screen: name it with -o", name);
  int code = file ? check_program_output(r) : EXIT_DONE;
  if (!code) code = settings_files(r, only_looks);
  if (!code && file && !output_is_replaceable(r->output))
    return usage_error("%s is no file that can be replaced; name the %s with -o", r->output,
                       r->emit == EMIT_EXE    ? "executable"
                       : r->emit == EMIT_ONNX ? "model"
                                              : "library");
  return code;
}

/* ROOT/lib/gc for the command ROOT/bin/gc, in the build tree and where it is installed. */
static const char *runtime_dir(Ctx *c) {
  char *path = realpath("/proc/self/exe", NULL);
  for (int up = 0; path && up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
  }
  const char *dir = intern_printf(c, "%s/lib/gc", path ? path : ".");
  free(path);
  return dir;
}

int settings_print_after(Compilation *r) {
  const char *wanted = r->passes.print_after;
  if (!wanted || strcmp(wanted, "all") == 0) return EXIT_DONE;
  VEC(const char *) names = {0};
  for (const char *p = r->pipeline; *p;) { /* "fold,share{match=16}": names end at , or { */
    p += strspn(p, ", \t\n");
    size_t n = strcspn(p, ",{ \t\n");
    const char *name = intern_n(r->c, p, n);
    if (strcmp(name, wanted) == 0) return EXIT_DONE;
    vec_push(ctx_arena(r->c), &names, name);
    p += n;
    if (*p == '{') p += strcspn(p, "}");
    p += *p == '}';
  }
  const char *near = nearest_name(r->c, wanted, names.at, (int)names.n);
  return usage_error("--print-after: the pipeline has no pass '%s'%s%s%s", wanted,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int level(const Options *o) { return option_value(o, OPT_LEVEL, "2")[0] - '0'; }

/* Seconds of searching: counted in steps, so any number gives the same plan everywhere. */
int settings_effort(Compilation *r) {
  const char *text = option_value(&r->o, OPT_PLAN_TIMEOUT, "1");
  char *end;
  r->passes.plan_seconds = strtod(text, &end);
  if (end == text || *end || !(r->passes.plan_seconds >= 0 && r->passes.plan_seconds <= 1e6))
    return usage_error("--plan-timeout takes a number of seconds from 0 to 1000000, not '%s'",
                       text);
  return EXIT_DONE;
}

bool settings_bytes(const char *s, uint64_t *out) {
  static const char letters[] = "KMGT";
  char *end;
  double n = strtod(s, &end);
  const char *letter = *end ? strchr(letters, *end) : NULL;
  if (s[0] < '0' || s[0] > '9' || (*end && !letter)) return false;
  for (int k = 0; letter && k <= letter - letters; k++) n *= 1024;
  if (letter && *++end == 'i') end += end[1] == 'B';
  if (letter && *end == 'B') end++;
  if (*end || !(n >= 1) || n >= 0x1p62) return false;
  *out = (uint64_t)n;
  return letter || n == (double)*out;
}

/* A size, or a share: "50%". */
static bool parse_limit(const char *s, MemoryLimit *out) {
  char *end;
  double n = strtod(s, &end);
  if (strcmp(end, "%") != 0) return settings_bytes(s, &out->bytes);
  out->share = n / 100;
  return s[0] >= '0' && s[0] <= '9' && n > 0 && n <= 100;
}

enum { MOST_STREAMS = 64, MOST_JOBS = 256 };

int settings_count(const char *s, int most) {
  char *end;
  long n = strtol(s, &end, 10);
  return s[0] >= '0' && s[0] <= '9' && !*end && n >= 1 && n <= most ? (int)n : 0;
}

/* The pipeline fits a program into a limit, and nothing in it decides otherwise later. */
static bool keeps_limits(Ctx *c, const char *pipeline) {
  size_t n;
  const char *remat = passes_stage(pipeline, "remat", &n);
  const char *share = remat ? passes_stage(remat + n + (remat[n] == ','), "share", &n) : NULL;
  return share && !strstr(intern_n(c, share, n), "strategy");
}

const char *settings_pipeline(const Compilation *r, int ranks) {
  const Options *o = &r->o;
  const QuantizedForm *form;
  (void)settings_weights(r->c, o, &form);
  if (option_given(o, OPT_PASSES)) return o->value[OPT_PASSES];
  const char *p =
      passes_with_precision(r->c, passes_pipeline(level(o)), option_value(o, OPT_PRECISION, "f32"));
  const RanksHow how = {ranks, option_value(o, OPT_SHARD, NULL), option_given(o, OPT_EXACT),
                        strcmp(option_value(o, OPT_BATCH_NORM, ""), "local") == 0};
  p = passes_with_ranks(r->c, p, how);
  return form ? passes_with_quantized(r->c, p, form->argument) : p;
}

int settings_options(Compilation *r) {
  const Options *o = &r->o;
  const char *limit = option_value(o, OPT_MEMORY_LIMIT, NULL);
  int ranks, code = settings_ranks(r, &ranks);
  if (code) return code;
  const QuantizedForm *form;
  (void)settings_weights(r->c, o, &form);
  if (form && option_given(o, OPT_PASSES))
    return usage_error("--weights=%s chooses passes, which --passes says itself: write "
                       "quantize-weights{%s} there",
                       form->word, form->argument);
  r->pipeline = settings_pipeline(r, ranks);
  r->passes = (PassOptions){
      .link = r->passes.link,
      .memory = option_value(o, OPT_MEMORY, "pack"),
      .streams = settings_count(option_value(o, OPT_STREAMS, "1"), MOST_STREAMS),
      .verify_each = option_given(o, OPT_VERIFY_EACH) || GC_VERIFY_EACH,
      .time_passes = option_given(o, OPT_TIME_PASSES),
      .stats = option_given(o, OPT_STATS) && !settings_wants_times(o),
      .print_changed = option_given(o, OPT_PRINT_CHANGED),
      .curve = option_given(o, OPT_MEMORY_CURVE) ? stdout : NULL,
      .print_after = option_value(o, OPT_PRINT_AFTER, NULL),
      .out = stderr,
  };
  if (option_given(o, OPT_REMARKS))
    remark_parse(option_value(o, OPT_REMARKS, "all"), &r->passes.remarks);
  r->codegen = (CodegenOptions){
      .version = GC_VERSION,
      .runtime_dir = runtime_dir(r->c),
      .level = level(o),
      .jobs = settings_count(option_value(o, OPT_JOBS, "0"), MOST_JOBS),
      .weights = settings_weights(r->c, o, NULL),
      .no_cache = option_given(o, OPT_NO_CACHE),
      .images = option_given(o, OPT_IMAGES),
      .tokens = option_given(o, OPT_TOKENS),
      .ranks = option_given(o, OPT_DATA_PARALLEL) ? ranks : 0,
      .ranks_by = option_value(o, OPT_DATA_PARALLEL, NULL),
      .save_temps = option_given(o, OPT_SAVE_TEMPS),
      .verbose = option_given(o, OPT_VERBOSE),
      .time = option_given(o, OPT_TIME_PASSES),
      .stats = option_given(o, OPT_STATS) && !settings_wants_times(o),
      .exact = option_given(o, OPT_EXACT),
  };
  r->front = (Front){.c = r->c, .o = o};
  if (!r->passes.streams)
    return usage_error("--streams takes a number from 1 to %d, not '%s'", MOST_STREAMS,
                       option_value(o, OPT_STREAMS, ""));
  if (option_given(o, OPT_JOBS) && !r->codegen.jobs)
    return usage_error("--jobs takes a number from 1 to %d, not '%s'", MOST_JOBS,
                       option_value(o, OPT_JOBS, ""));
  if (limit && !parse_limit(limit, &r->passes.limit))
    return usage_error(
        "--memory-limit takes a size as 700M or 1.5G, or a share up to 100%% as 50%%, "
        "not '%s'",
        limit);
  bool packs = strcmp(r->passes.memory, "pack") == 0;
  if ((limit || r->passes.curve) && (!packs || !keeps_limits(r->c, r->pipeline)))
    return usage_error("--memory-limit and --memory-curve are about --memory=pack%s",
                       packs ? ", and need the passes remat and, behind it, share" : "");
  if (option_given(o, OPT_MEMORY_REPORT) && (limit || !packs))
    return usage_error("--memory-report compares the strategies itself, all without a limit");
  return EXIT_DONE;
}
