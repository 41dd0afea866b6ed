/* Products: C[M, N] = op(A) op(B), one or a batch, with element-wise work on C fused behind,
   through the tile of text/gemm.h. Contract: the operands are inputs of the group and row-major; an
   element of C has the same chains of fma as on the CPU. A thread reads the other operands of an
   element before it writes it, so results may lie over them. */
#include "codegen/cuda/cuda.h"

enum { BUSY = 128 }; /* blocks that fill a GPU */

typedef struct Product {
  int64_t batch, m, n, k;
  bool ta, tb, rounded; /* the product itself is rounded to its dtype */
  Dtype in, dt;         /* stored, computed */
  int a, b;             /* inputs of the group */
  int bm, bn, tm, tn;   /* of a block, of a thread */
} Product;

static Dtype compute_dtype(Dtype dt) {
  if (dt == DT_F16 || dt == DT_BF16) return DT_F32;
  return dt == DT_U8 || dt == DT_BOOL ? DT_I32 : dt;
}

static Product product_of(const Group *gr) {
  static const struct {
    int bm, bn, tm, tn;
  } tiles[] = {{128, 128, 8, 8}, {64, 64, 4, 4}, {32, 32, 2, 2}};
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
  p.rounded = p.dt != p.in;
  for (size_t i = dtype_size(p.dt) == 8; i < sizeof tiles / sizeof *tiles; i++) {
    p.bm = tiles[i].bm, p.bn = tiles[i].bn, p.tm = tiles[i].tm, p.tn = tiles[i].tn;
    int64_t blocks = p.batch * ((p.m + p.bm - 1) / p.bm) * ((p.n + p.bn - 1) / p.bn);
    if (blocks >= BUSY) break;
  }
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
  int vn = p->tn < 4 ? p->tn : 4, v = cuda_width(gr, p->n);
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

void cuda_matmul(Gen *g, const Group *gr) {
  Product p = product_of(gr);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = 2 * (uint64_t)p.batch * (uint64_t)p.m * (uint64_t)p.n * (uint64_t)p.k;
  long long across = (p.n + p.bn - 1) / p.bn, tiles = across * ((p.m + p.bm - 1) / p.bm);
  k->grid = tiles * p.batch;
  const char *T = dtype_prefix(p.dt), *as = stored(g, p.in);
  text_line(x, "typedef Gemm<%s, %s, %s, %s, %lld, %lld, %lld, %s, %s, %d, %d, %d, %d> Tile;",
            g->index, T, as, as, (long long)p.m, (long long)p.n, (long long)p.k,
            p.ta ? "true" : "false", p.tb ? "true" : "false", p.bm, p.bn, p.tm, p.tn);
  text_line(x, "__shared__ __align__(16) Tile tile;");
  if (p.batch > 1)
    text_line(x, "const int bt = (int)(blockIdx.x / %lldu), at = (int)(blockIdx.x %% %lldu);",
              tiles, tiles);
  else
    text_line(x, "const int bt = 0, at = (int)blockIdx.x;");
  text_line(x, "const int m0 = at / %lld * %d, n0 = at %% %lld * %d;", across, p.bm, across, p.bn);
  text_line(x, "%s c[%d][%d];", T, p.tm, p.tn);
  text_line(x, "tile.run(c, in%d + (int64_t)bt * %lld, in%d + (int64_t)bt * %lld, m0, n0);", p.a,
            (long long)(p.m * p.k), p.b, (long long)(p.batch > 1 ? p.k * p.n : 0));
  store(g, gr, x, &p);
}
