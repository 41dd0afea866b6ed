/* Nodes of ONNX's operators in the place of one that is composed of them; see compose.h. */
#include "lang/onnx/compose.h"

enum { VERSION = 21 }; /* of the operators that compositions are written with */

static Onnx__AttributeProto *attribute(Compose *c, const char *name) {
  Onnx__AttributeProto *a = ARENA_NEW(c->n->im->a, Onnx__AttributeProto);
  onnx__attribute_proto__init(a);
  a->name = arena_strdup(c->n->im->a, name);
  return a;
}

With with_int(Compose *c, const char *name, int64_t i) {
  Onnx__AttributeProto *a = attribute(c, name);
  a->has_i = true, a->i = i;
  return a;
}

With with_real(Compose *c, const char *name, double f) {
  Onnx__AttributeProto *a = attribute(c, name);
  a->has_f = true, a->f = (float)f;
  return a;
}

With with_string(Compose *c, const char *name, const char *s) {
  Onnx__AttributeProto *a = attribute(c, name);
  a->has_s = true, a->s.data = (uint8_t *)arena_strdup(c->n->im->a, s), a->s.len = strlen(s);
  return a;
}

static With with_ints(Compose *c, const char *name, const int64_t *at, int count) {
  Onnx__AttributeProto *a = attribute(c, name);
  a->n_ints = (size_t)count, a->ints = ARENA_ARRAY(c->n->im->a, int64_t, count + 1);
  for (int i = 0; i < count; i++) a->ints[i] = at[i];
  return a;
}

const With *with_its_own(Compose *c) {
  const Onnx__NodeProto *p = c->n->p;
  With *with = ARENA_ARRAY(c->n->im->a, With, p->n_attribute + 1);
  for (size_t i = 0; i < p->n_attribute; i++) with[i] = p->attribute[i];
  return with;
}

/* ---- nodes ---- */

static bool translated(Node *n) {
  if (fold_node(n)) return true;
  while (n->nin && !n->in[n->nin - 1]) n->nin--;
  const Operator *op = operator_named("", n->op);
  bool all = op && n->nin >= op->least && n->nin <= op->most;
  for (int i = 0; all && i < op->least; i++) all = n->in[i] != NULL;
  return all ? op->translate(n) : refuse(n, "%d inputs", n->nin);
}

void compose_all(Compose *c, const char *op, Tensor *const *in, int nin, const With *with,
                 Tensor **out, int nout) {
  Node *of = c->n;
  Arena *a = of->im->a;
  for (int i = 0; i < nout && c->failed; i++) out[i] = NULL;
  if (c->failed) return;
  const uint32_t refused = of->im->refused.n;
  Onnx__NodeProto *p = ARENA_NEW(a, Onnx__NodeProto);
  *p = *of->p;
  p->domain = NULL, p->n_output = (size_t)nout;
  for (p->n_attribute = 0; with[p->n_attribute];) p->n_attribute++;
  p->attribute = ARENA_ARRAY(a, Onnx__AttributeProto *, p->n_attribute + 1);
  for (size_t i = 0; i < p->n_attribute; i++) p->attribute[i] = (Onnx__AttributeProto *)with[i];
  Node n = {of->im, p, op, VERSION, NULL, nin, NULL, nout};
  n.in = ARENA_ARRAY(a, Tensor *, nin + 1), n.out = ARENA_ARRAY(a, Tensor *, nout + 1);
  for (int i = 0; i < nin; i++) n.in[i] = in[i];
  for (int i = 0; i < nout; i++) {
    if (!out[i]) continue;
    n.out[i] = value_new(of->im, ELEM_NONE, NULL);
    if (of->nout && of->out[0]) n.out[i]->wish = of->out[0]->wish;
  }
  c->failed = !translated(&n) || of->im->refused.n != refused;
  for (uint32_t i = refused; i < of->im->refused.n; i++) of->im->refused.at[i].op = of->op;
  for (int i = 0; i < nout; i++) out[i] = c->failed ? NULL : n.out[i];
}

Tensor *compose(Compose *c, const char *op, Tensor *const *in, int nin, const With *with) {
  Tensor any, *out = &any;
  compose_all(c, op, in, nin, with, &out, 1);
  return out;
}

Tensor *compose_value(Compose *c, int type, const Shape *s, const char *expression) {
  Tensor *v = value_new(c->n->im, type, s);
  v->name = let(c->n, expression);
  return v;
}

Tensor *compose_ints(Compose *c, const int64_t *at, int count) {
  Number *x = ARENA_ARRAY(c->n->im->a, Number, count + 1);
  for (int i = 0; i < count; i++) x[i].i = at[i];
  Tensor *v = value_new(c->n->im, ELEM_I64, &(Shape){.rank = 1, .at = {{.n = count}}});
  v->known = x;
  return v;
}

Tensor *compose_real(Compose *c, int type, double x) {
  Number *at = ARENA_NEW(c->n->im->a, Number);
  at->f = x;
  Tensor *v = value_new(c->n->im, type, &(Shape){0});
  v->known = at;
  return v;
}

Tensor *compose_transposed(Compose *c, Tensor *v, const int64_t *perm) {
  if (c->failed) return NULL;
  return compose(c, "Transpose", IN(v), WITH(with_ints(c, "perm", perm, v->shape.rank)));
}

bool compose_give(Compose *c, int i, Tensor *v) { return !c->failed && give_same(c->n, i, v); }
