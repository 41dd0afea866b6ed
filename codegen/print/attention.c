/* Attention, as far as it is the same for every target; see attention.h. */
#include "codegen/print/attention.h"

static const Type *type_at(const Attention *a, int arg) {
  return value_type(a->gr->e, a->gr->in[arg]);
}

static int64_t dim_from_end(const Type *t, int i) { return i <= t->rank ? t->dim[t->rank - i] : 1; }

Attention attention_of(const Group *gr) {
  const Op *op = gr->root;
  bool grad = op->kind == OP_ATTENTION_GRAD;
  Attention a = {.gr = gr,
                 .op = op,
                 .grad = grad,
                 .causal = op->attr[AT_CAUSAL].i != 0,
                 .scale = op->attr[AT_SCALE].f,
                 .heads = 1,
                 .group = 1,
                 .dy = -1,
                 .lse = -1,
                 .delta = -1,
                 .mask = -1};
  int arg[7]; /* a value that several operands name is one argument */
  for (int i = 0; i < op->noperands; i++) arg[i] = group_arg(gr, op->operands[i]);
  a.q = arg[grad];
  a.k = arg[grad + 1];
  a.v = arg[grad + 2];
  if (grad) a.dy = arg[0], a.lse = arg[4], a.delta = arg[5];
  a.masked = op->noperands > (grad ? 6 : 3);
  if (a.masked) a.mask = arg[op->noperands - 1];
  const Type *q = type_at(&a, a.q), *k = type_at(&a, a.k), *v = type_at(&a, a.v);
  a.dt = q->dtype;
  a.compute = a.dt == DT_F64 ? DT_F64 : DT_F32;
  a.T = dtype_prefix(a.compute);
  a.t = dim_from_end(q, 2);
  a.s = dim_from_end(k, 2);
  a.d = dim_from_end(q, 1);
  a.e = dim_from_end(v, 1);
  for (int i = 0; i < q->rank - 2; i++) a.heads *= q->dim[i];
  if (q->rank > 2) a.group = dim_from_end(q, 3) / dim_from_end(k, 3);
  a.shape = (AttentionShape){.grad = grad,
                             .in = a.dt,
                             .compute = a.compute,
                             .heads = a.heads,
                             .group = a.group,
                             .t = a.t,
                             .s = a.s,
                             .d = a.d,
                             .e = a.e};
  AttentionTile tile = attention_tile(&a.shape);
  a.block = tile.block;
  a.long_heads = tile.long_heads;
  return a;
}

const char *attention_mask_row(Gen *g, const Attention *a, const char *h, const char *row) {
  const Type *m = type_at(a, a->mask), *q = type_at(a, a->q);
  int64_t own = dim_from_end(m, 1), inner = 1;
  Text x = text_new(g->a, 0);
  text_add(&x, dim_from_end(m, 2) > 1 ? "(%s) * %lld" : "0", row, (long long)own);
  own *= dim_from_end(m, 2);
  for (int i = 3; i <= m->rank; i++) {
    int64_t dim = dim_from_end(m, i), heads = dim_from_end(q, i);
    if (dim > 1)
      text_add(&x, " + (%s) / %lld %% %lld * %lld", h, (long long)inner, (long long)heads,
               (long long)own);
    own *= dim;
    inner *= heads;
  }
  return text_str(&x);
}

int attention_mask_step(const Attention *a) {
  return a->masked && dim_from_end(type_at(a, a->mask), 1) > 1;
}

int attention_mask_pitch(const Attention *a) {
  const Type *m = type_at(a, a->masked ? a->mask : a->q);
  return a->masked && dim_from_end(m, 2) > 1 ? (int)dim_from_end(m, 1) : 0;
}

const char *attention_scale(Gen *g, const Attention *a) {
  return scalar_literal(g->a, a->compute, (Attr){.f = a->scale});
}
