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

enum {
  A_BLOCK = 4 << 20, /* bytes of A near while panels of B go by: B is packed once a block */
  A_NEAR = 1 << 20,  /* bytes of A that stay near while panels of B go by */
  GROUP = 256 << 10, /* bytes of panels that stay near while tiles of A go by */
  B_NEAR = 1 << 20,  /* bytes of B: of more, the next panel is prefetched */
  /* rows of it that a tile prefetches: at least one for each of its own, to prefetch C too */
  PREFETCH_LEAST = 8,
  PREFETCH_MOST = 64,
  PACK_ROWS = 384,     /* rows that pay for packing a panel of B */
  PACK_DEEP = 64,      /* the same where a panel has more rows than the nearest cache has lines */
  PACK_COLUMNS = 32,   /* of B: fewer do not pay for packing A^T */
  PACKED_A = 43 << 15, /* bytes of them on the stack, of which a thread may have 2 MiB: 256 rows */
  PACKED_DEPTH = 8192, /* so deep a packed A^T may be: two tiles of f64 have room */
  PARTIAL_ROWS = 512   /* with sums kept apart, where an epilogue waits for the last chain */
};

static Dtype compute_dtype(Dtype dt) {
  if (dt == DT_F16 || dt == DT_BF16) return DT_F32;
  return dt == DT_U8 || dt == DT_BOOL ? DT_I32 : dt;
}

/* B is stored transposed: for the loops it is not where its panels are of that order. */
static bool is_turned(const Group *g, const Op *mm) {
  const Layout *l = product_value(g, mm->operands[1])->layout;
  return mm->attr[AT_TB].i && !(l && l->order);
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
  if (g->nops != 2 || g->nout != 1 || depth > DEPTH) return -1;
  const Op *sum = value_def(g->e, g->yield[0]);
  if (!sum || sum->kind != OP_ADD) return -1;
  int other = sum->operands[0] == mm->results[0];
  int x = group_arg(g, sum->operands[other]);
  if (sum->operands[!other] != mm->results[0] || x < 0) return -1;
  if (x == group_arg(g, mm->operands[0]) || x == group_arg(g, mm->operands[1])) return -1;
  return product_value(g, g->arg[x])->layout == product_value(g, g->yield[0])->layout ? x : -1;
}

/* Rows of the next panel for each tile of a block to prefetch, as many as make the whole of it: a
   power of two, so that they lie in one panel of a B that is stored in panels the other way. Not
   beside a packed A, which fills the near cache. */
static int64_t rows_to_prefetch(const Product *p, const Layout *l) {
  if (p->converted || p->pack_a || p->group >= p->np || p->k * p->n * dtype_size(p->dt) <= B_NEAR)
    return 0;
  if (p->tb && !l && p->chain < p->k) return 0; /* no rows: columns that lie apart */
  int64_t rows = PREFETCH_LEAST;
  while (rows < PREFETCH_MOST && rows * p->block < p->chain) rows *= 2;
  if (p->block == 1 || rows > p->chain || (p->tb && l && l->nr % rows)) return 0;
  return rows;
}

static Product product_of(const Target *t, const Group *g) {
  const CpuTarget *cpu = cpu_target(t);
  const Op *mm = g->root;
  const Value *va = product_value(g, mm->operands[0]), *vb = product_value(g, mm->operands[1]);
  const Type *c = product_value(g, mm->results[0])->type;
  Product p = {.ta = mm->attr[AT_TA].i != 0, .tb = is_turned(g, mm), .batch = 1};
  for (int i = 0; i < c->rank - 2; i++) p.batch *= c->dim[i];
  p.m = c->dim[c->rank - 2];
  p.n = c->dim[c->rank - 1];
  p.k = va->type->dim[va->type->rank - (p.ta ? 2 : 1)];
  p.a = group_arg(g, mm->operands[0]);
  p.b = group_arg(g, mm->operands[1]);
  p.dt = compute_dtype(va->type->dtype);
  p.in = va->type->dtype;
  p.converted = p.dt != p.in;
  p.chain = p.k < DEPTH ? p.k : DEPTH;
  p.T = dtype_prefix(p.dt);
  p.b_panels = vb->layout != NULL;
  int lanes = cpu->vector / dtype_size(p.dt);
  p.nr = layout_width(g, mm);
  if (!p.nr) {
    p.nr = cpu->vectors * lanes;
    if (p.n < p.nr) p.nr = (int)((p.n + lanes - 1) / lanes) * lanes;
  }
  bool stored = compute_dtype(c->dtype) == c->dtype;
  p.addend = stored ? addend_of(g, mm, p.k) : -1;
  p.epilogue = !stored || (g->nops > 1 && p.addend < 0);
  p.np = (p.n + p.nr - 1) / p.nr;
  int64_t most = p.nr <= 2 * lanes && cpu->vectors == 4 ? 8 : p.nr <= lanes ? 8 : cpu->rows;
  p.tiles = (p.m + most - 1) / most;
  if (p.np == 1) /* equal tiles let threads keep their rows from launch to launch */
    for (int64_t r = most; r >= most - 1; r--)
      if (p.m % r == 0) {
        p.tiles = p.m / r;
        break;
      }
  p.rows = p.tiles ? p.m / p.tiles : 0;
  p.low = p.tiles - (p.tiles ? p.m % p.tiles : 0);
  p.pack = p.tb || p.converted ||
           (!p.b_panels && p.m >= (p.k > 512 ? PACK_DEEP : PACK_ROWS) && p.np > 1);
  p.keep = p.pack && !p.tb && !p.converted;
  p.pack_a = !p.converted && p.ta && p.n > PACK_COLUMNS && p.k <= PACKED_DEPTH &&
             (p.k > 128 || (p.k > 16 && p.m * dtype_size(p.dt) % 512 == 0));
  p.chains = p.pack_a && p.k > DEPTH && !p.epilogue;
  p.partial = p.epilogue && p.k > DEPTH;
  int64_t depth = p.chain ? p.chain : 1;
  p.group = GROUP / (dtype_size(p.dt) * p.nr * depth);
  if (p.group > p.np) p.group = p.np;
  if (p.group < 1) p.group = 1;
  int64_t block = A_BLOCK / (dtype_size(p.dt) * depth);
  if (p.partial && block > PARTIAL_ROWS) block = PARTIAL_ROWS;
  p.block = tallest(&p) && block > tallest(&p) ? block / tallest(&p) : 1;
  int64_t packed = p.pack_a      ? PACKED_A / (packed_depth(&p) * A_STRIDE * dtype_size(p.dt))
                   : p.converted ? PACKED_A / (depth * A_STRIDE * dtype_size(p.dt))
                                 : p.block;
  if (p.block > packed) p.block = packed;
  if (p.tiles && p.block) { /* blocks of one size: each of them packs B */
    int64_t blocks = (p.tiles + p.block - 1) / p.block;
    p.block = (p.tiles + blocks - 1) / blocks;
  }
  int64_t a_rows = p.block * tallest(&p) < p.m ? p.block * tallest(&p) : p.m;
  if (p.k > DEPTH && !p.partial && p.group < p.np && a_rows * p.k * dtype_size(p.dt) > A_NEAR)
    p.chains = true;
  p.prefetch = rows_to_prefetch(&p, vb->layout);
  p.flops = 2 * (uint64_t)p.batch * (uint64_t)p.m * (uint64_t)p.n * (uint64_t)p.k;
  if (p.flops / 2 < SERIAL_WORK * 4)
    p.split = SERIAL, p.units = 1;
  else if (p.batch > 1)
    p.split = BY_BATCH, p.units = p.batch;
  else if (p.np == 1 || (p.np < 4 && p.tiles >= 4 * p.np))
    p.split = BY_ROWS, p.units = p.tiles;
  else
    p.split = BY_PANEL, p.units = p.np;
  if (p.units == 1) p.split = SERIAL; /* one tile, though a deep one */
  return p;
}

/* A tile function for these rows and columns: shared by every kernel with the same strides. One
   that keeps reads B as it lies. */
static const char *tile_function(Gen *g, const Product *p, int64_t rows, int64_t width, bool keep) {
  int64_t li = p->ta ? 1 : p->converted ? p->chain : p->k;
  int64_t lk = !p->ta ? 1 : p->pack_a || p->converted ? A_STRIDE : p->m;
  int64_t lb = !keep && (p->pack || p->b_panels) ? p->nr : p->n;
  const char *of = intern_printf(g->ctx, "%s_%lldx%lld_a%lld_%lld_b%lld", p->T, (long long)rows,
                                 (long long)width, (long long)li, (long long)lk, (long long)lb);
  const char *name = keep ? intern_printf(g->ctx, "tile_%s_to%d", of, p->nr)
                          : intern_printf(g->ctx, "tile_%s", of);
  const char *shape =
      intern_printf(g->ctx, "%s, %s, %lld, %lld, %lldL, %lldL, %lldL", name, p->T, (long long)rows,
                    (long long)width, (long long)li, (long long)lk, (long long)lb);
  gen_helper(g, keep ? intern_printf(g->ctx, "GC_TILE_PACKING(%s, %d)\n", shape, p->nr)
                     : intern_printf(g->ctx, "GC_TILE(%s)\n", shape));
  return name;
}

static void print_panel(Text *x, const Product *p) {
  if (p->pack)
    text_line(x, "%s%s *b = packed + (q - g0) * depth * %d;", p->keep ? "" : "const ", p->T, p->nr);
  else if (p->b_panels)
    text_line(x, "const %s *b = B + (q * %lld + k0) * %d;", p->T, (long long)p->k, p->nr);
  else
    text_line(x, "const %s *b = B + k0 * %lld + q * %d;", p->T, (long long)p->n, p->nr);
}

/* Texts of C's position on every axis, the last one `(n + j)`. */
static const char **coordinates(Gen *g, const Type *c) {
  const char **coord = ARENA_ARRAY(g->a, const char *, c->rank);
  int64_t stride = 1;
  for (int i = c->rank - 3; i >= 0; i--) {
    coord[i] = intern_printf(g->ctx, i ? "(bt / %lld %% %lld)" : "(bt / %lld)", (long long)stride,
                             (long long)c->dim[i]);
    stride *= c->dim[i];
  }
  coord[c->rank - 2] = "row";
  coord[c->rank - 1] = "(n + j)";
  return coord;
}

static void print_epilogue(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width) {
  const Type *c = product_value(gr, gr->root->results[0])->type;
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const long row = m + r;");
  if (p->batch > 1)
    text_line(x, "const long flat = (bt * %lld + row) * %lld + n;", (long long)p->m,
              (long long)p->n);
  else
    text_line(x, "const long flat = row * %lld + n;", (long long)p->n);
  text_line(x, "const long panel = (q * %lld + row) * %d;", (long long)p->m, p->nr);
  text_line(x, "const %s *acc = c + r * %d;", p->T, p->nr);
  text_open(x, "GC_IVDEP for (long j = 0; j < %lld; j++) {", (long long)width);
  Site s = {.shape = c,
            .coord = coordinates(g, c),
            .flat = "(flat + j)",
            .panel = "(panel + j)",
            .have = gr->root->results[0],
            .have_text = "acc[j]"};
  if (compute_dtype(c->dtype) != c->dtype) /* the product itself is rounded to its dtype */
    s.have_text = dtype_is_float(c->dtype)
                      ? intern_printf(g->ctx, "%s_round(acc[j])", dtype_name(c->dtype))
                      : intern_printf(g->ctx, "(%s)acc[j]", dtype_compute(c->dtype));
  site_body(g, x, gr, &s);
  text_close(x, "}");
  text_close(x, "}");
}

/* Asks for what the epilogue reads and writes of a tile while the product is computed: its rows lie
   too far apart for the hardware to know. */
static void print_prefetches(Text *x, const Group *gr, const Product *p, int64_t width) {
  const Type *c = product_value(gr, gr->root->results[0])->type;
  text_open(x, p->partial ? "if (k0 + depth == %lld) {" : "{", (long long)p->k);
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const long flat = (bt * %lld + m + r) * %lld + n;", (long long)p->m,
            (long long)p->n);
  text_line(x, "const long panel = (q * %lld + m + r) * %d;", (long long)p->m, p->nr);
  text_line(x, "(void)flat, (void)panel;");
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    bool out = i >= gr->nin;
    ValueId v = out ? gr->yield[i - gr->nin] : gr->arg[i];
    if (value_type(gr->e, v)->numel != c->numel || i == p->a || i == p->b) continue;
    if (!out && group_arg(gr, v) != i) continue;
    int size = dtype_size(value_type(gr->e, v)->dtype);
    for (int64_t j = 0; j < width; j += 64 / size)
      text_line(x, "GC_PREFETCH(%s%d, %s + %lld%s);", out ? "out" : "in", out ? i - gr->nin : i,
                product_value(gr, v)->layout ? "panel" : "flat", (long long)j, out ? ", 1" : "");
  }
  text_close(x, "}");
  text_close(x, "}");
}

static void print_calls(Gen *g, Text *x, const Product *p, int64_t width, bool keep,
                        const char *call) {
  if (p->low < p->tiles) {
    text_line(x, "if (rows == %lld) %s%s", (long long)p->rows,
              tile_function(g, p, p->rows, width, keep), call);
    text_line(x, "else %s%s", tile_function(g, p, p->rows + 1, width, keep), call);
  } else {
    text_line(x, "(void)rows;");
    text_line(x, "%s%s", tile_function(g, p, p->rows, width, keep), call);
  }
}

/* One tile: `rows` rows from m on, `width` columns of panel q. */
static void print_tile(Gen *g, const Group *gr, Text *x, const Product *p, int64_t width) {
  bool layout = !p->epilogue && product_value(gr, gr->yield[0])->layout;
  text_line(x, "const long n = q * %d;", p->nr);
  if (p->epilogue) text_line(x, "(void)n;");
  print_panel(x, p);
  const char *ld =
      intern_printf(g->ctx, "%lldL", (long long)(p->epilogue || layout ? p->nr : p->n));
  if (p->partial)
    text_line(x, "%s *c = partial + ((q - g0) * %lld + m - m0) * %d;", p->T,
              (long long)(p->block * tallest(p)), p->nr);
  else if (p->epilogue)
    text_line(x, "%s *c = tile;", p->T);
  else if (layout)
    text_line(x, "%s *c = (%s *)out0 + (q * %lld + m) * %d;", p->T, p->T, (long long)p->m, p->nr);
  else
    text_line(x, "%s *c = (%s *)out0 + (bt * %lld + m) * %lld + n;", p->T, p->T, (long long)p->m,
              (long long)p->n);
  long long chain = p->chain;
  const char *k0 = intern_printf(g->ctx, " + k0 * %d", A_STRIDE);
  const char *a =
      p->converted && !p->ta ? intern_printf(g->ctx, "packed_a + (m - m0) * %lld", chain)
      : p->converted         ? intern_printf(g->ctx, "packed_a + (i - i0) * %lld", chain * A_STRIDE)
      : p->pack_a            ? intern_printf(g->ctx, "packed_a + (i - i0) * %lld%s",
                                             (long long)packed_depth(p) * A_STRIDE, p->chains ? "" : k0)
      : p->ta                ? intern_printf(g->ctx, "A + k0 * %lld + m", (long long)p->m)
                             : intern_printf(g->ctx, "A + m * %lld + k0", (long long)p->k);
  const char *old = p->addend >= 0
                        ? intern_printf(g->ctx, "(const %s *)in%d + (c - out0)", p->T, p->addend)
                    : p->k > DEPTH ? "k0 == 0 ? NULL : c"
                                   : "NULL";
  const char *prefetch = "NULL, 0, 0";
  if (p->prefetch) {
    product_prefetch(g, gr, x, p);
    const char *interval = intern_printf(g->ctx, "%lldL", (long long)(p->chain / p->prefetch));
    if (p->k % p->chain) /* the last chain is shorter */
      interval = intern_printf(g->ctx, "(depth < %lld ? 1 : depth / %lld)", (long long)p->prefetch,
                               (long long)p->prefetch);
    prefetch = intern_printf(g->ctx, "prefetch, %lldL, %s",
                             (long long)(p->tb || p->b_panels ? p->nr : p->n), interval);
  }
  const char *call = intern_printf(g->ctx, "(%s, b, c, %s, depth, %s, %s);", a, ld, old, prefetch);
  if (p->epilogue) print_prefetches(x, gr, p, width);
  if (p->keep) {
    long long n = p->n;
    text_line(x, "const %s *from = B + k0 * %lld + n;", p->T, n);
    text_open(x, "if (i == i0) {");
    print_calls(
        g, x, p, width, true,
        intern_printf(g->ctx, "(%s, from, c, %s, depth, %s, %s, b);", a, ld, old, prefetch));
    x->indent--;
    text_open(x, "} else {");
  }
  print_calls(g, x, p, width, false, call);
  if (p->keep) text_close(x, "}");
  if (p->partial) text_open(x, "if (k0 + depth == %lld) {", (long long)p->k);
  if (p->epilogue) print_epilogue(g, gr, x, p, width);
  if (p->partial) text_close(x, "}");
}

/* What each unit touches, for the barriers. */
static void declare_slices(Kernel *k, const Group *gr, const Product *p) {
  const Type *c = product_value(gr, gr->root->results[0])->type;
  bool even_rows = p->low == p->tiles, even_columns = p->n % p->nr == 0;
  for (int out = 0; out < 2; out++)
    for (int i = 0; i < (out ? gr->nout : gr->nin); i++) {
      if (!out && (i == p->a || i == p->b)) continue;
      const Value *v = product_value(gr, out ? gr->yield[i] : gr->arg[i]);
      uint64_t size = (uint64_t)dtype_size(v->type->dtype), storage = 0;
      if (!layout_bytes(v->type, v->layout, &storage)) continue;
      int64_t rows = 0;
      uint64_t stride = 0, width = storage;
      bool full = v->type->rank == c->rank && v->type->numel == c->numel;
      if (p->split == BY_BATCH && full) rows = 1;
      if (p->split == BY_PANEL && full && v->layout) rows = 1;
      if (p->split == BY_PANEL && full && !v->layout && even_columns)
        rows = p->m, stride = width = (uint64_t)p->n * size;
      if (p->split == BY_PANEL && v->type->rank >= 1 && v->type->numel == p->n &&
          v->type->dim[v->type->rank - 1] == p->n && even_columns)
        rows = 1; /* along the columns */
      if (p->split == BY_ROWS && full && even_rows && (!v->layout || p->np == 1)) rows = 1;
      if (!rows) continue;
      if (out)
        kernel_split_out(k, gr, i, rows, stride, width);
      else
        kernel_split_in(k, gr, i, rows, stride, width);
    }
  if (p->converted || p->a == p->b) return;
  uint64_t size = (uint64_t)dtype_size(p->dt), a = 0, b = 0;
  if (!layout_bytes(product_value(gr, gr->arg[p->a])->type, NULL, &a) ||
      !layout_bytes(product_value(gr, gr->arg[p->b])->type,
                    product_value(gr, gr->arg[p->b])->layout, &b))
    return;
  if (p->split == BY_BATCH) {
    kernel_split_in(k, gr, p->a, 1, 0, a);
    kernel_split_in(k, gr, p->b, 1, 0, b);
  } else if (p->split == BY_ROWS && even_rows) {
    if (p->ta)
      kernel_split_in(k, gr, p->a, p->k, (uint64_t)p->m * size, (uint64_t)p->m * size);
    else
      kernel_split_in(k, gr, p->a, 1, 0, a);
  } else if (p->split == BY_PANEL) {
    if (p->b_panels && !p->tb)
      kernel_split_in(k, gr, p->b, 1, 0, b);
    else if (!p->tb && even_columns)
      kernel_split_in(k, gr, p->b, p->k, (uint64_t)p->n * size, (uint64_t)p->n * size);
    else if (p->tb && even_columns && !p->b_panels)
      kernel_split_in(k, gr, p->b, 1, 0, b);
  }
}

static void print_chain_loop(Text *x, const Product *p) {
  if (p->k > DEPTH) {
    text_open(x, "for (long k0 = 0; k0 < %lld; k0 += %d) {", (long long)p->k, DEPTH);
    text_line(x, "const long depth = %lld - k0 < %d ? %lld - k0 : %d;", (long long)p->k, DEPTH,
              (long long)p->k, DEPTH);
  } else {
    text_open(x, "{");
    text_line(x, "const long k0 = 0, depth = %lld;", (long long)p->k);
  }
}

void cpu_matmul(Gen *g, const Group *gr) {
  Product p = product_of(g->target, gr);
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  kernel_units(k, p.units);
  k->flops = p.flops;
  const char *stored = dtype_storage(p.converted ? p.in : p.dt);
  text_line(x, "const %s *A0 = (const %s *)in%d, *B0 = (const %s *)in%d;", stored, stored, p.a,
            stored, p.b);
  int size = dtype_size(p.dt);
  if (p.pack) kernel_buffer(g, k, x, p.T, size, "packed", p.chain * p.nr * p.group);
  if (p.converted) kernel_buffer(g, k, x, p.T, size, "packed_a", p.block * p.chain * A_STRIDE);
  if (p.pack_a)
    kernel_buffer(g, k, x, p.T, size, "packed_a", p.block * packed_depth(&p) * A_STRIDE);
  if (p.partial)
    kernel_buffer(g, k, x, p.T, size, "partial", p.group * p.block * tallest(&p) * p.nr);
  else if (p.epilogue)
    kernel_buffer(g, k, x, p.T, size, "tile", tallest(&p) * p.nr);
  if (p.split == BY_BATCH)
    text_open(x, "for (long bt = u0; bt < u1; bt++) {");
  else if (p.batch > 1)
    text_open(x, "for (long bt = 0; bt < %lld; bt++) {", (long long)p.batch);
  else
    text_open(x, "{");
  if (p.batch == 1) text_line(x, "const long bt = 0;");
  text_line(x, "const %s *A = A0 + bt * %lld, *B = B0 + bt * %lld;", stored, (long long)(p.m * p.k),
            (long long)(p.batch > 1 ? p.k * p.n : 0));
  const char *first = p.split == BY_ROWS ? "u0" : "0";
  const char *last = p.split == BY_ROWS ? "u1" : intern_printf(g->ctx, "%lld", (long long)p.tiles);
  text_open(x, "for (long i0 = %s, i1; i0 < %s; i0 = i1) {", first, last);
  text_line(x, "i1 = i0 + %lld < %s ? i0 + %lld : %s;", (long long)p.block, last,
            (long long)p.block, last);
  if (p.partial || (p.converted && !p.ta))
    text_line(x, "const long m0 = i0 * %lld + (i0 > %lld ? i0 - %lld : 0);", (long long)p.rows,
              (long long)p.low, (long long)p.low);
  if (p.chains) print_chain_loop(x, &p);
  if (p.chains && p.converted) product_convert_a(g, x, &p);
  if (p.pack_a) product_pack_a(g, x, &p);
  if (p.converted && p.k <= DEPTH) {
    text_open(x, "{");
    text_line(x, "const long k0 = 0, depth = %lld;", (long long)p.k);
    product_convert_a(g, x, &p);
    text_close(x, "}");
  }
  const char *first_panel = p.split == BY_PANEL ? "u0" : "0";
  const char *last_panel =
      p.split == BY_PANEL ? "u1" : intern_printf(g->ctx, "%lld", (long long)p.np);
  text_open(x, "for (long g0 = %s, g1; g0 < %s; g0 = g1) {", first_panel, last_panel);
  text_line(x, "g1 = g0 + %lld < %s ? g0 + %lld : %s;", (long long)p.group, last_panel,
            (long long)p.group, last_panel);
  if (!p.chains) print_chain_loop(x, &p);
  if (p.converted && p.k > DEPTH && !p.chains) product_convert_a(g, x, &p);
  if (p.converted)
    product_convert(g, x, &p);
  else if (p.pack && !p.keep)
    product_pack(g, gr, x, &p);
  text_open(x, "for (long i = i0; i < i1; i++) {");
  product_tile_rows(x, &p);
  text_open(x, "for (long q = g0; q < g1; q++) {");
  int64_t tail = p.n % p.nr;
  if (!tail) {
    print_tile(g, gr, x, &p, p.nr);
  } else if (p.np == 1) {
    print_tile(g, gr, x, &p, tail);
  } else {
    text_open(x, "if (q < %lld) {", (long long)(p.np - 1));
    print_tile(g, gr, x, &p, p.nr);
    x->indent--;
    text_open(x, "} else {");
    print_tile(g, gr, x, &p, tail);
    text_close(x, "}");
  }
  for (int i = 0; i < 6; i++) text_close(x, "}");
  declare_slices(k, gr, &p);
}
