/* Prints cumulative sums along an axis.
   Contract: sums are added in the order of the axis, so the bits depend on the shape alone. An
   element is read right before its sum is written, so the result may overlap the operand. A unit is
   a few neighbouring lines, whose sums are computed side by side, in f32 for halves. */
#include "codegen/cpu/cpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

enum { LINES = 64 }; /* of a unit, at most */

void cpu_cumsum(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  int axis = (int)op->attr[AT_AXIS].i;
  long long n = t->dim[axis], inner = 1;
  for (int i = axis + 1; i < t->rank; i++) inner *= t->dim[i];
  long long lines = inner < LINES ? inner : LINES, blocks = lines ? (inner + lines - 1) / lines : 0;
  long long units = n && inner ? t->numel / (n * inner) * blocks : 0;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  const char *all = arena_printf(g->a, "%lld", units); /* bounded: lines around the axis */
  if (t->extent)
    all = text_product(g->a, dims_text(g, gr->e, t, 0, axis), arena_printf(g->a, "%lld", blocks));
  const char *length = dims_text(g, gr->e, t, axis, axis + 1);
  const char *around = arena_printf(g->a, "u / %lld", blocks);
  if (dims_bounded(t, 0, axis))
    around = place_text(g, gr->e, t, 0, axis, arena_printf(g->a, "(%s)", around));
  kernel_units_of(k, t->numel < SERIAL_WORK ? 1 : units, all);
  k->flops = (uint64_t)t->numel;
  if (units == 0) return;
  if (k->units == 1) text_line(x, "const long u0 = 0, u1 = %s;", all);
  text_open(x, "for (long u = u0; u < u1; u++) {");
  text_line(x, "const long first = %s * %lld + u %% %lld * %lld;", around, n * inner, blocks,
            lines);
  const char *width = arena_printf(g->a, "%lld", lines);
  if (inner % lines) {
    text_line(x, "const long width = u %% %lld == %lld ? %lld : %lld;", blocks, blocks - 1,
              inner % lines, lines);
    width = "width";
  }
  text_line(x, "GC_LANES %s sum[%lld];", dtype_compute(t->dtype), lines);
  text_line(x, "for (int j = 0; j < %lld; j++) sum[j] = %s;", lines,
            reduce_start(g, OP_SUM, t->dtype, n));
  text_open(x, "for (long i = 0; i < %s; i++) {", length);
  const char *at = arena_printf(
      g->a, "first + %s * %lld",
      op->attr[AT_BACKWARD].i ? arena_printf(g->a, "(%s - 1 - i)", length) : "i", inner);
  text_line(x, "const long at = %s;", at);
  text_open(x, "GC_IVDEP for (long j = 0; j < %s; j++) {", width);
  text_line(x, "sum[j] += %s;", scalar_load(g->a, t->dtype, "in0", "at + j"));
  text_line(x, "out0[at + j] = %s;", scalar_store(g->a, t->dtype, "sum[j]"));
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
  if (k->units == 1 || blocks > 1) return;
  kernel_split_in(k, gr, 0, 1, 0, t->bytes);
  kernel_split_out(k, gr, 0, 1, 0, t->bytes);
}
