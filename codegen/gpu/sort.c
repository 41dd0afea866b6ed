/* Running sums along an axis: a thread does one line of elements, in the CPU's order. Sorting along
   the last axis: a block merges the runs of one row, each thread finding by bisection where its
   elements go, forth and back between result and scratch. Contract: of sums an element is read
   right before its sum is written, so the result may lie over the operand; neighbouring threads
   have neighbouring lines. */
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"

uint64_t cuda_order_scratch(const Group *gr) {
  return gr->root->kind == OP_ARGSORT ? value_type(gr->e, gr->out[0])->bytes : 0;
}

static void running_sums(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  int axis = (int)op->attr[AT_AXIS].i;
  long long n = t->dim[axis], inner = 1;
  for (int i = axis + 1; i < t->rank; i++) inner *= t->dim[i];
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = (uint64_t)t->numel;
  cuda_threads(g, k, n ? t->numel / n : 0, "t");
  if (t->numel == 0) return;
  text_line(x, "const %s first = t / %lld * %lld + t %% %lld;", g->index, inner, n * inner, inner);
  text_line(x, "%s sum = %s;", dtype_compute(t->dtype), reduce_start(g, OP_SUM, t->dtype, n));
  text_open(x, "for (%s i = 0; i < %lld; i++) {", g->index, n);
  text_line(x, "const %s at = first + %s * %lld;", g->index,
            op->attr[AT_BACKWARD].i ? arena_printf(g->a, "(%lld - i)", n - 1) : "i", inner);
  text_line(x, "sum += %s;", scalar_load(g->a, t->dtype, "in0", "at"));
  text_line(x, "out0[at] = %s;", scalar_store(g->a, t->dtype, "sum"));
  text_close(x, "}");
}

static void sort(Gen *g, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  long long n = t->dim[t->rank - 1];
  bool down = gr->root->attr[AT_DESCENDING].i, odd = false;
  for (long long run = 1; run < n; run *= 2) odd = !odd;
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  if (t->numel == 0) return;
  k->grid = t->numel / n;
  k->args[gr->nin].access.read = true; /* merges go back and forth */
  const char *T = dtype_compute(t->dtype), *I = g->index;
  text_line(x, "const %s u = (%s)blockIdx.x * %lld;", I, I, n);
  text_line(x, "const %s *row = in0 + u;", dtype_storage(t->dtype));
  text_line(x, "int *from = %s + u, *to = %s + u;", odd ? "(int *)scratch" : "out0",
            odd ? "out0" : "(int *)scratch");
  text_line(x, "for (%s i = (int)threadIdx.x; i < %lld; i += %d) from[i] = (int)i;", I, n,
            k->block);
  text_open(x, "for (int64_t run = 1; run < %lld; run *= 2) {", n);
  text_line(x, "__syncthreads();");
  text_open(x, "for (%s i = (int)threadIdx.x; i < %lld; i += %d) {", I, n, k->block);
  text_line(x, "const int64_t first = i / (2 * run) * (2 * run);");
  text_line(x, "const int64_t mid = first + run < %lld ? first + run : %lld;", n, n);
  text_line(x, "const int64_t end = mid + run < %lld ? mid + run : %lld;", n, n);
  text_line(x, "const bool left = i < mid;");
  text_line(x, "const int own = from[i];");
  text_line(x, "const %s mine = %s;", T, scalar_load(g->a, t->dtype, "row", "own"));
  /* how many of the other run come before it: of the right one those that are in front of it, of
     the left one all that it is not in front of */
  text_line(x, "const int64_t start = left ? mid : first;");
  text_line(x, "int64_t lo = start, hi = left ? end : mid;");
  text_open(x, "while (lo < hi) {");
  text_line(x, "const int64_t at = (lo + hi) / 2;");
  text_line(x, "const %s other = %s;", T, scalar_load(g->a, t->dtype, "row", "from[at]"));
  const char *mine = reduce_beats(g, OP_ARGMAX, t->dtype, "mine", "other");
  const char *other = reduce_beats(g, OP_ARGMAX, t->dtype, "other", "mine");
  text_line(x, "const bool before = left ? %s : !(%s);", down ? other : mine, down ? mine : other);
  text_line(x, "if (before) lo = at + 1;");
  text_line(x, "else hi = at;");
  text_close(x, "}");
  text_line(x, "to[(left ? i : i - run) + lo - start] = own;");
  text_close(x, "}");
  text_line(x, "int *const swap = from;");
  text_line(x, "from = to;");
  text_line(x, "to = swap;");
  text_close(x, "}");
}

void cuda_order(Gen *g, const Group *gr) {
  if (gr->root->kind == OP_CUMSUM)
    running_sums(g, gr);
  else
    sort(g, gr);
}
