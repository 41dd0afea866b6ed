/* One launch for several of one kernel: the blocks of each launch follow those of the one before.
   Contract: the kernel's text is as it was; where it says blockIdx and p0, p1, … it means those of
   its part. */
#include "codegen/gpu/gpu.h"

Kernel *cuda_batch(Gen *g, const Kernel *const *each, int n) {
  const Kernel *one = each[0];
  Kernel *k = ARENA_NEW(g->a, Kernel);
  *k = *one;
  k->one = one;
  k->parts = n;
  k->nargs = n * one->nargs;
  k->args = ARENA_ARRAY(g->a, KernelArg, k->nargs + 1);
  for (int i = 0; i < k->nargs; i++) k->args[i] = each[i / one->nargs]->args[i % one->nargs];
  k->grid = n * one->grid;
  k->flops = (uint64_t)n * one->flops;
  k->head = text_new(g->a, 1);
  k->text = text_new(g->a, 1);
  Text *x = &k->text, own = one->head, body = one->text;
  text_line(x, "struct PartIdx { unsigned x; };");
  text_line(x, "const PartIdx part_block = {blockIdx.x %% %lldu};", (long long)one->grid);
  for (int i = 0; i < one->nargs; i++)
    text_line(x, "%svoid *q%d;", one->args[i].access.write ? "" : "const ", i);
  text_open(x, "switch (blockIdx.x / %lldu) {", (long long)one->grid);
  for (int p = 0; p < n; p++) {
    Text line = text_new(g->a, 0);
    text_add(&line, p + 1 < n ? "case %d:" : "default:", p);
    for (int i = 0; i < one->nargs; i++) text_add(&line, " q%d = p%d;", i, p * one->nargs + i);
    text_line(x, "%s break;", text_str(&line));
  }
  text_close(x, "}");
  text_open(x, "{");
  text_line(x, "const PartIdx blockIdx = part_block;");
  for (int i = 0; i < one->nargs; i++)
    text_line(x, "%svoid *p%d = q%d;", one->args[i].access.write ? "" : "const ", i, i);
  text_append(x, &own);
  text_append(x, &body);
  text_close(x, "}");
  return k;
}
