/* Prints which tile a block of a product multiplies by: a template of the library
   (text/tensor.h, tensor_quantized.h, thin_tensor.h, thin_tensor_quantized.h, thin.h,
   thin_quantized.h, gemm_ring.h, gemm.h, gemm_quantized.h) with the sizes of the schedule. */
#include "codegen/gpu/matmul.h"

/* The last parameters of a tile, where rows are padded, the run decides how many there are, or the
   tile rounds operands. */
static const char *padded_rows(Gen *g, const GridProduct *p) {
  const GridProductSchedule *s = &p->s;
  const bool rounds = p->round_a || p->round_b;
  if (s->tensor && (rounds || rows_bounded(p) || depth_bounded(p)))
    return arena_printf(g->a, ", %lld, %lld, %s, %s%s", (long long)s->a_row, (long long)s->b_row,
                        rows_bounded(p) ? "true" : "false", depth_bounded(p) ? "true" : "false",
                        !rounds       ? ""
                        : !p->round_b ? ", true"
                        : !p->round_a ? ", false, true"
                                      : ", true, true");
  const int64_t depth = s->tensor ? s->k : s->part; /* as the tile knows it */
  if (s->a_row == (s->ta ? s->m : depth) && s->b_row == (s->tb ? depth : s->n)) return "";
  return arena_printf(g->a, "%s, %lld, %lld", s->tensor ? "" : ", 1024", (long long)s->a_row,
                      (long long)s->b_row);
}

static void print_tensor_tile(Gen *g, Text *x, const GridProduct *p) {
  text_line(x,
            "typedef TensorTile<%s, %s, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d, %d, %d%s> Tile;",
            g->index, cuda_mma(p->s.in), (long long)p->s.m, (long long)p->s.n, (long long)p->s.k,
            p->s.ta ? "true" : "false", p->s.tb ? "true" : "false", p->s.bm, p->s.bn, p->s.wm,
            p->s.wn, p->s.copy_a, p->s.copy_b, padded_rows(g, p));
  text_line(x, "extern __shared__ __align__(128) char smem[];");
}

static const char *converter(Gen *g, const GridProduct *p, bool rounds) {
  return rounds ? "RoundTf32" : cuda_converter(g, p->s.in);
}

static void print_ring(Gen *g, Text *x, const GridProduct *p) {
  text_line(x,
            "typedef GemmRing<%s, %s, %lld, %lld, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d, %d, "
            "%d, %d> Tile;",
            g->index, dtype_compute(p->s.dt), (long long)p->s.m, (long long)p->s.n,
            (long long)p->s.part, (long long)p->s.a_row, (long long)p->s.b_row,
            p->s.ta ? "true" : "false", p->s.tb ? "true" : "false", p->s.bm, p->s.bn, p->s.tm,
            p->s.tn, p->s.copy_a, p->s.copy_b, p->s.stages);
  if (!p->s.shared) {
    text_line(x, "__shared__ __align__(16) Tile tile;");
    return;
  }
  text_line(x, "extern __shared__ __align__(16) char smem[];");
  text_line(x, "Tile &tile = *(Tile *)smem;");
}

static void print_tile(Gen *g, Text *x, const GridProduct *p) {
  text_line(x, "typedef Gemm<%s, %s, %s, %s, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d%s> Tile;",
            g->index, dtype_prefix(p->s.dt), converter(g, p, p->round_a),
            converter(g, p, p->round_b), (long long)p->s.m, (long long)p->s.n, (long long)p->s.part,
            p->s.ta ? "true" : "false", p->s.tb ? "true" : "false", p->s.bm, p->s.bn, p->s.tm,
            p->s.tn, padded_rows(g, p));
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

static void print_thin(Gen *g, Text *x, const GridProduct *p) {
  text_line(
      x,
      "typedef ThinTile<%s, %s, %s, %s, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d, %lld, %lld> "
      "Tile;",
      g->index, dtype_prefix(p->s.dt), converter(g, p, p->round_a), converter(g, p, p->round_b),
      (long long)p->s.m, (long long)p->s.n, (long long)p->s.k, p->s.ta ? "true" : "false",
      p->s.tb ? "true" : "false", p->s.side, p->s.threads / WARP, grid_thin_step(&p->s),
      p->s.copy_b / dtype_size(p->s.in), (long long)p->s.a_row, (long long)p->s.b_row);
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

static long long part_length(const GridProduct *p) { return p->s.most ? 0 : (long long)p->s.part; }

static void print_thin_tensor(Gen *g, Text *x, const GridProduct *p) {
  text_line(x,
            "typedef ThinTensorTile<%s, %s, %lld, %lld, %lld, %s, %d, %d, %lld, %lld, %lld> Tile;",
            g->index, cuda_mma(p->s.in), (long long)p->s.m, (long long)p->s.n, (long long)p->s.k,
            p->s.ta ? "true" : "false", p->s.copy_b / dtype_size(p->s.in), p->s.threads / WARP,
            (long long)p->s.a_row, (long long)p->s.b_row, part_length(p));
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

static void print_thin_quantized(Gen *g, Text *x, const GridProduct *p) {
  text_line(x,
            "typedef QuantizedTile<%s, Quantized%d, %lld, %lld, %lld, %lld, %s, %d, %d, %d, %lld> "
            "Tile;",
            g->index, p->s.bits, (long long)(p->s.m < p->s.bm ? p->s.m : p->s.bm),
            (long long)p->s.n, (long long)p->s.k, (long long)p->s.group, p->s.tb ? "true" : "false",
            p->s.side, p->s.threads / WARP, p->s.copy_b, (long long)p->s.a_row);
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

/* What rounds the numbers to the dtype of the other operand. */
static const char *rounding(const GridProduct *p) {
  return p->s.in == DT_F16 ? "RoundF16" : p->s.in == DT_BF16 ? "RoundBf16" : "Identity<f32>";
}

/* The same on tensor cores, where it makes two at once. */
static const char *pairs(const GridProduct *p) {
  return p->s.in == DT_F16 ? "PairsF16" : "PairsBf16";
}

static void print_thin_quantized_tensor(Gen *g, Text *x, const GridProduct *p) {
  text_line(x,
            "typedef QuantizedThinTensorTile<%s, %s, Quantized%d, %s, %lld, %lld, %lld, %lld, %d, "
            "%d, %d, %lld, %lld, %lld> Tile;",
            g->index, cuda_mma(p->s.in), p->s.bits, pairs(p), (long long)p->s.m, (long long)p->s.n,
            (long long)p->s.k, (long long)p->s.group, p->s.copy_b, p->s.threads / WARP,
            grid_thin_tensor_steps(&p->s), (long long)p->s.a_row, (long long)p->s.b_row,
            part_length(p));
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

static void print_quantized_tensor(Gen *g, Text *x, const GridProduct *p) {
  text_line(x,
            "typedef QuantizedTensorTile<%s, %s, Quantized%d, %s, %lld, %lld, %lld, %lld, %s, %d, "
            "%d, %d, %d, %d, %d, %lld, %lld, %s> Tile;",
            g->index, cuda_mma(p->s.in), p->s.bits, pairs(p), (long long)p->s.m, (long long)p->s.n,
            (long long)p->s.k, (long long)p->s.group, p->s.tb ? "true" : "false", p->s.bm, p->s.bn,
            p->s.wm, p->s.wn, p->s.copy_a, p->s.copy_b, (long long)p->s.a_row,
            (long long)p->s.b_row, rows_bounded(p) ? "true" : "false");
  text_line(x, "extern __shared__ __align__(128) char smem[];");
}

static void print_quantized(Gen *g, Text *x, const GridProduct *p) {
  const char *from = cuda_converter(g, p->s.in);
  const char *side = arena_printf(
      g->a, "QuantizedSide<%s, Quantized%d, %s, %lld, %d, %d, %lld, %lld, %s, %lld, %d, %d>",
      g->index, p->s.bits, rounding(p), (long long)p->s.group, p->s.copy_b, p->s.bn,
      (long long)p->s.n, (long long)p->s.part, p->s.tb ? "false" : "true", (long long)p->s.b_row,
      GEMM_DEPTH, p->s.threads);
  text_line(x,
            "typedef Gemm<%s, f32, %s, Identity<f32>, %lld, %lld, %lld, false, %s, %d, "
            "%d, %d, %d, 1024, %lld, %lld, %s> Tile;",
            g->index, from, (long long)p->s.m, (long long)p->s.n, (long long)p->s.part,
            p->s.tb ? "true" : "false", p->s.bm, p->s.bn, p->s.tm, p->s.tn, (long long)p->s.a_row,
            (long long)p->s.b_row, side);
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

void cuda_product_tile(Gen *g, Text *x, const GridProduct *p) {
  if (p->s.bits && grid_product_within(&p->s))
    print_thin_quantized_tensor(g, x, p);
  else if (p->s.bits && p->s.thin)
    print_thin_quantized(g, x, p);
  else if (p->s.bits && p->s.tensor)
    print_quantized_tensor(g, x, p);
  else if (p->s.bits)
    print_quantized(g, x, p);
  else if (grid_product_within(&p->s))
    print_thin_tensor(g, x, p);
  else if (p->s.tensor)
    print_tensor_tile(g, x, p);
  else if (p->s.thin)
    print_thin(g, x, p);
  else if (p->s.stages)
    print_ring(g, x, p);
  else
    print_tile(g, x, p);
}
