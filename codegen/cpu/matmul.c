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
  bool amx = va->type->dtype == DT_BF16 && cpu_target(t)->machine.amx;
  bool scaled = mm->kind == OP_SCALED_MATMUL;
  const int left_bits = scaled ? (int)mm->attr[AT_LEFT_BITS].i : 0;
  int64_t depth = va->type->dim[va->type->rank - (ta ? 2 : 1)] / (left_bits == 16 ? 2 : 1);
  bool quantized = scaled || mm->kind == OP_QUANTIZED_MATMUL;
  Product p = {.a = group_arg(g, mm->operands[0]),
               .b = group_arg(g, mm->operands[1]),
               .scale = quantized ? group_arg(g, mm->operands[mm->noperands - 1]) : -1,
               .a_scale = scaled ? group_arg(g, mm->operands[2]) : -1,
               .scaled = quantized ? (int)mm->attr[AT_GROUP].i : 0,
               .interleaved = vb->layout && vb->layout->interleaved,
               .addend = stored && !amx ? addend_of(g, mm, depth) : -1};
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
  const bool in_panels = !p.s.epilogue && product_value(g, g->yield[0])->layout;
  if (p.bounded_k || (in_panels && p.s.m > 1)) p.s.streams = 0; /* panels of C lie apart */
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
  if (!p->s.amx && !p->deep && (p->s.partial || (p->s.converted && !p->s.ta && !p->s.convert_tile)))
    text_line(x, "const long m0 = %s;", product_row(p, p->i0));
  if (p->s.chains) product_chain_loop(x, p);
  if (p->s.chains && p->s.converted) product_convert_a(g, x, p);
  if (p->s.pack_a) product_pack_a(g, x, p);
  if (p->s.converted && p->s.k <= DEPTH && !p->s.convert_tile) product_convert_a(g, x, p);
  if (p->s.converted && p->deep) {
    product_chain_loop(x, p);
    product_convert_a(g, x, p);
    text_close(x, "}");
  }
  print_block_loop(x, "g", p->s.np, p->s.group, &p->g0, &p->g1);
  if (!p->s.chains && !p->deep) product_chain_loop(x, p);
  if (p->s.converted && p->s.k > DEPTH && !p->s.chains && !p->deep) product_convert_a(g, x, p);
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
    product_tile(g, gr, x, p, p->s.nr);
  } else if (p->s.np == 1) {
    product_tile(g, gr, x, p, tail);
  } else {
    text_open(x, "if (q < %lld) {", (long long)(p->s.np - 1));
    product_tile(g, gr, x, p, p->s.nr);
    x->indent--;
    text_open(x, "} else {");
    product_tile(g, gr, x, p, tail);
    text_close(x, "}");
  }
  while (x->indent > outside) text_close(x, "}");
}

/* Elements of the packed rows of a converted A. */
static int64_t packed_elements(const Product *p) {
  const int64_t chain = product_a_steps(&p->s, p->s.chain);
  const int64_t deep = p->s.deep_row ? ceil_div(p->s.k, DEPTH) * chain : 0;
  if (deep && p->s.m == 1) return deep;
  const int64_t tiles = (p->s.convert_tile ? 1 : p->s.block) * chain * product_packed_rows(&p->s);
  return deep > tiles ? deep : tiles;
}

void cpu_matmul(Gen *g, const Group *gr) {
  Product p = product_of(g, gr);
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  kernel_schedule(k, &product_kind, &p.s, sizeof p.s);
  product_count_tiles(g, k, &p);
  product_units(g, k, &p);
  k->flops = p.s.flops;
  k->balance = product_balance;
  const char *stored = dtype_storage(p.s.converted ? p.s.in : p.s.dt);
  int size = dtype_size(p.s.dt);
  const int64_t steps = product_steps(&p.s, p.s.chain);
  const bool only_deep = p.s.deep_row && p.s.m == 1;
  if (p.s.pack) kernel_buffer(g, k, x, p.b_type, size, "packed", steps * p.s.nr * p.s.group);
  if (p.s.pack && p.s.integers)
    kernel_buffer(g, k, x, "uint16_t", 2, "packed_s",
                  ceil_div(p.s.chain, p.s.integers) * p.s.nr * p.s.group);
  if (p.s.converted) kernel_buffer(g, k, x, p.a_type, size, "packed_a", packed_elements(&p));
  if (p.s.pack_a)
    kernel_buffer(g, k, x, p.T, size, "packed_a",
                  p.s.block * product_packed_depth(&p.s) * A_STRIDE);
  if (p.s.partial && !only_deep)
    kernel_buffer(g, k, x, p.T, size, "partial",
                  p.s.group * p.s.block * product_tile_room(&p.s) * p.s.nr);
  if (p.s.epilogue && (!p.s.partial || p.s.deep_row))
    kernel_buffer(g, k, x, p.T, size, "tile", product_tile_room(&p.s) * p.s.nr);
  if (p.s.streams && p.s.epilogue)
    kernel_buffer(g, k, x, p.T, size, "row_of_c", p.s.streams * p.s.nr);
  const int outside = x->indent;
  if (p.s.amx) text_line(x, "amx_configure();");
  if (p.s.amx_bytes) text_line(x, "amx_configure_bytes();");
  if (p.s.split != SERIAL)
    product_parts(g, x, &p);
  else if (p.s.batch > 1)
    text_open(x, "for (long bt = 0; bt < %s; bt++) {", p.batch);
  const char *stored_b = !p.s.bits ? stored : p.s.bits == 8 ? "int8_t" : "uint8_t";
  text_line(x, "const %s *A = (const %s *)in%d%s;", stored, stored, p.a,
            added(g->a, text_times(g->a, p.bt, p.s.m * p.s.k)));
  text_line(x, "const %s *B = (const %s *)in%d%s;", stored_b, stored_b, p.b,
            added(g->a, text_times(g->a, p.bt, p.s.k * p.s.n)));
  if (p.s.bits) text_line(x, "const uint16_t *S = (const uint16_t *)in%d;", p.scale);
  if (p.s.integers) text_line(x, "const uint16_t *scale_a = (const uint16_t *)in%d;", p.a_scale);
  if (p.s.streams) product_row_streams(g, gr, x, &p);
  if (p.s.deep_row) {
    Product row = product_of_deep_row(&p);
    if (!only_deep) text_open(x, "if (%s == 1) {", p.m);
    print_loops(g, gr, x, &row);
    if (!only_deep) {
      x->indent--;
      text_open(x, "} else {");
    }
  }
  if (p.s.unpacked) {
    Product few = p;
    few.s.pack = few.s.pack_first = false;
    text_open(x, "if (%s <= %lld) {", p.m, (long long)p.s.unpacked);
    print_loops(g, gr, x, &few);
    x->indent--;
    text_open(x, "} else {");
  }
  if (!only_deep) print_loops(g, gr, x, &p);
  while (x->indent > outside) text_close(x, "}");
  if (p.s.amx || p.s.amx_bytes) text_line(x, "amx_release();");
  product_declare_slices(k, gr, &p);
}
