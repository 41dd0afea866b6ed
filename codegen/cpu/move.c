/* Kernels that move elements and compute nothing: copies between layouts, stores to globals,
   concat, pad. Contract: bits are kept as they are, and the tail of panels is zero. */
#include "codegen/cpu/cpu.h"

enum { BLOCK = 64 }; /* elements of a unit */

static const Layout *layout_of(const Group *gr, ValueId v) { return value_at(gr->e, v)->layout; }

static int64_t storage_elements(const Type *t, const Layout *l) {
  uint64_t bytes = 0;
  (void)layout_bytes(t, l, &bytes);
  return (int64_t)bytes / dtype_size(t->dtype);
}

/* All of one layout: the storage, end to end. */
static void copy_flat(Gen *g, Kernel *k, const Group *gr, int64_t n) {
  (void)g;
  int64_t units = n < SERIAL_WORK ? 1 : (n + BLOCK - 1) / BLOCK;
  uint64_t size = (uint64_t)dtype_size(value_type(gr->e, gr->in[0])->dtype);
  kernel_units(k, units);
  if (units > 1) {
    kernel_split_in(k, gr, 0, 1, 0, (uint64_t)(units * BLOCK) * size);
    k->args[1].access.rows = 1;
    k->args[1].access.width = (uint64_t)(units * BLOCK) * size;
    text_line(&k->text, "const long end = u1 * %d < %lld ? u1 * %d : %lld;", BLOCK, (long long)n,
              BLOCK, (long long)n);
    text_line(&k->text, "if (end > u0 * %d)", BLOCK);
    text_line(&k->text, "  memmove(out0 + u0 * %d, in0 + u0 * %d, (size_t)(end - u0 * %d) * %d);",
              BLOCK, BLOCK, BLOCK, (int)size);
  } else {
    text_line(&k->text, "memmove(out0, in0, %lld);", (long long)n * (long long)size);
  }
}

/* Row-major to panels or back: a unit is a panel. */
static void copy_panels(Gen *g, Kernel *k, const Group *gr, const Type *t, int nr, bool pack) {
  (void)g;
  long long rows = t->dim[0], cols = t->dim[1], panels = (cols + nr - 1) / nr;
  kernel_units(k, t->numel < SERIAL_WORK ? 1 : panels);
  Text *x = &k->text;
  if (k->units > 1) {
    uint64_t bytes = (uint64_t)(panels * rows * nr * dtype_size(t->dtype));
    k->args[pack ? 1 : 0].access.rows = 1;
    k->args[pack ? 1 : 0].access.width = bytes;
    text_open(x, "for (long u = u0; u < u1; u++) {");
  } else {
    text_open(x, "for (long u = 0; u < %lld; u++) {", panels);
  }
  text_line(x, "const int w = %lld - u * %d < %d ? (int)(%lld - u * %d) : %d;", cols, nr, nr, cols,
            nr, nr);
  text_open(x, "for (long i = 0; i < %lld; i++) {", rows);
  const char *panel = arena_printf(x->a, "(u * %lld + i) * %d + j", rows, nr);
  const char *plain = arena_printf(x->a, "i * %lld + u * %d + j", cols, nr);
  text_line(x, "GC_IVDEP");
  text_line(x, "for (int j = 0; j < w; j++) out0[%s] = in0[%s];", pack ? panel : plain,
            pack ? plain : panel);
  if (pack && cols % nr) text_line(x, "for (int j = w; j < %d; j++) out0[%s] = 0;", nr, panel);
  text_close(x, "}");
  text_close(x, "}");
}

static void copy(Gen *g, Kernel *k, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  const Layout *from = layout_of(gr, gr->in[0]);
  const Layout *to = gr->op->kind == OP_STORE ? g->m->globals.at[gr->op->attr[AT_GLOBAL].i].layout
                                              : layout_of(gr, gr->out[0]);
  if (from == to)
    copy_flat(g, k, gr, storage_elements(t, from));
  else if (from && to)
    gc_bug(g->ctx, "a copy between panels of two widths");
  else
    copy_panels(g, k, gr,
                from ? t : value_type(gr->e, gr->op->kind == OP_STORE ? gr->in[0] : gr->out[0]),
                from ? from->nr : to->nr, to != NULL);
}

static void concat(Gen *g, Kernel *k, const Group *gr) {
  (void)g;
  const Type *t = value_type(gr->e, gr->out[0]);
  int axis = (int)gr->op->attr[AT_AXIS].i;
  long long outer = 1, total = 1, at = 0;
  for (int i = 0; i < axis; i++) outer *= t->dim[i];
  for (int i = axis; i < t->rank; i++) total *= t->dim[i];
  kernel_units(k, t->numel < SERIAL_WORK ? 1 : outer);
  int size = dtype_size(t->dtype);
  Text *x = &k->text;
  if (k->units > 1) {
    kernel_split_out(k, gr, 0, 1, 0, t->bytes);
    text_open(x, "for (long u = u0; u < u1; u++) {");
  } else {
    text_open(x, "for (long u = 0; u < %lld; u++) {", outer);
  }
  for (int i = 0; i < gr->nin; i++) {
    long long block = 1;
    for (int d = axis; d < t->rank; d++) block *= value_type(gr->e, gr->in[i])->dim[d];
    int first = group_arg(gr, gr->arg[i]);
    text_line(x, "memcpy(out0 + u * %lld + %lld, in%d + u * %lld, %lld);", total, at, first, block,
              block * size);
    at += block;
  }
  text_close(x, "}");
}

static void pad(Gen *g, Kernel *k, const Group *gr) {
  const Op *op = gr->op;
  const Type *t = value_type(gr->e, gr->out[0]), *f = value_type(gr->e, gr->in[0]);
  const Ints *lo = op->attr[AT_LO].ints, *inner = op->attr[AT_INTERIOR].ints;
  long long slab = 1; /* elements of the result at one index of axis 0 */
  for (int i = 1; i < t->rank; i++) slab *= t->dim[i];
  long long n0 = t->rank ? t->dim[0] : 1;
  kernel_units(k, t->numel < SERIAL_WORK ? 1 : n0);
  Text *x = &k->text;
  if (k->units > 1) {
    kernel_split_out(k, gr, 0, 1, 0, t->bytes);
    text_open(x, "for (long u = u0; u < u1; u++) {");
  } else {
    text_open(x, "for (long u = 0; u < %lld; u++) {", n0);
  }
  const char *fill =
      scalar_store(g->a, t->dtype, scalar_literal(g->a, t->dtype, op->attr[AT_VALUE]));
  if (t->rank == 0) {
    text_line(x, "out0[0] = in0[0];");
    text_close(x, "}");
    return;
  }
  text_line(x, "for (long j = 0; j < %lld; j++) out0[u * %lld + j] = %s;", slab, slab, fill);
  long long step = inner->at[0] + 1;
  text_line(x, "const long i0 = (u - %lld) / %lld;", (long long)lo->at[0], step);
  text_line(x, "if (u < %lld || (u - %lld) %% %lld || i0 >= %lld) continue;", (long long)lo->at[0],
            (long long)lo->at[0], step, (long long)f->dim[0]);
  const char *from = "i0", *to = arena_printf(g->a, "u");
  for (int i = 1; i < t->rank; i++) {
    text_open(x, "for (long i%d = 0; i%d < %lld; i%d++) {", i, i, (long long)f->dim[i], i);
    from = arena_printf(g->a, "(%s) * %lld + i%d", from, (long long)f->dim[i], i);
    to = arena_printf(g->a, "(%s) * %lld + %lld + i%d * %lld", to, (long long)t->dim[i],
                      (long long)lo->at[i], i, (long long)inner->at[i] + 1);
  }
  text_line(x, "out0[%s] = in0[%s];", to, from);
  for (int i = 1; i < t->rank; i++) text_close(x, "}");
  text_close(x, "}");
}

void cpu_move(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  if (gr->op->kind == OP_CONCAT)
    concat(g, k, gr);
  else if (gr->op->kind == OP_PAD)
    pad(g, k, gr);
  else
    copy(g, k, gr);
}
