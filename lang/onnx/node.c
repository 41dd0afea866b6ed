/* What functions of operators are written with: texts of operands, statements, attributes, numbers
   that must be known. Contract: see graph.h; a text that is used twice is a variable or a number.
 */
#include "lang/onnx/import.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

const char *text(Node *n, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int size = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  char *s = arena_alloc(n->im->a, (size_t)size + 1);
  va_start(args, fmt);
  vsnprintf(s, (size_t)size + 1, fmt, args);
  va_end(args);
  return s;
}

bool refuse(Node *n, const char *fmt, ...) {
  char why[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(why, sizeof why, fmt, args);
  va_end(args);
  const char *name = n->p->name && *n->p->name ? n->p->name : n->p->n_output ? n->p->output[0] : "";
  vec_push(n->im->a, &n->im->refused,
           (Refusal){n->op, intern(n->im->c, why), intern(n->im->c, name)});
  return false;
}

/* ---- numbers ---- */

const char *number_text(Import *im, int type, Number x) {
  if (!elem_of(type)->is_float) {
    if (x.symbol) return arena_printf(im->a, "(%s)", dim_text(im, axis_of_number(x)));
    if (type == ELEM_BOOL) return x.i ? "true" : "false";
    if (x.i == INT64_MIN) return "(-9223372036854775807 - 1)";
    return arena_printf(im->a, x.i < 0 ? "(%lld)" : "%lld", (long long)x.i);
  }
  if (isnan(x.f)) return "(inf - inf)";
  if (isinf(x.f)) return x.f < 0 ? "(-inf)" : "inf";
  char s[40]; /* the shortest that reads back as the same number */
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, x.f);
    double back = strtod(s, NULL);
    if (type == ELEM_F64 ? back == x.f : (float)back == (float)x.f) break;
  }
  return arena_printf(im->a, signbit(x.f) ? "(%s)" : "%s", s);
}

const char *real(Node *n, double x) { return number_text(n->im, ELEM_F32, (Number){.f = x}); }

const char *ints_text(Node *n, const int64_t *at, int count) {
  const char *t = "";
  for (int i = 0; i < count; i++) t = text(n, "%s%s%lld", t, i ? ", " : "", (long long)at[i]);
  return text(n, "[%s]", t);
}

/* ---- operands ---- */

void statement_add(Import *im, const char *words) {
  vec_push(im->a, &im->statements, (Statement){words, im->note, im->block});
  im->note = NULL;
}

static void statement(Import *im, const char *name, const char *expression) {
  statement_add(im, arena_printf(im->a, "%s = %s", name, expression));
}

const char *let(Node *n, const char *expression) {
  const char *name = name_new(n->im, n->out[0] ? n->out[0]->wish : "t");
  statement(n->im, name, expression);
  return name;
}

void let_two(Node *n, const char *expression, const char **a, const char **b) {
  *a = name_new(n->im, n->out[0] ? n->out[0]->wish : "t");
  *b = name_new(n->im, n->nout > 1 && n->out[1] ? n->out[1]->wish : "t");
  statement(n->im, text(n, "%s, %s", *a, *b), expression);
}

/* x[i] = x[0] + i * step */
static bool is_sequence(const Number *x, uint64_t n, int64_t *step) {
  if (n < 2 || x[0].symbol || __builtin_sub_overflow(x[1].i, x[0].i, step) || !*step) return false;
  for (uint64_t i = 0; i < n; i++) {
    int64_t want;
    if (x[i].symbol || __builtin_mul_overflow((int64_t)i, *step, &want) ||
        __builtin_add_overflow(want, x[0].i, &want) || x[i].i != want || llabs(want) > INT32_MAX)
      return false;
  }
  return true;
}

/* The same tensor of the file is one weight, also where a node is translated again. */
static const char *weight(Import *im, Tensor *v) {
  for (uint32_t i = 0; v->tensor && i < im->weights.n; i++) {
    const Weight *w = &im->weights.at[i];
    if (w->value->tensor == v->tensor && w->value->type == v->type && w->trained == v->trained &&
        shape_same(&w->value->shape, &v->shape))
      return v->path = w->path, v->name = w->name;
  }
  if (v->path) {
    v->name = name_new(im, v->wish);
  } else {
    v->name = name_new(im, v->wish);
    v->path = path_new(im, v->name);
  }
  vec_push(im->a, &im->weights, (Weight){v->path, v->name, v, v->trained});
  return v->name;
}

const char *tensor_text(Node *n, Tensor *v) {
  Import *im = n->im;
  Number x;
  uint64_t count;
  int64_t step;
  if (v->name) return v->name;
  if (is_empty(&v->shape)) return refuse(n, "a tensor without elements"), "0";
  if (v->sizes) return v->name = let(n, sizes_text(n, v));
  const char *dtype = elem_of(v->type)->gc;
  if (!v->trained && is_one_number(im, v, &x))
    return text(n, "full(%s, %s, dtype = %s)", shape_text(im, &v->shape),
                number_text(im, v->type, x), dtype);
  if (v->known && shape_count(&v->shape, &count))
    for (uint64_t i = 0; i < count; i++)
      if (v->known[i].symbol) {
        refuse(n, "a bounded dimension among its data; give it a number");
        return "0";
      }
  bool line = !v->trained && !is_float(v) && v->type != ELEM_BOOL && v->shape.rank == 1;
  if (line && shape_count(&v->shape, &count) && count <= MOST_KNOWN && known_of(im, v) &&
      is_sequence(v->known, count, &step))
    return text(n, "%s(arange(%lld, %lld, %lld))", dtype, (long long)v->known[0].i,
                (long long)(v->known[count - 1].i + (step > 0 ? 1 : -1)), (long long)step);
  return weight(im, v);
}

const char *operand(Node *n, Tensor *v, const Tensor *other) {
  Number x;
  bool number = !v->name && !v->trained && other->name && v->shape.rank <= other->shape.rank &&
                is_one_number(n->im, v, &x);
  for (int i = 0; number && i < v->shape.rank; i++) number = v->shape.at[i].n == 1;
  return number ? number_text(n->im, v->type, x) : tensor_text(n, v);
}

const char *reshaped(Node *n, const char *x, const Shape *s) {
  return text(n, "reshape(%s, %s)", x, shape_text(n->im, s));
}

const char *along_dim(Node *n, Axis count, int axis, int rank) {
  Shape s = {.rank = rank};
  for (int i = 0; i < rank; i++) s.at[i] = i == axis ? count : (Axis){.n = 1};
  return reshaped(n, text(n, "iota(%s)", dim_text(n->im, count)), &s);
}

const char *along(Node *n, int64_t count, int axis, int rank) {
  return along_dim(n, (Axis){.n = count}, axis, rank);
}

const char *gathered(Node *n, const char *x, int rank, int axis, const char *ids, int more) {
  if (axis == 0) return text(n, "gather(%s, %s)", x, ids);
  int64_t front[MOST_RANK], back[2 * MOST_RANK];
  for (int i = 0; i < rank; i++) front[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
  /* the axes of ids come first, then the others */
  for (int i = 0; i < rank - 1 + more; i++)
    back[i] = i < axis ? more + i : i < axis + more ? i - axis : i;
  return text(n, "transpose(gather(transpose(%s, %s), %s), %s)", x, ints_text(n, front, rank), ids,
              ints_text(n, back, rank - 1 + more));
}

/* ---- outputs ---- */

bool give(Node *n, int i, int type, const Shape *s, const char *expression) {
  Tensor *v = output(n, i);
  if (!v) return true;
  uint64_t count;
  for (int k = 0; k < s->rank; k++)
    if (s->at[k].n < 0) return refuse(n, "a tensor without elements");
  if (is_empty(s)) return give_known(n, i, type, s, ARENA_NEW(n->im->a, Number));
  if (!shape_count(s, &count)) {
    Shape number = *s;
    for (int k = 0; k < s->rank; k++) number.at[k].symbol = 0;
    if (!shape_count(&number, &count)) return refuse(n, "a tensor that is too large");
  }
  v->type = type;
  v->shape = *s;
  v->name = name_new(n->im, v->wish);
  statement(n->im, v->name, expression);
  return true;
}

bool give_same(Node *n, int i, Tensor *from) {
  Tensor *v = output(n, i);
  if (!v) return true;
  const char *wish = v->wish;
  if (from->trained) tensor_text(n, from);
  *v = *from;
  v->wish = wish;
  if (!v->name) v->path = NULL;
  return true;
}

bool give_known(Node *n, int i, int type, const Shape *s, const Number *at) {
  Tensor *v = output(n, i);
  if (!v) return true;
  v->type = type;
  v->shape = *s;
  v->known = at;
  return true;
}

/* ---- attributes ---- */

const Onnx__AttributeProto *attr_of(const Node *n, const char *name) {
  for (size_t i = 0; i < n->p->n_attribute; i++)
    if (n->p->attribute[i]->name && strcmp(n->p->attribute[i]->name, name) == 0)
      return n->p->attribute[i];
  return NULL;
}

int64_t attr_int(const Node *n, const char *name, int64_t otherwise) {
  const Onnx__AttributeProto *a = attr_of(n, name);
  return a ? a->i : otherwise;
}

double attr_real(const Node *n, const char *name, double otherwise) {
  const Onnx__AttributeProto *a = attr_of(n, name);
  return a ? (double)a->f : otherwise;
}

const char *attr_string(const Node *n, const char *name, const char *otherwise) {
  const Onnx__AttributeProto *a = attr_of(n, name);
  if (!a || !a->has_s) return otherwise;
  return intern_n(n->im->c, a->s.len ? (const char *)a->s.data : "",
                  a->s.len); /* else it may be NULL */
}

bool attr_ints(const Node *n, const char *name, int64_t *at, int *count) {
  const Onnx__AttributeProto *a = attr_of(n, name);
  if (!a || a->n_ints > 2 * MOST_RANK) return false;
  *count = (int)a->n_ints;
  for (int i = 0; i < *count; i++) at[i] = a->ints[i];
  return true;
}

/* ---- what must be known ---- */

const Number *known_input(Node *n, int in) {
  Tensor *v = input(n, in);
  const Number *x = v ? known_of(n->im, v) : NULL;
  if (x) return x;
  if (v && v->input)
    refuse(n, "its input %d must be known when gc compiles, but depends on the graph's input %s",
           in, v->input);
  else
    refuse(n, "its input %d must be known when gc compiles", in);
  return NULL;
}

bool known_ints(Node *n, int in, const char *attribute, int64_t *at, int most, int *count) {
  Tensor *v = input(n, in);
  uint64_t size;
  *count = -1;
  if (!v) {
    if (attribute && attr_of(n, attribute) && !attr_ints(n, attribute, at, count))
      return refuse(n, "more than %d numbers in the attribute %s", 2 * MOST_RANK, attribute);
    return true;
  }
  const Number *x = known_input(n, in);
  if (!x) return false;
  if (is_float(v) || !shape_count(&v->shape, &size) || size > (uint64_t)most)
    return refuse(n, "its input %d is no list of integers of this length", in);
  *count = (int)size;
  for (int i = 0; i < *count; i++) {
    if (x[i].symbol)
      return refuse(n, "the dimension %s must be a number here: -D %s=N",
                    n->im->symbols[x[i].symbol - 1].name, n->im->symbols[x[i].symbol - 1].wish);
    at[i] = x[i].i;
  }
  return true;
}

bool known_size(Node *n, int in, Axis *out) {
  const Tensor *v = input(n, in);
  Axis at[MOST_RANK];
  uint64_t count;
  int given;
  *out = (Axis){0};
  if (!v || !v->sizes) {
    if (!known_dims(n, in, NULL, at, &given)) return false;
    if (given == 1) *out = at[0];
    return given == 1 || refuse(n, "its input %d is not one integer", in);
  }
  *out = axis_of_number(v->sizes[0]);
  return (shape_count(&v->shape, &count) && count == 1) ||
         refuse(n, "its input %d is not one integer", in);
}

bool known_dims(Node *n, int in, const char *attribute, Axis *at, int *count) {
  int64_t x[2 * MOST_RANK];
  Tensor *v = input(n, in);
  uint64_t size;
  const Number *known = v && !is_float(v) ? known_of(n->im, v) : NULL;
  if (known && shape_count(&v->shape, &size) && size <= MOST_RANK) {
    *count = (int)size;
    for (int i = 0; i < *count; i++) at[i] = axis_of_number(known[i]);
    return true;
  }
  if (!known_ints(n, in, attribute, x, MOST_RANK, count)) return false;
  for (int i = 0; i < *count && i < MOST_RANK; i++) at[i] = (Axis){.n = x[i]};
  return *count <= MOST_RANK || refuse(n, "more than %d numbers", MOST_RANK);
}

bool known_int(Node *n, int in, int64_t *out) {
  int count;
  if (!known_ints(n, in, NULL, out, 1, &count)) return false;
  return count == 1 || refuse(n, "its input %d is not one integer", in);
}

bool axis_from(Node *n, int64_t axis, int rank, int *out) {
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return refuse(n, "an axis that its input does not have");
  *out = (int)axis;
  return true;
}

bool dim_number(Node *n, Axis d, int64_t *out) {
  if (d.symbol)
    return refuse(n, "the dimension %s must be a number here: -D %s=N",
                  n->im->symbols[d.symbol - 1].name, n->im->symbols[d.symbol - 1].wish);
  *out = d.n;
  return true;
}

bool shape_numbers(Node *n, const Tensor *v, int64_t *at) {
  for (int i = 0; i < v->shape.rank; i++)
    if (!dim_number(n, v->shape.at[i], &at[i])) return false;
  return true;
}
