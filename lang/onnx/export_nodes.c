/* What the export of ops is written with: nodes, attributes, constants, casts, shapes.
   Contract: see export.h. Constants and run-time extents stand before all other nodes, so that
   bodies of loops may read them too; each constant is there once. */
#include "lang/onnx/export.h"

#include <ctype.h>
#include <inttypes.h>

int elem_of_dtype(Dtype dt) {
  static const int elem[DTYPES] = {[DT_BOOL] = ELEM_BOOL, [DT_U8] = ELEM_U8,   [DT_I8] = ELEM_I8,
                                   [DT_I32] = ELEM_I32,   [DT_I64] = ELEM_I64, [DT_F16] = ELEM_F16,
                                   [DT_BF16] = ELEM_BF16, [DT_F32] = ELEM_F32, [DT_F64] = ELEM_F64};
  return elem[dt];
}

const char *unique_name(Export *x, const char *wish) {
  uint32_t n;
  const char *base = intern(x->c, wish), *name = base;
  /* the number under a taken name is the next to try */
  while (map_get(&x->taken, name, &n)) {
    map_put(x->a, &x->taken, name, n + 1);
    name = intern_printf(x->c, "%s_%u", base, n);
  }
  map_put(x->a, &x->taken, name, 1);
  return name;
}

/* ---- nodes ---- */

static Onnx__NodeProto *node_new(Export *x, const char *op, int n, const char *const *in,
                                 const char *wish) {
  Onnx__NodeProto *p = ARENA_NEW(x->a, Onnx__NodeProto);
  onnx__node_proto__init(p);
  p->op_type = (char *)op;
  p->name = (char *)unique_name(x, wish);
  p->n_input = (size_t)n;
  p->input = ARENA_ARRAY(x->a, char *, n + 1);
  for (int i = 0; i < n; i++) p->input[i] = (char *)in[i];
  p->n_output = 1;
  p->output = ARENA_ARRAY(x->a, char *, 1);
  p->output[0] = p->name;
  return p;
}

const char *emit_node(Export *x, const char *op, int n, const char *const *in) {
  char *wish = arena_printf(x->a, "%s%s%s", x->op ? x->op->scope : "",
                            x->op && *x->op->scope ? "." : "", op);
  for (char *s = wish; *s; s++)
    if (*s == '.') *s = '/';
  x->last = node_new(x, op, n, in, wish);
  vec_push(x->a, x->nodes, x->last);
  return x->last->output[0];
}

const char *emit_output(Export *x) {
  Onnx__NodeProto *p = x->last;
  char **all = ARENA_ARRAY(x->a, char *, p->n_output + 1);
  memcpy(all, p->output, p->n_output * sizeof *all);
  all[p->n_output] = (char *)unique_name(x, arena_printf(x->a, "%s.%zu", p->name, p->n_output));
  p->output = all;
  return all[p->n_output++];
}

/* ---- attributes: their types are those of AttributeProto.AttributeType ---- */
enum {
  TYPE_FLOAT = 1,
  TYPE_INT = 2,
  TYPE_STRING = 3,
  TYPE_TENSOR = 4,
  TYPE_GRAPH = 5,
  TYPE_INTS = 7
};

static Onnx__AttributeProto *attribute_to(Export *x, Onnx__NodeProto *p, const char *name,
                                          int type) {
  Onnx__AttributeProto *a = ARENA_NEW(x->a, Onnx__AttributeProto);
  onnx__attribute_proto__init(a);
  a->name = (char *)name;
  a->has_type = 1, a->type = type;
  Onnx__AttributeProto **all = ARENA_ARRAY(x->a, Onnx__AttributeProto *, p->n_attribute + 1);
  if (p->n_attribute) memcpy(all, p->attribute, p->n_attribute * sizeof *all);
  all[p->n_attribute++] = a;
  p->attribute = all;
  return a;
}

void put_int(Export *x, const char *name, int64_t v) {
  Onnx__AttributeProto *a = attribute_to(x, x->last, name, TYPE_INT);
  a->has_i = 1, a->i = v;
}

void put_real(Export *x, const char *name, double v) {
  Onnx__AttributeProto *a = attribute_to(x, x->last, name, TYPE_FLOAT);
  a->has_f = 1, a->f = (float)v;
}

void put_ints(Export *x, const char *name, const int64_t *at, int n) {
  Onnx__AttributeProto *a = attribute_to(x, x->last, name, TYPE_INTS);
  a->n_ints = (size_t)n;
  a->ints = ARENA_ARRAY(x->a, int64_t, n + 1);
  if (n) memcpy(a->ints, at, sizeof *at * (size_t)n);
}

void put_string(Export *x, const char *name, const char *v) {
  Onnx__AttributeProto *a = attribute_to(x, x->last, name, TYPE_STRING);
  a->has_s = 1, a->s.data = (uint8_t *)v, a->s.len = strlen(v);
}

void put_graph(Export *x, const char *name, const Onnx__GraphProto *g) {
  Onnx__AttributeProto *a = attribute_to(x, x->last, name, TYPE_GRAPH);
  a->has_g = 1;
  a->g.len = onnx__graph_proto__get_packed_size(g);
  a->g.data = arena_alloc(x->a, a->g.len + 1);
  onnx__graph_proto__pack(g, a->g.data);
}

/* ---- constants ---- */

static Onnx__TensorProto *tensor_new(Export *x, Dtype dt, int rank, const int64_t *dim,
                                     size_t bytes) {
  Onnx__TensorProto *t = ARENA_NEW(x->a, Onnx__TensorProto);
  onnx__tensor_proto__init(t);
  t->has_data_type = 1, t->data_type = elem_of_dtype(dt);
  t->n_dims = (size_t)rank;
  t->dims = ARENA_ARRAY(x->a, int64_t, rank + 1);
  if (rank) memcpy(t->dims, dim, sizeof *dim * (size_t)rank);
  t->has_raw_data = 1;
  t->raw_data.len = bytes;
  t->raw_data.data = arena_alloc(x->a, bytes + 1);
  return t;
}

/* The constant of this text, or a new node for it in *fresh. */
static const char *constant(Export *x, const char *words, Onnx__NodeProto **fresh) {
  uint32_t i;
  const char *key = intern(x->c, words);
  *fresh = NULL;
  if (map_get(&x->made, key, &i)) return x->constants.at[i]->output[0];
  map_put(x->a, &x->made, key, x->constants.n);
  *fresh = node_new(x, "Constant", 0, NULL, words);
  vec_push(x->a, &x->constants, *fresh);
  return (*fresh)->output[0];
}

const char *scalar(Export *x, Dtype dt, Attr v) {
  Onnx__NodeProto *p;
  const char *words = dtype_is_float(dt) ? arena_printf(x->a, "%s:%.17g", dtype_name(dt), v.f)
                                         : arena_printf(x->a, "%s:%" PRId64, dtype_name(dt), v.i);
  const char *name = constant(x, words, &p);
  if (!p) return name;
  Onnx__TensorProto *t = tensor_new(x, dt, 0, NULL, (size_t)dtype_size(dt));
  Number n = dtype_is_float(dt) ? (Number){.f = v.f} : (Number){.i = v.i};
  number_put(t->data_type, n, t->raw_data.data);
  attribute_to(x, p, "value", TYPE_TENSOR)->t = t;
  return name;
}

const char *scalar_of(Export *x, Dtype dt, double v) {
  return scalar(x, dt, dtype_is_float(dt) ? (Attr){.f = v} : (Attr){.i = (int64_t)v});
}

const char *int_list(Export *x, const int64_t *at, int n) {
  Onnx__NodeProto *p;
  const char *words = "[";
  for (int i = 0; i < n; i++)
    words = arena_printf(x->a, "%s%s%" PRId64, words, i ? ", " : "", at[i]);
  const char *name = constant(x, arena_printf(x->a, "%s]", words), &p);
  if (!p) return name;
  int64_t length = n;
  Onnx__TensorProto *t = tensor_new(x, DT_I64, 1, &length, sizeof *at * (size_t)n);
  if (n) memcpy(t->raw_data.data, at, sizeof *at * (size_t)n);
  attribute_to(x, p, "value", TYPE_TENSOR)->t = t;
  return name;
}

const char *one_int(Export *x, int64_t v) { return int_list(x, &v, 1); }

/* ---- moves ---- */

const char *cast(Export *x, const char *v, Dtype dt) {
  v = EMIT(x, "Cast", v);
  put_int(x, "to", elem_of_dtype(dt));
  return v;
}

const char *transposed(Export *x, const char *v, const int64_t *perm, int n) {
  v = EMIT(x, "Transpose", v);
  put_ints(x, "perm", perm, n);
  return v;
}

const char *unsqueezed(Export *x, const char *v, int64_t axis) {
  return EMIT(x, "Unsqueeze", v, one_int(x, axis));
}

const char *squeezed(Export *x, const char *v, int64_t axis) {
  return EMIT(x, "Squeeze", v, one_int(x, axis));
}

/* ---- shapes ---- */

static const char *axis_list(Export *x, int64_t axis);

/* Of a part, the elements of the whole from `first` on, at most `bound` of them. */
static const char *extent_list(Export *x, const Extent *n) {
  if (!n->whole) return x->extent[entry_extent(x->e, n)];
  const char *left = EMIT(x, "Sub", axis_list(x, n->whole), one_int(x, n->first));
  return EMIT(x, "Min", EMIT(x, "Max", left, one_int(x, 0)), one_int(x, n->bound));
}

static const char *axis_list(Export *x, int64_t axis) {
  const Extent *n = axis_extent(x->c, axis);
  if (!n) return one_int(x, axis);
  const char *list = extent_list(x, n->factor[0]);
  for (int i = 1; i < n->nfactors; i++) list = EMIT(x, "Mul", list, extent_list(x, n->factor[i]));
  const int64_t times = axis_multiple(axis);
  return times == 1 ? list : EMIT(x, "Mul", list, one_int(x, times));
}

const char *dim_as_list(Export *x, const Type *t, int axis) {
  return axis_list(x, type_axis(t, axis));
}

/* Dims as a list of numbers, which a run decides where they are bounded. */
static const char *dim_list(Export *x, const Type *t) {
  if (!t->extent) return int_list(x, t->dim, t->rank);
  const char **part = ARENA_ARRAY(x->a, const char *, t->rank);
  for (int i = 0; i < t->rank; i++) part[i] = dim_as_list(x, t, i);
  const char *list = emit_node(x, "Concat", t->rank, part);
  put_int(x, "axis", 0);
  return list;
}

/* A reshape takes the one bounded axis, if there is no other, from the number of elements. */
const char *reshape_to(Export *x, const char *v, const Type *t) {
  int64_t *dim = ARENA_ARRAY(x->a, int64_t, t->rank + 1);
  int bounded = 0;
  for (int i = 0; i < t->rank; i++) {
    dim[i] = type_extent(t, i) ? -1 : t->dim[i];
    bounded += dim[i] < 0;
  }
  const char *list = bounded > 1 ? dim_list(x, t) : int_list(x, dim, t->rank);
  v = EMIT(x, "Reshape", v, list);
  if (!t->numel) put_int(x, "allowzero", 1);
  return v;
}

const char *expand_to(Export *x, const char *v, const Type *t) {
  return EMIT(x, "Expand", v, dim_list(x, t));
}

const char *range_of(Export *x, const Type *t, int axis) {
  const char *end = type_extent(t, axis) ? squeezed(x, dim_as_list(x, t, axis), 0)
                                         : scalar(x, DT_I64, (Attr){.i = t->dim[axis]});
  return EMIT(x, "Range", scalar(x, DT_I64, (Attr){.i = 0}), end,
              scalar(x, DT_I64, (Attr){.i = 1}));
}

/* "2*h", "2*h*w" or "h + 3", as exporters of ONNX write dimensions; NULL: of parts. */
static const char *symbol_text(Export *x, int64_t axis) {
  int64_t of, more;
  if (axis_is_more(x->c, axis, &of, &more)) {
    const char *text = symbol_text(x, of), *sign = more < 0 ? "-" : "+";
    return text ? arena_printf(x->a, "%s %s %" PRId64, text, sign, more < 0 ? -more : more) : NULL;
  }
  const Extent *n = axis_extent(x->c, axis);
  const int64_t times = axis_multiple(axis);
  const char *text = times == 1 ? "" : arena_printf(x->a, "%" PRId64, times);
  for (int i = 0; i < n->nfactors; i++) {
    if (n->factor[i]->whole) return NULL;
    text = arena_printf(x->a, "%s%s%s", text, *text ? "*" : "", n->factor[i]->name);
  }
  return text;
}

Onnx__ValueInfoProto *value_info(Export *x, const char *name, const Type *t) {
  Onnx__ValueInfoProto *v = ARENA_NEW(x->a, Onnx__ValueInfoProto);
  Onnx__TypeProto *p = ARENA_NEW(x->a, Onnx__TypeProto);
  Onnx__TypeProto__Tensor *tensor = ARENA_NEW(x->a, Onnx__TypeProto__Tensor);
  Onnx__TensorShapeProto *shape = ARENA_NEW(x->a, Onnx__TensorShapeProto);
  onnx__value_info_proto__init(v);
  onnx__type_proto__init(p);
  onnx__type_proto__tensor__init(tensor);
  onnx__tensor_shape_proto__init(shape);
  v->name = (char *)name, v->type = p, p->tensor_type = tensor, tensor->shape = shape;
  tensor->has_elem_type = 1, tensor->elem_type = elem_of_dtype(t->dtype);
  shape->n_dim = (size_t)t->rank;
  shape->dim = ARENA_ARRAY(x->a, Onnx__TensorShapeProto__Dimension *, t->rank + 1);
  for (int i = 0; i < t->rank; i++) {
    Onnx__TensorShapeProto__Dimension *d = ARENA_NEW(x->a, Onnx__TensorShapeProto__Dimension);
    onnx__tensor_shape_proto__dimension__init(d);
    if (type_extent(t, i))
      d->dim_param = (char *)symbol_text(x, type_axis(t, i));
    else
      d->has_dim_value = 1, d->dim_value = t->dim[i];
    shape->dim[i] = d;
  }
  return v;
}
