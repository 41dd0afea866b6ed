/* Prints sorting along the last axis: a bottom-up merge sort that alternates between result and
   scratch, so that the last merge ends in the result. */
#include "codegen/cpu/cpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

uint64_t cpu_order_scratch(const Group *gr) {
  if (gr->op->kind == OP_CUMSUM) return cpu_cumsum_scratch(gr);
  return gr->op->kind == OP_ARGSORT ? value_type(gr->e, gr->out[0])->bytes : 0;
}

static void sort(Gen *g, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  long long n = t->dim[t->rank - 1], rows = n ? t->numel / n : 0;
  bool down = gr->root->attr[AT_DESCENDING].i, odd = false;
  for (long long run = 1; run < n; run *= 2) odd = !odd;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  const char *all = dims_text(g, gr->e, t, 0, t->rank - 1);
  const char *length = dims_text(g, gr->e, t, t->rank - 1, t->rank);
  bool bounded = type_extent(t, t->rank - 1) != NULL;
  const char *row = place_text(g, gr->e, t, 0, t->rank - 1, "u");
  kernel_units_of(k, t->numel < SERIAL_WORK ? 1 : rows, all);
  if (rows == 0) return;
  if (k->units == 1) text_line(x, "const long u0 = 0, u1 = %s;", all);
  text_open(x, "for (long u = u0; u < u1; u++) {");
  text_line(x, "const %s *row = in0 + %s * %lld;", dtype_storage(t->dtype), row, n);
  text_line(x, "int32_t *from = %s + %s * %lld, *to = %s + %s * %lld;",
            odd ? "(int32_t *)scratch" : "out0", row, n, odd ? "out0" : "(int32_t *)scratch", row,
            n);
  if (bounded) { /* the last merge of a run's number of them ends in the result */
    text_line(x, "int merges = %d;", odd);
    text_line(x, "for (long run = 1; run < %s; run *= 2) merges++;", length);
    text_open(x, "if (merges %% 2) {");
    text_line(x, "int32_t *const swap = from;");
    text_line(x, "from = to;");
    text_line(x, "to = swap;");
    text_close(x, "}");
  }
  text_line(x, "for (long i = 0; i < %s; i++) from[i] = (int32_t)i;", length);
  text_open(x, "for (long run = 1; run < %s; run *= 2) {", length);
  text_open(x, "for (long first = 0; first < %s; first += 2 * run) {", length);
  text_line(x, "const long mid = first + run < %s ? first + run : %s;", length, length);
  text_line(x, "const long end = mid + run < %s ? mid + run : %s;", length, length);
  text_line(x, "long i = first, a = first, b = mid;");
  text_open(x, "while (a < mid && b < end) {");
  const char *T = dtype_compute(t->dtype);
  text_line(x, "const %s left = %s, right = %s;", T, scalar_load(g->a, t->dtype, "row", "from[a]"),
            scalar_load(g->a, t->dtype, "row", "from[b]"));
  text_line(x, "if (%s)",
            reduce_beats(g, OP_ARGMAX, t->dtype, down ? "right" : "left", down ? "left" : "right"));
  text_line(x, "  to[i++] = from[b++];");
  text_line(x, "else");
  text_line(x, "  to[i++] = from[a++];");
  text_close(x, "}");
  text_line(x, "while (a < mid) to[i++] = from[a++];");
  text_line(x, "while (b < end) to[i++] = from[b++];");
  text_close(x, "}");
  text_line(x, "int32_t *const swap = from;");
  text_line(x, "from = to;");
  text_line(x, "to = swap;");
  text_close(x, "}");
  text_close(x, "}");
  if (k->units == 1) return;
  kernel_split_in(k, gr, 0, 1, 0, t->bytes);
  kernel_split_out(k, gr, 0, 1, 0, (uint64_t)t->numel * 4);
}

void cpu_order(Gen *g, const Group *gr) {
  if (gr->root->kind == OP_CUMSUM)
    cpu_cumsum(g, gr);
  else
    sort(g, gr);
}
