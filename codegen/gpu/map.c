/* Element-wise kernels: a thread does one vector of elements, of 16 bytes where the operands lie
   so. Contract: every yield has the domain's shape; a thread loads what it needs before it stores,
   and reads in place only what it writes itself, so an output may lie in the bytes of an input. */
#include "codegen/schedule/map.h"
#include "codegen/gpu/gpu.h"

void cuda_map(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  Printer p = printer_new(g, gr, 3, 1);
  k->flops = (uint64_t)(gr->domain->numel * gr->nops);
  Leaves leaves = {0};
  Loop *loops = ARENA_ARRAY(g->a, Loop, p.ncoords + 1);
  int *axes = ARENA_ARRAY(g->a, int, p.ncoords + 1);
  for (int i = 0; i < gr->nout; i++)
    leaves_result(&p, i, printer_identity(&p, gr->yield[i]), &leaves);
  for (int i = 0; i < p.ncoords; i++) axes[i] = i;
  int n = loops_over(&p, &leaves, axes, p.ncoords, loops);
  int64_t inner = n ? loop_unit(&loops[n - 1]) : 1; /* whatever the extent, vectors are whole */
  GridMapSchedule s = grid_map_schedule(loops_count(loops, n), cuda_width(gr, inner));
  int v = s.width;
  kernel_schedule(k, &grid_map_kind, &s, sizeof s);
  Text *body = p.level[1];
  if (n) loops[n - 1].n /= v;
  cuda_threads_of(g, k, s.threads, loops_text(&p, loops, n), "t");
  const char *base = "t";
  if (n > 1) {
    const char *vectors = loops_text(&p, loops + n - 1, 1);
    text_line(body, "const %s u = t / %s;", g->index, vectors);
    printer_decode(&p, loops, n - 1, "u", "i", 1);
    base = arena_printf(g->a, "(t %% %s)", vectors);
  }
  if (n && (n > 1 || v > 1)) {
    text_line(body, v > 1 ? "const %s j = %s * %d;" : "const %s j = %s;", g->index, base, v);
    base = "j";
  }
  cuda_vector(&p, n ? loops[n - 1].coord : -1, base, v, 1, NULL);
  text_append(&k->text, p.level[0]);
  text_append(&k->text, body);
}
