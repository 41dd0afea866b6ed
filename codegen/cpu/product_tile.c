/* Prints one tile of a product: which tile function is called for its rows and columns, on what,
   and the element-wise work on C behind it. Contract: within the loops of cpu_matmul, whose
   variables the texts use: rows m to m + rows of tile i, panel q, chain k0. Algorithm: see
   text/gemm.h. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/epilogue.h"
#include "codegen/cpu/product.h"
#include "codegen/cpu/target.h"

/* A tile function for these rows and columns: shared by every kernel with the same strides. One
   that packs reads B as it lies. */
static const char *tile_function(Gen *g, const Product *p, int64_t rows, int64_t width,
                                 bool packs) {
  if (p->s.bits && (!p->s.pack || p->s.integers)) return product_quantized_tile(g, p, rows, width);
  int64_t li = p->s.ta ? 1 : p->s.converted ? product_a_steps(&p->s, p->s.chain) : p->s.k;
  int64_t lk = !p->s.ta ? 1 : p->s.pack_a || p->s.converted ? A_STRIDE : p->s.m;
  const bool turns = p->s.tb && !p->s.pack;
  int64_t lb = turns ? p->s.k : p->s.b_panels || (p->s.pack && !packs) ? p->s.nr : p->s.n;
  bool reads_half = dtype_is_half(p->s.in) && !p->s.pairs && (!p->s.pack || packs);
  const char *kind = p->s.pairs   ? p->s.pack ? "paired" : "pairs"
                     : reads_half ? dtype_name(p->s.in)
                                  : p->T;
  const char *of =
      intern_printf(g->ctx, "%s%s_%lldx%lld_a%lld_%lld_b%lld", turns ? "turned_" : "", kind,
                    (long long)rows, (long long)width, (long long)li, (long long)lk, (long long)lb);
  const char *name = packs ? intern_printf(g->ctx, "tile_%s_to%d", of, p->s.nr)
                           : intern_printf(g->ctx, "tile_%s", of);
  const char *sizes = intern_printf(g->ctx, "%lld, %lld, %lldL, %lldL, %lldL", (long long)rows,
                                    (long long)width, (long long)li, (long long)lk, (long long)lb);
  if (p->s.pairs) {
    gen_helper(g, intern_printf(g->ctx, "GC_TILE_%s(%s, %s)\n", p->s.pack ? "PAIRED" : "PAIRS",
                                name, sizes));
    return name;
  }
  const char *shape = intern_printf(g->ctx, "%s, %s, %s", name, kind, sizes);
  const char *half = reads_half ? "_HALF" : "";
  if (turns) {
    gen_helper(g, intern_printf(g->ctx, "GC_TILE_TURNED%s(%s, %s, %s, %s)\n", half, name, kind,
                                reads_half ? dtype_storage(p->s.in) : kind, sizes));
    return name;
  }
  gen_helper(g, packs ? intern_printf(g->ctx, "GC_TILE%s_PACKING(%s, %d)\n", half, shape, p->s.nr)
                      : intern_printf(g->ctx, "GC_TILE%s(%s)\n", half, shape));
  return name;
}

/* Of so many tile registers of rows. */
static const char *amx_function(Gen *g, const Product *p, int64_t rows, int64_t width) {
  const long long columns = ceil_div(width, AMX_BYTES / 4), a = product_a_steps(&p->s, p->s.chain);
  const char *name =
      intern_printf(g->ctx, "tile_amx_%lldx%lld_a%lld_b%d", (long long)rows, columns, a, p->s.nr);
  gen_helper(g, intern_printf(g->ctx, "GC_TILE_AMX(%s, %lld, %lld, %lldL, %dL)\n", name,
                              (long long)rows, columns, a, p->s.nr));
  return name;
}

/* Products of bytes: of as many rows as there are. */
static const char *amx_bytes_function(Gen *g, const Product *p, int64_t width) {
  const long long a = product_a_steps(&p->s, p->s.chain);
  const char *name =
      intern_printf(g->ctx, "tile_amx_bytes_%lld_a%lld_b%d", (long long)width, a, p->s.nr);
  gen_helper(g, intern_printf(g->ctx, "GC_TILE_AMX_BYTES(%s, %lld, %lldL, %dL)\n", name,
                              (long long)width, a, p->s.nr));
  return name;
}

/* A tile as high as that of registers, of which vectors have no room for the sums: a few of its
   rows at a time, for runs of few rows that do not pack B. */
static void print_parts_of_tile(Gen *g, Text *x, const Product *p, int64_t width, const char *ld,
                                const char *a, const char *c_in) {
  const int most = cpu_target(g->target)->machine.rows;
  text_open(x, "for (long r = 0, part; r < rows; r += part) {");
  text_line(x, "part = rows - r < %d ? rows - r : %d;", most, most);
  text_line(x, "const i32 *of_a = %s + r * %lld;", a,
            (long long)product_a_steps(&p->s, p->s.chain));
  text_line(x, "f32 *of_c = c + r * %s;", ld);
  text_line(x, "const f32 *before = %s ? of_c : NULL;", c_in);
  text_open(x, "switch (part) {");
  for (int r = 1; r <= most; r++)
    text_line(x, "case %d: %s(of_a, b, of_c, %s, %s, before, s); break;", r,
              tile_function(g, p, r, width, false), ld, p->depth);
  text_close(x, "}");
  text_close(x, "}");
}

static void print_panel(Text *x, const Product *p) {
  if (p->s.bits && (!p->s.pack || p->s.integers)) {
    product_quantized_panel(x, p);
    return;
  }
  const char *stored = dtype_is_half(p->s.in) ? dtype_storage(p->s.in) : p->T;
  if (p->s.pack)
    text_line(x, "%s%s *b = packed + %s * %s * %d;", p->s.pack_first ? "" : "const ", p->b_type,
              text_minus(x->a, "q", p->g0), product_steps_text(p), p->s.nr);
  else if (p->s.b_panels)
    text_line(x, "const %s *b = B + %s;", stored,
              *p->k0 == '0'
                  ? text_times(x->a, "q", p->s.k * p->s.nr)
                  : arena_printf(x->a, "(q * %lld + k0) * %d", (long long)p->s.k, p->s.nr));
  else if (p->s.tb)
    text_line(x, "const %s *b = B + %s;", stored,
              text_plus(x->a, text_times(x->a, "q", p->s.nr * p->s.k), p->k0));
  else
    text_line(x, "const %s *b = B + %s;", stored,
              text_plus(x->a, text_times(x->a, p->k0, p->s.n), text_times(x->a, "q", p->s.nr)));
}

/* Texts of the position on every axis of the domain, the last one `(n + j)`, and on those of C that
   it does not have. */
static const char **coordinates(Gen *g, const Group *gr, const Product *p, const Type *c) {
  int rank = gr->domain->rank, n = rank + (gr->matrix ? c->rank - 1 : 0);
  const char **coord = ARENA_ARRAY(g->a, const char *, n), **own = coord;
  if (gr->matrix) {
    Printer s = printer_new(g, gr, 1, 0);
    const char *row = p->s.batch == 1 ? "row" : intern_printf(g->ctx, "(bt * %s + row)", p->m);
    printer_leading(&s, row, 0);
    for (int i = 0; i < rank - 1; i++) coord[i] = s.coord[i].text;
    own = coord + rank;
  }
  int64_t stride = 1;
  for (int i = c->rank - 3; i >= 0; i--) {
    own[i] = intern_printf(g->ctx, i ? "(bt / %lld %% %lld)" : "(bt / %lld)", (long long)stride,
                           (long long)c->dim[i]);
    stride *= c->dim[i];
  }
  own[c->rank - 2] = "row";
  coord[rank - 1] = "(n + j)";
  return coord;
}

/* In C as it lies: column n of row `row`, or `row` + r, of the product at hand. */
static const char *flat_place(const Product *p, const char *row, const char *r) {
  Arena *a = p->arena;
  const char *first = text_times(a, p->bt, p->s.m);
  const char *of_all = r ? text_sum(a, text_plus(a, first, row), r) : text_sum(a, first, row);
  return text_plus(a, text_times(a, of_all, p->s.n), "n");
}

/* The group is a product of halves, which is stored and no more; perhaps through a reshape. */
static bool is_rounded_alone(const Group *g) {
  return g->nops == 1 + (g->matrix != NULL) && g->nout == 1 &&
         dtype_is_half(value_type(g->e, g->root->results[0])->dtype);
}

static void print_row(const void *of, Text *x) {
  const Product *p = of;
  text_line(x, "const long row = m + r;");
  text_line(x, "const long flat = %s;", flat_place(p, "row", NULL));
  text_line(x, "const long panel = (q * %lld + row) * %d;", (long long)p->s.m, p->s.nr);
  text_line(x, "const %s *acc = c + r * %d;", p->T, p->s.nr);
}

static void print_epilogue(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width) {
  const Type *c = product_value(gr, gr->root->results[0])->type;
  if (is_rounded_alone(gr)) {
    text_open(x, "for (long r = 0; r < rows; r++) {");
    print_row(p, x);
    const Value *out = product_value(gr, gr->yield[0]);
    text_line(x, "store_row_%s(out0 + %s, acc, %lld);", dtype_name(c->dtype),
              out->layout ? "panel" : "flat", (long long)width);
    text_close(x, "}");
    return;
  }
  EpilogueRows rows = {.row = "r", .rows = "rows", .width = width, .place = print_row, .of = p};
  EpilogueSite s = {.shape = gr->domain,
                    .coord = coordinates(g, gr, p, c),
                    .flat = "(flat + j)",
                    .panel = "(panel + j)",
                    .have = gr->root->results[0],
                    .have_text = "acc[j]"};
  if (!dtype_is_float(c->dtype) && product_dtype(c->dtype) != c->dtype)
    s.have_text = arena_printf(g->a, "(%s)acc[j]", dtype_compute(c->dtype));
  epilogue_rows(g, x, gr, &rows, &s);
}

/* Asks for what the epilogue reads and writes of a tile while the product is computed: its rows lie
   too far apart for the hardware to know. */
static void print_prefetches(Text *x, const Group *gr, const Product *p, int64_t width) {
  const Type *c = product_value(gr, gr->root->results[0])->type;
  if (p->s.partial) text_open(x, "if (k0 + depth == %s) {", p->k);
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const long flat = %s;", flat_place(p, "m", "r"));
  text_line(x, "const long panel = (q * %lld + m + r) * %d;", (long long)p->s.m, p->s.nr);
  text_line(x, "(void)flat, (void)panel;");
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    bool out = i >= gr->nin;
    ValueId v = out ? gr->yield[i - gr->nin] : gr->arg[i];
    if (value_type(gr->e, v)->numel != c->numel || i == p->a || i == p->b || i == p->scale ||
        i == p->a_scale)
      continue;
    if (!out && group_arg(gr, v) != i) continue;
    int size = dtype_size(value_type(gr->e, v)->dtype);
    for (int64_t j = 0; j < width; j += 64 / size)
      text_line(x, "GC_PREFETCH(%s%d, %s + %lld%s);", out ? "out" : "in", out ? i - gr->nin : i,
                product_value(gr, v)->layout ? "panel" : "flat", (long long)j, out ? ", 1" : "");
  }
  text_close(x, "}");
  if (p->s.partial) text_close(x, "}");
}

/* A row by P panels from `first` on. */
static void print_row_of_panels(Gen *g, Text *x, const Product *p, int P) {
  const ProductSchedule *s = &p->s;
  const char *type = dtype_name(s->in),
             *name = intern_printf(g->ctx, "row_%s_%dx%d", type, P, s->nr);
  gen_helper(g, intern_printf(g->ctx, "GC_ROW%s(%s, %s, %s, %d, %d, %d)\n",
                              dtype_is_half(s->in) ? "_HALF" : "", name, type, dtype_storage(s->in),
                              P, s->nr, DEPTH));
  text_line(x, "%s(A, B + first * %lld, %lldL, c, %s, %s);", name, (long long)(s->k * s->nr),
            (long long)(s->k * s->nr), p->k,
            p->addend >= 0 ? intern_printf(g->ctx, "(const %s *)in%d + (c - out0)", p->T, p->addend)
                           : "NULL");
}

static void print_row_of_amx(Gen *g, Text *x, const Product *p, int P) {
  const ProductSchedule *s = &p->s;
  const long long panel = s->k * s->nr;
  const char *name = intern_printf(g->ctx, "row_amx_%dx%d", P, s->nr);
  gen_helper(g, intern_printf(g->ctx, "GC_ROW_AMX(%s, %d, %d)\n", name, P, s->nr));
  text_line(x, "%s(A, B + first * %lld, %lldL, c, %s);", name, panel, panel, p->k);
}

/* ... by P at a time, as long as the thread has so many whole ones. */
static void print_row_loop(Gen *g, const Group *gr, Text *x, const Product *p, int P) {
  const ProductSchedule *s = &p->s;
  text_open(x, "for (; first + %d <= %s && first + %d <= %lld; first += %d) {", P, p->g1, P,
            (long long)(s->n / s->nr), P);
  if (s->epilogue)
    text_line(x, "%s *c = row_of_c;", p->T);
  else
    text_line(x, "%s *c = (%s *)out0 + first * %d;", p->T, p->T, s->nr);
  if (s->amx)
    print_row_of_amx(g, x, p, P);
  else
    print_row_of_panels(g, x, p, P);
  if (s->epilogue) {
    text_open(x, "for (long q = first; q < first + %d; q++) {", P);
    text_line(x, "const long n = q * %d, m = 0, rows = 1;", s->nr);
    text_line(x, "%s *c = row_of_c + (q - first) * %d;", p->T, s->nr);
    print_epilogue(g, gr, x, p, s->nr);
    text_close(x, "}");
  }
  text_close(x, "}");
}

/* A run of one row: as many panels as can be meet it several at a time. Those that are left are
   from panel `first` on; of AMX, whose tiles would pack them, none but a narrow last one. */
void product_row_streams(Gen *g, const Group *gr, Text *x, Product *p) {
  const ProductSchedule *s = &p->s;
  text_line(x, "long first = %s;", p->g0);
  if (s->m != 1) text_open(x, "if (%s == 1) {", p->m);
  print_row_loop(g, gr, x, p, (int)s->streams);
  if (s->amx) print_row_loop(g, gr, x, p, 1);
  if (s->m != 1) text_close(x, "}");
  p->g0 = p->panel0 = "first";
}

/* The least rows of a tile. A batch of any size has tiles of any height; if runs of few rows do not
   pack, others have several tiles, which differ by one row at most. */
static int64_t least_rows(const Product *p) {
  int64_t least = p->varies ? p->s.least : p->s.rows;
  if (!p->bounded_m) return least;
  if (!p->s.pack || !p->s.unpacked) return 1;
  int64_t tallest = product_tallest(&p->s), whole = p->s.unpacked / tallest;
  int64_t of_more = (whole * tallest + 1) / (whole + 1);
  return of_more < least ? of_more : least;
}

static void print_calls(Gen *g, Text *x, const Product *p, int64_t width, bool packs,
                        const char *call) {
  int64_t least = least_rows(p);
  if (p->s.amx_bytes) {
    text_line(x, "%s%s", amx_bytes_function(g, p, width), call);
    return;
  }
  if (p->s.amx) {
    const bool one = least <= AMX_ROWS, two = product_tallest(&p->s) > AMX_ROWS;
    if (one && two) text_line(x, "if (rows > %d)", AMX_ROWS);
    if (two) text_line(x, "%s%s", amx_function(g, p, 2, width), call);
    if (one && two) text_line(x, "else");
    if (one) text_line(x, "%s%s", amx_function(g, p, 1, width), call);
    return;
  }
  if (least < p->s.rows) {
    text_open(x, "switch (rows) {");
    for (int64_t r = least; r <= product_tallest(&p->s); r++)
      text_line(x, "case %lld: %s%s break;", (long long)r, tile_function(g, p, r, width, packs),
                call);
    text_close(x, "}");
  } else if (p->s.low < p->s.tiles) {
    text_line(x, "if (rows == %lld) %s%s", (long long)p->s.rows,
              tile_function(g, p, p->s.rows, width, packs), call);
    text_line(x, "else %s%s", tile_function(g, p, p->s.rows + 1, width, packs), call);
  } else {
    text_line(x, "(void)rows;");
    text_line(x, "%s%s", tile_function(g, p, p->s.rows, width, packs), call);
  }
}

/* Where the tile's sums go. `layout`: rows of a panel of C. */
static void declare_sums(Text *x, const Product *p, bool layout) {
  if (p->s.partial && p->s.amx)
    text_line(x, "%s *c = partial + (%s * %lld + %s) * %lld;", p->T, text_minus(x->a, "q", p->g0),
              (long long)p->s.block, text_minus(x->a, "i", p->i0),
              (long long)(product_tile_room(&p->s) * p->s.nr));
  else if (p->s.partial)
    text_line(x, "%s *c = partial + (%s * %lld + m - m0) * %d;", p->T, text_minus(x->a, "q", p->g0),
              (long long)(p->s.block * product_tallest(&p->s)), p->s.nr);
  else if (p->s.epilogue)
    text_line(x, "%s *c = tile;", p->T);
  else if (layout)
    text_line(x, "%s *c = (%s *)out0 + (q * %lld + m) * %d;", p->T, p->T, (long long)p->s.m,
              p->s.nr);
  else
    text_line(x, "%s *c = (%s *)out0 + %s;", p->T, p->T, flat_place(p, "m", NULL));
}

/* Where the tile's rows of A lie. */
static const char *rows_text(Gen *g, const Product *p) {
  long long chain = product_a_steps(&p->s, p->s.chain);
  const char *tile = text_minus(g->a, "i", p->i0);
  const char *in_pack =
      text_plus(g->a, text_times(g->a, tile, product_packed_depth(&p->s) * A_STRIDE),
                p->s.chains ? "0" : text_times(g->a, p->k0, A_STRIDE));
  return p->s.convert_tile ? "packed_a"
         : p->s.amx        ? product_packed_tile(p)
         : p->s.converted && p->deep
             ? intern_printf(g->ctx, "packed_a + k0 / %d * %lld", DEPTH, chain)
         : p->s.converted && !p->s.ta ? intern_printf(g->ctx, "packed_a + (m - m0) * %lld", chain)
         : p->s.converted ? intern_printf(g->ctx, "packed_a + %s * %lld", tile, chain * A_STRIDE)
         : p->s.pack_a    ? intern_printf(g->ctx, "packed_a + %s", in_pack)
         : p->s.ta        ? intern_printf(g->ctx, "A + %s",
                                          text_plus(g->a, text_times(g->a, p->k0, p->s.m), "m"))
                          : intern_printf(g->ctx, "A + %s",
                                          text_plus(g->a, text_times(g->a, "m", p->s.k), p->k0));
}

/* One tile: `rows` rows from m on, `width` columns of panel q. */
void product_tile(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width) {
  bool layout = !p->s.epilogue && product_value(gr, gr->yield[0])->layout;
  text_line(x, "const long n = q * %d;", p->s.nr);
  if (p->s.epilogue) text_line(x, "(void)n;");
  if (p->deep) {
    declare_sums(x, p, layout);
    if (p->s.epilogue) print_prefetches(x, gr, p, width);
    product_chain_loop(x, p);
  }
  print_panel(x, p);
  const char *ld =
      intern_printf(g->ctx, "%lldL", (long long)(p->s.epilogue || layout ? p->s.nr : p->s.n));
  if (!p->deep) declare_sums(x, p, layout);
  const char *a = rows_text(g, p);
  const char *c_in = p->addend >= 0
                         ? intern_printf(g->ctx, "(const %s *)in%d + (c - out0)", p->T, p->addend)
                     : p->s.k > DEPTH ? "k0 == 0 ? NULL : c"
                                      : "NULL";
  const char *prefetch = product_prefetch(g, gr, x, p);
  if (p->s.bits && (!p->s.pack || p->s.integers)) prefetch = "s";
  const char *call = p->s.amx ? intern_printf(g->ctx, "(%s, b, c, %s, %s, %s);", a, ld, p->depth,
                                              p->s.k > DEPTH ? "k0 != 0" : "false")
                              : intern_printf(g->ctx, "(%s, b, c, %s, %s, %s, %s);", a, ld,
                                              p->depth, c_in, prefetch);
  if (p->s.amx_bytes)
    call = intern_printf(g->ctx, "(%s, b, c, %s, %s, %s, s, rows);", a, ld, p->depth, c_in);
  if (p->s.epilogue && !p->deep) print_prefetches(x, gr, p, width);
  if (p->s.pack_first) {
    const char *from = p->s.b_panels ? arena_printf(g->a, "(q * %lld + %s) * %d", (long long)p->s.k,
                                                    p->k0, p->s.nr)
                                     : text_plus(g->a, text_times(g->a, p->k0, p->s.n), "n");
    text_line(x, "const %s *from = B + %s;", dtype_is_half(p->s.in) ? dtype_storage(p->s.in) : p->T,
              from);
    text_open(x, "if (i == %s) {", p->i0);
    print_calls(g, x, p, width, true,
                intern_printf(g->ctx, "(%s, from, c, %s, %s, %s, %s, b);", a, ld, p->depth, c_in,
                              prefetch));
    x->indent--;
    text_open(x, "} else {");
  }
  if (p->s.amx_bytes && !p->s.pack)
    print_parts_of_tile(g, x, p, width, ld, a, p->s.k > DEPTH ? "k0" : "false");
  else
    print_calls(g, x, p, width, false, call);
  if (p->s.pack_first || p->deep) text_close(x, "}");
  if (p->s.partial) text_open(x, "if (k0 + depth == %s) {", p->k);
  if (p->s.epilogue) print_epilogue(g, gr, x, p, width);
  if (p->s.partial) text_close(x, "}");
}
