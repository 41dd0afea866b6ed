/* What rows and columns share on every target; see reduction.h.
   Contract: the order in which elements are combined is fixed by the shape alone, and is the same
   on every target, so that a program gives the same bits wherever it runs. */
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

/* ---- steps ---- */

const char *reduce_start(Gen *g, OpKind k, Dtype dt, int64_t n) {
  bool real = dtype_is_float(dt);
  switch ((int)k) {
  case OP_PROD: return scalar_literal(g->a, dt, real ? (Attr){.f = 1} : (Attr){.i = 1});
  case OP_REDUCE_MAX:
    if (real) return scalar_literal(g->a, dt, (Attr){.f = -__builtin_inf()});
    return dt == DT_I32 ? "INT32_MIN" : dt == DT_I64 ? "INT64_MIN" : dt == DT_I8 ? "-128" : "0";
  case OP_REDUCE_MIN:
    if (real) return scalar_literal(g->a, dt, (Attr){.f = __builtin_inf()});
    return dt == DT_I32    ? "INT32_MAX"
           : dt == DT_I64  ? "INT64_MAX"
           : dt == DT_I8   ? "127"
           : dt == DT_BOOL ? "1"
                           : "255";
  default: return scalar_literal(g->a, dt, real && n > 0 ? (Attr){.f = -0.0} : (Attr){0});
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
    bool costly = op_info[op->kind].cls == CLASS_ROWS || op_calls_function(op->kind);
    work += t->numel * (costly ? 8 : 1);
  }
  return work;
}

const char *reduce_beats(Gen *g, OpKind k, Dtype dt, const char *a, const char *b) {
  const char *cmp = k == OP_ARGMAX ? ">" : "<";
  if (!dtype_is_float(dt)) return arena_printf(g->a, "%s %s %s", a, cmp, b);
  return arena_printf(g->a, "%s %s %s || (%s != %s && %s == %s)", a, cmp, b, a, a, b, b);
}

/* ---- terms: what is reduced, and in which pass ---- */

static int ready(const RowsPrinter *r, ValueId v) {
  if (group_arg(r->gr, v) >= 0) return 0;
  OpId def = value_at(r->gr->e, v)->def;
  for (int i = 0; i < r->gr->nops; i++)
    if (r->gr->ops[i]->id == def) return r->ready[i];
  return 0;
}

/* The work, found or added: equal reductions of one value are one. */
static int want(RowsPrinter *r, OpKind kind, ValueId x, const Op *op, int pass) {
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->kind == kind && w->x == x && kind != OP_SOFTMAX_GRAD) return (int)i;
  }
  const char *name = arena_printf(r->g->a, "r%d", (int)r->work.n);
  vec_push(r->g->a, &r->work, (Work){.x = x, .kind = kind, .op = op, .pass = pass, .name = name});
  if (pass + 1 > r->npasses) r->npasses = pass + 1;
  return (int)r->work.n - 1;
}

/* A sum that is an op's result is rounded to its dtype; one inside of a softmax is not. */
static void term(RowsPrinter *r, const Op *op, Role role, int work) {
  const char *text = r->work.at[work].name;
  if (role == ROLE_VALUE)
    text = scalar_round_text(r->g->a, value_type(r->gr->e, op->results[0])->dtype, text);
  vec_push(r->g->a, &r->p.terms, (Term){op, role, text, 1});
}

void rows_passes(RowsPrinter *r) {
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
    case OP_LAYER_NORM: {
      int first = ready(r, op->operands[0]);
      term(r, op, ROLE_SUM, want(r, OP_SUM, op->operands[0], op, first));
      term(r, op, ROLE_SQUARES, want(r, OP_LAYER_NORM, op->operands[0], op, first + 1));
      r->ready[i] = first + 2;
      break;
    }
    case OP_RMS_NORM:
      term(r, op, ROLE_SQUARES, want(r, OP_RMS_NORM, op->operands[0], op, at));
      r->ready[i] = at + 1;
      break;
    case OP_LAYER_NORM_GRAD:
    case OP_RMS_NORM_GRAD: {
      int dy = ready(r, op->operands[0]), y = ready(r, op->operands[1]);
      int dot = dy > y ? dy : y;
      if (op->kind == OP_LAYER_NORM_GRAD)
        term(r, op, ROLE_SUM, want(r, OP_SUM, op->operands[0], op, dy));
      term(r, op, ROLE_DOT, want(r, OP_SOFTMAX_GRAD, op->operands[0], op, dot));
      r->ready[i] = at > dot + 1 ? at : dot + 1;
      break;
    }
    case OP_LOG_SOFTMAX_GRAD: { /* the sum of dy may be a sum of the program's, too: as early as
                                   that */
      int first = ready(r, op->operands[0]);
      term(r, op, ROLE_SUM, want(r, OP_SUM, op->operands[0], op, first));
      r->ready[i] = at > first + 1 ? at : first + 1;
      break;
    }
    default:
      r->ready[i] = at;
      if (op_is_reduction(op)) {
        int work = want(r, op->kind, op->operands[0], op, at);
        if (op_accumulator(op) < 0) term(r, op, ROLE_VALUE, work); /* else in rows_before */
        r->ready[i] = at + 1;
      }
    }
  }
}

int64_t rows_elements(const Group *gr) {
  int64_t c = 1;
  for (int i = op_outer_axes(gr->e, gr->root); i < gr->domain->rank; i++) c *= gr->domain->dim[i];
  return c;
}

bool rows_independent(const Group *gr) {
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    if (!op_is_reduction(op)) {
      /* an element-wise op on the full shape that reads a reduction would need a second pass */
      if (op->kind == OP_BROADCAST && group_arg(gr, op->operands[0]) < 0 &&
          op_info[value_def(gr->e, op->operands[0])->kind].cls != CLASS_LEAF &&
          !op_is_count(gr->e, value_def(gr->e, op->operands[0])))
        return false;
      continue;
    }
    if (op_info[op->kind].cls == CLASS_ROWS || op->kind == OP_ARGMAX || op->kind == OP_ARGMIN)
      return false;
  }
  return true;
}

/* Is the op's result made of a reduction's? seen: by member, of those before it. */
static bool is_reduced(const Group *gr, const bool *seen, const Op *op) {
  for (int i = 0; i < op->noperands; i++)
    for (int k = 0; k < gr->nops && group_arg(gr, op->operands[i]) < 0; k++)
      if (seen[k] && gr->ops[k]->id == value_at(gr->e, op->operands[i])->def) return true;
  return false;
}

static bool one_pass(const Group *gr, bool places) {
  Arena *a = arena_new();
  bool *seen = ARENA_ARRAY(a, bool, gr->nops + 1), one = true;
  for (int i = 0; i < gr->nops && one; i++) {
    const Op *op = gr->ops[i];
    bool reduces = op_is_reduction(op);
    seen[i] = is_reduced(gr, seen, op);
    const bool place = op->kind == OP_ARGMAX || op->kind == OP_ARGMIN;
    one = !reduces || (!seen[i] && op_info[op->kind].cls != CLASS_ROWS && (places || !place));
    seen[i] |= reduces;
  }
  arena_free(a);
  return one;
}

bool rows_one_pass(const Group *gr) { return one_pass(gr, false); }

bool rows_one_search(const Group *gr) { return one_pass(gr, true); }

int64_t rows_reductions(const Group *gr) {
  int64_t n = 0;
  for (int i = 0; i < gr->nops; i++) {
    const OpKind kind = gr->ops[i]->kind;
    const bool two = op_info[kind].cls == CLASS_ROWS || kind == OP_ARGMAX || kind == OP_ARGMIN;
    if (op_is_reduction(gr->ops[i])) n += two ? 2 : 1;
  }
  return n;
}

bool rows_has_full_results(const Group *gr) {
  for (int i = 0; i < gr->nout; i++)
    if (type_same_dims(value_type(gr->e, gr->yield[i]), gr->domain)) return true;
  return false;
}

bool rows_may_wait(const Group *gr) {
  bool labels = false;
  for (int i = 0; i < gr->nops; i++) labels |= gr->ops[i]->kind == OP_XENT;
  return !labels || !rows_has_full_results(gr);
}

/* ---- passes over a row ---- */

/* What is combined at a position: its text in the level of the inner loop. */
const char *rows_addend(RowsPrinter *r, const Work *w) {
  Printer *p = &r->p;
  Dtype dt = value_type(r->gr->e, w->x)->dtype;
  const Axis *map = printer_identity(p, w->x);
  const char *x = printer_value(p, w->x, map).text;
  if (w->kind == OP_SOFTMAX) {
    const char *max = NULL;
    for (uint32_t i = 0; i < r->work.n; i++)
      if (r->work.at[i].kind == OP_REDUCE_MAX && r->work.at[i].x == w->x) max = r->work.at[i].name;
    if (w->argument) {
      text_line(p->level[2], "%s = %s - %s;", w->argument, x, max);
      return w->argument;
    }
    const char *e = arena_printf(r->g->a, "%s_exp_down(%s - %s)", dtype_prefix(dt), x, max);
    if (!w->keep) return e;
    text_line(p->level[2], "%s = %s;", w->keep, e);
    return w->keep;
  }
  if (w->kind == OP_LAYER_NORM) {
    const char *mean = printer_term(p, w->op, ROLE_MEAN)->text;
    return arena_printf(r->g->a, "(%s - %s) * (%s - %s)", x, mean, x, mean);
  }
  if (w->kind == OP_RMS_NORM) return arena_printf(r->g->a, "%s * %s", x, x);
  if (w->kind == OP_SOFTMAX_GRAD)
    return arena_printf(r->g->a, "%s * %s", x, printer_value(p, w->op->operands[1], map).text);
  return x;
}

OpKind rows_combine(const Work *w) { return op_info[w->kind].cls == CLASS_ROWS ? OP_SUM : w->kind; }

bool rows_is_arg(const Work *w) { return w->kind == OP_ARGMAX || w->kind == OP_ARGMIN; }

int64_t rows_slot(const RowsPrinter *r, uint32_t work) {
  int64_t slot = work;
  for (uint32_t i = 0; i < work; i++) slot += rows_is_arg(&r->work.at[i]);
  return slot;
}

bool rows_pass_has(const RowsPrinter *r, int pass, bool arg) {
  for (uint32_t i = 0; i < r->work.n; i++)
    if (r->work.at[i].pass == pass && rows_is_arg(&r->work.at[i]) == arg) return true;
  return false;
}

/* Names the coordinates of a row's elements for the inner loop: its variable is c. */
void rows_name(RowsPrinter *r, const Loop *loop, int n) {
  if (n == 0) return;
  printer_decode_element(&r->p, loop, n, "c", "x", 2);
}

/* Elements of a row: a number, or a factor of extents. */
static const char *row_text(const RowsPrinter *r) {
  return dims_text(r->g, r->gr->e, r->gr->domain, r->outer, r->gr->domain->rank);
}

/* A label, checked, as soon as it can be computed: before pass `number`. */
static void label(RowsPrinter *r, const Op *op, const char *name) {
  Printer *p = &r->p;
  Text *row = p->level[1];
  ValueId v = op->operands[op->noperands - 1];
  const char *read = printer_value(p, v, printer_identity(p, v)).text;
  text_line(row, "long %s = (long)%s;", name, read);
  text_open(row, "if (%s < 0 || %s >= %s) {", name, name, row_text(r));
  text_line(row, "%s", gen_fault_below(r->g, r->gr, op, "a label", r->number, name, row_text(r)));
  text_line(row, "%s = 0;", name);
  text_close(row, "}");
  vec_push(r->g->a, &p->terms, (Term){op, ROLE_LABEL, name, 1});
}

/* The element of the row that a label names. */
static void at_label(RowsPrinter *r, const Op *op) {
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

/* Declares a number of the row, a term of the op. */
static void row_term(RowsPrinter *r, const Op *op, Role role, const char *expr) {
  const char *name = arena_printf(r->g->a, "v%d", r->g->names++);
  Dtype dt = value_type(r->gr->e, op->results[0])->dtype;
  text_line(r->p.level[1], "const %s %s = %s;", dtype_compute(dt), name, expr);
  vec_push(r->g->a, &r->p.terms, (Term){op, role, name, 1});
}

/* The sum over the number of elements. */
static const char *row_mean(RowsPrinter *r, const Op *op, Role sum) {
  Dtype dt = value_type(r->gr->e, op->results[0])->dtype;
  Dtype compute = dt == DT_F64 ? DT_F64 : DT_F32;
  const char *n = scalar_literal(r->g->a, compute, (Attr){.f = (double)r->c});
  if (dims_bounded(r->gr->domain, r->outer, r->gr->domain->rank))
    n = arena_printf(r->g->a, "(%s)(%s)", dtype_compute(compute), row_text(r));
  return arena_printf(r->g->a, "divide(%s, %s)", printer_term(&r->p, op, sum)->text, n);
}

/* Means and scales of norms whose sums are known when pass `number` begins. */
static void norm_terms(RowsPrinter *r, const Op *op, int number) {
  int x = ready(r, op->operands[0]);
  bool layer = op->kind == OP_LAYER_NORM;
  if (op_is_norm_grad(op)) {
    int y = ready(r, op->operands[1]);
    if (op->kind == OP_LAYER_NORM_GRAD && number == x + 1)
      row_term(r, op, ROLE_MEAN, row_mean(r, op, ROLE_SUM));
    if (number == (x > y ? x : y) + 1) row_term(r, op, ROLE_MEAN_DOT, row_mean(r, op, ROLE_DOT));
    return;
  }
  if (layer && number == x + 1) row_term(r, op, ROLE_MEAN, row_mean(r, op, ROLE_SUM));
  if (number != x + 1 + layer) return;
  Dtype dt = value_type(r->gr->e, op->results[0])->dtype;
  const char *eps = scalar_literal(r->g->a, dt == DT_F64 ? DT_F64 : DT_F32, op->attr[AT_EPS]);
  row_term(r, op, ROLE_SCALE,
           arena_printf(r->g->a, "divide(1, %s_sqrt(%s + %s))", dtype_prefix(dt),
                        row_mean(r, op, ROLE_SQUARES), eps));
}

/* What has been added up so far and the row's sum. */
static void go_on(RowsPrinter *r, const Op *op) {
  ValueId so_far = op->operands[op_accumulator(op)];
  const char *sum = printer_value(&r->p, so_far, printer_identity(&r->p, so_far)).text;
  for (uint32_t i = 0; r->c > 0 && i < r->work.n; i++)
    if (r->work.at[i].kind == OP_SUM && r->work.at[i].x == op->operands[0])
      sum = arena_printf(r->g->a, "%s + %s", sum, r->work.at[i].name);
  row_term(r, op, ROLE_VALUE,
           scalar_round_text(r->g->a, value_type(r->gr->e, op->results[0])->dtype, sum));
}

void rows_before(RowsPrinter *r, int number) {
  for (int i = 0; i < r->gr->nops; i++) {
    const Op *op = r->gr->ops[i];
    if (op_accumulator(op) >= 0 && r->ready[i] == number) go_on(r, op);
    if (op_is_norm(op) || op_is_norm_grad(op)) norm_terms(r, op, number);
    if (op->kind != OP_XENT && op->kind != OP_XENT_GRAD) continue;
    int when = ready(r, op->operands[op->noperands - 1]);
    if (when == number) label(r, op, arena_printf(r->g->a, "label%d", i));
    int row = ready(r, op->operands[0]);
    if (op->kind == OP_XENT && (row > when ? row : when) == number) at_label(r, op);
  }
}

void rows_leaves(RowsPrinter *r, Leaves *l) {
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
    leaves_result(p, i, printer_identity(p, r->gr->yield[i]), l);
}

RowLoops rows_start(RowsPrinter *r) {
  int rank = r->gr->domain->rank, *axes = ARENA_ARRAY(r->g->a, int, rank + 1);
  for (int i = 0; i < rank; i++) axes[i] = i;
  r->work.n = 0;
  rows_passes(r);
  Leaves leaves = {0};
  rows_leaves(r, &leaves);
  RowLoops l = {.outer = ARENA_ARRAY(r->g->a, Loop, rank + 1),
                .inner = ARENA_ARRAY(r->g->a, Loop, rank + 1)};
  l.nouter = loops_over(&r->p, &leaves, axes, r->outer, l.outer);
  l.ninner = loops_over(&r->p, &leaves, axes + r->outer, rank - r->outer, l.inner);
  return l;
}
