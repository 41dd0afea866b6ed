/* Numbers of rows that the data decide in arithmetic of shapes: Shape of such rows, and what moves
   its numbers or takes the least of them. Contract: Tensor.sizes are as many numbers as the tensor
   has elements; what else reads them is computed by the program (sizes_text). */
#include "lang/onnx/graph.h"

bool give_sizes(Node *n, const Shape *s, const Number *at) {
  Tensor *v = output(n, 0);
  if (!v) return true;
  v->type = ELEM_I64;
  v->shape = *s;
  v->sizes = at;
  return true;
}

const char *sizes_text(Node *n, const Tensor *v) {
  const char *type = elem_of(v->type)->gc, *t = "";
  uint64_t count = 0;
  (void)shape_count(&v->shape, &count);
  for (uint64_t i = 0; i < count; i++) {
    const Number x = v->sizes[i];
    const char *one =
        x.counted ? text(n, "reshape(%s(%s), [1])", type, rows_text(n->im, axis_of_number(x)))
                  : text(n, "full([1], %s, dtype = %s)", number_text(n->im, v->type, x), type);
    t = text(n, "%s%s%s", t, i ? ", " : "", one);
  }
  return reshaped(n, count > 1 ? text(n, "concat([%s], axis = 0)", t) : t, &v->shape);
}

/* The least of all elements of the inputs: no more rows than that. */
static bool least_of(Node *n) {
  const char *t = NULL;
  Number least = {0};
  uint64_t count;
  for (int k = 0; k < n->nin; k++) {
    const Tensor *v = input(n, k);
    if (!v || !shape_count(&v->shape, &count)) return false;
    for (uint64_t i = 0; i < count; i++) {
      const Number x = v->sizes ? v->sizes[i] : v->known[i];
      if (x.symbol || x.i < 0 || x.i > INT32_MAX) return false;
      const char *one =
          x.counted ? rows_text(n->im, axis_of_number(x)) : text(n, "%lld", (long long)x.i);
      if (!t || x.i < least.i) least = x;
      t = t ? text(n, "min(%s, %s)", t, one) : one;
    }
  }
  if (!t) return false;
  Number *out = ARENA_NEW(n->im->a, Number);
  *out = (Number){.i = least.i, .counted = count_new(n, t)};
  const bool keep = strcmp(n->op, "Min") != 0 && attr_int(n, "keepdims", 1);
  return give_sizes(n, &(Shape){.rank = keep, .at = {{.n = 1}}}, out);
}

/* Whether all inputs are one number each, or the node takes the least of a list. */
static bool is_least(const Node *n) {
  uint64_t count;
  if (strcmp(n->op, "ReduceMin") == 0) return n->nin == 1 && input(n, 0)->shape.rank == 1;
  bool all = strcmp(n->op, "Min") == 0;
  for (int i = 0; all && i < n->nin; i++)
    all = shape_count(&input(n, i)->shape, &count) && count == 1 && !input(n, i)->shape.rank;
  return all;
}

static OperatorFn *const moves[] = {onnx_unsqueeze, onnx_squeeze, onnx_reshape, onnx_slice};

/* Numbers as they are, in other places. */
static bool moved(Node *n) {
  const Operator *op = operator_named("", n->op);
  const Tensor *v = input(n, 0);
  if (strcmp(n->op, "Gather") == 0) return fold_gather(n);
  if (strcmp(n->op, "Concat") == 0) return fold_concat(n);
  if (strcmp(n->op, "Cast") == 0 && attr_int(n, "to", 0) == ELEM_I64)
    return give_known(n, 0, ELEM_I64, &v->shape, v->known);
  for (size_t i = 0; op && i < sizeof moves / sizeof *moves; i++)
    if (op->translate == moves[i]) return op->translate(n);
  return false;
}

bool fold_sizes(Node *n) {
  Node copy = *n;
  Tensor *out = output(n, 0);
  bool some = false;
  for (int i = 0; i < n->nin; i++) some |= n->in[i] && n->in[i]->sizes;
  if (!some || !out) return false;
  copy.in = ARENA_ARRAY(n->im->a, Tensor *, n->nin + 1);
  for (int i = 0; i < n->nin; i++) {
    Tensor *v = input(n, i);
    if (!v) continue;
    if (v->trained || v->missing || v->list) return false;
    copy.in[i] = ARENA_NEW(n->im->a, Tensor);
    *copy.in[i] = *v;
    if (v->sizes) copy.in[i]->known = v->sizes, copy.in[i]->name = NULL;
    if (!v->sizes && !known_of(n->im, copy.in[i])) return false;
  }
  if (is_least(&copy)) return least_of(&copy);
  if (!moved(&copy)) return false;
  uint64_t count = 0;
  bool counted = false;
  (void)shape_count(&out->shape, &count);
  for (uint64_t i = 0; out->known && i < count; i++) counted |= out->known[i].counted != 0;
  out->sizes = counted ? out->known : NULL;
  if (counted) out->known = NULL;
  return true;
}
