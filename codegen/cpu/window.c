/* Prints windows over images that lie row-major, with element-wise work on the result fused behind.
   Contract: a unit is a row of the result (its last axis), in blocks of columns that are summed
   side by side (codegen/print/window.c) and finished by the epilogue. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/pixel.h"
#include "codegen/cpu/target.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/amx_conv.h"
#include "passes/plan.h"

enum { COLUMNS = 256 };

const Layout *pixel_layout(Ctx *c) { return layout_get(c, (const int64_t[]){0, 2, 3, 1}, 4, 0); }

const Layout *filter_layout(Ctx *c, int nr) {
  return layout_get(c, (const int64_t[]){2, 3, 1, 0}, 4, nr);
}

/* Images [N, H, W, C]: a pixel's channels side by side. */
static bool is_pixels(Gen *g, const Group *gr, ValueId v) {
  int arg = group_arg(gr, v);
  const Layout *l = value_at(gr->e, arg >= 0 ? gr->in[arg] : v)->layout;
  return layout_same(value_type(gr->e, v), l, pixel_layout(g->ctx));
}

/* Filters in the layout that the kernels for such images read or make. */
static bool is_filters(Gen *g, const Group *gr, ValueId v, bool back) {
  static const int64_t by_input[] = {2, 3, 0, 1}, by_output[] = {2, 3, 1, 0};
  int arg = group_arg(gr, v);
  const Layout *l = value_at(gr->e, arg >= 0 ? gr->in[arg] : v)->layout;
  int nr = l ? l->nr : 0;
  if (l && l->winograd)
    return l->order == layout_get(g->ctx, back ? by_input : by_output, 4, nr)->order;
  return layout_same(value_type(gr->e, v), l,
                     back ? layout_get(g->ctx, by_input, 4, nr) : filter_layout(g->ctx, nr));
}

/* ... for Winograd's method. */
static bool is_transformed(const Group *gr, ValueId v) {
  int arg = group_arg(gr, v);
  const Layout *l = value_at(gr->e, arg >= 0 ? gr->in[arg] : v)->layout;
  return l && l->winograd;
}

/* The printer for images in that order, or NULL. A result of a group that is no result of its root
   lies as the root's does, or is written there in any order. */
static void (*pixel_printer(Gen *g, const Group *gr))(Gen *, const Group *) {
  const Op *op = gr->root;
  if (op->kind != OP_CONV && op->kind != OP_CONV_INPUT_GRAD && op->kind != OP_CONV_FILTER_GRAD) {
    bool ok = is_pixels(g, gr, gr->out[0]);
    for (int i = 0; i < op->noperands; i++) ok = ok && is_pixels(g, gr, op->operands[i]);
    return ok ? cpu_pool : NULL;
  }
  bool filters = op->kind == OP_CONV_FILTER_GRAD;
  bool halves = conv_multiplies_halves(g->target, gr->e, op);
  if (value_type(gr->e, op->results[0])->dtype != DT_F32 ||
      (value_type(gr->e, op->operands[0])->dtype != DT_F32 && !halves) ||
      op->attr[AT_ROUND_FILTERS].i)
    return NULL;
  if (!is_pixels(g, gr, op->operands[0])) return NULL;
  if (filters ? !is_pixels(g, gr, op->operands[1])
              : !is_filters(g, gr, op->operands[1], op->kind == OP_CONV_INPUT_GRAD))
    return NULL;
  ConvGeom c = conv_geom(gr->e, op);
  if (!filters && is_transformed(gr, op->operands[1])) return cpu_winograd;
  const bool tiles =
      halves && amx_conv_pays(&cpu_target(g->target)->machine, &c, op->kind == OP_CONV_INPUT_GRAD);
  if (!filters) return tiles ? cpu_amx_conv : cpu_conv;
  return c.groups > 1 && c.gin == 1 && c.gout == 1 ? cpu_depthwise : cpu_filter;
}

void cpu_window(Gen *g, const Group *gr) {
  void (*pixels)(Gen *, const Group *) = pixel_printer(g, gr);
  if (pixels) {
    pixels(g, gr);
    return;
  }
  const Type *t = gr->domain;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  long long rows = t->dim[0] * t->dim[1] * t->dim[2], columns = t->dim[3];
  const char *all = dims_text(g, gr->e, t, 0, 3), *of_image = dims_text(g, gr->e, t, 2, 3);
  const char *width = dims_text(g, gr->e, t, 3, 4);
  const bool bounded = dims_bounded(t, 2, 4);
  kernel_units_of(k, k->flops < SERIAL_WORK ? 1 : rows, all);
  if (k->units > 1 && !bounded) cpu_split_full(k, gr, NULL, 1, 0, t->numel);
  Text *x = &k->text;
  text_line(x, "typedef long pos;");
  if (k->units > 1)
    text_open(x, "for (long u = u0; u < u1; u++) {");
  else
    text_open(x, "for (long u = 0; u < %s; u++) {", all);
  if (bounded)
    text_line(x, "const long i0 = u / %s / %lld, i1 = u / %s %% %lld, i2 = u %% %s;", of_image,
              (long long)t->dim[1], of_image, (long long)t->dim[1], of_image);
  else
    text_line(x, "const long i0 = u / %lld, i1 = u / %lld %% %lld, i2 = u %% %lld;",
              (long long)(t->dim[1] * t->dim[2]), (long long)t->dim[2], (long long)t->dim[1],
              (long long)t->dim[2]);
  text_open(x, "for (long j0 = 0; j0 < %s; j0 += %d) {", width, COLUMNS);
  text_line(x, "const int w = %s - j0 < %d ? (int)(%s - j0) : %d;", width, COLUMNS, width, COLUMNS);
  Window w = window_new(g, gr, x, COLUMNS);
  window_sums(&w);
  const char *row = "u";
  if (bounded)
    row = arena_printf(g->a, "((i0 * %lld + i1) * %lld + i2)", (long long)t->dim[1],
                       (long long)t->dim[2]);
  text_line(x, "const long flat = %s * %lld + j0;", row, columns);
  text_line(x, "GC_IVDEP");
  text_open(x, "for (int l = 0; l < w; l++) {");
  EpilogueSite s = {.shape = t,
                    .coord = (const char *[]){"i0", "i1", "i2", "(j0 + l)"},
                    .flat = "(flat + l)",
                    .have = gr->root->results[0],
                    .have_text = w.sum};
  epilogue_body(g, x, gr, &s);
  for (int i = 0; i < 3; i++) text_close(x, "}");
}
