/* The command gc: reads the command line, leads a program through the floors, writes what was
   asked. Contract: exit codes 0 done, 1 the program is wrong, 2 the command line is wrong, 3 the
   environment is, 70 an internal error; what was wrong has been said once, and a failing run leaves
   no output. */
#define _GNU_SOURCE
#include "codegen/build/output.h"
#include "codegen/codegen.h"
#include "ir/support/clock.h"
#include "ir/support/memfile.h"
#include "lang/driver/compilation.h"
#include "lang/editor/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the stages ---- */

/* A text is made whole in memory before a byte of it is written; `print` returns an exit code. */
static int emit_text(Compilation *r, int (*print)(FILE *f, Compilation *r)) {
  MemFile m;
  int code = print(memfile_open(&m), r);
  memfile_close(&m);
  if (code == EXIT_DONE && !output_write(r->output, m.text, m.n)) code = EXIT_ENVIRONMENT;
  memfile_free(&m);
  return code;
}

static int print_ast(FILE *f, Compilation *r) {
  fputs("# Parsed by gc " GC_VERSION "\n", f);
  ast_print(f, r->prog);
  return EXIT_DONE;
}

static int print_ir(FILE *f, Compilation *r) {
  module_print(f, r->m, &(PrintOptions){.locs = true, .note = plan_note});
  return EXIT_DONE;
}

static int print_plan(FILE *f, Compilation *r) {
  plan_print_json(f, r->m, r->main->target, GC_VERSION);
  return EXIT_DONE;
}

static int print_source(FILE *f, Compilation *r) {
  return r->main->backend->source(r->main, &r->codegen, f) ? EXIT_DONE : EXIT_PROGRAM;
}

/* The forward path alone is a module of its own. */
static int print_report(Compilation *r) {
  int code = EXIT_DONE;
  Module *forward = planning_again(r, module_drop_updates, &code);
  if (forward) plan_report(stdout, r->m, forward, r->main->target);
  return code;
}

/* The entry that is named behind the program is one of it. */
static bool knows_entry(const Compilation *r) {
  const char *name = r->o.entry;
  const uint32_t n = r->m->entries.n;
  const char **names = ARENA_ARRAY(ctx_arena(r->c), const char *, n + 1);
  const char *list = "";
  bool known = !name;
  for (uint32_t i = 0; i < n; i++) {
    names[i] = r->m->entries.at[i]->name;
    list = intern_printf(r->c, "%s%s%s", list, i ? ", " : "", names[i]);
    known |= name && strcmp(names[i], name) == 0;
  }
  if (known) return true;
  const char *near = nearest_name(r->c, name, names, (int)n);
  return !usage_error("%s has no entry '%s'; %s%s%s", r->o.input, name,
                      near ? "did you mean " : "it has ", near ? near : list, near ? "?" : "");
}

/* What is printed of the plans: of all entries, or of the one that is named. */
static Module shown(const Compilation *r, const Module *m) {
  Module one = *m;
  if (!r->o.entry) return one;
  while (strcmp(one.entries.at[0]->name, r->o.entry) != 0) one.entries.at++;
  one.entries.n = 1;
  one.init = one.gather = NULL;
  return one;
}

/* Beside the plan without a limit where there is one. */
static int print_page(Compilation *r, const Module *m) {
  int code = EXIT_DONE;
  bool limit = option_given(&r->o, OPT_MEMORY_LIMIT);
  Module *before = limit ? planning_again(r, NULL, &code) : NULL;
  const Module old = before ? shown(r, before) : (Module){0};
  if (!code) plan_print_html(stdout, m, before ? &old : NULL);
  return code;
}

/* Of each target, in the order in which a program tries them. */
static bool print_schedules(Compilation *r) {
  for (int i = 0; i < r->targets.n && option_given(&r->o, OPT_PRINT_SCHEDULES); i++) {
    const CodegenPart *p = &r->targets.part[i];
    if (!p->backend->schedules(p, &r->codegen, stdout)) return false;
  }
  return true;
}

static int print_times_of_launches(Compilation *r) {
  const char *device;
  if (!settings_wants_times(&r->o)) return EXIT_DONE;
  const Backend *b = settings_timed_device(r, &device);
  return b->times(targets_part(&r->targets, b), &r->codegen, device, stdout) ? EXIT_DONE
                                                                             : EXIT_PROGRAM;
}

/* Before anything is done for it. */
static int check_times(Compilation *r) {
  const char *device;
  if (!option_given(&r->o, OPT_STATS) || !*option_value(&r->o, OPT_STATS, "")) return EXIT_DONE;
  const Backend *b = settings_timed_device(r, &device);
  if (!b) return EXIT_USAGE;
  if (targets_part(&r->targets, b)) return EXIT_DONE;
  return usage_error("--stats=time is about the kernels of a GPU: --target=%s", b->name);
}

static int print_looks(Compilation *r) {
  const char *form = option_value(&r->o, OPT_DUMP_PLAN, "text");
  if (option_given(&r->o, OPT_PRINT_LIVENESS))
    for (uint32_t i = 0; i < r->m->entries.n; i++) liveness_print(stdout, r->m->entries.at[i]);
  if (!option_given(&r->o, OPT_DUMP_PLAN)) return EXIT_DONE;
  const Module m = shown(r, r->m);
  if (strcmp(form, "json") == 0)
    plan_print_json(stdout, &m, r->main->target, GC_VERSION);
  else if (strcmp(form, "csv") == 0)
    plan_print_csv(stdout, &m);
  else if (strcmp(form, "svg") == 0)
    plan_print_svg(stdout, &m);
  else if (strcmp(form, "html") == 0)
    return print_page(r, &m);
  else if (strcmp(form, "trace") == 0)
    plan_print_trace(stdout, &m);
  else
    plan_print_table(stdout, &m, r->main->target);
  return EXIT_DONE;
}

/* ---- what is imported ---- */

static int print_g(FILE *f, Compilation *r) {
  size_t n;
  const char *text = onnx_text(r->front.onnx, &n);
  fwrite(text, 1, n, f);
  return EXIT_DONE;
}

/* The program of an ONNX model, and its weights beside it. */
static int emit_g(Compilation *r) {
  int code = EXIT_DONE;
  if (!front_import(&r->front, &code)) return code;
  if (onnx_has_weights(r->front.onnx)) code = imported_weights_beside(r);
  return code ? code : emit_text(r, print_g);
}

static int emit_form(Compilation *r) {
  const char *bytes;
  size_t n;
  int code = EXIT_DONE;
  if (r->codegen.ranks_by && r->main->backend != backend_host())
    fprintf(stderr,
            "gc: note: --emit=%s has kernels alone: collectives are calls of NCCL that the "
            "executable makes\n",
            option_value(&r->o, OPT_EMIT, ""));
  if (!r->form->image) return emit_text(r, print_source);
  if (!r->main->backend->image(r->main, &r->codegen, r->form, &bytes, &n, &code)) return code;
  return output_write(r->output, bytes, n) ? EXIT_DONE : EXIT_ENVIRONMENT;
}

static int emit_module(Compilation *r) {
  double start = clock_seconds();
  int code = EXIT_DONE;
  bool ok = true;
  switch (r->emit) {
  case EMIT_EXE:
    ok = codegen_exe(r->targets.part, r->targets.n, &r->codegen, r->output, &code);
    break;
  case EMIT_LIB:
    ok = codegen_lib(r->targets.part, r->targets.n, &r->codegen, r->output, &code);
    break;
  case EMIT_PYTHON:
    ok = codegen_python(r->targets.part, r->targets.n, &r->codegen, r->output, &code);
    break;
  case EMIT_WHEEL:
    ok = codegen_wheel(r->targets.part, r->targets.n, &r->codegen, r->output, &code);
    break;
  case EMIT_FORM: code = emit_form(r); break;
  case EMIT_IR: code = emit_text(r, print_ir); break;
  case EMIT_PLAN: code = emit_text(r, print_plan); break;
  case EMIT_AST:
  case EMIT_G:
  case EMIT_ONNX:
  case EMIT_NONE: break;
  }
  if (!ok && code == EXIT_DONE) code = EXIT_PROGRAM;
  r->codegen_seconds = clock_seconds() - start;
  return code;
}

/* The weights that go into a program, before anything is planned: where pages have them. The file
   of an import's, to be closed; -1: there is none. */
static int place_weights(Compilation *r, int *code) {
  if (!settings_makes_program(r->emit)) return -1;
  int imported = imported_weights(r, code);
  if (r->codegen.weights && !*code)
    weights_place(r->codegen.weights, r->m, &r->codegen.weights_before, code);
  return imported;
}

static void print_times(const Compilation *r) {
  if (!option_given(&r->o, OPT_TIME_PASSES)) return;
  double cc = r->codegen.cc_seconds;
  const struct {
    const char *what;
    double seconds;
  } rows[] = {
      {"parsing", r->front.parse_seconds},          {"elaboration", r->front.elaborate_seconds},
      {"choice of the target", r->target_seconds},  {"passes", r->passes_seconds},
      {"code generation", r->codegen_seconds - cc}, {"C compiler and linker", cc}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    fprintf(stderr, "%9.1f ms  %s\n", 1e3 * rows[i].seconds, rows[i].what);
}

static int compile(Compilation *r) {
  int code = settings_options(r);
  if (!code) code = settings_effort(r);
  if (!code) code = targets_choose(r->c, &r->o, &r->targets);
  if (!code) code = check_times(r);
  if (!code) code = settings_output(r);
  if (code) return code;
  if (option_given(&r->o, OPT_PASSES) && option_given(&r->o, OPT_PRECISION))
    return usage_error("--precision chooses passes, which --passes says itself: write "
                       "autodiff{saved=bf16},precision{products=bf16} there");
  bool is_text = input_kind(&r->o) == INPUT_IR;
  if (option_given(&r->o, OPT_PASSES) && r->pipeline[0] &&
      !passes_check(r->c, r->pipeline, is_text))
    return EXIT_USAGE;
  code = settings_print_after(r);
  if (code) return code;
  ctx_set_bug_hook(r->c, reproduce, &r->front);
  if (r->emit == EMIT_AST) {
    if (is_text)
      return usage_error("IR text has no syntax tree: --emit=ast does not go with -x ir");
    r->prog = front_parse(&r->front, &code);
    return r->prog ? emit_text(r, print_ast) : code;
  }
  if (r->emit == EMIT_G) return emit_g(r);
  r->m = front_module(&r->front, &code);
  if (!r->m) return code;
  if ((is_text || r->passes.verify_each) && !module_verify(r->m, NULL)) {
    if (!is_text) gc_bug(r->c, "the module is not sound after elaboration");
    module_free(r->m);
    return EXIT_PROGRAM;
  }
  if (option_given(&r->o, OPT_CHECK)) {
    const bool shared = r->codegen.ranks < 2 || passes_check_ranks(r->m, r->codegen.ranks);
    module_free(r->m);
    return shared ? EXIT_DONE : EXIT_PROGRAM;
  }
  if (r->codegen.weights) code = weights_check(r->m, r->codegen.weights);
  if (!code && option_given(&r->o, OPT_DUMP_PLAN) && !knows_entry(r)) code = EXIT_USAGE;
  if (r->emit == EMIT_ONNX) {
    if (!code) code = emit_onnx(r);
    module_free(r->m);
    return code;
  }
  int imported = code ? -1 : place_weights(r, &code);
  if (!code) code = planning_run(r);
  if (!code) code = print_looks(r);
  if (!code && !print_schedules(r)) code = EXIT_PROGRAM;
  if (!code) code = print_times_of_launches(r);
  if (!code && option_given(&r->o, OPT_MEMORY_REPORT)) code = print_report(r);
  if (!code && r->nper_rank) code = rank_memory(r);
  if (!code) host_memory_note(r);
  if (!code) code = emit_module(r);
  if (!code) print_times(r);
  if (imported >= 0) close(imported);
  for (int i = 0; i < r->targets.n; i++)
    if (r->targets.part[i].m && r->targets.part[i].m != r->m) module_free(r->targets.part[i].m);
  module_free(r->m);
  return code;
}

/* ---- gc --pack ---- */

/* A whole number of bytes; false if it is none. */
static bool parse_seconds(const char *s, double *out) {
  char *end;
  *out = strtod(s, &end);
  return *s && *end == 0 && isfinite(*out) && *out > 0;
}

static int print_packed(FILE *f, Compilation *r) {
  uint64_t capacity = 0;
  double timeout = 0;
  const char *text = option_value(&r->o, OPT_CAPACITY, NULL);
  if (text && !settings_bytes(text, &capacity))
    return usage_error("--capacity takes a number of bytes above 0, not '%s'", text);
  text = option_value(&r->o, OPT_TIMEOUT, NULL);
  if (text && !parse_seconds(text, &timeout))
    return usage_error("--timeout takes a number of seconds above 0, not '%s'", text);
  return pack_command(r->c, r->o.input, capacity, timeout, f, r->note);
}

static int pack(Compilation *r) {
  r->output = option_value(&r->o, OPT_OUTPUT, NULL);
  int code = settings_files(r, false);
  if (code) return code;
  MemFile note;
  r->note = memfile_open(&note);
  code = emit_text(r, print_packed);
  memfile_close(&note);
  if (code == EXIT_DONE)
    fputs(note.text, stderr); /* nothing is said of what could not be written */
  memfile_free(&note);
  return code;
}

static int run(Compilation *r, int argc, char **argv) {
  int code;
  if (!options_parse(r->c, argc, argv, &r->o)) return EXIT_USAGE;
  if (help_answer(r->c, &r->o, &code)) return code;
  if (strcmp(option_value(&r->o, OPT_DIAGNOSTICS, "text"), "json") == 0) diagnostics_as_json(r->c);
  if (option_given(&r->o, OPT_LSP))
    return lsp_serve(stdin, stdout, plan_module, &(ModelReader){.read = model_text});
  if (!r->o.input) return usage_error("no input file; see gc --help");
  if (input_is_other(r->c, &r->o)) return EXIT_USAGE;
  if (!config_read(r->c, &r->o)) return EXIT_USAGE;
  if (option_given(&r->o, OPT_FORMAT)) return format_command(&(Front){.c = r->c, .o = &r->o});
  const char *entry = option_value(&r->o, OPT_CHECK_GRADIENTS, NULL);
  if (entry) return check_gradients(&(Front){.c = r->c, .o = &r->o}, entry);
  return option_given(&r->o, OPT_PACK) ? pack(r) : compile(r);
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of the write, with its message */
  Compilation r = {.c = ctx_new()};
  int code = run(&r, argc, argv);
  bool written = fflush(stdout) == 0 && !ferror(stdout);
  if (!written && code == EXIT_DONE) {
    fprintf(stderr, "gc: error: cannot write the standard output: %s\n", strerror(errno));
    code = EXIT_ENVIRONMENT;
  }
  ctx_free(r.c);
  return code;
}
