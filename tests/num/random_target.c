/* What tests over random programs are planned with: a target that wants everything, so that the
   passes have something to do, and passes that search little. Contract: see random_program.h. */
#include "passes/passes.h"
#include "random_program.h"

#include <string.h>

static int panel_of_four(const Target *t, Dtype dt) { return dt == DT_F32 ? 4 : 0; }
static uint64_t some_scratch(const Target *t, const Entry *e, const Op *op) {
  return op_info[op->kind].cls == CLASS_REDUCE ? 100 : 0;
}
static bool may_fuse(const Target *t, const Entry *e, const Op *op) { return true; }
const Target random_target = {.name = "test",
                              .align = 64,
                              .slack = 32,
                              .panel = panel_of_four,
                              .scratch_bytes = some_scratch,
                              .can_fuse = may_fuse,
                              .max_fused_ops = 8};

const char *random_pipeline(Arena *a, int level) {
  const char *all = passes_pipeline(level), *at = strstr(all, ",remat,");
  if (!at) return all;
  return arena_printf(a, "%.*s," RANDOM_REMAT "%s", (int)(at - all), all, at + strlen(",remat"));
}
