/* The memory plan of a module for the host, as `gc -O2` makes it: what an editor shows. */
#include "lang/driver/command.h"
#include "passes/passes.h"

bool plan_module(Ctx *c, Module *m) {
  Targets t;
  if (targets_choose(c, &(Options){0}, &t) != EXIT_DONE) return false;
  CodegenPart *host = targets_part(&t, backend_host());
  CodegenOptions codegen = {.version = GC_VERSION, .runtime_dir = ".", .level = 2};
  host->target = host->backend->target(c, host, &codegen);
  PassOptions passes = {.target = host->target, .memory = "pack", .plan_seconds = 1, .out = stderr};
  return host->target && passes_run(m, passes_pipeline(2), &passes);
}
