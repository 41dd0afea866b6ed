/* Prints the packing, conversion and prefetching of a product's operands. Contract: within the
   loops of cpu_matmul, whose variables the texts use: blocks of tiles i0 to i1, groups of panels g0
   to g1, chains of `depth` from k0 on. Algorithm: see text/gemm.h. */
#include "codegen/cpu/product.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"

/* Tile i has `rows` rows from row m on. */
void product_tile_rows(Text *x, const Product *p) {
  if (p->varies)
    text_line(x, "const long m = %s, rows = %s - m;", product_row(p, "i"),
              product_row(p, "(i + 1)"));
  else if (p->s.low < p->s.tiles)
    text_line(x, "const long rows = i < %lld ? %lld : %lld, m = %s;", (long long)p->s.low,
              (long long)p->s.rows, (long long)p->s.rows + 1, product_row(p, "i"));
  else
    text_line(x, "const long rows = %lld, m = i * rows;", (long long)p->s.rows);
}

void product_chain_loop(Text *x, const Product *p) {
  if (p->s.k <= DEPTH) return;
  text_open(x, "for (long k0 = 0; k0 < %s; k0 += %d) {", p->k, DEPTH);
  text_line(x, "const long depth = %s - k0 < %d ? %s - k0 : %d;", p->k, DEPTH, p->k, DEPTH);
}

Product product_of_deep_row(const Product *p) {
  Product row = *p;
  row.deep = true, row.varies = row.bounded_m = false;
  row.i0 = "0", row.i1 = row.tiles = "1";
  row.s.amx_bytes = false;
  row.s.pack = row.s.pack_first = row.s.chains = row.s.partial = false;
  row.s.unpacked = 0;
  row.s.tiles = row.s.rows = row.s.low = row.s.block = 1;
  row.s.least = row.s.m; /* rows of C lie as far apart as before */
  row.s.group = row.s.np;
  return row;
}

const char *product_row(const Product *p, const char *tile) {
  if (p->varies && *tile != '0') return arena_printf(p->arena, "(long)(%s * step >> 32)", tile);
  const char *row = text_times(p->arena, tile, p->s.rows);
  if (p->s.low == p->s.tiles || *tile == '0') return row;
  return arena_printf(p->arena, "%s + (%s > %lld ? %s - %lld : 0)", row, tile, (long long)p->s.low,
                      tile, (long long)p->s.low);
}

const char *product_steps_text(const Product *p) {
  if (p->s.integers || p->s.amx)
    return arena_printf(p->arena, "%lld", (long long)product_steps(&p->s, p->s.chain));
  if (!p->s.pairs) return p->depth;
  if (*p->depth < '0' || *p->depth > '9') return arena_printf(p->arena, "((%s + 1) / 2)", p->depth);
  return arena_printf(p->arena, "%lld", (long long)product_steps(&p->s, p->s.k));
}

/* Where panel q is packed. */
static void print_packed(Text *x, const Product *p) {
  text_line(x, "%s *to = packed + %s * %s * %d;", p->b_type, text_minus(x->a, "q", p->g0),
            product_steps_text(p), p->s.nr);
}

/* The function that packs rows of B, or columns of B^T. */
static const char *pack_function(Gen *g, const Product *p) {
  const char *turned = p->s.tb ? "_t" : "";
  if (p->s.pairs) return arena_printf(g->a, "pairs_pack%s", turned);
  bool half = dtype_is_half(p->s.in);
  const char *T = half ? dtype_name(p->s.in) : p->T;
  gen_helper(g, intern_printf(g->ctx, half ? "GC_PACK_HALF(%s)\n" : "GC_PACK(%s)\n", T));
  return arena_printf(g->a, "pack%s_%s", turned, T);
}

/* Packs columns of B^T, or converts rows of B, from panel g0 on, for chain k0: panel after panel.
 */
void product_pack(Gen *g, const Group *gr, Text *x, const Product *p) {
  long long nr = p->s.nr, kk = p->s.k, n = p->s.n;
  const char *pack = pack_function(g, p);
  const Layout *l = product_value(gr, gr->arg[p->b])->layout;
  text_open(x, "for (long q = %s; q < %s; q++) {", p->g0, p->g1);
  print_packed(x, p);
  text_line(x, "const long w = %lld - q * %lld < %lld ? %lld - q * %lld : %lld;", n, nr, nr, n, nr,
            nr);
  if (!p->s.tb) {
    const char *at = p->s.b_panels
                         ? arena_printf(g->a, "(q * %lld + %s) * %lld", kk, p->k0, nr)
                         : text_plus(g->a, text_times(g->a, p->k0, n), text_times(g->a, "q", nr));
    text_line(x, "%s(B + %s, %lld, to, %lld, %s, w);", pack, at, p->s.b_panels ? nr : n, nr,
              p->depth);
  } else if (!l) {
    text_line(x, "%s(B + %s, %lld, to, %lld, %s, w);", pack,
              text_plus(g->a, text_times(g->a, "q", nr * kk), p->k0), kk, nr, p->depth);
  } else { /* stored [K/nr][N][nr]: the panels of the stored matrix run along this product's depth
            */
    const char *end = text_plus(g->a, p->k0, p->depth);
    text_open(x, "for (long k = %s; k < %s; k += %d) {", p->k0, end, l->nr);
    text_line(x, "const long d = %s - k < %d ? %s - k : %d;", end, l->nr, end, l->nr);
    text_line(x, "%s(B + k * %lld + q * %lld, %d, to + %s * %lld, %lld, d, w);", pack, n,
              nr * l->nr, l->nr, text_minus(g->a, "k", p->k0), p->s.pairs ? nr / 2 : nr, nr);
    text_close(x, "}");
  }
  if (p->s.amx) text_line(x, "amx_fill(to, %lld, %s);", nr, p->depth);
  text_close(x, "}");
}

static const char *loaded(Gen *g, const Product *p, const char *base, const char *index) {
  return intern_printf(g->ctx, "(%s)%s", p->T, scalar_load(g->a, p->s.in, base, index));
}

/* Packs a B of bytes, converted element by element. */
void product_convert(Gen *g, Text *x, const Product *p) {
  long long nr = p->s.nr, kk = p->s.k, n = p->s.n;
  text_open(x, "for (long q = %s; q < %s; q++) {", p->g0, p->g1);
  print_packed(x, p);
  text_line(x, "const long w = %lld - q * %lld < %lld ? %lld - q * %lld : %lld;", n, nr, nr, n, nr,
            nr);
  text_open(x, "for (long k = 0; k < %s; k++) {", p->depth);
  const char *at = p->s.tb ? arena_printf(g->a, "(q * %lld + j) * %lld + %s", nr, kk,
                                          text_plus(g->a, p->k0, "k"))
                           : arena_printf(g->a, "%s + q * %lld + j",
                                          text_times(g->a, text_sum(g->a, p->k0, "k"), n), nr);
  text_line(x, "GC_IVDEP for (long j = 0; j < w; j++) to[k * %lld + j] = %s;", nr,
            loaded(g, p, "B", at));
  text_line(x, "for (long j = w; j < %lld; j++) to[k * %lld + j] = 0;", nr, nr);
  text_close(x, "}");
  text_close(x, "}");
}

/* The block's tiles of A^T, each [depth][A_STRIDE]; what a short tile leaves over is not used. Some
   rows of A at a time for all tiles: neighbours share cache lines, and rows a power of two apart
   have few places in the first cache, for as many rows as it has ways. `each` packs row k, or with
   the next one, which is at `row`. */
static void print_columns_of_a(Gen *g, Text *x, const Product *p, const char *depth,
                               const char *row, const char *each) {
  const int ways = cpu_target(g->target)->machine.cache.ways, at_once = ways > 2 ? ways & ~1 : 2;
  text_open(x, "for (long k1 = 0, k2; k1 < %s; k1 = k2) {", depth);
  text_line(x, "k2 = k1 + %d < %s ? k1 + %d : %s;", at_once, depth, at_once, depth);
  text_open(x, "for (long i = %s; i < %s; i++) {", p->i0, p->i1);
  product_tile_rows(x, p);
  text_line(x, "(void)rows;");
  text_open(x, "for (long k = k1; k < k2; k%s) {", p->s.pairs ? " += 2" : "++");
  text_line(x, "__builtin_prefetch(%s + A_PREFETCH * %lld);", row, (long long)p->s.m);
  text_line(x, "%s", each);
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

void product_pack_a(Gen *g, Text *x, const Product *p) {
  const char *depth = p->depth;
  if (!p->s.chains && p->s.k > DEPTH) {
    text_line(x, p->bounded_k ? "const long whole = %s;" : "enum { whole = %s };", p->k);
    depth = "whole";
  }
  const char *row = arena_printf(
      g->a, "A + %s + m", text_times(g->a, text_sum(g->a, "k", p->s.chains ? p->k0 : "0"), p->s.m));
  print_columns_of_a(
      g, x, p, depth, row,
      arena_printf(g->a, "__builtin_memcpy(packed_a + (%s * %lld + k) * %d, %s, %d * sizeof(%s));",
                   text_minus(g->a, "i", p->i0), (long long)product_packed_depth(&p->s), A_STRIDE,
                   row, A_STRIDE, p->T));
}

const char *product_packed_tile(const Product *p) {
  const int64_t tile = product_packed_rows(&p->s) * product_a_steps(&p->s, p->s.chain);
  return text_plus(p->arena, "packed_a",
                   text_times(p->arena, text_minus(p->arena, "i", p->i0), tile));
}

/* The rows of the tile at hand, as tiles of registers. */
static void print_amx_rows(Text *x, const Product *p, const char *to) {
  const char *at = p->s.ta ? text_plus(x->a, text_times(x->a, p->k0, p->s.m), "m")
                           : text_plus(x->a, text_times(x->a, "m", p->s.k), p->k0);
  text_line(x, "%s(A + %s, %lld, %s, %lld, rows, %s);", p->s.ta ? "amx_columns" : "amx_rows", at,
            (long long)(p->s.ta ? p->s.m : p->s.k), to,
            (long long)product_a_steps(&p->s, p->s.chain), p->depth);
}

/* Chains of a deep row are packed one after the other, as rows of one chain are. */
static const char *deep_row(const Product *p, const char *row) {
  return arena_printf(p->arena, "(%s + k0 / %d)", row, DEPTH);
}

/* The block's rows of an A in another dtype, for chain k0: [row][chain], or as above of A^T. */
void product_convert_a(Gen *g, Text *x, const Product *p) {
  const char *tile = text_minus(g->a, "i", p->i0);
  long long m = p->s.m, steps = product_steps(&p->s, p->s.chain);
  if (p->s.amx) {
    text_open(x, "for (long i = %s; i < %s; i++) {", p->i0, p->i1);
    product_tile_rows(x, p);
    print_amx_rows(x, p, product_packed_tile(p));
    text_close(x, "}");
    return;
  }
  const char *half = dtype_is_half(p->s.in) && !p->s.pairs ? dtype_name(p->s.in) : NULL;
  if (half && p->s.ta) gen_helper(g, intern_printf(g->ctx, "GC_PACK_HALF_A(%s)\n", half));
  if (p->s.ta) {
    const char *at = arena_printf(g->a, "%s + m", text_times(g->a, text_sum(g->a, p->k0, "k"), m));
    const char *row = arena_printf(g->a, "A + %s", at), *each;
    if (p->s.pairs)
      each = arena_printf(g->a,
                          "pair_columns(%s, %lld, packed_a + (%s * %lld + k / 2) * %d, "
                          "k + 1 < %s);",
                          row, m, tile, steps, A_STRIDE, p->depth);
    else if (half)
      each = arena_printf(g->a, "half_columns_%s(%s, packed_a + (%s * %lld + k) * %d);", half, row,
                          tile, steps, A_STRIDE);
    else
      each = arena_printf(
          g->a, "for (long r = 0; r < %d; r++) packed_a[(%s * %lld + k) * %d + r] = %s;", A_STRIDE,
          tile, steps, A_STRIDE, loaded(g, p, "A", arena_printf(g->a, "%s + r", at)));
    print_columns_of_a(g, x, p, p->depth, row, each);
    return;
  }
  text_open(x, "for (long i = %s; i < %s; i++) {", p->i0, p->i1);
  product_tile_rows(x, p);
  product_convert_rows(g, x, p, p->deep ? deep_row(p, "r") : "(m - m0 + r)");
  text_close(x, "}");
}

void product_convert_rows(Gen *g, Text *x, const Product *p, const char *row) {
  long long k = p->s.k, steps = product_a_steps(&p->s, p->s.chain);
  const char *at = text_plus(g->a, arena_printf(g->a, "(m + r) * %lld", k), p->k0);
  if (p->s.amx) {
    print_amx_rows(x, p, "packed_a");
    return;
  }
  if (p->s.integers) {
    product_integer_rows(g, x, p, row);
    return;
  }
  text_line(x, "for (long r = 0; r < rows; r++)");
  if (dtype_is_half(p->s.in)) {
    const char *pack = "pair_row";
    if (!p->s.pairs) {
      gen_helper(g, intern_printf(g->ctx, "GC_PACK_HALF_A(%s)\n", dtype_name(p->s.in)));
      pack = arena_printf(g->a, "half_row_%s", dtype_name(p->s.in));
    }
    text_line(x, "  %s(A + %s, packed_a + %s * %lld, %s);", pack, at, row, steps, p->depth);
  } else {
    text_line(x, "  GC_IVDEP for (long k = 0; k < %s; k++)", p->depth);
    text_line(x, "    packed_a[%s * %lld + k] = %s;", row, steps,
              loaded(g, p, "A", text_plus(g->a, at, "k")));
  }
}

/* Rows that this tile prefetches, of the panel that the next group, or chain, has in its place. */
static void print_next_panel(Gen *g, const Group *gr, Text *x, const Product *p) {
  const Layout *l = product_value(gr, gr->arg[p->b])->layout;
  long long nr = p->s.nr, kk = p->s.k, n = p->s.n, group = p->s.group, prefetch = p->s.prefetch;
  const char *first = p->panel0, *last = p->panel1;
  text_line(x, "const long ahead = %s * %lld;", text_minus(g->a, "i", p->i0), prefetch);
  if (kk <= DEPTH)
    text_line(x, "const long q1 = q + %lld;", group);
  else if (p->s.chains)
    text_line(x, "const long q1 = q + %lld < %s ? q + %lld : %s, k1 = q1 > q ? k0 : k0 + %d;",
              group, last, group, text_plus(g->a, first, text_minus(g->a, "q", p->g0)), DEPTH);
  else
    text_line(x, "const long k1 = k0 + %d < %lld ? k0 + %d : 0, q1 = k1 ? q : q + %lld;", DEPTH, kk,
              DEPTH, group);
  const char *first_k = kk > DEPTH ? "k1" : "0", *depth = text_plus(g->a, first_k, "ahead");
  const char *at =
      p->s.tb && l ? arena_printf(g->a, "(%s / %d * %d) * %lld + q1 * %lld + ahead %% %d * %lld",
                                  depth, l->nr, l->nr, n, nr * l->nr, l->nr, nr)
      : p->s.tb || p->s.b_panels
          ? arena_printf(g->a, "(q1 * %lld + %s) * %lld", kk, depth, nr)
          : arena_printf(g->a, "%s + q1 * %lld",
                         text_times(g->a, text_sum(g->a, first_k, "ahead"), n), nr);
  const char *in_depth = arena_printf(g->a, "%s < %lld", depth, kk);
  if (kk > DEPTH)
    in_depth = arena_printf(g->a, "%s && ahead < %lld", in_depth, (long long)p->s.chain);
  text_line(x, "const %s *prefetch = q1 < %s && %s ? B + %s : NULL;", p->T, last, in_depth, at);
}

const char *product_prefetch(Gen *g, const Group *gr, Text *x, const Product *p) {
  const long long row = p->s.tb || p->s.b_panels ? p->s.nr : p->s.n;
  const char *from = "NULL", *stride = "0", *interval = "0";
  if (p->s.prefetch) {
    print_next_panel(g, gr, x, p);
    from = "prefetch";
    stride = arena_printf(g->a, "%lldL", row);
    interval = arena_printf(g->a, "%lldL", (long long)(p->s.chain / p->s.prefetch));
    if (p->s.k % p->s.chain || p->bounded_k) /* the last chain is shorter */
      interval = arena_printf(g->a, "(%s < %lld ? 1 : %s / %lld)", p->depth,
                              (long long)p->s.prefetch, p->depth, (long long)p->s.prefetch);
  }
  const bool literal = *p->i0 == '0' && *p->i1 >= '0' && *p->i1 <= '9';
  const bool one = literal && strcmp(p->i1, "1") == 0;
  if (p->s.ahead && !p->s.pack && (one || !literal)) {
    const long long n = p->s.ahead * row;
    if (!one) text_line(x, "const bool alone = %s == 1;", text_minus(g->a, p->i1, p->i0));
    from = arena_printf(g->a, one ? "b + %lld" : "alone ? b + %lld : %s", n, from);
    stride = arena_printf(g->a, "%lldL", row);
    interval = one ? "1" : arena_printf(g->a, "alone ? 1 : %s", interval);
  }
  return intern_printf(g->ctx, "%s, %s, %s", from, stride, interval);
}
