/* The exps of a row's softmax or cross entropy. Contract: their bits are those of the function of
   one number. exp is costly: what the last pass wants again stays in a row of the thread's own, as
   long as all such rows are in reach of the cache. And exp is a chain of steps that wait for each
   other: those in f32 are computed a block of lanes at a time, several vectors side by side
   (text/vmath.h), where their arguments were. */
#include "codegen/cpu/rows.h"
#include "codegen/cpu/target.h"

/* The op reads exp(x - max) of the row whose sum is w once more. */
static bool reads_exps(const Op *op, const Work *w) {
  return (op->kind == OP_SOFTMAX || op->kind == OP_XENT_GRAD) &&
         op->operands[op_full_operand(op)] == w->x;
}

void cpu_rows_keep_exps(RowsPrinter *r, Kernel *kernel) {
  int64_t left = cpu_target(r->g->target)->machine.cache.l2 / 4; /* bytes */
  for (uint32_t i = 0; i < r->work.n; i++) {
    Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *T = dtype_compute(dt);
    bool wanted = false;
    for (int k = 0; k < r->gr->nops; k++) wanted |= reads_exps(r->gr->ops[k], w);
    int64_t bytes = r->c * (dt == DT_F64 ? 8 : 4);
    const bool array = dt != DT_F64 && r->c >= ROW_OF_VECTORS;
    if (w->kind != OP_SOFTMAX) continue;
    if (wanted && bytes <= left) {
      left -= bytes;
      w->keep = arena_printf(r->g->a, "%s_k[c]", w->name);
      kernel_buffer(r->g, kernel, r->p.level[1], T, dt == DT_F64 ? 8 : 4,
                    arena_printf(r->g->a, "%s_k", w->name),
                    ceil_div(r->c, ROW_OF_VECTORS) * ROW_OF_VECTORS);
    } else if (array) {
      text_line(r->p.level[1], "GC_LANES f32 %s_x[%d];", w->name, LANES);
    }
    if (array) w->argument = w->keep ? w->keep : arena_printf(r->g->a, "%s_x[l]", w->name);
  }
}

void cpu_rows_chunk_exps(RowsPrinter *r, int pass) {
  for (uint32_t i = 0; i < r->work.n; i++) {
    Work *w = &r->work.at[i];
    if (w->pass != pass || w->kind != OP_SOFTMAX) continue;
    if (value_type(r->gr->e, w->x)->dtype == DT_F64) continue;
    text_line(r->p.level[1], "GC_LANES f32 %s_x[%d];", w->name, LANES);
    w->argument = arena_printf(r->g->a, "%s_x[l]", w->name);
  }
}

/* After the pass that kept them. */
void cpu_rows_bind_exps(RowsPrinter *r, int number) {
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    for (int k = 0; w->keep && w->pass + 1 == number && k < r->gr->nops; k++)
      if (reads_exps(r->gr->ops[k], w))
        vec_push(r->g->a, &r->p.terms,
                 (Term){r->gr->ops[k], ROLE_EXP, arena_printf(r->g->a, "%s_k", w->name), 1});
  }
}

const char *cpu_rows_arguments(const RowsPrinter *r, const Work *w) {
  return arena_printf(r->g->a, w->keep ? "%s_k + c0" : "%s_x", w->name);
}
