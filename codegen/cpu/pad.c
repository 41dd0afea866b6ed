/* Padding: a row of the result is what is there of it, between what is filled. Contract: that of
   move.c: one layout, without panels, for operand and result; axes below are those of storage. */
#include "codegen/cpu/cpu.h"
#include "codegen/program/extent.h"

/* A list of one integer an axis, in the order of storage. */
static const int64_t *in_order(Gen *g, const Group *gr, ValueId v, const Ints *list) {
  int64_t *d = ARENA_ARRAY(g->a, int64_t, list->n + 1);
  for (int i = 0; i < list->n; i++) d[i] = list->at[layout_axis(value_at(gr->e, v)->layout, i)];
  return d;
}

/* A row of the result: what is there of it, between what is filled. `inner` elements lie side by
   side at each index of its axis. */
static void pad_row(Text *x, const char *inside, const char *rows, const char *n, int64_t lo,
                    int64_t gap, const char *to, const char *from, const char *fill) {
  if (gap) {
    text_line(x, "for (long j = 0; j < %s; j++) out0[%s + j] = %s;", rows, to, fill);
    text_line(x,
              "for (long j = 0; j < (1%s ? %s : 0); j++) out0[%s + %lld + j * %lld] = in0[%s + j];",
              inside, n, to, (long long)lo, (long long)gap + 1, from);
    return;
  }
  text_line(x, "const long have = 1%s ? %s : 0;", inside, n);
  if (lo)
    text_line(x, "for (long j = 0; j < %lld; j++) out0[%s + j] = %s;", (long long)lo, to, fill);
  text_line(x, "memcpy(out0 + %s + %lld, in0 + %s, (size_t)have * sizeof *in0);", to, (long long)lo,
            from);
  text_line(x, "for (long j = %lld + have; j < %s; j++) out0[%s + j] = %s;", (long long)lo, rows,
            to, fill);
}

/* Axis by axis, since rows may be shorter than their stride; those that stay as they are, behind
   the others, are one with the last of these. All axes are those of storage. */
static void pad_bounded(Gen *g, Kernel *k, const Group *gr) {
  const Op *op = gr->op;
  const Type *t = cpu_stored(g, gr, gr->out[0]), *from = cpu_stored(g, gr, gr->in[0]);
  const int64_t *lo = in_order(g, gr, gr->out[0], op->attr[AT_LO].ints);
  const int64_t *gap = in_order(g, gr, gr->out[0], op->attr[AT_INTERIOR].ints);
  int last = t->rank - 1, first = 0;
  while (first < last && t->dim[first] == 1) first++;
  int64_t inner = 1;
  for (; last > first + 1 && type_axis(t, last) == type_axis(from, last) && !type_extent(t, last) &&
         !gap[last - 1];
       last--)
    inner *= t->dim[last];
  kernel_units_of(k, t->numel < SERIAL_MOVES ? 1 : t->dim[first],
                  dims_text(g, gr->e, t, first, first + 1));
  if (k->units == 1)
    text_line(&k->text, "const long u0 = 0, u1 = %s;", dims_text(g, gr->e, t, first, first + 1));
  Text *x = &k->text;
  const bool compact = input_is_compact(g->target, gr->e, gr->in[0]);
  const char *inside = "", *to_at = "0", *from_at = "0";
  for (int i = 0; i <= last; i++) {
    const char *rows = dims_text(g, gr->e, t, i, i + 1), *n = dims_text(g, gr->e, from, i, i + 1);
    if (i == last && i > first) {
      const char *side = arena_printf(g->a, "%lld", (long long)inner);
      pad_row(x, inside, text_product(g->a, rows, side), text_product(g->a, n, side), lo[i] * inner,
              gap[i], to_at, from_at,
              scalar_store(g->a, t->dtype, scalar_literal(g->a, t->dtype, op->attr[AT_VALUE])));
      continue;
    }
    const char *v = arena_printf(g->a, "i%d", i);
    text_open(x, "for (long %s = %s; %s < %s; %s++) {", v, i == first ? "u0" : "0", v,
              i == first ? "u1" : rows, v);
    text_line(x, "const long from%d = (%s - %lld) / %lld;", i, v, (long long)lo[i],
              (long long)gap[i] + 1);
    inside =
        arena_printf(g->a, "%s && %s >= %lld && (%s - %lld) %% %lld == 0 && from%d < %s", inside, v,
                     (long long)lo[i], v, (long long)lo[i], (long long)gap[i] + 1, i, n);
    to_at = arena_printf(g->a, "%s + %s * %s", to_at, v, stride_text(g, gr->e, t, i, false));
    from_at =
        arena_printf(g->a, "%s + from%d * %s", from_at, i, stride_text(g, gr->e, from, i, compact));
    if (i == last)
      text_line(x, "out0[%s] = 1%s ? in0[%s] : %s;", to_at, inside, from_at,
                scalar_store(g->a, t->dtype, scalar_literal(g->a, t->dtype, op->attr[AT_VALUE])));
  }
  for (int i = 0; i <= last; i++)
    if (i < last || i == first) text_close(x, "}");
}

static void pad(Gen *g, Kernel *k, const Group *gr) {
  const Op *op = gr->op;
  const Type *t = value_type(gr->e, gr->out[0]);
  const int64_t *dim = cpu_stored(g, gr, gr->out[0])->dim,
                *from_dim = cpu_stored(g, gr, gr->in[0])->dim;
  const int64_t *lo = in_order(g, gr, gr->out[0], op->attr[AT_LO].ints);
  const int64_t *inner = in_order(g, gr, gr->out[0], op->attr[AT_INTERIOR].ints);
  long long slab = 1; /* elements of the result at one index of axis 0 */
  for (int i = 1; i < t->rank; i++) slab *= dim[i];
  long long n0 = t->rank ? dim[0] : 1;
  const char *all = arena_printf(g->a, "%lld", n0);
  kernel_units_of(k, t->numel < SERIAL_MOVES ? 1 : n0, all);
  Text *x = &k->text;
  if (k->units > 1) {
    kernel_split_out(k, gr, 0, 1, 0, t->bytes);
    text_open(x, "for (long u = u0; u < u1; u++) {");
  } else {
    text_open(x, "for (long u = 0; u < %s; u++) {", all);
  }
  const char *fill =
      scalar_store(g->a, t->dtype, scalar_literal(g->a, t->dtype, op->attr[AT_VALUE]));
  if (t->rank == 0) {
    text_line(x, "out0[0] = in0[0];");
    text_close(x, "}");
    return;
  }
  text_line(x, "for (long j = 0; j < %lld; j++) out0[u * %lld + j] = %s;", slab, slab, fill);
  long long step = inner[0] + 1;
  text_line(x, "const long i0 = (u - %lld) / %lld;", (long long)lo[0], step);
  text_line(x, "if (u < %lld || (u - %lld) %% %lld || i0 >= %lld) continue;", (long long)lo[0],
            (long long)lo[0], step, (long long)from_dim[0]);
  text_line(x, "GC_BRANCH;");
  const char *from = "i0", *to = arena_printf(g->a, "u");
  for (int i = 1; i < t->rank; i++) {
    text_open(x, "for (long i%d = 0; i%d < %lld; i%d++) {", i, i, (long long)from_dim[i], i);
    from = arena_printf(g->a, "(%s) * %lld + i%d", from, (long long)from_dim[i], i);
    to = arena_printf(g->a, "(%s) * %lld + %lld + i%d * %lld", to, (long long)dim[i],
                      (long long)lo[i], i, (long long)inner[i] + 1);
  }
  text_line(x, "out0[%s] = in0[%s];", to, from);
  for (int i = 1; i < t->rank; i++) text_close(x, "}");
  text_close(x, "}");
}

void cpu_pad(Gen *g, Kernel *k, const Group *gr) {
  if (group_is_bounded(gr))
    pad_bounded(g, k, gr);
  else
    pad(g, k, gr);
}
