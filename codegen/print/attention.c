/* Attention, as far as it is the same for every target; see attention.h. */
#include "codegen/print/attention.h"

static const Type *operand_type(const Attention *a, int i) {
  return value_type(a->gr->e, a->op->operands[i]);
}

static const Type *mask_type(const Attention *a) { return operand_type(a, a->op->noperands - 1); }

static int64_t dim_from_end(const Type *t, int i) { return i <= t->rank ? t->dim[t->rank - i] : 1; }

/* ---- views ---- */

static bool is_member(const void *data, const Op *op) {
  const Group *gr = data;
  for (int i = 0; gr->op->kind == OP_KERNEL && i < gr->nops; i++)
    if (gr->ops[i] == op) return true;
  return false;
}

/* The kernel's argument that the operand lies in. */
static int source_of(Arena *arena, const Group *gr, int i, StridedView *at) {
  *at = strided_source(arena, gr->e, is_member, gr, gr->root->operands[i]);
  return group_arg(gr, at->of);
}

/* The kernel's result that the op's result k lies in. */
static int target_of(Arena *arena, const Group *gr, int k, StridedView *at) {
  enum { MOST = 3 };
  const Op *readers[MOST];
  int n = 0;
  ValueId v = gr->root->results[k];
  for (int i = 0; gr->op->kind == OP_KERNEL && i < gr->nops && n < MOST; i++)
    for (int j = 0; j < gr->ops[i]->noperands; j++)
      if (gr->ops[i]->operands[j] == v && n < MOST) {
        readers[n++] = gr->ops[i];
        v = gr->ops[i]->results[0];
        break;
      }
  (void)strided_target(arena, gr->e, gr->root->results[k], readers, n, at);
  for (int i = 0; i < gr->nout; i++)
    if (gr->yield[i] == at->of) return i;
  return -1;
}

Attention attention_of(Arena *arena, const Group *gr) {
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
  StridedView at[7];
  for (int i = 0; i < op->noperands; i++) arg[i] = source_of(arena, gr, i, &at[i]);
  for (int k = 0; k < op->nresults; k++) a.result[k] = target_of(arena, gr, k, &a.result_at[k]);
  a.q = arg[grad];
  a.k = arg[grad + 1];
  a.v = arg[grad + 2];
  if (grad) a.dy = arg[0], a.lse = arg[4], a.delta = arg[5];
  a.masked = op->noperands > (grad ? 6 : 3);
  if (a.masked) a.mask = arg[op->noperands - 1];
  a.q_at = at[grad], a.k_at = at[grad + 1], a.v_at = at[grad + 2], a.dy_at = at[0];
  const Type *q = operand_type(&a, grad), *k = operand_type(&a, grad + 1);
  const Type *v = operand_type(&a, grad + 2);
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
                             .causal = a.causal,
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

/* ---- places ---- */

HeadAxis *attention_head_axes(Gen *g, const Type *t, const StridedView *at, int *n) {
  HeadAxis *out = ARENA_ARRAY(g->a, HeadAxis, t->rank);
  int64_t inner = 1;
  *n = 0;
  for (int i = t->rank - 2; i-- > 0;) {
    HeadAxis x = {.inner = inner, .extent = t->dim[i], .stride = at->stride[i], .last = true};
    if (x.extent == 1) continue;
    while (i > 0 && (t->dim[i - 1] == 1 || at->stride[i - 1] == x.stride * x.extent)) /* as one */
      x.extent *= t->dim[--i];
    inner *= x.extent;
    for (int k = 0; k < i; k++) x.last &= t->dim[k] == 1;
    out[(*n)++] = x;
  }
  return out;
}

const char *attention_head_index(Gen *g, const HeadAxis *axis, const char *head) {
  Text x = text_new(g->a, 0);
  text_add(&x, "%s", head);
  if (axis->inner > 1) text_add(&x, " / %lld", (long long)axis->inner);
  if (!axis->last) text_add(&x, " %% %lld", (long long)axis->extent);
  return text_str(&x);
}

const char *attention_head_offset(Gen *g, const Type *t, const StridedView *at, const char *head) {
  Text x = text_new(g->a, 0);
  int n;
  const HeadAxis *axis = attention_head_axes(g, t, at, &n);
  for (int i = 0; i < n; i++)
    text_add(&x, " + %s * %lld",
             attention_head_index(g, &axis[i], arena_printf(g->a, "(int64_t)(%s)", head)),
             (long long)axis[i].stride);
  if (at->offset) text_add(&x, " + %lld", (long long)at->offset);
  return text_str(&x);
}

int64_t attention_row_stride(const Type *t, const StridedView *at) {
  return t->dim[t->rank - 2] == 1 ? t->dim[t->rank - 1] : at->stride[t->rank - 2];
}

bool attention_is_whole(const Type *t, const StridedView *at) {
  int64_t n = 1;
  for (int i = t->rank; i-- > 0; n *= t->dim[i])
    if (t->dim[i] > 1 && at->stride[i] != n) return false;
  return at->offset == 0;
}

/* ---- masks ---- */

const char *attention_mask_row(Gen *g, const Attention *a, const char *h, const char *row) {
  const Type *m = mask_type(a), *q = operand_type(a, a->grad);
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
  return a->masked && dim_from_end(mask_type(a), 1) > 1;
}

int attention_mask_pitch(const Attention *a) {
  if (!a->masked || dim_from_end(mask_type(a), 2) == 1) return 0;
  return (int)dim_from_end(mask_type(a), 1);
}

const char *attention_scale(Gen *g, const Attention *a) {
  return scalar_literal(g->a, a->compute, (Attr){.f = a->scale});
}
