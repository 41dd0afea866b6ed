/* The CUDA target: what passes ask of it. No panels: every value lies row-major, and slices are
   rearranged on their way to shared memory. Only sorting needs scratch: partial sums stay in
   registers and shared memory. */
#include "codegen/gpu/gpu.h"

static int no_panel(const Target *t, Dtype dt) {
  (void)t;
  (void)dt;
  return 0;
}

static uint64_t sort_scratch(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  return op->kind == OP_ARGSORT ? value_type(e, op->results[0])->bytes : 0;
}

static bool can_fuse(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  (void)e;
  return op->kind != OP_GATHER_GRAD && op->kind != OP_CONCAT && op->kind != OP_PAD;
}

const Target *target_cuda(Ctx *c) {
  Target *t = ARENA_NEW(ctx_arena(c), Target);
  *t = (Target){.name = "cuda",
                .align = 256,
                .panel = no_panel,
                .scratch_bytes = sort_scratch,
                .can_fuse = can_fuse,
                .max_fused_ops = 64};
  return t;
}
