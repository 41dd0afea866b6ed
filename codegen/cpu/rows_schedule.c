/* What the schedule of a kernel over rows goes by; see rows.h. */
#include "codegen/cpu/rows.h"

bool cpu_rows_is_full(const Group *gr, int yield) {
  return type_same_dims(value_type(gr->e, gr->yield[yield]), gr->domain);
}

const Value *cpu_rows_in_panels(const Group *gr) {
  for (int i = 0; i < gr->nin; i++) {
    const Value *v = value_at(gr->e, gr->in[i]);
    if (v->layout && v->layout->nr) return v;
  }
  return NULL;
}

RowsSchedule cpu_rows_schedule(const Group *gr) {
  RowsShape s = {.rows = 1,
                 .elements = rows_elements(gr),
                 .work = group_work(gr),
                 .independent = rows_independent(gr),
                 .one_pass = rows_one_pass(gr),
                 .one_search = rows_one_search(gr),
                 .may_wait = rows_may_wait(gr)};
  int outer = op_outer_axes(gr->e, gr->root);
  for (int i = 0; i < outer; i++) s.rows *= gr->domain->dim[i];
  for (int i = 0; i < gr->nin; i++) {
    const Layout *l = value_at(gr->e, gr->in[i])->layout;
    s.panels += l && l->nr;
  }
  for (int i = 0; i < gr->nout; i++) s.full |= cpu_rows_is_full(gr, i);
  return rows_schedule(&s);
}

uint64_t cpu_rows_scratch(const Group *gr) {
  RowsSchedule s = cpu_rows_schedule(gr);
  const bool totals = s.apply || s.passes;
  return s.split ? (uint64_t)(rows_reductions(gr) * s.rows * (s.chunks + totals) * PARTIAL) : 0;
}
