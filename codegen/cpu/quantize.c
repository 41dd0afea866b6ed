/* Prints quantize_scale and quantize of rows of f32: integers of 8 or 16 bits, groups along the
   last axis. Contract: the results are those of the ops' decomposition, bit for bit. A unit is a
   row. See text/quantize.h. */
#include "codegen/cpu/cpu.h"
#include "codegen/program/extent.h"

bool cpu_quantizes(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  const Type *x = value_type(e, op->operands[0]);
  return op->attr[AT_BITS].i != 4 && op->attr[AT_AXIS].i == x->rank - 1 && x->dtype == DT_F32 &&
         x->numel > 0 &&
         (op->kind == OP_QUANTIZE_SCALE || value_type(e, op->operands[1])->dtype == DT_BF16);
}

void cpu_quantize(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  const long long group = op->attr[AT_GROUP].i, n = t->dim[t->rank - 1], rows = t->numel / n;
  const long long groups = ceil_div(n, group), bits = op->attr[AT_BITS].i;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  const char *all = dims_text(g, gr->e, t, 0, t->rank - 1);
  kernel_units_of(k, t->numel < SERIAL_WORK ? 1 : rows, all);
  k->flops = (uint64_t)t->numel;
  if (k->units == 1) text_line(x, "const long u0 = 0, u1 = %s;", all);
  text_line(x, "for (long u = u0; u < u1; u++)");
  if (op->kind == OP_QUANTIZE_SCALE)
    text_line(x, "  quantize_scales(in0 + u * %lld, out0 + u * %lld, %lld, %lld, %d);", n, groups,
              n, group, bits == 16 ? 1 << 14 : 1 << 7);
  else
    text_line(x,
              "  quantize_row_%lld(in0 + u * %lld, in1 + u * %lld, out0 + u * %lld, %lld, %lld);",
              bits, n, groups, n * (bits / 8), n, group);
  if (k->units == 1) return;
  for (int i = 0; i < gr->nin; i++)
    kernel_split_in(k, gr, i, 1, 0, value_type(gr->e, gr->in[i])->bytes);
  kernel_split_out(k, gr, 0, 1, 0, value_type(gr->e, gr->yield[0])->bytes);
}
