/* Prints how operands of a product come near: packed, converted, prefetched. Contract: within the
   loops of cpu_matmul, whose variables the texts use: blocks of tiles i0 to i1, groups of panels g0
   to g1, chains of `depth` from k0 on. Algorithm: see text/gemm.h. */
#include "codegen/cpu/product.h"
#include "codegen/cpu/cpu.h"

enum { PACK_AT_ONCE = 8 }; /* rows of A^T: so many places has the nearest cache for them */

/* Tile i has `rows` rows from row m on. */
void product_tile_rows(Text *x, const Product *p) {
  if (p->s.low < p->s.tiles)
    text_line(x,
              "const long rows = i < %lld ? %lld : %lld, m = i * %lld + (i > %lld ? i - %lld : 0);",
              (long long)p->s.low, (long long)p->s.rows, (long long)p->s.rows + 1,
              (long long)p->s.rows, (long long)p->s.low, (long long)p->s.low);
  else
    text_line(x, "const long rows = %lld, m = i * rows;", (long long)p->s.rows);
}

/* Packs columns of B^T from panel g0 on, for chain k0: panel after panel. */
void product_pack(Gen *g, const Group *gr, Text *x, const Product *p) {
  long long nr = p->s.nr, kk = p->s.k, n = p->s.n;
  gen_helper(g, intern_printf(g->ctx, "GC_PACK(%s)\n", p->T));
  const Layout *l = product_value(gr, gr->arg[p->b])->layout;
  text_open(x, "for (long q = g0; q < g1; q++) {");
  text_line(x, "%s *to = packed + (q - g0) * depth * %lld;", p->T, nr);
  text_line(x, "const long w = %lld - q * %lld < %lld ? %lld - q * %lld : %lld;", n, nr, nr, n, nr,
            nr);
  if (!l) {
    text_line(x, "pack_t_%s(B + q * %lld + k0, %lld, to, %lld, depth, w);", p->T, nr * kk, kk, nr);
  } else { /* stored [K/nr][N][nr]: the panels of the stored matrix run along this product's depth
            */
    text_open(x, "for (long k = k0; k < k0 + depth; k += %d) {", l->nr);
    text_line(x, "const long d = k0 + depth - k < %d ? k0 + depth - k : %d;", l->nr, l->nr);
    text_line(x, "pack_t_%s(B + k * %lld + q * %lld, %d, to + (k - k0) * %lld, %lld, d, w);", p->T,
              n, nr * l->nr, l->nr, nr, nr);
    text_close(x, "}");
  }
  text_close(x, "}");
}

static const char *loaded(Gen *g, const Product *p, const char *base, const char *index) {
  return intern_printf(g->ctx, "(%s)%s", p->T, scalar_load(g->a, p->s.in, base, index));
}

/* The same of a B in another dtype. */
void product_convert(Gen *g, Text *x, const Product *p) {
  long long nr = p->s.nr, kk = p->s.k, n = p->s.n;
  text_open(x, "for (long q = g0; q < g1; q++) {");
  text_line(x, "%s *to = packed + (q - g0) * depth * %lld;", p->T, nr);
  text_line(x, "const long w = %lld - q * %lld < %lld ? %lld - q * %lld : %lld;", n, nr, nr, n, nr,
            nr);
  text_open(x, "for (long k = 0; k < depth; k++) {");
  const char *at = p->s.tb ? intern_printf(g->ctx, "(q * %lld + j) * %lld + k0 + k", nr, kk)
                           : intern_printf(g->ctx, "(k0 + k) * %lld + q * %lld + j", n, nr);
  text_line(x, "GC_IVDEP for (long j = 0; j < w; j++) to[k * %lld + j] = %s;", nr,
            loaded(g, p, "B", at));
  text_line(x, "for (long j = w; j < %lld; j++) to[k * %lld + j] = 0;", nr, nr);
  text_close(x, "}");
  text_close(x, "}");
}

/* The block's tiles of A^T, each [depth][A_STRIDE]; what a short tile leaves over is not used. Some
   rows of A at a time for all tiles: neighbours share cache lines, and rows a power of two apart
   have few places in the cache. */
void product_pack_a(Gen *g, Text *x, const Product *p) {
  const char *depth = "depth";
  if (!p->s.chains) {
    text_line(x, "enum { whole = %lld };", (long long)p->s.k);
    depth = "whole";
  }
  text_open(x, "for (long k1 = 0, k2; k1 < %s; k1 = k2) {", depth);
  text_line(x, "k2 = k1 + %d < %s ? k1 + %d : %s;", PACK_AT_ONCE, depth, PACK_AT_ONCE, depth);
  text_open(x, "for (long i = i0; i < i1; i++) {");
  product_tile_rows(x, p);
  text_line(x, "(void)rows;");
  const char *row =
      intern_printf(g->ctx, "A + (k%s) * %lld + m", p->s.chains ? " + k0" : "", (long long)p->s.m);
  text_open(x, "for (long k = k1; k < k2; k++) {");
  text_line(x, "__builtin_prefetch(%s + A_PREFETCH * %lld);", row, (long long)p->s.m);
  text_line(x, "__builtin_memcpy(packed_a + ((i - i0) * %lld + k) * %d, %s, %d * sizeof(%s));",
            (long long)product_packed_depth(&p->s), A_STRIDE, row, A_STRIDE, p->T);
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

/* The block's rows of an A in another dtype, for chain k0: [row][chain], or as above of A^T. */
void product_convert_a(Gen *g, Text *x, const Product *p) {
  text_open(x, "for (long i = i0; i < i1; i++) {");
  product_tile_rows(x, p);
  if (p->s.ta) {
    const char *at = intern_printf(g->ctx, "(k0 + k) * %lld + m + r", (long long)p->s.m);
    text_line(x, "for (long k = 0; k < depth; k++)");
    text_line(x, "  for (long r = 0; r < rows; r++)");
    text_line(x, "    packed_a[((i - i0) * %lld + k) * %d + r] = %s;", (long long)p->s.chain,
              A_STRIDE, loaded(g, p, "A", at));
  } else {
    const char *at = intern_printf(g->ctx, "(m + r) * %lld + k0 + k", (long long)p->s.k);
    text_line(x, "for (long r = 0; r < rows; r++)");
    text_line(x, "  GC_IVDEP for (long k = 0; k < depth; k++)");
    text_line(x, "    packed_a[(m - m0 + r) * %lld + k] = %s;", (long long)p->s.chain,
              loaded(g, p, "A", at));
  }
  text_close(x, "}");
}

/* Rows that this tile prefetches, of the panel that the next group, or chain, has in its place. */
void product_prefetch(Gen *g, const Group *gr, Text *x, const Product *p) {
  const Layout *l = product_value(gr, gr->arg[p->b])->layout;
  long long nr = p->s.nr, kk = p->s.k, n = p->s.n, group = p->s.group, prefetch = p->s.prefetch;
  const char *first = p->s.split == BY_PANEL ? "u0" : "0";
  const char *last =
      p->s.split == BY_PANEL ? "u1" : intern_printf(g->ctx, "%lld", (long long)p->s.np);
  text_line(x, "const long ahead = (i - i0) * %lld;", prefetch);
  if (kk <= DEPTH)
    text_line(x, "const long q1 = q + %lld, k1 = 0;", group);
  else if (p->s.chains)
    text_line(x,
              "const long q1 = q + %lld < %s ? q + %lld : %s + q - g0, k1 = q1 > q ? k0 : k0 + %d;",
              group, last, group, first, DEPTH);
  else
    text_line(x, "const long k1 = k0 + %d < %lld ? k0 + %d : 0, q1 = k1 ? q : q + %lld;", DEPTH, kk,
              DEPTH, group);
  const char *at =
      p->s.tb && l
          ? intern_printf(g->ctx, "(k1 + ahead / %d * %d) * %lld + q1 * %lld + ahead %% %d * %lld",
                          l->nr, l->nr, n, nr * l->nr, l->nr, nr)
      : p->s.tb || p->s.b_panels ? intern_printf(g->ctx, "(q1 * %lld + k1 + ahead) * %lld", kk, nr)
                                 : intern_printf(g->ctx, "(k1 + ahead) * %lld + q1 * %lld", n, nr);
  text_line(x, "const %s *prefetch = q1 < %s && k1 + ahead < %lld && ahead < %lld ? B + %s : NULL;",
            p->T, last, kk, (long long)p->s.chain, at);
}
