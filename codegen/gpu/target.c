/* The CUDA target: what passes ask of it. No panels: every value lies row-major, its rows padded
   where a product asks for it, and slices are rearranged on their way to shared memory. Scratch
   holds the sums of chunks and parts that blocks do side by side, the runs of a sort, packed
   filters, and slices of ranks. */
#include "codegen/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

static int no_panel(const Target *t, Dtype dt) {
  (void)t;
  (void)dt;
  return 0;
}

static uint64_t cuda_scratch(const Target *t, const Entry *e, const Op *op) {
  Arena *a = arena_new();
  const Group *g = group_of(a, e, op);
  uint64_t bytes = 0;
  if (g->form == FORM_COLS || g->form == FORM_REDUCE)
    bytes = cuda_reduce_scratch(cuda_target(t), g);
  if (g->form == FORM_MATMUL) bytes = cuda_product_scratch(cuda_target(t), g);
  if (g->form == FORM_ROWS) bytes = cuda_rows_scratch(cuda_target(t), g);
  if (g->form == FORM_WINDOW && (g->root->kind == OP_CONV || g->root->kind == OP_CONV_INPUT_GRAD))
    bytes = cuda_conv_scratch(cuda_target(t), g);
  if (g->form == FORM_WINDOW && g->root->kind == OP_CONV_FILTER_GRAD)
    bytes = cuda_filter_scratch(cuda_target(t), g);
  if (g->form == FORM_ATTENTION) bytes = cuda_attention_scratch(cuda_target(t), g);
  if (g->form == FORM_SINGLE && op_info[op->kind].cls == CLASS_ORDER)
    bytes = cuda_order_scratch(cuda_target(t), g);
  if (g->form == FORM_SINGLE && op_info[op->kind].cls == CLASS_INDEX)
    bytes = cuda_index_scratch(cuda_target(t), g);
  if (op_info[op->kind].cls == CLASS_COLLECTIVE) bytes = cuda_collective_scratch(g);
  arena_free(a);
  return bytes;
}

static bool cuda_ends_windows(const Target *t, const Entry *e, const Op *op, int axis) {
  (void)t, (void)e, (void)op, (void)axis;
  return true;
}

static bool can_fuse(const Target *t, const Entry *e, const Op *op) {
  return op->kind == OP_DYNAMIC_UPDATE || gen_can_fuse(t, e, op);
}

int cuda_arch_number(const char *arch) { return (int)strtol(strchr(arch, '_') + 1, NULL, 10); }

const Target *target_cuda(Ctx *c, const char *const *arch, int narch) {
  CudaTarget *t = ARENA_NEW(ctx_arena(c), CudaTarget);
  t->t = (Target){.name = "cuda",
                  .speed = 2.7e13,         /* 3.35 TB/s of an H100 */
                  .launch = 2e-6,          /* see below */
                  .narrow = 20,            /* 540 TFLOP/s, as its large products reach by the model
                                              of time */
                  .link = {10e-6, 2.5e11}, /* NVLink */
                  .align = 256,
                  .panel = no_panel,
                  .ends_windows = cuda_ends_windows,
                  .narrow_convs = true,
                  .scratch_bytes = cuda_scratch,
                  .can_fuse = can_fuse,
                  .strided_attention = true,
                  .multiplies_quantized = cuda_multiplies_quantized,
                  .narrow_quantized = true,
                  .transposed_operand = cuda_transposed_operand,
                  .rounds_operand = cuda_rounds_operand,
                  .runs_beside = true,
                  .sums_together = 8,
                  .max_fused_ops = 64};
  /* 128 blocks: about one for each multiprocessor of an A100 (108) or H100 (132), so that a
     schedule does not depend on the device. 99 KiB: what every architecture from sm_80 on grants a
     block. A launch: 2 us at 1.8 GHz and 128 fma a clock (an estimate). A quarter in scratch: no
     example's arena grows by more than 3 %. A byte: 3.35 TB/s for 132 multiprocessors. Of tf32 an
     H100 does 1,024 multiply-adds a clock, 62 % of them by mma.sync. */
  t->machine = (GridMachine){.warp = WARP,
                             .block = BLOCK,
                             .blocks = 128,
                             .multiprocessors = 132,
                             .shared = 99 << 10,
                             .scratch = 4,
                             .launch = 5e5,
                             .byte = 0.07,
                             .mma = 5,
                             .wgmma = 8};
  t->sm90a = !narch;
  for (int i = 0; i < narch; i++) t->sm90a |= cuda_variant(arch[i]);
  for (int i = 0; i < narch && !t->pre_sm80; i++)
    if (cuda_arch_number(arch[i]) < 80) t->pre_sm80 = arch[i];
  if (t->pre_sm80) t->t.narrow = 0, t->t.narrow_quantized = false;
  t->t.row_bytes = t->pre_sm80 ? 0 : 16; /* of the widest copy to shared memory */
  return &t->t;
}
