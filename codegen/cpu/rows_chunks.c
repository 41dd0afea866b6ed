/* Few long rows: chunks of a row are units, and a second launch adds up their partial results, pass
   by pass. Results of the full shape that need the sums have a launch of their own, in which chunks
   are units again, and those of one element a row come behind it, since they may lie over what it
   reads. Contract: the sums are those of rows.c, in its order. A row whose length the run decides
   has as many chunks as it fills. */
#include "codegen/cpu/rows.h"
#include "codegen/program/extent.h"

long long cpu_rows_partial(const RowsPrinter *r, uint32_t work) {
  return (long long)(rows_slot(r, work) * r->s.rows * r->s.chunks * PARTIAL);
}

long long cpu_rows_places(const RowsPrinter *r, uint32_t work) {
  return cpu_rows_partial(r, work) + (long long)(r->s.rows * r->s.chunks * PARTIAL);
}

/* Where its totals begin, a number for each row, for launches that wait for them. */
static long long total(const RowsPrinter *r, uint32_t work) {
  return cpu_rows_partial(r, r->work.n) + (long long)(rows_slot(r, work) * r->s.rows * PARTIAL);
}

static const char *type_of(const RowsPrinter *r, uint32_t work) {
  if (rows_is_arg(&r->work.at[work])) return "int32_t";
  return dtype_compute(value_type(r->gr->e, r->work.at[work].x)->dtype);
}

void cpu_rows_copy_chunks(RowsPrinter *r, Kernel *kernel, Text *row) {
  for (int i = 0; i < r->gr->nin; i++) {
    const Value *v = value_at(r->gr->e, r->gr->in[i]);
    if (!v->layout || !v->layout->nr || group_arg(r->gr, r->gr->arg[i]) != i) continue;
    const Type *t = v->type;
    long long n = t->dim[t->rank - 1], nr = v->layout->nr;
    long long panel = layout_strides(t, v->layout, ARENA_ARRAY(r->g->a, int64_t, t->rank));
    const char *T = dtype_storage(t->dtype);
    kernel_buffer(r->g, kernel, row, T, dtype_size(t->dtype), arena_printf(r->g->a, "chunk%d", i),
                  ROW_CHUNK);
    text_open(row, "for (long q = 0; q < %lld; q++) {", n / nr);
    text_open(row, "for (long k = b / %lld; k * %lld < e; k++) {", n, n);
    text_line(row, "const long at = k * %lld + q * %lld - b;", n, nr);
    text_line(row, "const %s *from = in%d + q * %lld + k * %lld;", T, i, panel, nr);
    text_line(row, "GC_PREFETCH(from, %lld);", 2 * panel);
    text_line(row, "if (at >= 0 && at < e - b) __builtin_memcpy(chunk%d + at, from, %lld);", i,
              nr * dtype_size(t->dtype));
    text_close(row, "}");
    text_close(row, "}");
    text_line(row, "const %s *const in%d = chunk%d;", T, i, i);
  }
}

/* Chunks of a row: a number, or a factor of extents. */
static const char *chunks_of(const RowsPrinter *r) {
  const bool bounded = dims_bounded(r->gr->domain, r->outer, r->gr->domain->rank);
  return bounded ? text_ceil_div(r->g->a, cpu_rows_length(r), ROW_CHUNK)
                 : arena_printf(r->g->a, "%lld", (long long)r->s.chunks);
}

/* Of the best elements of a row's chunks the first best one. */
static void combine_best(RowsPrinter *r, uint32_t work) {
  Gen *g = r->g;
  const Work *w = &r->work.at[work];
  const Dtype dt = value_type(r->gr->e, w->x)->dtype;
  const char *T = dtype_compute(dt), *n = w->name;
  Text *row = r->p.level[1];
  text_line(row, "const %s *const %s_v = (const %s *)(scratch + %lld) + u * %lld;", T, n, T,
            cpu_rows_partial(r, work), (long long)r->s.chunks);
  text_line(row, "long %s_b = 0;", n);
  text_open(row, "for (long b = 1; b < %s; b++) {", chunks_of(r));
  text_line(row, "const %s v = %s_v[b], best = %s_v[%s_b];", T, n, n, n);
  text_line(row, "if (%s) %s_b = b;", reduce_beats(g, w->kind, dt, "v", "best"), n);
  text_close(row, "}");
  text_line(row, "const int32_t %s = ((const int32_t *)(scratch + %lld))[u * %lld + %s_b];", n,
            cpu_rows_places(r, work), (long long)r->s.chunks, n);
}

/* The partial results of a row's chunks, in order, group by group. */
static void combine_chunks(RowsPrinter *r, int pass) {
  Gen *g = r->g;
  Text *row = r->p.level[1];
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != pass) continue;
    if (rows_is_arg(w)) {
      combine_best(r, i);
      continue;
    }
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const OpKind kind = rows_combine(w);
    const char *T = dtype_compute(dt), *acc = arena_printf(g->a, "%s_a", w->name);
    text_line(row, "%s %s = %s;", T, acc, reduce_start(g, kind, dt, r->c));
    const bool groups = r->s.chunks > ROW_GROUP;
    const char *of_group = groups ? "of_group" : acc;
    if (groups) {
      text_open(row, "for (long b0 = 0; b0 < %s; b0 += %d) {", chunks_of(r), ROW_GROUP);
      text_line(row, "%s of_group = %s;", T, reduce_start(g, kind, dt, r->c));
      text_open(row, "for (long b = b0; b < b0 + %d && b < %s; b++) {", ROW_GROUP, chunks_of(r));
    } else {
      text_open(row, "for (long b = 0; b < %s; b++) {", chunks_of(r));
    }
    text_line(row, "const %s v = ((const %s *)(scratch + %lld))[u * %lld + b];", T, T,
              cpu_rows_partial(r, i), (long long)r->s.chunks);
    text_line(row, "%s = %s;", of_group, reduce_step(g, kind, of_group, "v"));
    text_close(row, "}");
    if (groups) {
      text_line(row, "%s = %s;", acc, reduce_step(g, kind, acc, of_group));
      text_close(row, "}");
    }
    text_line(row, "const %s %s = %s;", T, w->name, acc);
  }
}

/* The totals of passes before this one, as earlier launches have stored them. */
static void load_totals(RowsPrinter *r, int pass) {
  for (uint32_t i = 0; i < r->work.n; i++)
    if (r->work.at[i].pass < pass)
      text_line(r->p.level[1], "const %s %s = ((const %s *)(scratch + %lld))[%s];", type_of(r, i),
                r->work.at[i].name, type_of(r, i), total(r, i), r->number);
}

static void before(RowsPrinter *r, int pass) {
  for (int i = 0; i <= pass; i++) rows_before(r, i);
}

/* A unit is chunk b to e of row `row`. */
static void chunk_units(RowsPrinter *r, Kernel *k, const RowLoops *l) {
  Gen *g = r->g;
  const char *rows = dims_text(g, r->gr->e, r->gr->domain, 0, r->outer), *chunks = chunks_of(r);
  kernel_units_of(k, r->s.units, text_product(g->a, rows, chunks));
  text_line(r->p.level[1], "const long row = u / %s, b = u %% %s * %d;", chunks, chunks, ROW_CHUNK);
  if (dims_bounded(r->gr->domain, r->outer, r->gr->domain->rank))
    text_line(r->p.level[1], "const long at = row * %lld + b / %d;", (long long)r->s.chunks,
              ROW_CHUNK);
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "row", "i", 1);
  r->number = "row";
}

static Kernel *next(RowsPrinter *r, const char *suffix, RowLoops *l) {
  Kernel *k = kernel_next(r->g, r->gr, suffix);
  kernel_args(r->g, k, r->gr);
  *l = cpu_rows_start(r);
  return k;
}

/* One after the other. */
static void row_units(RowsPrinter *r, Kernel *k, const RowLoops *l) {
  kernel_units(k, 1);
  r->number = "u";
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
}

static void finish_rows(RowsPrinter *r, Kernel *k) {
  cpu_rows_finish(r, k, "0", dims_text(r->g, r->gr->e, r->gr->domain, 0, r->outer));
  kernel_touched(k, r->gr);
}

/* The results of the full shape. */
static void apply(RowsPrinter *r, Kernel *k, const RowLoops *l) {
  Text *row = r->p.level[1];
  kernel_schedule(k, &rows_kind, &r->s, sizeof r->s);
  chunk_units(r, k, l);
  const char *c = cpu_rows_length(r);
  text_line(row, "const long e = %s - b < %d ? %s : b + %d;", c, ROW_CHUNK, c, ROW_CHUNK);
  load_totals(r, r->npasses);
  before(r, r->npasses);
  printer_drop(&r->p, 2);
  *r->p.level[2] = text_new(r->g->a, 3);
  cpu_rows_name(r, l);
  cpu_rows_full_results(r);
  int open = cpu_rows_elements(r, row, "b", "e - b");
  text_append(row, r->p.level[2]);
  while (open--) text_close(row, "}");
  cpu_rows_finish(r, k, "u0", "u1");
  kernel_touched(k, r->gr);
}

/* The launches of a pass; k is the first one. Gives the second one, with the totals, which are not
   stored if the pass is `last`. */
static Kernel *pass_in_chunks(RowsPrinter *r, Kernel *k, RowLoops *l, int pass, bool last) {
  chunk_units(r, k, l);
  if (r->s.passes) {
    load_totals(r, pass);
    before(r, pass);
    cpu_rows_chunk_exps(r, pass);
  }
  cpu_rows_pass(r, k, pass, l, true);
  cpu_rows_finish(r, k, "u0", "u1");
  if (r->s.apply || r->s.passes) kernel_touched(k, r->gr);
  k = next(r, "combine", l);
  row_units(r, k, l);
  combine_chunks(r, pass);
  if (last) return k;
  for (uint32_t i = 0; i < r->work.n; i++)
    if (r->work.at[i].pass == pass)
      text_line(r->p.level[1], "((%s *)(scratch + %lld))[u] = %s;", type_of(r, i), total(r, i),
                r->work.at[i].name);
  finish_rows(r, k);
  return k;
}

void cpu_rows_in_chunks(RowsPrinter *r, Kernel *k, const RowLoops *first) {
  RowLoops l = *first;
  bool results = false; /* of one element a row */
  for (int i = 0; i < r->gr->nout; i++)
    results |= !type_same_dims(value_type(r->gr->e, r->gr->yield[i]), r->gr->domain);
  const int passes = r->npasses;
  for (int pass = 0; pass < passes; pass++) {
    if (pass > 0) {
      k = next(r, "sums", &l);
      kernel_schedule(k, &rows_kind, &r->s, sizeof r->s);
    }
    k = pass_in_chunks(r, k, &l, pass, pass == passes - 1 && !r->s.apply);
  }
  if (r->s.apply) {
    k = next(r, "apply", &l);
    apply(r, k, &l);
    if (!results) return;
    k = next(r, "results", &l);
    row_units(r, k, &l);
    load_totals(r, passes);
  } else {
    load_totals(r, passes - 1);
  }
  before(r, passes);
  cpu_rows_results(r, &l, false);
  finish_rows(r, k);
}
