/* Prints non-maximum suppression: the boxes of a class lie in a heap by their scores, and one after
   the other is taken out and compared with those that are chosen, until there are enough. Contract:
   a unit is a class of an image, whose heap is in the scratch. */
#include "codegen/print/nms.h"
#include "codegen/cpu/cpu.h"

uint64_t cpu_nms_scratch(const Group *gr) {
  return (uint64_t)value_type(gr->e, gr->op->operands[1])->numel * 4;
}

/* Box a comes before box b. */
#define EARLIER(a, b)                                                                              \
  "(score[" a "] > score[" b "] || (score[" a "] == score[" b "] && " a " < " b "))"

/* Box `own` goes down from place `i` to where those below it come later. */
static void sift(Text *x) {
  text_open(x, "for (long next; (next = 2 * i + 1) < n; i = next) {");
  text_line(x, "if (next + 1 < n && " EARLIER("heap[next + 1]", "heap[next]") ") next++;");
  text_line(x, "if (!" EARLIER("heap[next]", "own") ") break;");
  text_line(x, "heap[i] = heap[next];");
  text_close(x, "}");
  text_line(x, "heap[i] = own;");
}

void cpu_nms(Gen *g, const Group *gr) {
  const Nms s = nms_of(gr);
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  kernel_units(k, s.rows * (s.n + s.most) < SERIAL_WORK ? 1 : s.rows);
  k->flops = (uint64_t)(8 * s.rows * (s.n + s.most));
  if (s.rows == 0) return;
  if (k->units == 1) text_line(x, "const long u0 = 0, u1 = %lld;", (long long)s.rows);
  text_line(x, "const float limit = in%d[0];", s.limit);
  text_open(x, "for (long u = u0; u < u1; u++) {");
  text_line(x, "const float *box = in%d + u / %lld * %lld;", s.boxes, (long long)s.classes,
            (long long)s.n * 4);
  text_line(x, "const float *score = in%d + u * %lld;", s.scores, (long long)s.n);
  text_line(x, "int32_t *heap = (int32_t *)scratch + u * %lld, *to = out0 + u * %lld;",
            (long long)s.n, (long long)s.most);
  text_line(x, "long n = 0, chosen = 0;");
  text_line(x, "for (long i = 0; i < %lld; i++)", (long long)s.n);
  text_line(x, "  if (score[i] " NMS_IS_SCORE ") heap[n++] = (int32_t)i;");
  text_open(x, "for (long top = n / 2; top-- > 0;) {");
  text_line(x, "const int32_t own = heap[top];");
  text_line(x, "long i = top;");
  sift(x);
  text_close(x, "}");
  text_open(x, "while (n > 0 && chosen < %lld) {", (long long)s.most);
  text_line(x, "const int32_t best = heap[0], own = heap[--n];");
  text_line(x, "long i = 0;");
  sift(x);
  text_line(x, "long c = 0;");
  text_open(x, "for (; c < chosen; c++) {");
  nms_print_overlap(x, "best", "to[c]");
  text_line(x, "if (over) break;");
  text_close(x, "}");
  text_line(x, "if (c == chosen) to[chosen++] = best;");
  text_close(x, "}");
  text_line(x, "while (chosen < %lld) to[chosen++] = -1;", (long long)s.most);
  text_close(x, "}");
  if (k->units == 1) return;
  if (s.scores != s.boxes) kernel_split_in(k, gr, s.scores, 1, 0, (uint64_t)(s.rows * s.n) * 4);
  kernel_split_out(k, gr, 0, 1, 0, (uint64_t)(s.rows * s.most) * 4);
}
