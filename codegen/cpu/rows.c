/* Kernels over rows: element-wise work on the full shape and on one element a row, reductions along
   the row, softmax and cross entropy as passes over the row. Contract: a row is read completely
   before its results are written, so they may overlap operands. A float reduction of at least 64
   elements runs in 64 lanes that are added in a fixed tree, in chunks of 16,384 that are added in
   order; a shorter one runs element by element. The bits depend on the length alone. Method: each
   reduction runs in the first pass that can compute its operand. Passes recompute operands, which
   costs less than rows in memory; only the exps of a softmax stay in a buffer for the pass that
   divides by their sum. */
#include "codegen/cpu/rows.h"
#include "codegen/cpu/target.h"
#include "codegen/program/extent.h"

/* ---- one pass ---- */

bool cpu_rows_full_results(RowsPrinter *r) {
  const Group *gr = r->gr;
  bool any = false;
  for (int store = 0; store < 2; store++)
    for (int i = 0; i < gr->nout; i++) {
      if (!cpu_rows_is_full(gr, i)) continue;
      any = true;
      const Axis *map = printer_identity(&r->p, gr->yield[i]);
      if (store)
        printer_store(&r->p, i, map, 2);
      else
        printer_value(&r->p, gr->yield[i], map);
    }
  return any;
}

/* The parts of a pass over a row, which stand behind one another. */
typedef struct Parts {
  Text before; /* the row's variables */
  Text start;  /* those of a chunk */
  Text *inner; /* element by element */
  Text tail;   /* after a block */
  Text end;    /* after a chunk */
  Text after;  /* after the row */
  bool lanes, chunks;
  bool split; /* the chunk is the unit's own, and its partial result goes to scratch */
} Parts;

/* One result of the pass: what it is called, how it combines, what each element adds. */
typedef struct Sum {
  Dtype dt;
  const char *type, *name, *x;
  OpKind kind;
  bool shift; /* a maximum that exps are shifted by, and nothing else reads: it may miss NaN, whose
                 exp is NaN, and so is their sum */
  const char *array; /* a sum of exps: x is an element of it; a block of its arguments becomes exps
                        behind the loop over them. Else NULL */
} Sum;

const char *cpu_rows_length(const RowsPrinter *r) {
  return dims_text(r->g, r->gr->e, r->gr->domain, r->outer, r->gr->domain->rank);
}

static bool row_bounded(const RowsPrinter *r) {
  return dims_bounded(r->gr->domain, r->outer, r->gr->domain->rank);
}

/* Where the largest or the smallest is. */
static void place_of_best(RowsPrinter *r, Parts *p, const Sum *y) {
  Gen *g = r->g;
  const char *T = y->type, *s = y->name;
  text_line(&p->before, "%s %s_best = 0, %s_t[%d];", T, s, s, p->lanes ? LANES : (int)r->c);
  text_line(&p->before, "int32_t %s = 0;", s);
  text_line(p->inner, "%s_t[l] = %s;", s, y->x);
  text_line(&p->tail,
            p->split ? "if (c0 == b) %s_best = %s_t[0], %s = (int32_t)b;"
                     : "if (c0 == 0) %s_best = %s_t[0], %s = 0;",
            s, s, s);
  text_open(&p->tail, "for (int l = 0; l < w; l++) {");
  text_open(&p->tail, "if (%s) {",
            reduce_beats(g, y->kind, y->dt, arena_printf(g->a, "%s_t[l]", s),
                         arena_printf(g->a, "%s_best", s)));
  text_line(&p->tail, "%s_best = %s_t[l];", s, s);
  text_line(&p->tail, "%s = (int32_t)(c0 + l);", s);
  text_close(&p->tail, "}");
  text_close(&p->tail, "}");
}

/* acc combined with v */
static const char *step(Gen *g, const Sum *y, const char *acc, const char *v) {
  if (!y->shift) return reduce_step(g, y->kind, acc, v);
  return arena_printf(g->a, "%s > %s ? %s : %s", v, acc, v, acc);
}

/* The name of a function: s[0] = tree of the lanes of s. */
static const char *lanes_helper(Gen *g, const Sum *y, int lanes) {
  const char *name =
      arena_printf(g->a, lanes < LANES ? "%s_lanes_%s_%d" : "%s_lanes_%s", dtype_prefix(y->dt),
                   y->shift ? "shift" : op_info[y->kind].name, lanes);
  Text x = text_new(g->a, 0);
  text_open(&x, "static inline %s %s(%s *s) {", y->type, name, y->type);
  for (int h = lanes / 2; h; h /= 2)
    text_line(&x, "for (int l = 0; l < %d; l++) s[l] = %s;", h,
              step(g, y, "s[l]", arena_printf(g->a, "s[l + %d]", h)));
  text_line(&x, "return s[0];");
  text_close(&x, "}");
  gen_helper(g, text_str(&x));
  return name;
}

/* Lane by lane, then the lanes, then the chunks. Returns a chunk's partial result. */
static const char *sum_of_lanes(RowsPrinter *r, Parts *p, const Sum *y) {
  Gen *g = r->g;
  const char *T = y->type, *s = y->name, *acc = arena_printf(g->a, "%s_a", s);
  int lanes = 1;
  while (lanes < LANES && lanes < r->c) lanes *= 2;
  const char *tree = lanes_helper(g, y, lanes);
  text_line(&p->start, "GC_LANES %s %s_s[%d];", T, s, lanes);
  text_line(&p->start, "for (int l = 0; l < %d; l++) %s_s[l] = %s;", lanes, s,
            reduce_start(g, y->kind, y->dt, r->c));
  const char *lane = arena_printf(g->a, "%s_s[l]", s);
  const char *v = arena_printf(g->a, "v%d", g->names++);
  Text *each = p->inner;
  if (y->array) {
    each = &p->tail;
    text_line(each, "all_exp_down_f32(%s, w);", y->array);
    text_line(each, "GC_IVDEP");
    text_open(each, "for (long l = 0; l < w; l++) {");
    text_line(each, "const %s %s = (%s)[l];", T, v, y->array);
  } else {
    text_line(each, "const %s %s = %s;", T, v, y->x);
  }
  text_line(each, "%s = %s;", lane, step(g, y, lane, v));
  if (y->array) text_close(each, "}");
  const char *sum = arena_printf(g->a, "%s(%s_s)", tree, s);
  if (row_bounded(r) && !y->shift) { /* few elements: one after the other, as of a short row */
    text_line(&p->end, "%s %s_f = %s;", T, s, reduce_start(g, y->kind, y->dt, r->c));
    text_open(&p->end, "if (%s < %d) {", cpu_rows_length(r), LANES);
    text_line(&p->end, "for (int l = 0; l < %s; l++) %s_f = %s;", cpu_rows_length(r), s,
              reduce_step(g, y->kind, arena_printf(g->a, "%s_f", s), lane));
    text_close(&p->end, "}");
    sum = arena_printf(g->a, "(%s < %d ? %s_f : %s)", cpu_rows_length(r), LANES, s, sum);
  }
  if (p->split) return sum;
  if (p->chunks) {
    text_line(&p->before, "%s %s = %s;", T, acc, reduce_start(g, y->kind, y->dt, r->c));
    text_line(&p->end, "const %s %s_c = %s;", T, s, sum);
    const char *of_group = acc;
    if (r->c > (int64_t)ROW_GROUP * ROW_CHUNK) {
      of_group = arena_printf(g->a, "%s_g", s);
      text_line(&p->before, "%s %s = %s;", T, of_group, reduce_start(g, y->kind, y->dt, r->c));
    }
    text_line(&p->end, "%s = %s;", of_group, step(g, y, of_group, arena_printf(g->a, "%s_c", s)));
    if (of_group != acc) {
      text_open(&p->end, "if (e == %s || e %% %d == 0) {", cpu_rows_length(r),
                ROW_GROUP * ROW_CHUNK);
      text_line(&p->end, "%s = %s;", acc, step(g, y, acc, of_group));
      text_line(&p->end, "%s = %s;", of_group, reduce_start(g, y->kind, y->dt, r->c));
      text_close(&p->end, "}");
    }
    sum = acc;
  }
  text_line(&p->after, "const %s %s = %s;", T, s, sum);
  return sum;
}

/* Of a row that is shorter than the lanes: one element after the other. */
static void sum_of_few(RowsPrinter *r, Parts *p, const Sum *y) {
  Gen *g = r->g;
  const char *T = y->type, *s = y->name, *acc = arena_printf(g->a, "%s_a", s);
  const char *element =
      arena_printf(g->a, y->array ? "(%s)[l]" : "%s_t[l]", y->array ? y->array : s);
  if (y->array) {
    text_line(&p->tail, "all_exp_down_f32(%s, w);", y->array);
  } else {
    text_line(&p->before, "%s %s_t[%d];", T, s, r->c > 0 ? (int)r->c : 1);
    text_line(p->inner, "%s_t[l] = %s;", s, y->x);
  }
  Text *to = y->array ? &p->tail : &p->after;
  text_line(y->array ? &p->before : to, "%s %s = %s;", T, acc,
            reduce_start(g, y->kind, y->dt, r->c));
  text_line(to, "for (int l = 0; l < %s; l++) %s = %s;", cpu_rows_length(r), acc,
            step(g, y, acc, element));
  text_line(&p->after, "const %s %s = %s;", T, s, acc);
}

/* No op of the group is the maximum itself. */
static bool only_shifts(const RowsPrinter *r, const Work *w) {
  if (w->kind != OP_REDUCE_MAX) return false;
  for (int i = 0; i < r->gr->nops; i++)
    if (r->gr->ops[i]->kind == OP_REDUCE_MAX && r->gr->ops[i]->operands[0] == w->x) return false;
  return true;
}

static void pass_work(RowsPrinter *r, Parts *p, const Work *w, uint32_t i) {
  Gen *g = r->g;
  Dtype dt = value_type(r->gr->e, w->x)->dtype;
  Sum y = {dt,
           dtype_compute(dt),
           w->name,
           rows_addend(r, w),
           rows_combine(w),
           only_shifts(r, w),
           w->argument ? cpu_rows_arguments(r, w) : NULL};
  const char *sum = y.name; /* of a chunk */
  if (rows_is_arg(w)) {
    place_of_best(r, p, &y);
  } else if (!dtype_is_float(dt)) {
    text_line(&p->before, "%s %s = %s;", y.type, y.name, reduce_start(g, y.kind, dt, r->c));
    text_line(p->inner, "%s = %s;", y.name, reduce_step(g, y.kind, y.name, y.x));
  } else if (p->lanes || (y.shift && r->c >= ROW_OF_VECTORS)) {
    sum = sum_of_lanes(r, p, &y);
  } else {
    sum_of_few(r, p, &y);
  }
  if (!p->split) return;
  const char *at = row_bounded(r) ? "at" : "u";
  if (rows_is_arg(w)) {
    text_line(&p->end, "((int32_t *)(scratch + %lld))[%s] = %s;", cpu_rows_places(r, i), at, sum);
    sum = arena_printf(g->a, "%s_best", sum);
  }
  text_line(&p->end, "((%s *)(scratch + %lld))[%s] = %s;", y.type, cpu_rows_partial(r, i), at, sum);
}

void cpu_rows_pass(RowsPrinter *r, Kernel *k, int number, const RowLoops *l, bool split) {
  Gen *g = r->g;
  Text *row = r->p.level[1];
  *r->p.level[2] = text_new(g->a, row->indent + 2);
  printer_drop(&r->p, 2);
  cpu_rows_name(r, l);
  long long most = r->c;
  const char *c = cpu_rows_length(r);
  bool chunks = most > ROW_CHUNK;
  Parts p = {.before = text_new(g->a, row->indent),
             .start = text_new(g->a, row->indent + chunks),
             .inner = r->p.level[2],
             .tail = text_new(g->a, row->indent + chunks + 1),
             .end = text_new(g->a, row->indent + chunks),
             .after = text_new(g->a, row->indent),
             .lanes = most >= LANES,
             .chunks = chunks,
             .split = split};
  for (uint32_t i = 0; i < r->work.n; i++)
    if (r->work.at[i].pass == number) pass_work(r, &p, &r->work.at[i], i);
  text_append(row, &p.before);
  if (split)
    text_open(row, "{");
  else if (chunks)
    text_open(row, "for (long b = 0; b < %s; b += %d) {", c, ROW_CHUNK);
  if (chunks)
    text_line(row, "const long e = %s - b < %d ? %s : b + %d;", c, ROW_CHUNK, c, ROW_CHUNK);
  if (split && r->s.copied) cpu_rows_copy_chunks(r, k, row);
  text_append(row, &p.start);
  if (p.lanes) {
    if (chunks)
      text_open(row, "for (long c0 = b; c0 < e; c0 += %d) {", LANES);
    else
      text_open(row, "for (long c0 = 0; c0 < %s; c0 += %d) {", c, LANES);
    if (most % LANES || row_bounded(r))
      text_line(row, "const int w = %s - c0 < %d ? (int)(%s - c0) : %d;", c, LANES, c, LANES);
    else
      text_line(row, "enum { w = %d };", LANES);
  } else {
    text_open(row, "{");
    text_line(row, row_bounded(r) ? "const long c0 = 0, w = %s;" : "enum { c0 = 0, w = %s };", c);
  }
  if (split && !r->s.apply) cpu_rows_full_results(r);
  int open = cpu_rows_elements(r, row, "c0", "w");
  text_append(row, r->p.level[2]);
  while (open--) text_close(row, "}");
  text_append(row, &p.tail);
  text_close(row, "}");
  text_append(row, &p.end);
  if (chunks) text_close(row, "}");
  text_append(row, &p.after);
}

/* ---- the whole ---- */

/* Units own their part of everything that has one element a row. */
static void split_row_level(Kernel *k, const Group *gr, int64_t rows) {
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    ValueId v = i < gr->nin ? gr->in[i] : gr->out[i - gr->nin];
    const Type *t = value_type(gr->e, v);
    if (t->numel != rows || type_same_dims(t, gr->domain)) continue;
    bool in_order = t->rank > 0 && t->dim[0] == gr->domain->dim[0];
    for (int j = 0; in_order && i < gr->nin && j < gr->nops; j++) {
      OpClass c = op_info[gr->ops[j]->kind].cls;
      for (int o = 0; o < gr->ops[j]->noperands; o++)
        in_order &= gr->ops[j]->operands[o] != gr->arg[i] || c == CLASS_ELEMENT || c == CLASS_ROWS;
    }
    uint64_t bytes = (uint64_t)rows * (uint64_t)dtype_size(t->dtype);
    if (in_order && i < gr->nin) kernel_split_in(k, gr, i, 1, 0, bytes);
    if (in_order && i >= gr->nin) kernel_split_out(k, gr, i - gr->nin, 1, 0, bytes);
  }
}

void cpu_rows_results(RowsPrinter *r, const RowLoops *l, bool full) {
  const Group *gr = r->gr;
  Text *row = r->p.level[1];
  /* results of one element a row are computed before any result is written */
  for (int i = 0; i < gr->nout; i++)
    if (!cpu_rows_is_full(gr, i))
      printer_value(&r->p, gr->yield[i], printer_identity(&r->p, gr->yield[i]));
  printer_drop(&r->p, 2);
  *r->p.level[2] = text_new(r->g->a, 3);
  cpu_rows_name(r, l);
  if (full && cpu_rows_full_results(r)) {
    int open = cpu_rows_elements(r, row, "0", cpu_rows_length(r));
    text_append(row, r->p.level[2]);
    while (open--) text_close(row, "}");
  }
  for (int i = 0; i < gr->nout; i++)
    if (!cpu_rows_is_full(gr, i)) printer_store(&r->p, i, printer_identity(&r->p, gr->yield[i]), 1);
}

void cpu_rows_finish(RowsPrinter *r, Kernel *k, const char *from, const char *to) {
  text_append(&k->text, r->p.level[0]);
  text_open(&k->text, "for (long u = %s; u < %s; u++) {", from, to);
  text_append(&k->text, r->p.level[1]);
  text_close(&k->text, "}");
}

RowLoops cpu_rows_start(RowsPrinter *r) {
  Gen *g = r->g;
  const Group *gr = r->gr;
  r->p = printer_new(g, gr, 3, 1);
  if (cpu_rows_in_panels(gr)) {
    r->p.panel = r->s.copied ? "(c - b)" : "(place + l)"; /* of cpu_rows_elements */
    r->p.flat_level = 2;
  }
  return rows_start(r);
}

void cpu_rows(Gen *g, const Group *gr) {
  if (cpu_sums_pixels(gr)) {
    cpu_reduce(g, gr);
    return;
  }
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  RowsPrinter r = {.g = g,
                   .gr = gr,
                   .outer = op_outer_axes(gr->e, gr->root),
                   .c = rows_elements(gr),
                   .number = "u",
                   .s = cpu_rows_schedule(gr)};
  const RowLoops l = cpu_rows_start(&r);
  int64_t rows = r.s.rows;
  const char *rows_text = dims_text(g, gr->e, gr->domain, 0, r.outer);
  k->flops = (uint64_t)group_work(gr);
  kernel_schedule(k, &rows_kind, &r.s, sizeof r.s);
  if (r.s.split) {
    cpu_rows_in_chunks(&r, k, &l);
    return;
  }
  bool parallel = r.s.units > 1;
  kernel_units_of(k, r.s.units, rows_text);
  if (parallel) {
    cpu_split_full(k, gr, cpu_domain_layout(gr), 1, 0, gr->domain->numel);
    split_row_level(k, gr, rows);
  }
  if (l.nouter) printer_decode(&r.p, l.outer, l.nouter, "u", "i", 1);
  cpu_rows_keep_exps(&r, k);
  for (int i = 0; i <= r.npasses; i++) {
    rows_before(&r, i);
    cpu_rows_bind_exps(&r, i);
    if (i < r.npasses) cpu_rows_pass(&r, k, i, &l, false);
  }
  cpu_rows_results(&r, &l, true);
  cpu_rows_finish(&r, k, parallel ? "u0" : "0", parallel ? "u1" : rows_text);
}
