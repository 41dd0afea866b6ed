/* Prints products: C[M, N] = op(A) op(B), one or a batch, with element-wise work on C fused behind.
   Contract: the operands are inputs of the group. A is read as it lies; B comes from its panels, as
   it lies, or packed panel by panel. Half precisions and bytes are packed, and converted there,
   both of them. Every element of C is one chain of fma over at most 1024 of depth, such chains
   added in order: the bits depend on the shape alone. Algorithm: blocks of A's rows, within them
   groups of B's panels that stay in L2 while tiles of rows go by, each tile meeting the panels one
   after the other (text/gemm.h) and asking memory for some rows of the panel behind them; threads
   share the panels, or the tiles where there are few panels.
   docs/results.md has figures. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/product.h"
#include "codegen/cpu/target.h"
#include "codegen/program/extent.h"

/* B is stored transposed: for the loops it is not where its panels are of that order. */
static bool is_turned(const Group *g, const Op *mm) {
  const Layout *l = product_value(g, mm->operands[1])->layout;
  return product_tb(mm) && !(l && l->order);
}

/* The panel width that a layout in the group prescribes: all of them agree, since they share N. */
static int layout_width(const Group *g, const Op *mm) {
  const Layout *l = product_value(g, mm->operands[1])->layout;
  if (l && !is_turned(g, mm)) return l->nr;
  for (int i = 0; i < g->nout; i++)
    if (product_value(g, g->yield[i])->layout) return product_value(g, g->yield[i])->layout->nr;
  for (int i = 0; i < g->nin; i++)
    if (i != group_arg(g, mm->operands[0]) && i != group_arg(g, mm->operands[1]) &&
        product_value(g, g->arg[i])->layout)
      return product_value(g, g->arg[i])->layout->nr;
  return 0;
}

/* The group is a product added to a tensor as it lies: the tile adds to C, as for a second chain.
 */
static int addend_of(const Group *g, const Op *mm, int64_t depth) {
  if (g->nops != 2 + (g->matrix != NULL) || g->nout != 1 || depth > DEPTH) return -1;
  const Op *sum = value_def(g->e, g->yield[0]);
  if (!sum || sum->kind != OP_ADD) return -1;
  const Op *last = g->matrix ? g->ops[1] : mm; /* a reshape of it? */
  if (last != mm && (last->kind != OP_RESHAPE || last->operands[0] != mm->results[0])) return -1;
  int other = sum->operands[0] == last->results[0];
  int x = group_arg(g, sum->operands[other]);
  if (sum->operands[!other] != last->results[0] || x < 0) return -1;
  for (int i = 0; i < mm->noperands; i++)
    if (x == group_arg(g, mm->operands[i])) return -1;
  return product_value(g, g->arg[x])->layout == product_value(g, g->yield[0])->layout ? x : -1;
}

/* What the printer of a group is to print. */
static Product product_of(Gen *gen, const Group *g) {
  Arena *a = gen->a;
  const Target *t = gen->target;
  const Op *mm = g->root;
  const Value *va = product_value(g, mm->operands[0]), *vb = product_value(g, mm->operands[1]);
  const Type *c = product_value(g, mm->results[0])->type;
  bool ta = product_ta(mm), stored = product_dtype(c->dtype) == c->dtype;
  bool scaled = mm->kind == OP_SCALED_MATMUL;
  const int left_bits = scaled ? (int)mm->attr[AT_LEFT_BITS].i : 0;
  int64_t depth = va->type->dim[va->type->rank - (ta ? 2 : 1)] / (left_bits == 16 ? 2 : 1);
  bool quantized = scaled || mm->kind == OP_QUANTIZED_MATMUL;
  Product p = {.a = group_arg(g, mm->operands[0]),
               .b = group_arg(g, mm->operands[1]),
               .scale = quantized ? group_arg(g, mm->operands[mm->noperands - 1]) : -1,
               .a_scale = scaled ? group_arg(g, mm->operands[2]) : -1,
               .scaled = quantized ? (int)mm->attr[AT_GROUP].i : 0,
               .addend = stored ? addend_of(g, mm, depth) : -1};
  ProductShape shape = {.batch = 1,
                        .m = c->dim[c->rank - 2],
                        .n = c->dim[c->rank - 1],
                        .k = depth,
                        .ta = ta,
                        .tb = is_turned(g, mm),
                        .in = va->type->dtype,
                        .bits = quantized ? (int)mm->attr[AT_BITS].i : 0,
                        .integers = scaled ? (int)mm->attr[AT_GROUP].i : 0,
                        .left_bits = left_bits,
                        .b_panels = vb->layout != NULL,
                        .b_panel = vb->layout ? vb->layout->nr : 0,
                        .panel = layout_width(g, mm),
                        .epilogue = !stored || (g->nops > 1 && p.addend < 0)};
  int row = c->rank - 2, k_axis = va->type->rank - (ta ? 2 : 1);
  for (int i = 0; i < row; i++) shape.batch *= c->dim[i];
  shape.bounded = p.bounded_m = type_extent(c, row) != NULL;
  p.s = product_schedule(&cpu_target(t)->machine, &shape);
  p.T = dtype_prefix(p.s.dt);
  p.a_type = p.s.pairs || p.s.integers ? "i32" : p.T;
  p.b_type = p.a_type;
  p.bounded_k = type_extent(va->type, k_axis) != NULL;
  p.batch = dims_text(gen, g->e, c, 0, row);
  p.m = dims_text(gen, g->e, c, row, row + 1);
  p.k = scaled ? arena_printf(a, "%lld", (long long)depth)
               : dims_text(gen, g->e, va->type, k_axis, k_axis + 1);
  p.varies = p.bounded_m || product_varies(&p.s);
  p.tiles = p.varies ? "tiles" : arena_printf(a, "%lld", (long long)p.s.tiles);
  bool chained = p.s.k > DEPTH, shared = p.s.split != SERIAL;
  p.arena = a;
  p.bt = p.s.batch > 1 ? "bt" : "0";
  p.k0 = chained ? "k0" : "0";
  p.depth = chained ? "depth" : p.k;
  bool tiles = shared && (p.s.tiles > 1 || product_varies(&p.s));
  p.i0 = tiles ? "tile0" : "0";
  p.i1 = tiles ? "tile1" : p.tiles;
  p.panel0 = shared && p.s.np > 1 ? "panel0" : "0";
  p.panel1 = shared && p.s.np > 1 ? "panel1" : arena_printf(a, "%lld", (long long)p.s.np);
  p.g0 = p.panel0, p.g1 = p.panel1;
  return p;
}

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
    const char *row =
        p->s.batch == 1 ? "row" : intern_printf(g->ctx, "(bt * %lld + row)", (long long)p->s.m);
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

static void print_epilogue(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width) {
  const Type *c = product_value(gr, gr->root->results[0])->type;
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const long row = m + r;");
  text_line(x, "const long flat = %s;", flat_place(p, "row", NULL));
  text_line(x, "const long panel = (q * %lld + row) * %d;", (long long)p->s.m, p->s.nr);
  text_line(x, "const %s *acc = c + r * %d;", p->T, p->s.nr);
  if (is_rounded_alone(gr)) {
    const Value *out = product_value(gr, gr->yield[0]);
    text_line(x, "store_row_%s(out0 + %s, acc, %lld);", dtype_name(c->dtype),
              out->layout ? "panel" : "flat", (long long)width);
    text_close(x, "}");
    return;
  }
  text_open(x, "GC_IVDEP for (long j = 0; j < %lld; j++) {", (long long)width);
  EpilogueSite s = {.shape = gr->domain,
                    .coord = coordinates(g, gr, p, c),
                    .flat = "(flat + j)",
                    .panel = "(panel + j)",
                    .have = gr->root->results[0],
                    .have_text = "acc[j]"};
  if (product_dtype(c->dtype) != c->dtype) /* the product itself is rounded to its dtype */
    s.have_text = dtype_is_float(c->dtype)
                      ? intern_printf(g->ctx, "%s_round(acc[j])", dtype_name(c->dtype))
                      : intern_printf(g->ctx, "(%s)acc[j]", dtype_compute(c->dtype));
  epilogue_body(g, x, gr, &s);
  text_close(x, "}");
  text_close(x, "}");
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

/* One tile: `rows` rows from m on, `width` columns of panel q. */
static void print_tile(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width) {
  bool layout = !p->s.epilogue && product_value(gr, gr->yield[0])->layout;
  text_line(x, "const long n = q * %d;", p->s.nr);
  if (p->s.epilogue) text_line(x, "(void)n;");
  print_panel(x, p);
  const char *ld =
      intern_printf(g->ctx, "%lldL", (long long)(p->s.epilogue || layout ? p->s.nr : p->s.n));
  if (p->s.partial)
    text_line(x, "%s *c = partial + (%s * %lld + m - m0) * %d;", p->T, text_minus(x->a, "q", p->g0),
              (long long)(p->s.block * product_tallest(&p->s)), p->s.nr);
  else if (p->s.epilogue)
    text_line(x, "%s *c = tile;", p->T);
  else if (layout)
    text_line(x, "%s *c = (%s *)out0 + (q * %lld + m) * %d;", p->T, p->T, (long long)p->s.m,
              p->s.nr);
  else
    text_line(x, "%s *c = (%s *)out0 + %s;", p->T, p->T, flat_place(p, "m", NULL));
  long long chain = product_a_steps(&p->s, p->s.chain);
  const char *tile = text_minus(g->a, "i", p->i0);
  const char *in_pack =
      text_plus(g->a, text_times(g->a, tile, product_packed_depth(&p->s) * A_STRIDE),
                p->s.chains ? "0" : text_times(g->a, p->k0, A_STRIDE));
  const char *a =
      p->s.convert_tile            ? "packed_a"
      : p->s.converted && !p->s.ta ? intern_printf(g->ctx, "packed_a + (m - m0) * %lld", chain)
      : p->s.converted ? intern_printf(g->ctx, "packed_a + %s * %lld", tile, chain * A_STRIDE)
      : p->s.pack_a    ? intern_printf(g->ctx, "packed_a + %s", in_pack)
      : p->s.ta
          ? intern_printf(g->ctx, "A + %s", text_plus(g->a, text_times(g->a, p->k0, p->s.m), "m"))
          : intern_printf(g->ctx, "A + %s", text_plus(g->a, text_times(g->a, "m", p->s.k), p->k0));
  const char *c_in = p->addend >= 0
                         ? intern_printf(g->ctx, "(const %s *)in%d + (c - out0)", p->T, p->addend)
                     : p->s.k > DEPTH ? "k0 == 0 ? NULL : c"
                                      : "NULL";
  const char *prefetch = product_prefetch(g, gr, x, p);
  if (p->s.bits && (!p->s.pack || p->s.integers)) prefetch = "s";
  const char *call =
      intern_printf(g->ctx, "(%s, b, c, %s, %s, %s, %s);", a, ld, p->depth, c_in, prefetch);
  if (p->s.epilogue) print_prefetches(x, gr, p, width);
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
  print_calls(g, x, p, width, false, call);
  if (p->s.pack_first) text_close(x, "}");
  if (p->s.partial) text_open(x, "if (k0 + depth == %s) {", p->k);
  if (p->s.epilogue) print_epilogue(g, gr, x, p, width);
  if (p->s.partial) text_close(x, "}");
}

/* The slices of a value: `parts` of them, of each of `rows` rows. */
typedef struct Slices {
  int64_t rows;
  uint64_t stride, width;
} Slices;

/* Of a value that is as large as C, or as a row of it; rows 0: threads share it otherwise. */
static Slices slices_of(const Group *gr, const Product *p, const Value *v) {
  const Type *c = product_value(gr, gr->root->results[0])->type, *t = v->type;
  bool even_rows = p->s.low == p->s.tiles, even_columns = p->s.n % p->s.nr == 0;
  bool full = t->rank == c->rank && t->numel == c->numel;
  full |= gr->matrix && type_same_dims(t, gr->domain);
  bool along = t->rank >= 1 && t->numel == p->s.n && t->dim[t->rank - 1] == p->s.n;
  uint64_t size = (uint64_t)dtype_size(t->dtype), storage = 0;
  if (!layout_bytes(t, v->layout, &storage)) return (Slices){0};
  Slices whole = {1, 0, storage}, none = {0};
  if (p->s.batch > 1) return full ? whole : none;
  if (p->s.split == BY_ROWS && full && even_rows) {
    uint64_t panel = (uint64_t)(p->s.m * p->s.nr) * size;
    return v->layout && p->s.np > 1 ? (Slices){p->s.np, panel, panel} : whole;
  }
  if (p->s.split != BY_PANEL) return none;
  if ((full && v->layout) || (along && even_columns)) return whole;
  if (full && even_columns)
    return (Slices){p->s.m, (uint64_t)p->s.n * size, (uint64_t)p->s.n * size};
  return none;
}

static Slices slices_of_a(const Product *p, uint64_t bytes) {
  uint64_t row = (uint64_t)(p->s.m * dtype_size(p->s.in));
  if (p->s.batch > 1) return (Slices){1, 0, bytes};
  if (p->s.split != BY_ROWS || p->s.low != p->s.tiles) return (Slices){0};
  return p->s.ta ? (Slices){p->s.k, row, row} : (Slices){1, 0, bytes};
}

static Slices slices_of_b(const Product *p, uint64_t bytes) {
  uint64_t row = (uint64_t)(p->s.n * dtype_size(p->s.in));
  bool even_columns = p->s.n % p->s.nr == 0;
  if (p->s.batch > 1) return (Slices){1, 0, bytes};
  if (p->s.split != BY_PANEL) return (Slices){0};
  if (p->s.b_panels) return p->s.tb ? (Slices){0} : (Slices){1, 0, bytes};
  if (!even_columns || p->s.bits) return (Slices){0};
  return p->s.tb ? (Slices){1, 0, bytes} : (Slices){p->s.k, row, row};
}

/* What threads touch, for the barriers: their slices are whole where their number divides that of
   the products, the panels or the tiles of rows. */
static void declare_slices(Kernel *k, const Group *gr, const Product *p) {
  if (p->s.split == SERIAL) return;
  int64_t parts = p->s.batch > 1 ? p->s.batch : p->s.split == BY_PANEL ? p->s.np : p->s.tiles;
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    bool out = i >= gr->nin, a = i == p->a, b = i == p->b || i == p->scale;
    const Value *v = product_value(gr, out ? gr->yield[i - gr->nin] : gr->arg[i]);
    Slices s = {0};
    uint64_t bytes = 0;
    if (i == p->a_scale) continue;
    if (!a && !b)
      s = slices_of(gr, p, v);
    else if (a != b && layout_bytes(v->type, a ? NULL : v->layout, &bytes))
      s = a ? slices_of_a(p, bytes) : slices_of_b(p, bytes);
    if (!s.rows) continue;
    if (out)
      kernel_split_out(k, gr, i - gr->nin, s.rows, s.stride, s.width);
    else
      kernel_split_in(k, gr, i, s.rows, s.stride, s.width);
    if (parts != k->units || product_varies(&p->s)) k->args[i].access.parts = parts;
  }
}

/* `tiles` of rows where their number depends on that of threads or rows: tile i begins with row
   i * step >> 32. */
static void print_tiles(Gen *g, Kernel *k, const Product *p) {
  Arena *a = g->a;
  if (!p->varies) return;
  const char *tiles = p->bounded_m ? text_ceil_div(a, p->m, product_tallest(&p->s))
                                   : arena_printf(a, "%lld", (long long)p->s.tiles);
  if (product_varies(&p->s))
    tiles = arena_printf(a, "tiles_for(nt, %s, %s, %s / %lld)",
                         text_product(a, p->batch, arena_printf(a, "%lld", (long long)p->s.np)),
                         tiles, p->m, (long long)p->s.least);
  text_line(&k->head, "const long tiles = %s;", tiles);
  text_line(&k->head,
            "const uint64_t step = tiles ? (((uint64_t)(%s) << 32) + (uint64_t)tiles - 1) / "
            "(uint64_t)tiles : 0;",
            p->m);
}

/* Declares u0 and u1, between which the units of a thread are. */
static void print_units(Gen *g, Kernel *k, const Product *p) {
  const ProductSchedule *s = &p->s;
  const char *panels = arena_printf(g->a, "%lld", (long long)s->np);
  if (!product_is_uneven(s)) {
    kernel_units_of(k, s->units,
                    text_product(g->a, text_product(g->a, p->batch, panels), p->tiles));
    return;
  }
  k->units = s->units;
  for (int i = 0; i < 2; i++)
    text_line(&k->text, "const long u%d = product_share(%s, nt, %s, %s, %s, %d, %lld);", i,
              i ? "t + 1" : "t", p->batch, panels, p->tiles, s->nr, (long long)s->n);
}

/* The units of a thread, u0 to u1, part by part: tiles tile0 to tile1 of panels panel0 to panel1 of
   product bt. */
static void print_parts(Gen *g, Text *x, Product *p) {
  Arena *a = g->a;
  const char *panels = arena_printf(a, "%lld", (long long)p->s.np);
  bool by_rows = p->s.split == BY_ROWS, tiles = *p->i0 != '0', all = *p->g0 != '0';
  if (p->s.batch == 1 && !(tiles && all)) { /* one part */
    if (tiles) p->i0 = "u0", p->i1 = "u1";
    if (all) p->g0 = p->panel0 = "u0", p->g1 = p->panel1 = "u1";
    return;
  }
  const char *from = "u", *to = "u1";
  text_open(x, "for (long u = u0, next; u < u1; u = next) {");
  if (p->s.batch > 1) {
    const char *each = text_product(a, panels, p->tiles);
    text_line(x, "const long bt = u / (%s), first = bt * (%s);", each, each);
    from = "u - first", to = "u1 - first";
  }
  text_line(x, "const GcRectangle part = rectangle_at(%s, %s, %s, %s);", from, to,
            by_rows ? p->tiles : panels, by_rows ? panels : p->tiles);
  if (tiles)
    text_line(x, "const long tile0 = part.%s0, tile1 = part.%s1;", by_rows ? "row" : "column",
              by_rows ? "row" : "column");
  if (all)
    text_line(x, "const long panel0 = part.%s0, panel1 = part.%s1;", by_rows ? "column" : "row",
              by_rows ? "column" : "row");
  text_line(x, "next = u + (part.row1 - part.row0) * (part.column1 - part.column0);");
}

static void print_chain_loop(Text *x, const Product *p) {
  if (p->s.k <= DEPTH) return;
  text_open(x, "for (long k0 = 0; k0 < %s; k0 += %d) {", p->k, DEPTH);
  text_line(x, "const long depth = %s - k0 < %d ? %s - k0 : %d;", p->k, DEPTH, p->k, DEPTH);
}

/* A loop over blocks of `from` to `end`, from `start` up to `stop`, unless one block has all of
 * `n`. */
static void print_block_loop(Text *x, const char *name, int64_t n, int64_t block,
                             const char **start, const char **stop) {
  if (block >= n) return;
  const char *from = arena_printf(x->a, "%s0", name), *to = arena_printf(x->a, "%s1", name);
  text_open(x, "for (long %s = %s, %s; %s < %s; %s = %s) {", from, *start, to, from, *stop, from,
            to);
  text_line(x, "%s = %s + %lld < %s ? %s + %lld : %s;", to, from, (long long)block, *stop, from,
            (long long)block, *stop);
  *start = from, *stop = to;
}

/* " + x", or nothing. */
static const char *added(Arena *a, const char *x) {
  return *x == '0' ? "" : arena_printf(a, " + %s", x);
}

/* The loops over the tiles of a part. p: the names of their bounds become those of the innermost.
 */
static void print_loops(Gen *g, const Group *gr, Text *x, Product *p) {
  const int outside = x->indent;
  print_block_loop(x, "i", product_most_tiles(&p->s), p->s.block, &p->i0, &p->i1);
  if (p->s.partial || (p->s.converted && !p->s.ta && !p->s.convert_tile))
    text_line(x, "const long m0 = %s;", product_row(p, p->i0));
  if (p->s.chains) print_chain_loop(x, p);
  if (p->s.chains && p->s.converted) product_convert_a(g, x, p);
  if (p->s.pack_a) product_pack_a(g, x, p);
  if (p->s.converted && p->s.k <= DEPTH && !p->s.convert_tile) product_convert_a(g, x, p);
  print_block_loop(x, "g", p->s.np, p->s.group, &p->g0, &p->g1);
  if (!p->s.chains) print_chain_loop(x, p);
  if (p->s.converted && p->s.k > DEPTH && !p->s.chains) product_convert_a(g, x, p);
  if (p->s.bits && p->s.pack)
    product_pack_quantized(g, x, p);
  else if (p->s.converted && !p->s.bits && !dtype_is_half(p->s.in))
    product_convert(g, x, p);
  else if (p->s.pack && !p->s.pack_first)
    product_pack(g, gr, x, p);
  text_open(x, "for (long i = %s; i < %s; i++) {", p->i0, p->i1);
  product_tile_rows(x, p);
  if (p->s.convert_tile) product_convert_rows(g, x, p, "r");
  text_open(x, "for (long q = %s; q < %s; q++) {", p->g0, p->g1);
  int64_t tail = p->s.n % p->s.nr;
  if (!tail) {
    print_tile(g, gr, x, p, p->s.nr);
  } else if (p->s.np == 1) {
    print_tile(g, gr, x, p, tail);
  } else {
    text_open(x, "if (q < %lld) {", (long long)(p->s.np - 1));
    print_tile(g, gr, x, p, p->s.nr);
    x->indent--;
    text_open(x, "} else {");
    print_tile(g, gr, x, p, tail);
    text_close(x, "}");
  }
  while (x->indent > outside) text_close(x, "}");
}

void cpu_matmul(Gen *g, const Group *gr) {
  Product p = product_of(g, gr);
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  kernel_schedule(k, &product_kind, &p.s, sizeof p.s);
  print_tiles(g, k, &p);
  print_units(g, k, &p);
  k->flops = p.s.flops;
  k->balance = product_balance;
  const char *stored = dtype_storage(p.s.converted ? p.s.in : p.s.dt);
  int size = dtype_size(p.s.dt);
  const int64_t steps = product_steps(&p.s, p.s.chain);
  if (p.s.pack) kernel_buffer(g, k, x, p.b_type, size, "packed", steps * p.s.nr * p.s.group);
  if (p.s.pack && p.s.integers)
    kernel_buffer(g, k, x, "uint16_t", 2, "packed_s",
                  ceil_div(p.s.chain, p.s.integers) * p.s.nr * p.s.group);
  if (p.s.converted)
    kernel_buffer(g, k, x, p.a_type, size, "packed_a",
                  (p.s.convert_tile ? 1 : p.s.block) * product_a_steps(&p.s, p.s.chain) * A_STRIDE);
  if (p.s.pack_a)
    kernel_buffer(g, k, x, p.T, size, "packed_a",
                  p.s.block * product_packed_depth(&p.s) * A_STRIDE);
  if (p.s.partial)
    kernel_buffer(g, k, x, p.T, size, "partial",
                  p.s.group * p.s.block * product_tallest(&p.s) * p.s.nr);
  else if (p.s.epilogue)
    kernel_buffer(g, k, x, p.T, size, "tile", product_tallest(&p.s) * p.s.nr);
  const int outside = x->indent;
  if (p.s.split != SERIAL)
    print_parts(g, x, &p);
  else if (p.s.batch > 1)
    text_open(x, "for (long bt = 0; bt < %s; bt++) {", p.batch);
  const char *stored_b = !p.s.bits ? stored : p.s.bits == 8 ? "int8_t" : "uint8_t";
  text_line(x, "const %s *A = (const %s *)in%d%s;", stored, stored, p.a,
            added(g->a, text_times(g->a, p.bt, p.s.m * p.s.k)));
  text_line(x, "const %s *B = (const %s *)in%d%s;", stored_b, stored_b, p.b,
            added(g->a, text_times(g->a, p.bt, p.s.k * p.s.n)));
  if (p.s.bits) text_line(x, "const uint16_t *S = (const uint16_t *)in%d;", p.scale);
  if (p.s.integers) text_line(x, "const uint16_t *scale_a = (const uint16_t *)in%d;", p.a_scale);
  if (p.s.unpacked) {
    Product few = p;
    few.s.pack = few.s.pack_first = false;
    text_open(x, "if (%s <= %lld) {", p.m, (long long)p.s.unpacked);
    print_loops(g, gr, x, &few);
    x->indent--;
    text_open(x, "} else {");
  }
  print_loops(g, gr, x, &p);
  while (x->indent > outside) text_close(x, "}");
  declare_slices(k, gr, &p);
}
