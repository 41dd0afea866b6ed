/* Prints non-maximum suppression: a block has a class of an image, and takes the highest score that
   is left as often as boxes may be chosen; each thread drops those of its boxes that overlap it.
   Contract: scores that are left lie in the scratch, each read and written by one thread alone. */
#include "codegen/print/nms.h"
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"

enum { THREADS = 256 };

uint64_t cuda_nms_scratch(const Group *gr) {
  return (uint64_t)value_type(gr->e, gr->op->operands[1])->numel * 4;
}

/* The thread's own boxes. */
static void each_own(Text *x, long long n) {
  text_open(x, "for (int i = (int)threadIdx.x; i < %lld; i += %d) {", n, THREADS);
}

void cuda_nms(Gen *g, const Group *gr) {
  const Nms s = nms_of(gr);
  const long long n = s.n, most = s.most;
  const char *I = g->index;
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  k->flops = (uint64_t)(8 * s.rows * (n + most));
  k->block = THREADS;
  k->grid = s.rows;
  if (s.rows == 0) return;
  text_line(x, "const %s u = (%s)blockIdx.x;", I, I);
  text_line(x, "const float limit = in%d[0];", s.limit);
  text_line(x, "const float *box = in%d + u / %lld * %lld;", s.boxes, (long long)s.classes, n * 4);
  text_line(x, "const float *score = in%d + u * %lld;", s.scores, n);
  text_line(x, "float *left = (float *)scratch + u * %lld;", n);
  text_line(x, "int *to = out0 + u * %lld;", most);
  text_line(x, "__shared__ float key[%d];", THREADS);
  text_line(x, "__shared__ int place[%d];", THREADS);
  text_line(x, "const float none = %s;", reduce_start(g, OP_REDUCE_MAX, DT_F32, n));
  each_own(x, n);
  text_line(x, "const float own = score[i];");
  text_line(x, "left[i] = own " NMS_IS_SCORE " ? own : none;");
  text_close(x, "}");
  text_line(x, "int chosen = 0;");
  text_open(x, "for (; chosen < %lld; chosen++) {", most);
  text_line(x, "float best = none;");
  text_line(x, "int at = 0;");
  each_own(x, n);
  text_line(x, "if (left[i] > best) {");
  text_line(x, "  best = left[i];");
  text_line(x, "  at = i;");
  text_line(x, "}");
  text_close(x, "}");
  text_line(x, "key[threadIdx.x] = best;");
  text_line(x, "place[threadIdx.x] = at;");
  text_line(x, "block_sync();");
  text_open(x, "for (int half = %d; half > 0; half /= 2) {", THREADS / 2);
  text_open(x, "if ((int)threadIdx.x < half) {");
  text_line(x, "const float mine = key[threadIdx.x], that = key[threadIdx.x + half];");
  text_line(x, "const int other = place[threadIdx.x + half];");
  text_line(x, "if (that > mine || (that == mine && other < place[threadIdx.x])) {");
  text_line(x, "  key[threadIdx.x] = that;");
  text_line(x, "  place[threadIdx.x] = other;");
  text_line(x, "}");
  text_close(x, "}");
  text_line(x, "block_sync();");
  text_close(x, "}");
  text_line(x, "best = key[0];");
  text_line(x, "at = place[0];");
  text_line(x, "block_sync();");
  text_line(x, "if (best == none) break;");
  text_line(x, "if (threadIdx.x == 0) to[chosen] = at;");
  each_own(x, n);
  text_line(x, "if (left[i] == none) continue;");
  nms_print_overlap(x, "at", "i");
  text_line(x, "if (over || i == at) left[i] = none;");
  text_close(x, "}");
  text_close(x, "}");
  text_line(x, "for (int i = chosen + (int)threadIdx.x; i < %lld; i += %d) to[i] = -1;", most,
            THREADS);
}
