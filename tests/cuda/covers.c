/* Every op of the table that a GPU computes is in one of the programs given, as the passes leave
   them to make kernels of; that other tests run their kernels is the caller's to see to.
     covers FILE.g…
   Not asked for: ops that no pass leaves (composites but one that has a kernel, those without
   arithmetic of their own),
   tf32, which only --precision=tf32 makes and products.c runs, and extent, which the target
   refuses. */
#include "codegen/gpu/gpu.h"
#include "passes/passes.h"
#include "tests/num/source.h"

#include <stdio.h>

static void mark(const Entry *e, const Block *b, bool *seen) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = e->ops.at[b->ops.at[i]];
    seen[op->kind] = true;
    for (int k = 0; k < op->nblocks; k++) mark(e, op->blocks[k], seen);
  }
}

static bool is_asked_for(OpKind k) {
  return (!op_info[k].expand || k == OP_MATMUL || k == OP_QUANTIZED_MATMUL) &&
         op_info[k].cls != CLASS_META && k != OP_TF32 && k != OP_EXTENT &&
         op_info[k].cls != CLASS_COLLECTIVE && k != OP_FIRST_ROW &&
         k != OP_RANK; /* ranks are the CPU's */
}

int main(int argc, char **argv) {
  static bool seen[OP_KINDS];
  int kinds = 0, missing = 0;
  for (int i = 1; i < argc; i++) {
    Ctx *c = ctx_new();
    Module *m = source_module(c, argv[i], NULL, 0);
    PassOptions po = {.memory = "pack", .out = stdout, .target = target_cuda(c, NULL, 0)};
    if (!passes_run(m, passes_pipeline(2), &po)) return 1;
    if (m->init) mark(m->init, m->init->body, seen);
    for (uint32_t k = 0; k < m->entries.n; k++)
      mark(m->entries.at[k], m->entries.at[k]->body, seen);
    ctx_free(c);
  }
  for (int k = 0; k < OP_KINDS; k++) {
    if (!is_asked_for((OpKind)k)) continue;
    kinds++;
    if (!seen[k]) printf("no program has %s\n", op_info[k].name), missing++;
  }
  printf("%d kinds of ops in %d programs, %d are missing\n", kinds, argc - 1, missing);
  return missing != 0 || !kinds;
}
