/* The loops over elements of a row, and their coordinates. Contract: elements come in the order of
   the row, whatever lies side by side. Of rows with a bounded inner axis each run along the
   innermost axis finds its place once: dividing for each element would take longer than what is
   done with it. */
#include "codegen/cpu/rows.h"
#include "codegen/program/extent.h"

void cpu_rows_name(RowsPrinter *r, const RowLoops *l) {
  const int outer = l->ninner - 1;
  bool bounded = false;
  for (int k = 1; k <= outer; k++) bounded |= l->inner[k].extent != NULL;
  r->inner = bounded ? &l->inner[outer] : NULL;
  if (!bounded) {
    rows_name(r, l->inner, l->ninner);
    return;
  }
  Text *cell = r->p.level[2];
  const Text empty = *cell;
  printer_decode_element(&r->p, l->inner, outer, "run", "x", 2);
  r->run = *cell;
  *cell = empty;
  r->p.coord[r->inner->coord].text = "along";
  r->p.coord[r->inner->coord].level = 2;
}

/* Opens the loops over runs of elements along the innermost axis, and over those of each. */
static int open_runs(RowsPrinter *r, Text *row, const char *c0, const char *w) {
  const char *inner = loops_text(&r->p, r->inner, 1);
  text_open(row, "for (long l0 = 0, l1; l0 < %s; l0 = l1) {", w);
  text_line(row, "const long run = %s, base = run * %s - %s;",
            text_quotient(r->g->a, arena_printf(r->g->a, "(%s + l0)", c0), inner), inner, c0);
  text_line(row, "l1 = base + %s < %s ? base + %s : %s;", inner, w, inner, w);
  text_append(row, &r->run);
  text_line(row, "GC_IVDEP");
  text_open(row, "for (long l = l0; l < l1; l++) {");
  text_line(row, "const long c = %s + l, along = l - base;", c0);
  return 2;
}

int cpu_rows_elements(RowsPrinter *r, Text *row, const char *c0, const char *w) {
  if (r->inner) return open_runs(r, row, c0, w);
  const Value *v = r->s.copied ? NULL : cpu_rows_in_panels(r->gr);
  if (v) {
    const Type *t = v->type;
    long long n = t->dim[t->rank - 1], nr = v->layout->nr;
    long long panel = layout_strides(t, v->layout, ARENA_ARRAY(r->g->a, int64_t, t->rank));
    text_open(row, "for (long l0 = 0; l0 < %s; l0 += %lld) {", w, nr);
    text_line(row,
              "const long p0 = %s + l0, place = p0 %% %lld / %lld * %lld + p0 / %lld * %lld - l0;",
              c0, n, nr, panel, n, nr);
    for (int i = 0; i < r->gr->nin; i++) /* the hardware does not follow so many panels */
      if (value_at(r->gr->e, r->gr->in[i])->layout && group_arg(r->gr, r->gr->arg[i]) == i)
        text_line(row, "GC_PREFETCH(in%d, place + l0 + %lld);", i, 4 * nr);
    text_line(row, "GC_IVDEP");
    text_open(row, "for (long l = l0; l < l0 + %lld; l++) {", nr);
  } else {
    text_line(row, "GC_IVDEP");
    text_open(row, "for (long l = 0; l < %s; l++) {", w);
  }
  text_line(row, "const long c = %s + l;", c0);
  return v ? 2 : 1;
}
