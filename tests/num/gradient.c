/* Gradients of every op that has one, against central differences in f64, over random shapes: the
   first derivative of sum(w y) by all float operands and w, and the derivative of that gradient
   again. Contract: every op with a gradient rule has a row in gradient_cases.c, or the test fails
   and names it. */
#include "tests/num/gradient.h"
#include "passes/passes.h"

/* 0 for the logarithm of no weight at all, which has no slope. */
static ValueId where_finite(Builder *b, ValueId x) {
  const Type *t = value_type(b->e, x);
  ValueId zero = build_const(b, t, 0), least = build_const(b, t, -1e4);
  return build3(b, OP_WHERE, build2(b, OP_GT, x, least), x, zero);
}

static ValueId total(Builder *b, ValueId x) {
  int64_t axes[8];
  int rank = value_type(b->e, x)->rank;
  for (int i = 0; i < rank; i++) axes[i] = i;
  return build_convert(b, build_reduce(b, OP_SUM, x, axes, rank), DT_F64);
}

/* loss, slope (of the second derivative's function), then both gradients by each variable. */
enum { LOSS, SLOPE, GRADIENTS };

typedef struct Program {
  Entry *e;
  int inputs, variables; /* the first inputs are the op's operands, then w, then directions v */
  int input_of[9];       /* of each variable */
  Tensor in[24];
} Program;

/* exponent: for pow, a constant in place of operand 1; else NULL. */
static Program program(Case *c, OpKind k, const double *exponent) {
  Rig *r = c->r;
  Entry *e = entry_new(r->m, op_info[k].name, (Loc){0});
  Builder *b = builder_new(e, e->body);
  b->fold = false;
  Program p = {.e = e};
  ValueId x[10], operand[8];
  for (int i = 0; i < c->n; i++) {
    x[i] = operand[i] = entry_add_input(e, intern_printf(r->c, "x%d", i), c->x[i].type);
    if (dtype_is_float(c->x[i].type->dtype)) p.input_of[p.variables++] = i;
    p.in[p.inputs++] = c->x[i];
  }
  int n = c->n;
  if (exponent) operand[n++] = build_const(b, c->x[0].type, *exponent);
  ValueId y = build(b, k, operand, n, c->attr, c->given);
  const Type *t = value_type(e, y);
  c->n = 0;
  Tensor *w = gradient_operand(c, DT_F64, t->rank, t->dim);
  p.input_of[p.variables++] = p.inputs;
  w->type = t; /* in doubles, whatever the dtype says */
  x[p.inputs] = entry_add_input(e, "w", t);
  p.in[p.inputs++] = *w;

  ValueId out[2 + 18], wrt[1 + 9], s = NO_ID;
  const char *names[2 + 18];
  const Type *types[9];
  for (int i = 0; i < p.variables; i++) {
    wrt[1 + i] = x[p.input_of[i]];
    types[i] = value_type(e, wrt[1 + i]);
  }
  ValueId loss = total(b, build2(b, OP_MUL, y, x[p.input_of[p.variables - 1]]));
  const Op *made = value_def(e, y);
  for (int i = 1; i < made->nresults; i++) { /* the others by their squares */
    ValueId z = made->results[i];
    if (!dtype_is_float(value_type(e, z)->dtype)) continue;
    z = where_finite(b, z);
    loss = build2(b, OP_ADD, loss, total(b, build2(b, OP_MUL, z, z)));
  }
  wrt[0] = out[LOSS] = loss;
  const Op *g = build_op(b, OP_GRAD, wrt, 1 + p.variables, NULL, types, p.variables);
  for (int i = 0; i < p.variables; i++) {
    c->n = 0;
    Tensor *v = gradient_operand(c, DT_F64, types[i]->rank, types[i]->dim);
    v->type = types[i];
    p.in[p.inputs++] = *v;
    ValueId along = entry_add_input(e, intern_printf(r->c, "v%d", i), types[i]);
    ValueId term = total(b, build2(b, OP_MUL, g->results[i], along));
    s = s == NO_ID ? term : build2(b, OP_ADD, s, term);
    out[GRADIENTS + i] = g->results[i];
  }
  wrt[0] = out[SLOPE] = s;
  const Op *h = build_op(b, OP_GRAD, wrt, 1 + p.variables, NULL, types, p.variables);
  for (int i = 0; i < p.variables; i++) out[GRADIENTS + p.variables + i] = h->results[i];
  int outputs = GRADIENTS + 2 * p.variables;
  for (int i = 0; i < outputs; i++) names[i] = intern_printf(r->c, "out%d", i);
  build_return(b, out, names, outputs);
  vec_push(r->m->arena, &r->m->entries, e);
  PassOptions o = {.verify_each = true, .out = stderr};
  if (!passes_run(r->m, "autodiff", &o)) fail_msg("%s: no gradient", op_info[k].name);
  return p;
}

static void compare(const Rig *r, const Program *p, OpKind k) {
  enum { MOST = GRADIENTS + 18 };
  const double h = 1e-5;
  Tensor at[MOST], up[MOST], down[MOST];
  if (!interp_run(r->it, p->e, p->in, at)) fail_msg("%s: %s", op_info[k].name, r->it->why);
  for (int i = 0; i < p->variables; i++) {
    const Tensor *x = &p->in[p->input_of[i]];
    for (int64_t j = 0; j < x->type->numel; j++) {
      double keep = x->at[j].f;
      x->at[j].f = keep + h;
      interp_run(r->it, p->e, p->in, up);
      x->at[j].f = keep - h;
      interp_run(r->it, p->e, p->in, down);
      x->at[j].f = keep;
      for (int order = 0; order < 2; order++) {
        double got = at[GRADIENTS + order * p->variables + i].at[j].f;
        double want = (up[LOSS + order].at[0].f - down[LOSS + order].at[0].f) / (2 * h);
        double scale = 1 + fabs(want) + 1e-3 * fabs(at[LOSS + order].at[0].f);
        if (!(fabs(got - want) <= 1e-6 * scale))
          fail_msg(
              "%s: derivative %d by input %d of type %s, element %d: %.9g, differences say %.9g",
              op_info[k].name, order + 1, p->input_of[i], type_str(r->c, x->type), (int)j, got,
              want);
      }
    }
  }
}

static void every_gradient_agrees_with_differences(void **state) {
  for (int k = 0; k < OP_KINDS; k++) {
    if (!op_info[k].grad || k == OP_SCAN) continue; /* loops: by random programs */
    if (!gradient_rows[k].make) fail_msg("%s has a gradient rule and no row here", op_info[k].name);
    for (int round = 0; round < ROUNDS; round++) {
      Rig r = rig_new(INTERP_F64, 0);
      Case c = {.r = &r, .round = round, .row = &gradient_rows[k]};
      c.seed = (uint64_t)(round * OP_KINDS + k);
      gradient_rows[k].make(&c);
      Program p = program(&c, (OpKind)k, NULL);
      compare(&r, &p, (OpKind)k);
      rig_free(&r);
    }
  }
}

static void constant_exponents(void **state) {
  static const double exponents[] = {-1, 0, 0.5, 1, 2, 3, 4.5};
  for (size_t i = 0; i < sizeof exponents / sizeof exponents[0]; i++) {
    Rig r = rig_new(INTERP_F64, 0);
    Case c = {.r = &r, .seed = i, .row = &(Row){gradient_rows[OP_SQRT].make, 0.5, 2}};
    c.row->make(&c);
    Program p = program(&c, OP_POW, &exponents[i]);
    compare(&r, &p, OP_POW);
    rig_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_gradient_agrees_with_differences),
      cmocka_unit_test(constant_exponents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
