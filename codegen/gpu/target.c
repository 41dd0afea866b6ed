/* The CUDA target: what passes ask of it. No panels: every value lies row-major, and slices are
   rearranged on their way to shared memory. Only sorting needs scratch: partial sums stay in
   registers and shared memory. */
#include "codegen/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

static int no_panel(const Target *t, Dtype dt) {
  (void)t;
  (void)dt;
  return 0;
}

static uint64_t sort_scratch(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  return op->kind == OP_ARGSORT ? value_type(e, op->results[0])->bytes : 0;
}

const Target *target_cuda(Ctx *c, const char *const *arch, int narch) {
  CudaTarget *t = ARENA_NEW(ctx_arena(c), CudaTarget);
  t->t = (Target){.name = "cuda",
                  .align = 256,
                  .panel = no_panel,
                  .scratch_bytes = sort_scratch,
                  .can_fuse = gen_can_fuse,
                  .max_fused_ops = 64};
  t->machine = (GridMachine){.warp = WARP, .block = BLOCK, .blocks = 128, .shared = 99 << 10};
  for (int i = 0; i < narch && !t->pre_sm80; i++)
    if (strtol(arch[i] + strlen("sm_"), NULL, 10) < 80) t->pre_sm80 = arch[i];
  return &t->t;
}
