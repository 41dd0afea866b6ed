/* Kernels that move elements and compute nothing: copies, stores to globals, concat, pad.
   Contract: bits are kept as they are; a thread writes one element, or 16 bytes of a copy. */
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"

/* Threads over the elements of a run; `i` is where one lies. */
static void elements(Gen *g, Kernel *k, const Group *gr, const Type *t) {
  const char *count = dims_text(g, gr->e, t, 0, t->rank);
  if (!type_is_mixed(t)) {
    cuda_threads_of(g, k, t->numel, count, "i");
    return;
  }
  cuda_threads_of(g, k, t->numel, count, "n");
  text_line(&k->text, "const %s i = %s;", g->index, place_text(g, gr->e, t, 0, t->rank, "n"));
}

static void copy(Gen *g, Kernel *k, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  if (type_is_mixed(t)) {
    elements(g, k, gr, t);
    text_line(&k->text, "out0[i] = in0[i];");
    return;
  }
  uint64_t bytes = t->bytes;
  int unit = 16;
  while (bytes % (uint64_t)unit) unit /= 2;
  const char *count = prefix_text(g, gr->e, t);
  if (!text_is_number(count))
    count = text_ceil_div(
        g->a, text_product(g->a, count, arena_printf(g->a, "%d", dtype_size(t->dtype))), unit);
  cuda_threads_of(g, k, (int64_t)(bytes / (uint64_t)unit), count, "i");
  text_line(&k->text, "((Vec<u8, %d> *)out0)[i] = ((const Vec<u8, %d> *)in0)[i];", unit, unit);
}

static void concat(Gen *g, Kernel *k, const Group *gr) {
  const Type *t = value_type(gr->e, gr->out[0]);
  int axis = (int)gr->op->attr[AT_AXIS].i;
  long long total = 1, at = 0;
  for (int i = axis; i < t->rank; i++) total *= t->dim[i];
  elements(g, k, gr, t);
  Text *x = &k->text;
  text_line(x, "const %s u = i / %lld, r = i %% %lld;", g->index, total, total);
  text_line(x, "%s v;", dtype_storage(t->dtype));
  for (int i = 0; i < gr->nin; i++) {
    long long block = 1;
    for (int d = axis; d < t->rank; d++) block *= value_type(gr->e, gr->in[i])->dim[d];
    int first = group_arg(gr, gr->arg[i]);
    const char *load = arena_printf(g->a, "v = in%d[u * %lld + (r - %lld)];", first, block, at);
    at += block;
    if (i + 1 == gr->nin)
      text_line(x, i ? "else %s" : "%s", load);
    else
      text_line(x, i ? "else if (r < %lld) %s" : "if (r < %lld) %s", at, load);
  }
  text_line(x, "out0[i] = v;");
}

static void pad(Gen *g, Kernel *k, const Group *gr) {
  const Op *op = gr->op;
  const Type *t = value_type(gr->e, gr->out[0]), *f = value_type(gr->e, gr->in[0]);
  const Ints *lo = op->attr[AT_LO].ints, *interior = op->attr[AT_INTERIOR].ints;
  elements(g, k, gr, t);
  Text *x = &k->text;
  text_line(x, "%s v = %s;", dtype_storage(t->dtype),
            scalar_store(g->a, t->dtype, scalar_literal(g->a, t->dtype, op->attr[AT_VALUE])));
  long long inner = 1;
  Text inside = text_new(g->a, 0), from = text_new(g->a, 0);
  for (int d = t->rank - 1; d >= 0; d--) {
    long long step = interior->at[d] + 1, low = lo->at[d];
    text_line(x, "const %s d%d = i / %lld %% %lld - %lld;", g->index, d, inner,
              (long long)t->dim[d], low);
    inner *= t->dim[d];
    const char *end = arena_printf(g->a, "%lld", (long long)(f->dim[d] - 1) * step + 1);
    if (type_extent(f, d)) /* zeros follow, up to the bound */
      end = arena_printf(g->a, "(%s - 1) * %lld + 1", dims_text(g, gr->e, f, d, d + 1), step);
    text_add(&inside, "%sd%d >= 0 && d%d < %s", inside.s.n ? " && " : "", d, d, end);
    if (step > 1) text_add(&inside, " && d%d %% %lld == 0", d, step);
  }
  inner = 1;
  for (int d = t->rank - 1; d >= 0; d--) {
    long long step = interior->at[d] + 1;
    text_add(&from, step > 1 ? "%sd%d / %lld * %lld" : "%sd%d * %lld", from.s.n ? " + " : "", d,
             step > 1 ? step : inner, inner);
    inner *= f->dim[d];
  }
  if (f->numel)
    text_line(x, "if (%s) v = in0[%s];", t->rank ? text_str(&inside) : "true",
              t->rank ? text_str(&from) : "0");
  text_line(x, "out0[i] = v;");
}

/* A reshape that moves elements, which have the same numbers on both sides. */
static void reshape(Gen *g, Kernel *k, const Group *gr) {
  const Type *from = value_type(gr->e, gr->in[0]), *to = value_type(gr->e, gr->out[0]);
  cuda_threads_of(g, k, to->numel, dims_text(g, gr->e, to, 0, to->rank), "n");
  text_line(&k->text, "out0[%s] = in0[%s];", place_text(g, gr->e, to, 0, to->rank, "n"),
            place_text(g, gr->e, from, 0, from->rank, "n"));
}

void cuda_move(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  if (gr->op->kind == OP_CONCAT)
    concat(g, k, gr);
  else if (gr->op->kind == OP_PAD)
    pad(g, k, gr);
  else if (gr->op->kind == OP_RESHAPE)
    reshape(g, k, gr);
  else
    copy(g, k, gr);
}
