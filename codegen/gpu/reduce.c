/* Reductions over axes that are not the last: a thread does one kept element, walking the reduced
   axes in order; where there are many, the warps of a block do chunks of 256 side by side.
   Contract: the CPU's order: chunks added up in order, hence the same bits. Results have the kept
   shape and may lie over operands of it: what a thread writes it has read itself, or all have read
   before. */
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"

enum { WARPS = BLOCK / WARP };

static void positions(Gen *g, Kernel *k, const GridColumnsSchedule *s) {
  int64_t kept = s->columns;
  k->block = s->threads;
  if (!s->chunks) {
    cuda_threads(g, k, kept, "u");
    return;
  }
  k->grid = s->blocks;
  text_line(&k->text, "const int lane = (int)threadIdx.x %% %d, warp = (int)threadIdx.x / %d;",
            WARP, WARP);
  text_line(&k->text, "const %s own = (%s)blockIdx.x * %d + lane;", g->index, g->index, WARP);
  if (kept % WARP)
    text_line(&k->text, "const %s u = own < %lld ? own : %lld;", g->index, (long long)kept,
              (long long)kept - 1);
  else
    text_line(&k->text, "const %s u = own;", g->index);
}

/* The loops around the text of an element; leaves the result in acc, without what has been added up
   `before`, or with it in total. */
static void loops(Gen *g, const Group *gr, Text *x, const Text *cell, Dtype dt, int64_t rows,
                  bool chunks, const char *before) {
  OpKind kind = gr->root->kind;
  const char *T = dtype_compute(dt), *start = reduce_start(g, kind, dt, rows), *I = g->index;
  bool arg = kind == OP_ARGMAX || kind == OP_ARGMIN;
  if (!chunks) {
    text_line(x, "%s acc = %s;", T, start);
    if (arg) text_line(x, "i32 at = 0;");
    text_line(x, "#pragma unroll %d", cuda_unroll(gr, dtype_size(dt) == 1 ? 4 : 16));
    text_open(x, "for (%s r = 0; r < %lld; r++) {", I, (long long)rows);
    text_append(x, cell);
    text_close(x, "}");
    return;
  }
  text_line(x, "__shared__ %s part[%d][%d];", T, WARPS, WARP);
  text_line(x, "%s total = %s;", T, before ? before : start);
  text_open(x, "for (int64_t r0 = 0; r0 < %lld; r0 += %d) {", (long long)rows, WARPS * COL_CHUNK);
  text_line(x, "const int64_t r1 = r0 + warp * %d, e = %lld - r1 < %d ? %lld : r1 + %d;", COL_CHUNK,
            (long long)rows, COL_CHUNK, (long long)rows, COL_CHUNK);
  text_line(x, "%s acc = %s;", T, start);
  text_line(x, "#pragma unroll %d", cuda_unroll(gr, 8));
  text_open(x, "for (%s r = (%s)r1; r < e; r++) {", I, I);
  text_append(x, cell);
  text_close(x, "}");
  text_line(x, "block_sync();");
  text_line(x, "part[warp][lane] = acc;");
  text_line(x, "block_sync();");
  text_line(x, "for (int q = 0; q < %d && r0 + q * %d < %lld; q++) total += part[q][lane];", WARPS,
            COL_CHUNK, (long long)rows);
  text_close(x, "}");
}

void cuda_reduce(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  Cols c = {.g = g, .gr = gr};
  c.p = printer_new(g, gr, 3, 1);
  Printer *p = &c.p;
  cols_axes(&c);
  const Op *root = gr->root;
  ValueId x = root->operands[0], y = root->results[0];
  Dtype dt = value_type(gr->e, x)->dtype, ydt = value_type(gr->e, y)->dtype;
  bool arg = root->kind == OP_ARGMAX || root->kind == OP_ARGMIN;
  Leaves leaves = {0};
  leaves_of(p, x, printer_identity(p, x), &leaves);
  const ValueId *so_far = op_start(root) < 0 ? NULL : &root->operands[op_start(root)];
  if (so_far) leaves_of(p, *so_far, cols_map(&c, *so_far), &leaves);
  for (int i = 0; i < gr->nout; i++)
    leaves_of(p, gr->yield[i], cols_map(&c, gr->yield[i]), &leaves);
  Loop *kept = ARENA_ARRAY(g->a, Loop, c.nkept + 1), *gone = ARENA_ARRAY(g->a, Loop, c.ngone + 1);
  int nkept = loops_over(p, &leaves, c.kept, c.nkept, kept);
  int ngone = loops_over(p, &leaves, c.gone, c.ngone, gone);
  int64_t rows = loops_count(gone, ngone), all = loops_count(kept, nkept);
  GridColumnsSchedule s = grid_columns_schedule(&cuda_target(g->target)->machine, rows, all,
                                                root->kind == OP_SUM && dtype_is_float(dt));
  bool chunks = s.chunks;
  kernel_schedule(k, &grid_columns_kind, &s, sizeof s);
  k->flops = (uint64_t)group_work(gr);
  positions(g, k, &s);

  Text *unit = p->level[1], *cell = p->level[2];
  cell->indent = chunks ? 3 : 2;
  if (nkept) printer_decode(p, kept, nkept, "u", "i", 1);
  if (ngone) printer_decode(p, gone, ngone, "r", "k", 2);
  const char *before = so_far ? printer_value(p, *so_far, cols_map(&c, *so_far)).text : NULL;
  const char *value = printer_value(p, x, printer_identity(p, x)).text;
  if (arg) {
    text_open(cell, "if (r == 0 || %s) {", reduce_beats(g, root->kind, dt, value, "acc"));
    text_line(cell, "acc = %s;", value);
    text_line(cell, "at = (i32)r;");
    text_close(cell, "}");
  } else {
    const char *v = arena_printf(g->a, "v%d", g->names++);
    text_line(cell, "const %s %s = %s;", dtype_compute(dt), v, value);
    text_line(cell, "acc = %s;", reduce_step(g, root->kind, "acc", v));
  }
  loops(g, gr, unit, cell, dt, rows, chunks, before);
  if (chunks && all % WARP)
    text_line(unit, "if (warp != 0 || own >= %lld) return;", (long long)all);
  else if (chunks)
    text_line(unit, "if (warp != 0) return;");
  /* the epilogue, where the reduction's value is a name */
  printer_drop(p, 2);
  const char *result = arg ? "at" : chunks ? "total" : "acc";
  if (before && !chunks) result = rows ? arena_printf(g->a, "%s + acc", before) : before;
  text_line(unit, "const %s sum = %s;", dtype_compute(ydt), scalar_round_text(g->a, ydt, result));
  vec_push(g->a, &p->terms, (Term){root, ROLE_VALUE, "sum", 1});
  for (int i = 0; i < gr->nout; i++) printer_value(p, gr->yield[i], cols_map(&c, gr->yield[i]));
  for (int i = 0; i < gr->nout; i++) printer_store(p, i, cols_map(&c, gr->yield[i]), 1);
  text_append(&k->text, p->level[0]);
  text_append(&k->text, unit);
}
