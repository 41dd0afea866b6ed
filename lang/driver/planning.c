/* From a module to modules that are planned: the passes, for each target. Contract: a plan is never
   used unproven; what fails has said why. */
#include "lang/driver/compilation.h"

#include "codegen/codegen.h"
#include "ir/support/clock.h"
#include "lang/driver/progress.h"

#include <string.h>

static bool is_planned(const Module *m) {
  const Entry *e;
  for (uint32_t i = 0; (e = module_entry(m, i)); i++)
    if (!plan_of(e) || !plan_of(e)->strategy) return false;
  return true;
}

/* A plan is never used unproven: what a pipeline of the user's left out is done here. */
static void prove_plan(Compilation *r, const Module *m) {
  const Entry *e;
  const char *last = strrchr(r->pipeline, ',');
  if (last && strcmp(last, ",plan-verify") == 0) return;
  for (uint32_t i = 0; (e = module_entry(m, i)); i++)
    if (!plan_verify(e, r->passes.target, stderr)) gc_bug(r->c, "the memory plan is wrong");
}

/* A pass has failed and said why. It is the program's fault only if the module is sound. */
static int failed_passes(Compilation *r, const Module *m, int errors_before) {
  bool reported = ctx_errors(r->c) > errors_before;
  ctx_set_stream(r->c, NULL);
  bool sound = module_verify(m, NULL);
  ctx_set_stream(r->c, stderr);
  if (!reported || !sound) gc_bug(r->c, "the pipeline %s failed", r->pipeline);
  return EXIT_PROGRAM;
}

static bool run_passes(Compilation *r, Module *m) {
  Progress p;
  progress_start(&p, r->c, &r->passes);
  const bool ok = passes_run(m, r->pipeline, &r->passes);
  progress_end(&p, r->c, &r->passes);
  return ok;
}

static int passes_for(Compilation *r, Module *m, const Target *t, bool wants_plan) {
  double start = clock_seconds();
  r->passes.target = t;
  if (r->codegen.verbose) fprintf(stderr, "gc: passes %s for %s\n", r->pipeline, t->name);
  int errors = ctx_errors(r->c);
  const QuantizedForm *form;
  (void)settings_weights(r->c, &r->o, &form);
  const char *path = form ? passes_leaves_nothing_out(m, form->without) : NULL;
  if (path)
    return usage_error("--weights: without=%s leaves nothing out: no matrix is below this path",
                       path);
  if (form && !passes_leave_out_training(m)) return EXIT_PROGRAM;
  path = passes_watches_nothing(m, settings_watched(r));
  if (path)
    return usage_error("--watch=%s: the program has no value, layer or param of this name", path);
  const char *foreign = passes_foreign_layout(m, t);
  if (foreign)
    return usage_error(
        "%s has layouts of another target, as of %s, which kernels of %s do not read; give "
        "--target as when it was printed, or print it in front of the pass layout",
        r->o.input, foreign, t->name);
  if (!option_given(&r->o, OPT_PASSES) && passes_has_layouts(m))
    r->pipeline = passes_behind_layout(r->pipeline);
  if (r->pipeline[0] && !run_passes(r, m)) return failed_passes(r, m, errors);
  if (wants_plan && !is_planned(m))
    return usage_error("the pipeline '%s' makes no memory plan: it lacks one of order, liveness, "
                       "inplace, share",
                       r->pipeline);
  if (wants_plan) prove_plan(r, m);
  r->passes_seconds += clock_seconds() - start;
  return EXIT_DONE;
}

/* Whether the targets beside the main one are planned for, too. */
static bool needs_all(const Compilation *r) {
  return settings_makes_program(r->emit) || option_given(&r->o, OPT_PRINT_SCHEDULES) ||
         settings_wants_times(&r->o);
}

/* Finds out what the targets are; a level of the host that nobody named goes with a program. */
static int make_targets(Compilation *r) {
  Targets *t = &r->targets;
  r->main->target = r->main->backend->target(r->c, r->main, &r->codegen);
  if (!r->main->target) return r->codegen.failed;
  for (int i = 0; i < t->n && needs_all(r); i++) {
    CodegenPart *p = &t->part[i];
    if (!p->target) p->target = p->backend->target(r->c, p, &r->codegen);
    if (!p->target) return r->codegen.failed;
  }
  if (settings_makes_program(r->emit) && !targets_part(t, backend_host()) &&
      !backend_host()->target(r->c, &(CodegenPart){.backend = backend_host()}, &r->codegen))
    return r->codegen.failed; /* which chooses the C compiler, also of a program without a part */
  int code = needs_all(r) ? targets_complete(r->c, t, backend_host(), &r->codegen) : EXIT_DONE;
  r->main = targets_part(t, r->main->backend);
  return code;
}

/* What is said of passes is said of the targets that were named, once of all levels of one. */
static void be_silent(PassOptions *o) {
  o->remarks = 0;
  o->curve = NULL;
  o->stats = o->print_changed = false;
  o->print_after = NULL;
}

/* What holds several targets has a plan for each, of a module of its own. */
static int plan_others(Compilation *r) {
  int code = EXIT_DONE;
  if (!needs_all(r)) return code;
  for (int i = 0; i < r->targets.n && !code; i++) {
    CodegenPart *p = &r->targets.part[i];
    if (p == r->main) continue;
    p->m = front_module(&r->front, &code);
    if (p->m && r->codegen.weights && settings_makes_program(r->emit))
      weights_place(r->codegen.weights, p->m, &r->codegen.weights_before, &code);
    const PassOptions said = r->passes;
    if (p->implied || p->backend == r->main->backend) be_silent(&r->passes);
    if (p->m && !code) code = passes_for(r, p->m, p->target, true);
    r->passes = said;
  }
  return code;
}

/* What loses an extent on its way is found at the pass. */
static void verify_extents(Compilation *r) {
  const Extent *extents[ENTRY_EXTENTS];
  for (uint32_t i = 0; i < r->m->entries.n; i++)
    r->passes.verify_each |= entry_extents(r->m->entries.at[i], extents) > 0;
}

/* The file of --weights has to have the scales of activations. */
static bool needs_scales(const Compilation *r) {
  const QuantizedForm *form;
  return settings_weights(r->c, &r->o, &form) && form && form->is_static;
}

int planning_run(Compilation *r) {
  verify_extents(r);
  bool wants_plan = (r->emit != EMIT_NONE && r->emit != EMIT_IR) ||
                    option_given(&r->o, OPT_DUMP_PLAN) || option_given(&r->o, OPT_MEMORY_CURVE) ||
                    option_given(&r->o, OPT_PRINT_SCHEDULES) ||
                    option_given(&r->o, OPT_MEMORY_PER_RANK) || settings_wants_times(&r->o);
  if (!wants_plan && !r->pipeline[0]) return EXIT_DONE;
  double start = clock_seconds();
  int code = make_targets(r);
  r->target_seconds = clock_seconds() - start;
  if (code) return code;
  r->main->m = r->m;
  WeightsFile *file = r->codegen.weights && r->passes.remarks & REMARK_QUANTIZE
                          ? weights_open(r->codegen.weights, &code)
                          : NULL;
  if (file) r->passes.floats = weights_floats, r->passes.floats_data = file;
  if (!code) code = passes_for(r, r->m, r->main->target, wants_plan);
  if (!code && needs_scales(r)) code = weights_check_scales(r->m, r->codegen.weights);
  if (!code && r->codegen.exact && !codegen_exact(r->m)) code = EXIT_PROGRAM;
  if (!code) code = plan_others(r);
  r->passes.floats = NULL;
  weights_close(file);
  return code;
}

Module *planning_again(Compilation *r, void (*change)(Module *m), int *code) {
  Module *m = front_module(&r->front, code);
  if (!m) return NULL;
  if (change) change(m);
  PassOptions whole = r->passes;
  r->passes.limit = (MemoryLimit){0};
  r->passes.curve = NULL;
  r->passes.remarks = 0;
  ctx_set_warnings(r->c, !change); /* they would be of the changed program */
  *code = passes_for(r, m, r->main->target, true);
  ctx_set_warnings(r->c, true);
  r->passes = whole;
  return *code ? NULL : m;
}

Module *planning_for_ranks(Compilation *r, int ranks, const Target *t, int *code) {
  Module *m = front_module(&r->front, code);
  if (!m) return NULL;
  const PassOptions said = r->passes;
  const char *pipeline = r->pipeline;
  be_silent(&r->passes);
  r->pipeline = settings_pipeline(r, ranks);
  ctx_set_about(r->c, intern_printf(r->c, "for %d rank%s", ranks, ranks == 1 ? "" : "s"));
  *code = passes_for(r, m, t, true);
  ctx_set_about(r->c, NULL);
  r->passes = said;
  r->pipeline = pipeline;
  if (!*code) return m;
  module_free(m);
  return NULL;
}
