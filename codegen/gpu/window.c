/* Windows over images on the GPU that have no tiles: pools, and convolutions and gradients of few
   channels. A thread does one element of the result, neighbours along a row
   neighbouring ones, with the sums of codegen/print/window.c, hence with the CPU's bits. Contract:
   a thread reads the other operands of an element before it writes it, so results may lie over
   them. */
#include "codegen/print/window.h"
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

void cuda_window(Gen *g, const Group *gr) {
  const Type *t = gr->domain;
  if (cuda_conv(g, gr) || cuda_filter(g, gr)) return;
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = op_flops(gr->e, gr->op);
  cuda_threads_of(g, k, t->numel, prefix_text(g, gr->e, t), "u");
  const char *I = g->index;
  text_line(x, "typedef %s pos;", I);
  text_line(x, "const pos j0 = u %% %lld, i2 = u / %lld %% %lld;", (long long)t->dim[3],
            (long long)t->dim[3], (long long)t->dim[2]);
  text_line(x, "const pos i1 = u / %lld %% %lld, i0 = u / %lld;",
            (long long)(t->dim[2] * t->dim[3]), (long long)t->dim[1],
            (long long)(t->dim[1] * t->dim[2] * t->dim[3]));
  if (dims_bounded(t, 2, 4)) text_line(x, "if (!(%s)) return;", inside_text(g, gr->e, t, "u"));
  text_line(x, "enum { w = 1 };");
  Window w = window_new(g, gr, x, 1);
  window_sums(&w);
  EpilogueSite s = {.shape = t,
                    .coord = (const char *[]){"i0", "i1", "i2", "j0"},
                    .flat = "u",
                    .have = gr->root->results[0],
                    .have_text = w.sum};
  epilogue_body(g, x, gr, &s);
}
