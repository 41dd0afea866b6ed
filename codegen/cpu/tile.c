/* Prints the tiles of convolutions; see tile.h.
   Contract: the text of a function follows from the tile alone, and is printed once a program. Like
   GC_TILE of text/gemm.h: literal bounds, one named fma for each product, full registers of b are
   read and only the columns that there are written. */
#include "codegen/cpu/tile.h"
#include "ir/support/hash.h"

const char *tile_helper(Gen *g, const char *kind, const char *parameters, const char *body) {
  uint64_t hash = hash_bytes(HASH_START, parameters, strlen(parameters));
  hash = hash_bytes(hash, body, strlen(body));
  const char *name = intern_printf(g->ctx, "%s_%016llx", kind, (unsigned long long)hash);
  gen_long_helper(g, intern_printf(g->ctx,
                                   "static __attribute__((noinline)) void %s(\n"
                                   "    %s) {\n%s}\n",
                                   name, parameters, body));
  return name;
}

const char *tile_arguments(Gen *g, const Tile *t) {
  if (!tile_is_general(t)) return t->middle ? ", less" : "";
  return arena_printf(g->a, ", %lldL%s, %lldL, %lldL", t->nruns ? (long long)t->run->depth : 0LL,
                      t->middle ? " - less" : "", (long long)t->lk, (long long)t->lb);
}

/* The same of pairs: two steps of the depth, or the last one of an odd depth. */
static void print_pair(Text *x, const Tile *t, const TapRun *run, const char *second,
                       const char *pair) {
  text_line(x, "Vi32 v[NV];");
  text_line(x, "GC_ZIP(q, %s)", second);
  text_open(x, "UNROLL for (int i = %d; i < %d; i++) {", (int)run->lo, (int)run->hi);
  text_line(x, "const Vi32 s = %s;", arena_printf(x->a, pair, (long long)t->li));
  text_line(x, "UNROLL for (int j = 0; j < NV; j++) acc[i][j] = dot_bf16(v[j], s, acc[i][j]);");
  text_close(x, "}");
}

static void print_pairs(Text *x, const Tile *t, const TapRun *run, const char *depth,
                        const char *lb) {
  text_open(x, "for (long k = 0; k < %s / 2; k++, p += 2, q += 2 * %s) {", depth, lb);
  print_pair(x, t, run, arena_printf(x->a, "(q + %s)", lb), "pair_at(p + i * %lldL)");
  text_close(x, "}");
  if (!tile_is_general(t) && run->depth % 2 == 0) return;
  if (tile_is_general(t))
    text_open(x, "if (depth %% 2) {");
  else
    text_open(x, "{");
  print_pair(x, t, run, "minus_zeros", "splat_i32(GC_PAIR(p[i * %lldL], 0))");
  text_line(x, "p++, q += %s;", lb);
  text_close(x, "}");
}

/* The loop over a run's depth, for `rows` lo to hi of the tile. */
static void print_run(Gen *g, Text *x, const Tile *t, const TapRun *run) {
  const char *depth = "depth", *lk = "lk", *lb = "lb";
  if (!tile_is_general(t)) {
    depth = arena_printf(g->a, "%lldL", (long long)run->depth);
    lk = arena_printf(g->a, "%lldL", (long long)t->lk);
    lb = arena_printf(g->a, "%lldL", (long long)t->lb);
    if (t->middle && run == &t->run[t->middle - 1]) depth = arena_printf(g->a, "%s - less", depth);
  }
  bool by_line = t->next && run->depth > LINE && run->depth % LINE == 0;
  if (by_line) {
    text_open(x, "for (long line = 0; line < %lld; line++) {", (long long)(run->depth / LINE));
    text_line(x, "UNROLL for (int i = %d; i < %d; i++) GC_PREFETCH(p, i * %lldL + %lldL);",
              (int)run->lo, (int)run->hi, (long long)t->li, (long long)t->next);
    depth = arena_printf(g->a, "%d", LINE);
  }
  if (t->pairs) {
    print_pairs(x, t, run, depth, lb);
    if (by_line) text_close(x, "}");
    return;
  }
  /* Written out, a loop of 9 to 16 steps has its sums in memory: gcc reads ahead more than
     registers hold. Shorter ones gain by it, and longer ones gcc leaves alone. */
  if (!t->own && (tile_is_general(t) || run->depth > 8)) text_line(x, "GC_ROLLED");
  text_open(x, "for (long k = 0; k < %s; k++, p += %s, q += %s) {", depth, lk, lb);
  text_line(x, "Vf32 v[NV];");
  if (t->distance) text_line(x, "GC_PREFETCH(p, %lldL, 0, 2);", (long long)t->distance);
  text_line(x, "UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(&v[j], q + j * L, VBYTES);");
  text_open(x, "UNROLL for (int i = %d; i < %d; i++) {", (int)run->lo, (int)run->hi);
  if (t->own) {
    text_open(x, "UNROLL for (int j = 0; j < NV; j++) {");
    text_line(x, "Vf32 s;");
    text_line(x, "__builtin_memcpy(&s, p + i * %lldL + j * L, VBYTES);", (long long)t->li);
    text_line(x, "acc[i][j] = vfma_f32(v[j], s, acc[i][j]);");
    text_close(x, "}");
  } else {
    text_line(x, "const Vf32 s = splat_f32(p[i * %lldL]);", (long long)t->li);
    text_line(x, "UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vfma_f32(v[j], s, acc[i][j]);");
  }
  for (int open = by_line ? 3 : 2; open > 0; open--) text_close(x, "}");
}

static const char *less_text(Gen *g, int64_t step) {
  return arena_printf(g->a, " - less * %lldL", (long long)step);
}

/* What is done for each of `rows` and `images`. */
static void print_runs(Gen *g, Text *x, const Tile *t) {
  if (t->prefetch) {
    text_line(x, "for (int i = 0; i < %d && prefetched < R; i++, prefetched++)", t->prefetch);
    text_line(x,
              "  UNROLL for (int j = 0; j < NV; j++) GC_PREFETCH(c, prefetched * ldc + j * L, 1);");
  }
  for (const TapRun *run = t->run; run < t->run + t->nruns; run++) {
    text_open(x, "{");
    const bool behind = t->middle && run >= &t->run[t->middle];
    text_line(x, "const %s *p = ra + %lldL%s, *q = rb + %lldL%s;", t->pairs ? "uint16_t" : "f32",
              (long long)run->a, behind ? less_text(g, t->lk) : "", (long long)run->b,
              behind ? less_text(g, t->lb) : "");
    if (run->more) {
      text_line(x, "GC_ROLLED");
      text_open(x, "for (int i = 0; i <= %lld; i++, p += %lldL, q += %lldL) {",
                (long long)run->more, (long long)(run->da - run->depth * t->lk),
                (long long)(run->db - run->depth * t->lb));
    }
    print_run(g, x, t, run);
    if (run->more) text_close(x, "}");
    text_close(x, "}");
  }
}

const char *tile_function(Gen *g, const Tile *t) {
  Text x = text_new(g->a, 1);
  text_line(&x, "enum { L = VW, NV = (%lld + L - 1) / L, R = %d, W = %lld };", (long long)t->width,
            t->rows, (long long)t->width);
  text_line(&x, "Vf32 acc[R][NV];");
  text_line(&x, "UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++)");
  text_line(&x, "  acc[i][j] = (Vf32){0};");
  if (t->prefetch) text_line(&x, "long prefetched = 0; /* rows of c */");
  text_open(&x, "for (long n = 0; n < images; n++, a += an, b += bn) {");
  const char *T = t->pairs ? "uint16_t" : "f32";
  text_line(&x, "const %s *ra = a, *rb = b;", T);
  text_open(&x, "for (long r = 0; r < rows; r++, ra += ar, rb += br) {");
  print_runs(g, &x, t);
  if (!t->nruns) text_line(&x, "(void)ra, (void)rb;");
  text_close(&x, "}");
  text_close(&x, "}");
  if (t->pairs) text_line(&x, "UNROLL for (int i = 0; i < R; i++) { GC_ORDER_PAIRS(i) }");
  text_open(&x, "UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) {");
  text_line(&x, "const unsigned long m = (W - j * L < L ? W - j * L : L) * sizeof(f32);");
  text_line(&x, "f32 *to = c + i * ldc + j * L;");
  if (t->adds) {
    text_open(&x, "if (!first) {");
    text_line(&x, "Vf32 in = {0};");
    text_line(&x, "__builtin_memcpy(&in, to, m);");
    text_line(&x, "acc[i][j] += in;");
    text_close(&x, "}");
  }
  text_line(&x, "__builtin_memcpy(to, &acc[i][j], m);");
  text_close(&x, "}");
  const char *parameters =
      arena_printf(g->a,
                   "const %s *restrict a, long ar, long an, const %s *restrict b, long br, "
                   "long bn,\n    f32 *restrict c, long ldc, long rows, long images%s%s",
                   T, T,
                   tile_is_general(t) ? ", long depth, long lk, long lb"
                   : t->middle        ? ", long less"
                                      : "",
                   t->adds ? ", int first" : "");
  return tile_helper(g, arena_printf(g->a, "window_%dx%lld", t->rows, (long long)t->width),
                     parameters, text_str(&x));
}
