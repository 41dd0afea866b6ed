/* Kernels over rows: element-wise work on the full shape and on one element a row, reductions along
   the row, softmax and cross entropy as passes over the row.
   Contract: a row is read completely before its results are written, so they may lie over operands. A
   float reduction of at least 64 elements runs in 64 lanes that are added in a fixed tree, in chunks of
   16,384 that are added in order; a shorter one element by element: the bits depend on the length alone.
   Method: each reduction is due in the first pass in which its operand can be computed; passes
   recompute what they need from the operands, which costs less than rows kept in memory. */
#include "codegen/cpu/cpu.h"

/* ---- reductions in text, for COLS as well ---- */

const char *reduce_start(Gen *g, OpKind k, Dtype dt) {
  bool real = dtype_is_float(dt);
  switch ((int)k) {
  case OP_PROD: return scalar_literal(g->a, dt, real ? (Attr){.f = 1} : (Attr){.i = 1});
  case OP_REDUCE_MAX:
    if (real) return scalar_literal(g->a, dt, (Attr){.f = -__builtin_inf()});
    return dt == DT_I32 ? "INT32_MIN" : dt == DT_I64 ? "INT64_MIN" : "0";
  case OP_REDUCE_MIN:
    if (real) return scalar_literal(g->a, dt, (Attr){.f = __builtin_inf()});
    return dt == DT_I32 ? "INT32_MAX" : dt == DT_I64 ? "INT64_MAX" : dt == DT_BOOL ? "1" : "255";
  default: return scalar_literal(g->a, dt, (Attr){0});
  }
}

const char *reduce_step(Gen *g, OpKind k, const char *acc, const char *v) {
  switch ((int)k) {
  case OP_PROD: return arena_printf(g->a, "%s * %s", acc, v);
  case OP_REDUCE_MAX:
    return arena_printf(g->a, "%s > %s || %s != %s ? %s : %s", v, acc, v, v, v, acc);
  case OP_REDUCE_MIN:
    return arena_printf(g->a, "%s < %s || %s != %s ? %s : %s", v, acc, v, v, v, acc);
  default: return arena_printf(g->a, "%s + %s", acc, v);
  }
}

int64_t group_work(const Group *gr) {
  int64_t work = 0;
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    const Type *t = op_is_reduction(op) ? value_type(gr->e, op->operands[op_full_operand(op)])
                                        : value_type(gr->e, op->results[0]);
    const char *x = op_info[op->kind].expr;
    bool dear = op_info[op->kind].cls == CLASS_ROWS || (x && strstr(x, "FN("));
    work += t->numel * (dear ? 8 : 1);
  }
  return work;
}

/* ---- terms: what is reduced, and in which pass ---- */

typedef struct Work {
  ValueId x;      /* operand; with ROLE_SUM of a softmax_grad also y */
  OpKind kind;    /* OP_SUM, …, OP_ARGMAX: how it is combined; OP_SOFTMAX: sum of exp(x - max) */
  const Op *op;   /* of a softmax_grad: its second factor; else the first op that wants it */
  int pass;
  const char *name;
} Work;

typedef struct Rows {
  Gen *g;
  const Group *gr;
  Printer p;
  VEC(Work) work;
  int *ready;   /* by member: the pass in which its result can be computed */
  int npasses;  /* of reductions */
  int outer;    /* axes before the row */
  int64_t c;    /* elements of a row */
} Rows;

static int ready(const Rows *r, ValueId v) {
  if (group_arg(r->gr, v) >= 0) return 0;
  OpId def = value_at(r->gr->e, v)->def;
  for (int i = 0; i < r->gr->nops; i++)
    if (r->gr->ops[i]->id == def) return r->ready[i];
  return 0;
}

/* The work, found or added: equal reductions of one value are one. */
static int want(Rows *r, OpKind kind, ValueId x, const Op *op, int pass) {
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->kind == kind && w->x == x && kind != OP_SOFTMAX_GRAD) return (int)i;
  }
  const char *name = arena_printf(r->g->a, "r%d", (int)r->work.n);
  vec_push(r->g->a, &r->work, (Work){x, kind, op, pass, name});
  if (pass + 1 > r->npasses) r->npasses = pass + 1;
  return (int)r->work.n - 1;
}

/* A sum that is an op's result is rounded to its dtype; one inside of a softmax is not. */
static void term(Rows *r, const Op *op, Role role, int work) {
  const char *text = r->work.at[work].name;
  if (role == ROLE_VALUE)
    text = scalar_round_text(r->g->a, value_type(r->gr->e, op->results[0])->dtype, text);
  vec_push(r->g->a, &r->p.terms, (Term){op, role, text, 1});
}

static void schedule(Rows *r) {
  const Group *gr = r->gr;
  r->ready = ARENA_ARRAY(r->g->a, int, gr->nops + 1);
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    int at = 0;
    for (int k = 0; k < op->noperands; k++) {
      int x = ready(r, op->operands[k]);
      if (x > at) at = x;
    }
    switch ((int)op->kind) {
    case OP_SOFTMAX:
    case OP_LOG_SOFTMAX:
    case OP_XENT:
    case OP_XENT_GRAD: {
      ValueId x = op->operands[op_full_operand(op)];
      int first = ready(r, x);
      term(r, op, ROLE_MAX, want(r, OP_REDUCE_MAX, x, op, first));
      term(r, op, ROLE_SUM, want(r, OP_SOFTMAX, x, op, first + 1));
      r->ready[i] = at > first + 2 ? at : first + 2;
      break;
    }
    case OP_SOFTMAX_GRAD:
      term(r, op, ROLE_SUM, want(r, OP_SOFTMAX_GRAD, op->operands[0], op, at));
      r->ready[i] = at + 1;
      break;
    case OP_LOG_SOFTMAX_GRAD:
      term(r, op, ROLE_SUM, want(r, OP_SUM, op->operands[0], op, at));
      r->ready[i] = at + 1;
      break;
    default:
      r->ready[i] = at;
      if (op_is_reduction(op)) {
        term(r, op, ROLE_VALUE, want(r, op->kind, op->operands[0], op, at));
        r->ready[i] = at + 1;
      }
    }
  }
}

/* ---- long rows: chunks of a row are units, and a second launch puts them together ---- */

enum { CHUNK = 16384, FEW_ROWS = 16 };

static int64_t chunks_of(int64_t c) { return (c + CHUNK - 1) / CHUNK; }

static int64_t elements_of_row(const Group *gr) {
  int64_t c = 1;
  for (int i = op_outer_axes(gr->e, gr->root); i < gr->domain->rank; i++) c *= gr->domain->dim[i];
  return c;
}

static bool same_dims(const Type *a, const Type *b) {
  bool same = a->rank == b->rank;
  for (int i = 0; same && i < a->rank; i++) same = a->dim[i] == b->dim[i];
  return same;
}

/* Few long rows, plain reductions that do not depend on each other, results of one element a row. */
static bool is_split(const Group *gr) {
  int64_t c = elements_of_row(gr);
  if (c <= CHUNK || gr->domain->numel / c >= FEW_ROWS) return false;
  for (int i = 0; i < gr->nout; i++)
    if (same_dims(value_type(gr->e, gr->yield[i]), gr->domain)) return false;
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    if (!op_is_reduction(op)) {
      /* an element-wise op on the full shape that reads a reduction would need a second pass */
      if (op->kind == OP_BROADCAST && group_arg(gr, op->operands[0]) < 0 &&
          op_info[value_def(gr->e, op->operands[0])->kind].cls != CLASS_LEAF)
        return false;
      continue;
    }
    if (op_info[op->kind].cls == CLASS_ROWS || op->kind == OP_ARGMAX || op->kind == OP_ARGMIN)
      return false;
  }
  return true;
}

static int64_t reductions(const Group *gr) {
  int64_t n = 0;
  for (int i = 0; i < gr->nops; i++) n += op_is_reduction(gr->ops[i]);
  return n;
}

/* One number of 8 bytes at most for every reduction and chunk. */
uint64_t cpu_rows_scratch(const Group *gr) {
  if (!is_split(gr)) return 0;
  int64_t c = elements_of_row(gr);
  return (uint64_t)(reductions(gr) * (gr->domain->numel / c) * chunks_of(c) * 8);
}

static long long partial_offset(const Rows *r, uint32_t work) {
  return (long long)work * (r->gr->domain->numel / r->c) * chunks_of(r->c) * 8;
}

/* ---- one pass ---- */

/* What is combined at a position: its text in the level of the inner loop. */
static const char *addend(Rows *r, const Work *w) {
  Printer *p = &r->p;
  Dtype dt = value_type(r->gr->e, w->x)->dtype;
  const Axis *map = printer_identity(p, w->x);
  const char *x = printer_value(p, w->x, map).text;
  if (w->kind == OP_SOFTMAX) {
    const char *max = NULL;
    for (uint32_t i = 0; i < r->work.n; i++)
      if (r->work.at[i].kind == OP_REDUCE_MAX && r->work.at[i].x == w->x) max = r->work.at[i].name;
    return arena_printf(r->g->a, "%s_exp(%s - %s)", dtype_prefix(dt), x, max);
  }
  if (w->kind == OP_SOFTMAX_GRAD)
    return arena_printf(r->g->a, "%s * %s", x, printer_value(p, w->op->operands[1], map).text);
  return x;
}

static OpKind combine(const Work *w) {
  return w->kind == OP_SOFTMAX || w->kind == OP_SOFTMAX_GRAD ? OP_SUM : w->kind;
}

static bool is_arg(const Work *w) { return w->kind == OP_ARGMAX || w->kind == OP_ARGMIN; }

/* s[0] = tree of the lanes of s */
static void lanes_helper(Gen *g, OpKind k, Dtype dt) {
  const char *T = dtype_compute(dt), *op = op_info[k].name;
  gen_helper(g, arena_printf(g->a,
                             "static inline %s %s_lanes_%s(%s *s) {\n"
                             "  for (int h = %d; h; h /= 2)\n"
                             "    for (int l = 0; l < h; l++) s[l] = %s;\n"
                             "  return s[0];\n"
                             "}\n",
                             T, dtype_prefix(dt), op, T, LANES / 2,
                             reduce_step(g, k, "s[l]", "s[l + h]")));
}

const char *reduce_beats(Gen *g, OpKind k, Dtype dt, const char *a, const char *b) {
  const char *cmp = k == OP_ARGMAX ? ">" : "<";
  if (!dtype_is_float(dt)) return arena_printf(g->a, "%s %s %s", a, cmp, b);
  return arena_printf(g->a, "%s %s %s || (%s != %s && %s == %s)", a, cmp, b, a, a, b, b);
}

/* Names the coordinates of a row's elements for the inner loop: its variable is c. */
static void name_row(Rows *r, const Loop *loop, int n) {
  if (n == 0) return;
  printer_decode(&r->p, loop, n, "c", "x", 2);
}

/* The loops over a row, in blocks of lanes and, where the row is long, in chunks. With `split` the
   chunk is the unit's own, and what it comes to goes to scratch. */
static void pass(Rows *r, int number, const Loop *loop, int n, bool split) {
  Gen *g = r->g;
  Text *row = r->p.level[1];
  *r->p.level[2] = text_new(g->a, row->indent + 2);
  printer_drop(&r->p, 2);
  name_row(r, loop, n);
  bool lanes = r->c >= LANES, chunks = r->c > CHUNK;
  long long c = r->c;
  Text before = text_new(g->a, row->indent);             /* the row's variables */
  Text start = text_new(g->a, row->indent + chunks);     /* those of a chunk */
  Text tail = text_new(g->a, row->indent + chunks + 1);  /* after a block */
  Text end = text_new(g->a, row->indent + chunks);       /* after a chunk */
  Text after = text_new(g->a, row->indent);              /* after the row */
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != number) continue;
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *T = dtype_compute(dt), *x = addend(r, w), *s = w->name;
    const char *acc = arena_printf(g->a, "%s_a", s);
    OpKind k = combine(w);
    Text *inner = r->p.level[2];
    const char *sum = s; /* of a chunk */
    if (is_arg(w)) {
      text_line(&before, "%s %s_best = 0, %s_t[%d];", T, s, s, lanes ? LANES : (int)c);
      text_line(&before, "int32_t %s = 0;", s);
      text_line(inner, "%s_t[l] = %s;", s, x);
      text_line(&tail, "if (c0 == 0) %s_best = %s_t[0];", s, s);
      text_open(&tail, "for (int l = 0; l < w; l++) {");
      text_open(&tail, "if (%s) {",
                reduce_beats(g, k, dt, arena_printf(g->a, "%s_t[l]", s),
                             arena_printf(g->a, "%s_best", s)));
      text_line(&tail, "%s_best = %s_t[l];", s, s);
      text_line(&tail, "%s = (int32_t)(c0 + l);", s);
      text_close(&tail, "}");
      text_close(&tail, "}");
    } else if (!dtype_is_float(dt)) {
      text_line(&before, "%s %s = %s;", T, s, reduce_start(g, k, dt));
      text_line(inner, "%s = %s;", s, reduce_step(g, k, s, x));
    } else if (lanes) {
      lanes_helper(g, k, dt);
      text_line(&start, "%s %s_s[%d];", T, s, LANES);
      text_line(&start, "for (int l = 0; l < %d; l++) %s_s[l] = %s;", LANES, s,
                reduce_start(g, k, dt));
      const char *lane = arena_printf(g->a, "%s_s[l]", s);
      const char *v = arena_printf(g->a, "v%d", g->names++);
      text_line(inner, "const %s %s = %s;", T, v, x);
      text_line(inner, "%s = %s;", lane, reduce_step(g, k, lane, v));
      sum = arena_printf(g->a, "%s_lanes_%s(%s_s)", dtype_prefix(dt), op_info[k].name, s);
      if (chunks && !split) {
        text_line(&before, "%s %s = %s;", T, acc, reduce_start(g, k, dt));
        text_line(&end, "const %s %s_c = %s;", T, s, sum);
        text_line(&end, "%s = %s;", acc, reduce_step(g, k, acc, arena_printf(g->a, "%s_c", s)));
        sum = acc;
      }
      if (!split) text_line(&after, "const %s %s = %s;", T, s, sum);
    } else {
      text_line(&before, "%s %s_t[%d];", T, s, c > 0 ? (int)c : 1);
      text_line(inner, "%s_t[l] = %s;", s, x);
      text_line(&after, "%s %s = %s;", T, acc, reduce_start(g, k, dt));
      text_line(&after, "for (int l = 0; l < %lld; l++) %s = %s;", c, acc,
                reduce_step(g, k, acc, arena_printf(g->a, "%s_t[l]", s)));
      text_line(&after, "const %s %s = %s;", T, s, acc);
    }
    if (split)
      text_line(&end, "((%s *)(scratch + %lld))[u] = %s;", T, partial_offset(r, i), sum);
  }
  text_append(row, &before);
  if (split)
    text_open(row, "{");
  else if (chunks)
    text_open(row, "for (long b = 0; b < %lld; b += %d) {", c, CHUNK);
  if (chunks) text_line(row, "const long e = %lld - b < %d ? %lld : b + %d;", c, CHUNK, c, CHUNK);
  text_append(row, &start);
  if (lanes) {
    if (chunks)
      text_open(row, "for (long c0 = b; c0 < e; c0 += %d) {", LANES);
    else
      text_open(row, "for (long c0 = 0; c0 < %lld; c0 += %d) {", c, LANES);
    if (c % LANES)
      text_line(row, "const int w = %lld - c0 < %d ? (int)(%lld - c0) : %d;", c, LANES, c, LANES);
    else
      text_line(row, "enum { w = %d };", LANES);
  } else {
    text_open(row, "{");
    text_line(row, "enum { c0 = 0, w = %lld };", c);
  }
  text_line(row, "GC_IVDEP");
  text_open(row, "for (int l = 0; l < w; l++) {");
  text_line(row, "const long c = c0 + l;");
  text_append(row, r->p.level[2]);
  text_close(row, "}");
  text_append(row, &tail);
  text_close(row, "}");
  text_append(row, &end);
  if (chunks) text_close(row, "}");
  text_append(row, &after);
}

/* ---- the whole ---- */

/* A label, checked, as soon as it can be computed: before pass `number`. */
static void label(Rows *r, const Op *op, const char *name) {
  Printer *p = &r->p;
  Text *row = p->level[1];
  ValueId v = op->operands[op->noperands - 1];
  const char *read = printer_value(p, v, printer_identity(p, v)).text;
  text_line(row, "long %s = (long)%s;", name, read);
  text_open(row, "if (%s < 0 || %s >= %lld) {", name, name, (long long)r->c);
  text_line(row, "gcrt_fault(\"%s\", u, %s, %lld);", kernel_fault_name(r->gr, v, "label"), name,
            (long long)r->c);
  text_line(row, "%s = 0;", name);
  text_close(row, "}");
  vec_push(r->g->a, &p->terms, (Term){op, ROLE_LABEL, name, 1});
}

/* The element of the row that a label names. */
static void at_label(Rows *r, const Op *op) {
  Printer *p = &r->p;
  ValueId x = op->operands[0];
  const Type *t = value_type(r->gr->e, x);
  Axis *map = ARENA_ARRAY(r->g->a, Axis, t->rank + 1);
  memcpy(map, printer_identity(p, x), sizeof *map * (size_t)t->rank);
  map[t->rank - 1] = (Axis){.coord = p->ncoords, .step = 1};
  p->coord[p->ncoords++] =
      (Coord){.dim = r->c, .text = printer_term(p, op, ROLE_LABEL)->text, .level = 1};
  uint32_t seen = p->seen.n;
  Printed at = printer_value(p, x, map);
  p->seen.n = seen; /* the coordinate's number is the next label's, too */
  p->ncoords--;
  vec_push(r->g->a, &p->terms, (Term){op, ROLE_AT_LABEL, at.text, 1});
}

static void labels(Rows *r, int number) {
  for (int i = 0; i < r->gr->nops; i++) {
    const Op *op = r->gr->ops[i];
    if (op->kind != OP_XENT && op->kind != OP_XENT_GRAD) continue;
    int when = ready(r, op->operands[op->noperands - 1]);
    if (when == number) label(r, op, arena_printf(r->g->a, "label%d", i));
    int row = ready(r, op->operands[0]);
    if (op->kind == OP_XENT && (row > when ? row : when) == number) at_label(r, op);
  }
}

static void collect(Rows *r, Leaves *l) {
  Printer *p = &r->p;
  for (uint32_t i = 0; i < r->work.n; i++)
    leaves_of(p, r->work.at[i].x, printer_identity(p, r->work.at[i].x), l);
  for (int i = 0; i < r->gr->nops; i++) { /* operands of row ops, and all that reductions read */
    const Op *op = r->gr->ops[i];
    if (!op_is_reduction(op)) continue;
    for (int k = 0; k < op->noperands; k++)
      leaves_of(p, op->operands[k], printer_identity(p, op->operands[k]), l);
  }
  for (int i = 0; i < r->gr->nout; i++)
    leaves_of(p, r->gr->yield[i], printer_identity(p, r->gr->yield[i]), l);
}

/* Units own their part of everything that has one element a row. */
static void split_row_level(Kernel *k, const Group *gr, int64_t rows) {
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    ValueId v = i < gr->nin ? gr->in[i] : gr->out[i - gr->nin];
    const Type *t = value_type(gr->e, v);
    if (t->numel != rows || same_dims(t, gr->domain)) continue;
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

/* Values of one element a row, then those of the full shape, from what the passes have bound. */
static void results(Rows *r, const Loop *inner, int ninner) {
  const Group *gr = r->gr;
  Text *row = r->p.level[1];
  /* results of one element a row are computed before any result is written */
  for (int i = 0; i < gr->nout; i++)
    if (!same_dims(value_type(gr->e, gr->yield[i]), gr->domain))
      printer_value(&r->p, gr->yield[i], printer_identity(&r->p, gr->yield[i]));
  bool full = false;
  printer_drop(&r->p, 2);
  *r->p.level[2] = text_new(r->g->a, 3);
  name_row(r, inner, ninner);
  for (int step = 0; step < 2; step++)
    for (int i = 0; i < gr->nout; i++) {
      ValueId v = gr->yield[i];
      if (!same_dims(value_type(gr->e, v), gr->domain)) continue;
      full = true;
      const Axis *map = printer_identity(&r->p, v);
      if (step)
        printer_store(&r->p, i, map, 2);
      else
        printer_value(&r->p, v, map);
    }
  if (full) {
    text_line(row, "GC_IVDEP");
    text_line(row, "for (long c = 0; c < %lld; c++) {", (long long)r->c);
    text_append(row, r->p.level[2]);
    text_line(row, "}");
  }
  for (int i = 0; i < gr->nout; i++)
    if (!same_dims(value_type(gr->e, gr->yield[i]), gr->domain))
      printer_store(&r->p, i, printer_identity(&r->p, gr->yield[i]), 1);
}

static void finish(Rows *r, Kernel *k, const char *from, const char *to) {
  text_append(&k->text, r->p.level[0]);
  text_line(&k->text, "for (long u = %s; u < %s; u++) {", from, to);
  text_append(&k->text, r->p.level[1]);
  text_line(&k->text, "}");
}

/* The partial results of a row's chunks, in order. */
static void combine_chunks(Rows *r) {
  Gen *g = r->g;
  Text *row = r->p.level[1];
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *T = dtype_compute(dt), *acc = arena_printf(g->a, "%s_a", w->name);
    text_line(row, "%s %s = %s;", T, acc, reduce_start(g, w->kind, dt));
    text_open(row, "for (long b = 0; b < %lld; b++) {", (long long)chunks_of(r->c));
    text_line(row, "const %s v = ((const %s *)(scratch + %lld))[u * %lld + b];", T, T,
              partial_offset(r, i), (long long)chunks_of(r->c));
    text_line(row, "%s = %s;", acc, reduce_step(g, w->kind, acc, "v"));
    text_close(row, "}");
    text_line(row, "const %s %s = %s;", T, w->name, acc);
  }
}

static void start(Rows *r, const Group *gr, Loop *outer, int *nouter, Loop *inner, int *ninner) {
  Gen *g = r->g;
  r->p = printer_new(g, gr, 3, 1);
  int rank = gr->domain->rank, *axes = ARENA_ARRAY(g->a, int, rank + 1);
  for (int i = 0; i < rank; i++) axes[i] = i;
  r->work.n = 0;
  schedule(r);
  Leaves leaves = {0};
  collect(r, &leaves);
  *nouter = loops_over(&r->p, &leaves, axes, r->outer, outer);
  *ninner = loops_over(&r->p, &leaves, axes + r->outer, rank - r->outer, inner);
}

void cpu_rows(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  Rows r = {.g = g, .gr = gr, .outer = op_outer_axes(gr->e, gr->root), .c = elements_of_row(gr)};
  int nouter, ninner, rank = gr->domain->rank;
  Loop *outer = ARENA_ARRAY(g->a, Loop, rank + 1), *inner = ARENA_ARRAY(g->a, Loop, rank + 1);
  start(&r, gr, outer, &nouter, inner, &ninner);
  int64_t rows = loops_count(outer, nouter), work = group_work(gr);
  k->flops = (uint64_t)work;
  if (is_split(gr)) {
    kernel_units(k, rows * chunks_of(r.c));
    text_line(r.p.level[1], "const long row = u / %lld, b = u %% %lld * %d;",
              (long long)chunks_of(r.c), (long long)chunks_of(r.c), CHUNK);
    if (nouter) printer_decode(&r.p, outer, nouter, "row", "i", 1);
    pass(&r, 0, inner, ninner, true);
    finish(&r, k, "u0", "u1");
    k = kernel_next(g, gr, "combine");
    kernel_args(g, k, gr);
    kernel_units(k, 1);
    start(&r, gr, outer, &nouter, inner, &ninner);
    if (nouter) printer_decode(&r.p, outer, nouter, "u", "i", 1);
    combine_chunks(&r);
    results(&r, inner, ninner);
    finish(&r, k, "0", arena_printf(g->a, "%lld", (long long)rows));
    return;
  }
  bool parallel = rows > 1 && work >= SERIAL_WORK;
  kernel_units(k, parallel ? rows : 1);
  if (parallel) {
    cpu_split_full(k, gr, 1, 0, gr->domain->numel);
    split_row_level(k, gr, rows);
  }
  if (nouter) printer_decode(&r.p, outer, nouter, "u", "i", 1);
  for (int i = 0; i <= r.npasses; i++) {
    labels(&r, i);
    if (i < r.npasses) pass(&r, i, inner, ninner, false);
  }
  results(&r, inner, ninner);
  finish(&r, k, parallel ? "u0" : "0", parallel ? "u1" : arena_printf(g->a, "%lld", (long long)rows));
}
