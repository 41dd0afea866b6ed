/* Convolutions of f16 and bf16 of few channels a group, and their gradients, on tensor cores by
   boxes of pixels (text/tensor_box.h). */
#include "codegen/gpu/conv.h"
#include "codegen/print/printer.h"
#include "codegen/program/extent.h"

int cuda_tensor_box_threads(const GridTensorBox *b) { return b->warps * WARP; }

const char *cuda_tensor_boxes(Gen *g, const Group *gr, const ConvGeom *c, const GridTensorBox *b) {
  const char *high = text_ceil_div(g->a, dims_text(g, gr->e, c->y, 2, 3), b->high);
  const char *wide = text_ceil_div(g->a, dims_text(g, gr->e, c->y, 3, 4), b->wide);
  return text_product(g->a, dims_text(g, gr->e, c->x, 0, 1), text_product(g->a, high, wide));
}

void cuda_tensor_filter_box(Gen *g, Text *x, const GridFilterSchedule *s, const char *element) {
  const GridTensorBox *b = &s->tensor_box;
  text_line(
      x, "typedef TensorFilterBox<Geometry, %s, %s, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d> Tile;",
      g->index, element, s->bm, b->warps, b->each, b->channels, b->high, b->wide, b->pitch, b->copy,
      b->copy_dy, b->stages);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
}

/* Sums of eight channels at a time go through shared memory. */
static void print_results(Gen *g, const Group *gr, Text *x, const GridConvSchedule *s) {
  text_line(x, "const ConvPixel of = Tile::Rows::place(box, (int)threadIdx.x, size);");
  text_line(x, "f32 *const results = Tile::results(smem);");
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", s->tm);
  text_line(x, "Tile::put(results, sums, i);");
  text_line(x, "warp_sync();");
  text_line(x, "#pragma unroll 4");
  text_open(x, "for (int r = 0; r < Tile::OCTET; r++) {");
  text_line(x, "const int m = m0 + i * Tile::OCTET + r;");
  text_line(x, "if (m >= %lld || !of.in) continue;", (long long)s->m);
  text_line(x, "const f32 acc = results[r * Tile::LINE + (int)threadIdx.x %% 32];");
  cuda_conv_result(g, gr, x, "group", "acc");
  text_close(x, "}");
  text_line(x, "warp_sync();");
  text_close(x, "}");
}

void cuda_tensor_conv_box(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                          const GridConvSchedule *s) {
  const Op *op = gr->root;
  const GridTensorBox *b = &s->tensor_box;
  const int image = group_arg(gr, op->operands[0]);
  Text *x = &k->text;
  k->block = cuda_tensor_box_threads(b);
  k->min_blocks = CONV_RING_THREADS / k->block;
  text_line(x, "typedef TensorConvBox<Geometry, %s, %s, %s, %s, %d, %d, %d, %d, %d, %d, %d> Tile;",
            op->kind == OP_CONV ? "false" : "true", g->index,
            cuda_mma(value_type(gr->e, op->operands[0])->dtype),
            op->attr[AT_ROUND_FILTERS].i ? "true" : "false", s->bm, b->warps, b->each, b->high,
            b->wide, b->pitch, b->copy);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "const int m0 = (int)(blockIdx.x %% %lldu) * %d;", (long long)s->down, s->bm);
  text_line(x, "const int first = (int)(blockIdx.x / %lldu %% %lldu) * %lld;", (long long)s->down,
            (long long)s->across, (long long)b->boxes);
  text_line(x, "const int end = smaller(first + %lld, Tile::Rows::all(size));",
            (long long)b->boxes);
  text_line(x, "const int group = (int)(blockIdx.x / %lldu);", (long long)(s->down * s->across));
  if (dims_bounded(c->x, 0, 4)) text_line(x, "if (first >= end) return;");
  text_line(x, "Tile::start(smem, in%d, in%d, group, m0, first, size);",
            group_arg(gr, op->operands[1]), image);
  text_line(x, "#pragma unroll 1");
  text_open(x, "for (int box = first; box < end; box++) {");
  text_line(x, "f32 sums[%d][%d];", s->tm, s->tn);
  text_line(x, "if (!Tile::run(sums, smem, in%d, group, box, box - first, end, size)) continue;",
            image);
  print_results(g, gr, x, s);
  text_close(x, "}");
}
