/* Windows over images on the GPU that have no tiles: pools, and convolutions and gradients of few
   channels. A thread does one element of the result, neighbours along a row
   neighbouring ones, with the sums of codegen/print/window.c, hence with the CPU's bits. Contract:
   a thread reads the other operands of an element before it writes it, so results may lie over
   them. */
#include "codegen/print/window.h"
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

/* Declares `u`, where element `v` of a run lies: elements of images whose rows or columns the run
   decides are numbered as in the program compiled for them, so that no warp is half full. */
static void place_element(Gen *g, const Group *gr, Text *x) {
  const Type *t = gr->domain;
  const char *I = g->index, *rows = dims_text(g, gr->e, t, 2, 3);
  const char *columns = dims_text(g, gr->e, t, 3, 4);
  const char *image = text_product(g->a, rows, columns);
  text_line(x, "const %s plane = v / (%s)%s, in_plane = v - plane * (%s)%s;", I, I, image, I,
            image);
  const char *at = "in_plane";
  if (type_extent(t, 3)) {
    text_line(x, "const %s line = in_plane / (%s)%s;", I, I, columns);
    at = arena_printf(g->a, "line * %lld + (in_plane - line * (%s)%s)", (long long)t->dim[3], I,
                      columns);
  }
  text_line(x, "const %s u = plane * %lld + %s;", I, (long long)(t->dim[2] * t->dim[3]), at);
}

void cuda_window(Gen *g, const Group *gr) {
  const Type *t = gr->domain;
  if (cuda_conv(g, gr) || cuda_filter(g, gr)) return;
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = op_flops(gr->e, gr->op);
  const bool bounded = dims_bounded(t, 2, 4);
  const char *elements = bounded ? dims_text(g, gr->e, t, 0, 4) : prefix_text(g, gr->e, t);
  cuda_threads_of(g, k, t->numel, elements, bounded ? "v" : "u");
  if (bounded) place_element(g, gr, x);
  const char *I = g->index;
  text_line(x, "typedef %s pos;", I);
  text_line(x, "const pos j0 = u %% %lld, i2 = u / %lld %% %lld;", (long long)t->dim[3],
            (long long)t->dim[3], (long long)t->dim[2]);
  text_line(x, "const pos i1 = u / %lld %% %lld, i0 = u / %lld;",
            (long long)(t->dim[2] * t->dim[3]), (long long)t->dim[1],
            (long long)(t->dim[1] * t->dim[2] * t->dim[3]));
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
