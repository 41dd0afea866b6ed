/* Products: C[M, N] = op(A) op(B), one or a batch, with element-wise work on C fused behind. Half
   precisions, and f32 that the program has rounded to tf32, go through tensor cores
   (text/tensor.h), all else through text/gemm.h. Contract: the operands are inputs of the group and
   row-major; not on tensor cores an element of C has the same chains of fma as on the CPU. A thread
   reads the other operands of an element before it writes it, so results may lie over them. */
#include "codegen/gpu/gpu.h"

extern const char cuda_text_tensor[];

enum {
  BUSY = 128,      /* blocks that fill a GPU */
  RING_STAGES = 4, /* of text/tensor.h */
  RING_ROW = 64    /* bytes of a row or column of an operand in a stage */
};

typedef struct Product {
  int64_t batch, m, n, k;
  bool ta, tb, rounded; /* the product itself is rounded to its dtype */
  Dtype in, dt;         /* stored, computed */
  int a, b;             /* inputs of the group */
  int bm, bn, tm, tn;   /* of a block, of a thread */
  bool tensor;          /* on tensor cores */
  int wm, wn;           /* there: of a warp */
  int copy_a, copy_b;   /* there: bytes of a copy to shared memory */
  int side;             /* elements of C that a thread has side by side */
} Product;

static Dtype compute_dtype(Dtype dt) {
  if (dt == DT_F16 || dt == DT_BF16) return DT_F32;
  return dt == DT_U8 || dt == DT_BOOL ? DT_I32 : dt;
}

/* Blocks of C that suit it: the largest of which there are enough. */
static bool fills(const Product *p) {
  return p->batch * ((p->m + p->bm - 1) / p->bm) * ((p->n + p->bn - 1) / p->bn) >= BUSY;
}

static void choose_tile(Product *p) {
  static const struct {
    int bm, bn, tm, tn;
  } tiles[] = {{128, 128, 8, 8}, {64, 64, 4, 4}, {32, 32, 2, 2}};
  for (size_t i = dtype_size(p->dt) == 8; i < sizeof tiles / sizeof *tiles; i++) {
    p->bm = tiles[i].bm, p->bn = tiles[i].bn, p->tm = tiles[i].tm, p->tn = tiles[i].tn;
    if (fills(p)) break;
  }
  p->side = p->tn < 4 ? p->tn : 4;
}

/* Bytes of the widest copy that rows of n elements allow. */
static int copy_of(int64_t n, Dtype dt) {
  int bytes = 16;
  while (n * dtype_size(dt) % bytes) bytes /= 2;
  return bytes;
}

/* A warp's part is 64 x 64 where there is enough to do: with less of it shared memory could not
   feed the tensor cores. It takes 128 registers for sums and 64 for operands. */
static void choose_tensor_tile(Product *p) {
  static const struct {
    int bm, bn, wm, wn;
  } tiles[] = {{128, 256, 64, 64}, {128, 128, 64, 64}, {64, 64, 32, 32}, {32, 32, 16, 16}};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    p->bm = tiles[i].bm, p->bn = tiles[i].bn, p->wm = tiles[i].wm, p->wn = tiles[i].wn;
    if (fills(p)) break;
  }
  p->tm = p->wm / 8, p->tn = p->wn / 4, p->side = 2;
}

static Product product_of(Gen *g, const Group *gr) {
  const Op *mm = gr->root;
  const Type *ta = value_type(gr->e, mm->operands[0]), *c = value_type(gr->e, mm->results[0]);
  Product p = {.ta = mm->attr[AT_TA].i != 0, .tb = mm->attr[AT_TB].i != 0, .batch = 1};
  for (int i = 0; i < c->rank - 2; i++) p.batch *= c->dim[i];
  p.m = c->dim[c->rank - 2];
  p.n = c->dim[c->rank - 1];
  p.k = ta->dim[ta->rank - (p.ta ? 2 : 1)];
  p.a = group_arg(gr, mm->operands[0]);
  p.b = group_arg(gr, mm->operands[1]);
  p.in = ta->dtype;
  p.dt = compute_dtype(p.in);
  p.rounded = compute_dtype(c->dtype) != c->dtype;
  p.copy_a = copy_of(p.ta ? p.m : p.k, p.in);
  p.copy_b = copy_of(p.tb ? p.k : p.n, p.in);
  bool narrow = p.in == DT_F16 || p.in == DT_BF16 || mm->attr[AT_TF32].i;
  const char *old = cuda_target(g->target)->pre_sm80;
  p.tensor = narrow && !g->opt->exact && !old;
  ((CudaNotes *)g->own)->slow_products |= narrow && !g->opt->exact && old;
  if (p.tensor)
    choose_tensor_tile(&p);
  else
    choose_tile(&p);
  return p;
}

static const char *stored(Gen *g, Dtype dt) {
  switch ((int)dt) {
  case DT_F16: return "AsF16";
  case DT_BF16: return "AsBf16";
  case DT_U8:
  case DT_BOOL: return "AsByte";
  default: return arena_printf(g->a, "AsItIs<%s>", dtype_prefix(dt));
  }
}

/* Positions of C: batch axes from bt, then row, then a column that the vector names. */
static Printer site(Gen *g, const Group *gr) {
  Printer p = printer_new(g, gr, 3, 1);
  int rank = gr->domain->rank;
  int64_t stride = 1;
  for (int i = rank - 3; i >= 0; i--) {
    p.coord[i].text =
        i ? arena_printf(g->a, "(bt / %lld %% %lld)", (long long)stride, (long long)p.coord[i].dim)
          : arena_printf(g->a, "(bt / %lld)", (long long)stride);
    p.coord[i].level = 1;
    stride *= p.coord[i].dim;
  }
  p.coord[rank - 2] = (Coord){p.coord[rank - 2].dim, "row", 1};
  p.coord[rank - 1] = (Coord){p.coord[rank - 1].dim, "n", 1};
  return p;
}

static void store(Gen *g, const Group *gr, Text *x, const Product *p) {
  ValueId root = gr->root->results[0];
  Dtype dt = value_type(gr->e, root)->dtype;
  Printer s = site(g, gr);
  int vn = p->side, v = cuda_width(gr, p->n);
  if (v > vn) v = vn;
  const char *acc = v > 1 ? arena_printf(g->a, "c[i][q * %d + l]", v) : "c[i][q]";
  if (p->rounded)
    acc = dtype_is_float(dt) ? scalar_round_text(g->a, dt, acc)
                             : arena_printf(g->a, "(%s)%s", dtype_compute(dt), acc);
  printer_bind(&s, root, printer_identity(&s, root), (Printed){acc, v > 1 ? 2 : 1});
  text_line(x, "#pragma unroll");
  text_open(x, "for (int i = 0; i < %d; i++) {", p->tm);
  text_line(x, "const int row = m0 + Tile::row(i);");
  text_line(x, "#pragma unroll");
  text_open(x, "for (int q = 0; q < %d; q++) {", p->tn / v);
  if (v == vn)
    text_line(x, "const int n = n0 + Tile::col(q);");
  else
    text_line(x, "const int n = n0 + Tile::col(q * %d / %d) + q * %d %% %d;", v, vn, v, vn);
  bool edge_m = p->m % p->bm, edge_n = p->n % p->bn;
  if (edge_m && edge_n)
    text_open(x, "if (row < %lld && n < %lld) {", (long long)p->m, (long long)p->n);
  else if (edge_m || edge_n)
    text_open(x, edge_m ? "if (row < %lld) {" : "if (n < %lld) {",
              (long long)(edge_m ? p->m : p->n));
  else
    text_open(x, "{");
  s.level[1]->indent = x->indent;
  cuda_vector(&s, gr->domain->rank - 1, "n", v, 1, NULL);
  text_append(x, s.level[0]);
  text_append(x, s.level[1]);
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

static void print_tensor_tile(Gen *g, Text *x, const Product *p) {
  const char *of = p->in == DT_F16 ? "OfF16" : p->in == DT_BF16 ? "OfBf16" : "OfTf32";
  gen_helper(g, cuda_text_tensor);
  text_line(x, "typedef TensorTile<%s, %s, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d, %d, %d> Tile;",
            g->index, of, (long long)p->m, (long long)p->n, (long long)p->k,
            p->ta ? "true" : "false", p->tb ? "true" : "false", p->bm, p->bn, p->wm, p->wn,
            p->copy_a, p->copy_b);
  text_line(x, "extern __shared__ __align__(128) char ring[];");
}

static void print_tile(Gen *g, Text *x, const Product *p) {
  const char *as = stored(g, p->in);
  text_line(x, "typedef Gemm<%s, %s, %s, %s, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d> Tile;",
            g->index, dtype_prefix(p->dt), as, as, (long long)p->m, (long long)p->n,
            (long long)p->k, p->ta ? "true" : "false", p->tb ? "true" : "false", p->bm, p->bn,
            p->tm, p->tn);
  text_line(x, "__shared__ __align__(16) Tile tile;");
}

void cuda_matmul(Gen *g, const Group *gr) {
  Product p = product_of(g, gr);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = 2 * (uint64_t)p.batch * (uint64_t)p.m * (uint64_t)p.n * (uint64_t)p.k;
  long long across = (p.n + p.bn - 1) / p.bn, tiles = across * ((p.m + p.bm - 1) / p.bm);
  k->grid = tiles * p.batch;
  cuda_counts(g, gr->root, p.m, "rows");
  cuda_counts(g, gr->root, p.n, "columns");
  cuda_counts(g, gr->root, p.k, "elements a sum");
  if (p.tensor) {
    k->block = p.bm / p.wm * (p.bn / p.wn) * WARP;
    k->shared = RING_STAGES * RING_ROW * (p.bm + p.bn);
    print_tensor_tile(g, x, &p);
  } else {
    k->few_blocks = !fills(&p); /* there is one for each multiprocessor at most */
    print_tile(g, x, &p);
  }
  if (p.batch > 1)
    text_line(x, "const int bt = (int)(blockIdx.x / %lldu), at = (int)(blockIdx.x %% %lldu);",
              tiles, tiles);
  else
    text_line(x, "const int bt = 0, at = (int)blockIdx.x;");
  if (p.tensor) {
    text_line(x, "int m0, n0;");
    text_line(x, "Tile::place(at, m0, n0);");
  } else {
    text_line(x, "const int m0 = at / %lld * %d, n0 = at %% %lld * %d;", across, p.bm, across,
              p.bn);
  }
  text_line(x, "%s c[%d][%d];", dtype_prefix(p.dt), p.tm, p.tn);
  text_line(x, "%srun(c, %sin%d + (int64_t)bt * %lld, in%d + (int64_t)bt * %lld, m0, n0);",
            p.tensor ? "Tile::" : "tile.", p.tensor ? "ring, " : "", p.a, (long long)(p.m * p.k),
            p.b, (long long)(p.batch > 1 ? p.k * p.n : 0));
  store(g, gr, x, &p);
}
