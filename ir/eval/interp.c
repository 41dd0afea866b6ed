/* The reference interpreter: runs an entry op by op on tensors of scalars; interp.h has the
   contract. Values of a run live in a scratch arena that ends with it; results and globals are
   copied out. Rounding to the narrow floats is done here once, exactly, so that targets can be held
   to it. */
#include "ir/eval/interp.h"

#include <math.h>
#include <stdarg.h>

/* Nearest even among the floats with p bits of precision, the spacing 2^min_exponent of subnormal
   numbers and the largest finite value max. */
static double round_float(double x, int p, int min_exponent, double max) {
  int e;
  if (x == 0 || !isfinite(x)) return x;
  frexp(x, &e);
  int step = e - p > min_exponent ? e - p : min_exponent;
  double r = ldexp(rint(ldexp(x, -step)), step);
  return fabs(r) > max ? copysign(INFINITY, x) : r;
}

Scalar scalar_round(Scalar s, Dtype dt, InterpMode mode) {
  bool exact = mode == INTERP_F64;
  switch (dt) {
  case DT_BOOL: return (Scalar){.i = s.i != 0};
  case DT_U8: return (Scalar){.i = (uint8_t)s.i};
  case DT_I8: return (Scalar){.i = (int8_t)s.i};
  case DT_I32: return (Scalar){.i = (int32_t)s.i};
  case DT_F16: return exact ? s : (Scalar){.f = round_float(s.f, 11, -24, 65504)};
  case DT_BF16: return exact ? s : (Scalar){.f = round_float(s.f, 8, -133, 0x1.FEp127)};
  case DT_F32: return exact ? s : (Scalar){.f = (float)s.f};
  case DT_I64:
  case DT_F64:
  case DTYPES: break;
  }
  return s;
}

static Tensor tensor_new(Arena *a, const Type *t) {
  return (Tensor){.type = t, .at = ARENA_ARRAY(a, Scalar, t->numel)};
}

static Tensor tensor_copy(Arena *a, Tensor from) {
  Tensor t = tensor_new(a, from.type);
  memcpy(t.at, from.at, sizeof(Scalar) * (size_t)t.type->numel);
  return t;
}

Interp *interp_new(Module *m, InterpMode mode, uint64_t seed) {
  Arena *a = arena_new();
  Interp *it = ARENA_NEW(a, Interp);
  *it = (Interp){.m = m, .arena = a, .mode = mode, .seed = seed};
  it->globals = ARENA_ARRAY(a, Tensor, m->globals.n + 1);
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    it->globals[i] = tensor_new(a, g->type);
    for (int64_t k = 0; g->table && k < g->type->numel; k++)
      it->globals[i].at[k] = scalar_round((Scalar){.i = g->table[k].i}, g->type->dtype, mode);
    if (g->kind != GLOBAL_HYPER) continue;
    bool real = dtype_is_float(g->type->dtype);
    Scalar value = real ? (Scalar){.f = g->value} : (Scalar){.i = (int64_t)g->value};
    it->globals[i].at[0] = scalar_round(value, g->type->dtype, mode);
  }
  return it;
}

void interp_free(Interp *it) {
  if (it) arena_free(it->arena);
}

Tensor *eval_in(EvalCtx *c, const Op *op, int i) {
  Tensor *t = &c->value[op->operands[i]];
  if (!t->type) gc_bug(c->it->m->ctx, "%s reads a value before it is made", op_info[op->kind].name);
  return t;
}

Tensor *eval_out_of(EvalCtx *c, const Op *op, int result) {
  Tensor *t = &c->value[op->results[result]];
  *t = tensor_new(c->scratch, value_type(c->e, op->results[result]));
  return t;
}

Tensor *eval_out(EvalCtx *c, const Op *op) { return eval_out_of(c, op, 0); }

void eval_set(EvalCtx *c, Tensor *y, int64_t i, double v) {
  y->at[i] = scalar_round((Scalar){.f = v}, y->type->dtype, c->it->mode);
}

void eval_round(EvalCtx *c, Tensor *y) {
  for (int64_t i = 0; i < y->type->numel; i++)
    y->at[i] = scalar_round(y->at[i], y->type->dtype, c->it->mode);
}

void eval_fault(EvalCtx *c, const char *fmt, ...) {
  if (c->it->why[0]) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->it->why, sizeof c->it->why, fmt, ap);
  va_end(ap);
}

void eval_block(EvalCtx *c, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n && !c->it->why[0]; i++) {
    const Op *op = op_at(c->e, b->ops.at[i]);
    if (!op_info[op->kind].eval)
      gc_bug(c->it->m->ctx, "%s is not for the interpreter: a pass expands it before",
             op_info[op->kind].name);
    op_info[op->kind].eval(c, op);
  }
}

bool interp_run(Interp *it, const Entry *e, const Tensor *inputs, Tensor *outputs) {
  Arena *scratch = arena_new();
  EvalCtx c = {.it = it,
               .e = e,
               .value = ARENA_ARRAY(scratch, Tensor, e->values.n + 1),
               .stored = ARENA_ARRAY(scratch, Tensor, it->m->globals.n + 1),
               .scratch = scratch};
  it->why[0] = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId v = e->body->args.at[i];
    c.value[v] = (Tensor){.type = value_type(e, v), .at = inputs[i].at};
  }
  eval_block(&c, e->body);
  if (!it->why[0]) {
    const Op *ret = op_at(e, e->body->ops.at[e->body->ops.n - 1]);
    for (int i = 0; i < ret->noperands; i++)
      outputs[i] = tensor_copy(it->arena, *eval_in(&c, ret, i));
    for (uint32_t g = 0; g < it->m->globals.n; g++)
      if (c.stored[g].at)
        memcpy(it->globals[g].at, c.stored[g].at,
               sizeof(Scalar) * (size_t)it->globals[g].type->numel);
  }
  arena_free(scratch);
  return !it->why[0];
}
