/* What becomes of a tile's sums of a product: elements of C with the work fused behind, or the sums
   of a part of the depth in scratch, which a second launch adds up. Where a run decides how many
   parts there are, one of a whole depth stores elements, and the second launch returns. */
#include "codegen/gpu/matmul.h"

/* Positions of C: batch axes from bt, then row, then a column that the vector names. Another domain
   has its leading axes from the row among all of the batch. */
static Printer site(Gen *g, const Group *gr, const GridProduct *p) {
  Printer s = printer_new(g, gr, 3, 1);
  const Type *c = value_type(gr->e, gr->root->results[0]);
  Coord *lead = s.coord + (gr->matrix ? gr->domain->rank : 0);
  int64_t stride = 1;
  for (int i = c->rank - 3; i >= 0; i--) {
    lead[i].text =
        i ? arena_printf(g->a, "(bt / %lld %% %lld)", (long long)stride, (long long)c->dim[i])
          : arena_printf(g->a, "(bt / %lld)", (long long)stride);
    lead[i].level = 1;
    stride *= c->dim[i];
  }
  lead[c->rank - 2] = (Coord){c->dim[c->rank - 2], "row", 1, NULL};
  s.coord[gr->domain->rank - 1] = (Coord){c->dim[c->rank - 1], "n", 1, NULL};
  if (gr->matrix)
    printer_leading(
        &s, p->s.batch == 1 ? "row" : arena_printf(g->a, "((%s)bt * %s + row)", g->index, p->m), 1);
  return s;
}

/* The root is this text, of element l of a vector of v, rounded if the product is. */
static void bind_root(Gen *g, const Group *gr, const GridProduct *p, Printer *s, const char *text,
                      int v) {
  ValueId root = gr->root->results[0];
  Dtype dt = value_type(gr->e, root)->dtype;
  if (p->rounded)
    text = dtype_is_float(dt) ? scalar_round_text(g->a, dt, text)
                              : arena_printf(g->a, "(%s)%s", dtype_compute(dt), text);
  printer_bind(s, root, printer_identity(s, root), (Printed){text, v > 1 ? 2 : 1});
}

/* Where the sums of a part begin that row `row` and column `n` of product `bt` has in scratch. */
static const char *sums_at(Gen *g, const GridProduct *p, const char *part) {
  const char *batch = p->batch, *m = p->m;
  if (!p->s.most) { /* as at the bound */
    batch = arena_printf(g->a, "%lld", (long long)p->s.batch);
    m = arena_printf(g->a, "%lld", (long long)p->s.m);
  }
  return arena_printf(g->a, "(((%s)%s * %s + bt) * %s + row) * %lld + n", g->index, part, batch, m,
                      (long long)p->s.n);
}

void cuda_product_parts(Gen *g, Text *x, const GridProduct *p) {
  if (!p->s.most) return;
  text_line(x,
            "const int length = (int)depth_part(%d, %s, %s, %lld, %s, %d), "
            "parts = length < %s ? (int)((%s - 1) / length) + 1 : 1;",
            cuda_target(g->target)->machine.blocks, p->batch, p->m, (long long)p->s.n, p->k,
            dtype_size(p->s.in), p->k, p->k);
}

/* Elements of C, or those of a part's sums. */
static void store_as(Gen *g, const Group *gr, Text *x, const GridProduct *p, bool sums) {
  Printer s = site(g, gr, p);
  int vn = p->s.side, v = sums ? vn : cuda_width(gr, p->s.n);
  if (v > vn) v = vn;
  while (p->s.n % v) v /= 2;
  const bool turned = p->s.turned;
  const char *at = v > 1 ? arena_printf(g->a, "q * %d + l", v) : "q";
  const char *sum = arena_printf(g->a, "c[%s][%s]", turned ? at : "i", turned ? "i" : at);
  const char *down = turned ? "column" : "row", *side = turned ? "row" : "col"; /* of its tile */
  if (!sums) bind_root(g, gr, p, &s, sum, v);
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", p->s.tm);
  text_line(x, "const int row = m0 + Tile::%s(i);", down);
  text_line(x, "#pragma unroll");
  text_open(x, "for (int q = 0; q < %d; q++) {", p->s.tn / v);
  if (v == vn)
    text_line(x, "const int n = n0 + Tile::%s(%s);", side, turned ? "0" : "q");
  else
    text_line(x, "const int n = n0 + Tile::%s(q * %d / %d) + q * %d %% %d;", side, v, vn, v, vn);
  /* whole tiles */
  const int64_t tiles = turned ? ceil_div(p->s.n, p->s.bn) : ceil_div(p->s.m, p->s.bm);
  const bool behind = p->s.cluster > 1 && tiles % p->s.cluster;
  const bool edge_m = p->s.m % p->s.bm || rows_bounded(p) || (behind && !turned),
             edge_n = p->s.n % p->s.bn || (behind && turned);
  if (edge_m && edge_n)
    text_open(x, "if (row < %s && n < %lld) {", p->m, (long long)p->s.n);
  else if (edge_m)
    text_open(x, "if (row < %s) {", p->m);
  else if (edge_n)
    text_open(x, "if (n < %lld) {", (long long)p->s.n);
  else
    text_open(x, "{");
  if (sums) {
    text_line(x, "Vec<f32, %d> sums;", v);
    text_line(x, "for (int l = 0; l < %d; l++) sums.at[l] = %s;", v, sum);
    text_line(x, "*(Vec<f32, %d> *)((f32 *)scratch + %s) = sums;", v, sums_at(g, p, "part"));
  } else {
    s.level[1]->indent = x->indent;
    cuda_vector(&s, gr->domain->rank - 1, "n", v, 1, NULL);
    text_append(x, s.level[0]);
    text_append(x, s.level[1]);
  }
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

void cuda_product_store(Gen *g, const Group *gr, Text *x, const GridProduct *p) {
  if (!p->s.most || grid_product_within(&p->s)) {
    store_as(g, gr, x, p, grid_product_parts(&p->s) > 1);
    return;
  }
  text_open(x, "if (parts > 1) {");
  store_as(g, gr, x, p, true);
  text_close(x, "} else {");
  x->indent++;
  store_as(g, gr, x, p, false);
  text_close(x, "}");
}

void cuda_product_combine(Gen *g, const Group *gr, const GridProduct *p) {
  enum { SMALL_BLOCK = 64 };
  Kernel *k = cuda_kernel_next(g, gr, "combine");
  Text *x = &k->text;
  Printer s = site(g, gr, p);
  int v = cuda_width(gr, p->s.n);
  while (p->s.n % v) v /= 2;
  const long long across = p->s.n / v;
  kernel_schedule(k, &grid_product_kind, &p->s, sizeof p->s);
  k->block = SMALL_BLOCK;
  cuda_product_parts(g, x, p);
  if (p->s.most) text_line(x, "if (parts == 1) return;");
  cuda_threads(g, k, p->s.batch * p->s.m * across, "u");
  text_line(x, "const int bt = (int)(u / %lld), row = (int)(u / %lld %% %lld);",
            (long long)p->s.m * across, across, (long long)p->s.m);
  text_line(x, "const int n = (int)(u %% %lld) * %d;", across, v);
  if (!text_is_number(p->batch)) text_line(x, "if (bt >= %s) return;", p->batch);
  if (rows_bounded(p)) text_line(x, "if (row >= %s) return;", p->m);
  text_line(x, "const f32 *const sums = (const f32 *)scratch + %s;", sums_at(g, p, "0"));
  text_line(x, "Vec<f32, %d> c = *(const Vec<f32, %d> *)sums;", v, v);
  text_line(x, "#pragma unroll 8");
  const char *parts = p->s.most ? "parts" : arena_printf(g->a, "%d", p->s.parts), *of_part;
  if (p->s.most)
    of_part =
        arena_printf(g->a, "(%s)h * %s * %s * %lld", g->index, p->batch, p->m, (long long)p->s.n);
  else
    of_part =
        arena_printf(g->a, "(%s)h * %lld", g->index, (long long)(p->s.batch * p->s.m * p->s.n));
  text_open(x, "for (int h = 1; h < %s; h++) {", parts);
  text_line(x, "const Vec<f32, %d> part = *(const Vec<f32, %d> *)(sums + %s);", v, v, of_part);
  text_line(x, "#pragma unroll");
  text_line(x, "for (int l = 0; l < %d; l++) c.at[l] = c.at[l] + part.at[l];", v);
  text_close(x, "}");
  bind_root(g, gr, p, &s, v > 1 ? "c.at[l]" : "c.at[0]", v);
  s.level[1]->indent = x->indent;
  cuda_vector(&s, gr->domain->rank - 1, "n", v, 1, NULL);
  text_append(x, s.level[0]);
  text_append(x, s.level[1]);
}
