/* Prints windows over images that lie row-major, with element-wise work on the result fused behind.
   Contract: a unit is a row of the result (its last axis), in blocks of columns that are summed
   side by side (codegen/window.c) and finished by the epilogue. */
#include "codegen/window.h"
#include "codegen/cpu/cpu.h"
#include "passes/plan.h"

enum { COLUMNS = 256 };

void cpu_window(Gen *g, const Group *gr) {
  const Type *t = gr->domain;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  long long rows = t->dim[0] * t->dim[1] * t->dim[2], columns = t->dim[3];
  kernel_units(k, k->flops < SERIAL_WORK ? 1 : rows);
  if (k->units > 1) cpu_split_full(k, gr, 1, 0, t->numel);
  Text *x = &k->text;
  text_line(x, "typedef long pos;");
  if (k->units > 1)
    text_open(x, "for (long u = u0; u < u1; u++) {");
  else
    text_open(x, "for (long u = 0; u < %lld; u++) {", rows);
  text_line(x, "const long i0 = u / %lld, i1 = u / %lld %% %lld, i2 = u %% %lld;",
            (long long)(t->dim[1] * t->dim[2]), (long long)t->dim[2], (long long)t->dim[1],
            (long long)t->dim[2]);
  text_open(x, "for (long j0 = 0; j0 < %lld; j0 += %d) {", columns, COLUMNS);
  text_line(x, "const int w = %lld - j0 < %d ? (int)(%lld - j0) : %d;", columns, COLUMNS, columns,
            COLUMNS);
  Window w = window_new(g, gr, x, COLUMNS);
  window_sums(&w);
  text_line(x, "const long flat = u * %lld + j0;", columns);
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < w; l++) {");
  Site s = {.shape = t,
            .coord = (const char *[]){"i0", "i1", "i2", "(j0 + l)"},
            .flat = "(flat + l)",
            .have = gr->root->results[0],
            .have_text = w.sum};
  site_body(g, x, gr, &s);
  for (int i = 0; i < 3; i++) text_close(x, "}");
}
