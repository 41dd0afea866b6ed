/* The target of tests over random programs: one that wants everything, so that the passes have
   something to do. Contract: see random_program.h. */
#include "random_program.h"

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
