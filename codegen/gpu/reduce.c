/* Reductions over axes that are not the last: a thread does one kept element, walking the reduced
   axes in order. Where what is reduced lies side by side, or there is much of it, blocks do tiles
   (reduce_tiles.c). Contract: the CPU's order: chunks added up in order, hence the same bits.
   Results have the kept shape and may lie over operands of it. */
#include "codegen/gpu/reduce.h"

/* ---- the schedule ---- */

/* The last axis of these that is more than one element, or -1. */
static int last_axis(const ColsPrinter *c, const int *axes, int n) {
  while (n > 0 && c->gr->domain->dim[axes[n - 1]] == 1) n--;
  return n ? axes[n - 1] : -1;
}

/* Do more bytes of what is read lie side by side along the reduced axes than along the kept ones?
 */
static bool is_along(const ColsPrinter *c, const Leaves *l) {
  int reduced = last_axis(c, c->reduced, c->nreduced), kept = last_axis(c, c->kept, c->nkept);
  int64_t more = 0;
  for (uint32_t i = 0; i < l->at.n; i++) {
    const Leaf *x = &l->at.at[i];
    int64_t size = (int64_t)value_type(c->gr->e, x->v)->bytes;
    if (group_arg(c->gr, x->v) < 0) continue;
    if (reduced >= 0 && x->stride[reduced] == 1) more += size;
    if (kept >= 0 && x->stride[kept] == 1) more -= size;
  }
  return more > 0;
}

static GridColumnsSchedule schedule_of(const CudaTarget *t, const Group *gr, bool along) {
  int64_t kept = value_type(gr->e, gr->root->results[0])->numel;
  Dtype dt = value_type(gr->e, gr->root->operands[0])->dtype;
  OpKind kind = gr->root->kind;
  bool real = dtype_is_float(dt);
  GridColumnsShape s = {.rows = kept ? gr->domain->numel / kept : 0,
                        .columns = kept,
                        .chunked = !is_arg(gr->root) && !(real && kind == OP_PROD),
                        .along = along,
                        .size = dt == DT_F64 || dt == DT_I64 ? 8 : 4};
  return grid_columns_schedule(&t->machine, &s);
}

uint64_t cuda_reduce_scratch(const CudaTarget *t, const Group *gr) {
  const uint64_t across = schedule_of(t, gr, false).scratch,
                 along = schedule_of(t, gr, true).scratch;
  return across > along ? across : along;
}

const char *cuda_reduce_position(const GridReduce *r, int64_t n) {
  bool small = strcmp(r->c.g->index, "int") == 0;
  return arena_printf(r->c.g->a, small ? "%lld" : "(int64_t)%lld", (long long)n);
}

static GridReduce reduce_of(Gen *g, const Group *gr) {
  Leaves leaves = {0};
  GridReduce r = {.c = cols_new(g, gr, 3, &leaves), .root = gr->root};
  Printer *p = &r.c.p;
  r.dt = value_type(gr->e, r.root->operands[0])->dtype;
  r.T = dtype_compute(r.dt);
  r.s = schedule_of(cuda_target(g->target), gr, is_along(&r.c, &leaves));
  r.start = reduce_start(g, r.root->kind, r.dt, r.s.rows);
  r.so_far = op_accumulator(r.root) < 0 ? NULL : &r.root->operands[op_accumulator(r.root)];
  if (r.so_far) leaves_of(p, *r.so_far, cols_map(&r.c, *r.so_far), &leaves);
  for (int i = 0; i < gr->nout; i++)
    leaves_of(p, gr->yield[i], cols_map(&r.c, gr->yield[i]), &leaves);
  r.kept = ARENA_ARRAY(g->a, Loop, r.c.nkept + 1);
  r.reduced = ARENA_ARRAY(g->a, Loop, r.c.nreduced + 1);
  r.nkept = loops_over(p, &leaves, r.c.kept, r.c.nkept, r.kept);
  r.nreduced = loops_over(p, &leaves, r.c.reduced, r.c.nreduced, r.reduced);
  r.rows = loops_text(p, r.reduced, r.nreduced);
  r.columns = loops_text(p, r.kept, r.nkept);
  return r;
}

/* ---- one column ---- */

void cuda_reduce_declare(GridReduce *r, Text *x) {
  text_line(x, "%s acc = %s;", r->T, r->start);
  if (is_arg(r->root)) text_line(x, "i32 at = 0;");
}

void cuda_reduce_step(GridReduce *r, Text *x, const char *value) {
  Gen *g = r->c.g;
  OpKind kind = r->root->kind;
  const char *v = arena_printf(g->a, "v%d", g->names++);
  text_line(x, "const %s %s = %s;", r->T, v, value);
  if (is_arg(r->root)) {
    text_open(x, "if (r == 0 || %s) {", reduce_beats(g, kind, r->dt, v, "acc"));
    text_line(x, "acc = %s;", v);
    text_line(x, "at = (i32)r;");
    text_close(x, "}");
    return;
  }
  text_line(x, "acc = %s;", reduce_step(g, kind, "acc", v));
}

const char *cuda_reduce_element(GridReduce *r) {
  Printer *p = &r->c.p;
  ValueId x = r->root->operands[0];
  if (r->nreduced) printer_decode(p, r->reduced, r->nreduced, "r", "k", 2);
  return printer_value(p, x, printer_identity(p, x)).text;
}

const char *cuda_reduce_before(GridReduce *r) {
  return r->so_far ? printer_value(&r->c.p, *r->so_far, cols_map(&r->c, *r->so_far)).text : NULL;
}

void cuda_reduce_results(GridReduce *r, const char *result) {
  Printer *p = &r->c.p;
  const Group *gr = r->c.gr;
  Dtype dt = value_type(gr->e, r->root->results[0])->dtype;
  text_line(p->level[1], "const %s sum = %s;", dtype_compute(dt),
            scalar_round_text(r->c.g->a, dt, result));
  vec_push(r->c.g->a, &p->terms, (Term){r->root, ROLE_VALUE, "sum", 1});
  for (int i = 0; i < gr->nout; i++) printer_value(p, gr->yield[i], cols_map(&r->c, gr->yield[i]));
  for (int i = 0; i < gr->nout; i++) printer_store(p, i, cols_map(&r->c, gr->yield[i]), 1);
}

void cuda_reduce_finish(GridReduce *r, Kernel *k) {
  text_append(&k->text, r->c.p.level[0]);
  text_append(&k->text, r->c.p.level[1]);
}

const char *cuda_reduce_alone(GridReduce *r, const char *so_far) {
  if (is_arg(r->root)) return "at";
  if (!so_far) return "acc";
  return r->s.rows ? arena_printf(r->c.g->a, "%s + acc", so_far) : so_far;
}

static void a_thread(GridReduce *r, Kernel *k) {
  Gen *g = r->c.g;
  Printer *p = &r->c.p;
  Text *x = p->level[1];
  cuda_threads_of(g, k, r->s.columns, r->columns, "u");
  if (r->nkept) printer_decode(p, r->kept, r->nkept, "u", "i", 1);
  const char *so_far = cuda_reduce_before(r);
  const char *value = cuda_reduce_element(r);
  cuda_reduce_step(r, p->level[2], value);
  cuda_reduce_declare(r, x);
  text_line(x, "#pragma unroll %d", cuda_unroll(r->c.gr, dtype_size(r->dt) == 1 ? 4 : 16));
  if (rows_bounded(r))
    text_open(x, "for (%s r = 0; r < %s; r++) {", g->index, r->rows);
  else
    text_open(x, "for (%s r = 0; r < %lld; r++) {", g->index, (long long)r->s.rows);
  text_append(x, p->level[2]);
  text_close(x, "}");
  printer_drop(p, 2);
  cuda_reduce_results(r, cuda_reduce_alone(r, so_far));
  cuda_reduce_finish(r, k);
}

static void chunks_and_combine(GridReduce *r, Kernel *k) {
  Gen *g = r->c.g;
  const Group *gr = r->c.gr;
  cuda_reduce_chunks(r, k);
  if (r->s.ends) {
    cuda_reduce_ends(r, k);
  } else {
    k = cuda_kernel_next(g, gr, "combine");
    k->block = r->s.threads;
    k->grid = r->s.combine_blocks;
    kernel_schedule(k, &grid_columns_kind, &r->s, sizeof r->s);
  }
  GridReduce again = reduce_of(g, gr);
  again.s.ends = r->s.ends;
  if (!r->s.ends) {
    again.s.width = r->s.combine_width;
    again.s.column_blocks = r->s.combine_blocks;
  }
  cuda_reduce_combine(&again, k);
}

void cuda_reduce(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  GridReduce r = reduce_of(g, gr);
  r.s.ends &= !cuda_runs_beside(g, gr->e);
  kernel_schedule(k, &grid_columns_kind, &r.s, sizeof r.s);
  k->flops = (uint64_t)group_work(gr);
  k->block = r.s.threads;
  k->grid = r.s.blocks;
  if (!r.s.tiled) {
    a_thread(&r, k);
  } else if (r.s.warps) {
    cuda_reduce_by_warps(&r, k);
  } else if (!r.s.split) {
    cuda_reduce_whole(&r, k);
  } else {
    chunks_and_combine(&r, k);
  }
}
