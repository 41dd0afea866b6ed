/* Running sums along an axis: a thread does one line of elements, in the CPU's order.
   Contract: an element is read right before its sum is written, so the result may lie over the
   operand; neighbouring threads have neighbouring lines. */
#include "codegen/cuda/cuda.h"

void cuda_order(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  int axis = (int)op->attr[AT_AXIS].i;
  long long n = t->dim[axis], inner = 1;
  for (int i = axis + 1; i < t->rank; i++) inner *= t->dim[i];
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = (uint64_t)t->numel;
  cuda_threads(g, k, n ? t->numel / n : 0, "t");
  if (t->numel == 0) return;
  text_line(x, "const %s first = t / %lld * %lld + t %% %lld;", g->index, inner, n * inner, inner);
  text_line(x, "%s sum = 0;", dtype_compute(t->dtype));
  text_open(x, "for (%s i = 0; i < %lld; i++) {", g->index, n);
  text_line(x, "const %s at = first + %s * %lld;", g->index,
            op->attr[AT_BACKWARD].i ? arena_printf(g->a, "(%lld - i)", n - 1) : "i", inner);
  text_line(x, "sum += %s;", scalar_load(g->a, t->dtype, "in0", "at"));
  text_line(x, "out0[at] = %s;", scalar_store(g->a, t->dtype, "sum"));
  text_close(x, "}");
}
