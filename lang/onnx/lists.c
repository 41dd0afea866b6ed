/* Sequences and optional values. A sequence is a list of values that is known when gc compiles, and
   is in no program: its parts are. Contract: places in it are known numbers. */
#include "lang/onnx/compose.h"

enum { MOST_PARTS = 1 << 12 };

static bool give_list(Node *n, Tensor **at, int count) {
  Tensor *v = output(n, 0);
  if (!v) return true;
  List *list = ARENA_NEW(n->im->a, List);
  *list = (List){at, count};
  v->list = list;
  return count <= MOST_PARTS || refuse(n, "a sequence of more than %d values", MOST_PARTS);
}

/* The list that is an input; NULL after refusing. */
static const List *list_of(Node *n, int in) {
  const Tensor *v = input(n, in);
  if (!v || !v->list) return refuse(n, "its input %d, which is no sequence", in), NULL;
  return v->list;
}

/* A place from 0 to less than `end`, the last one if it is left out; false after refusing. */
static bool place_of(Node *n, int in, int64_t end, int64_t *at) {
  *at = end - 1;
  if (input(n, in) && !known_int(n, in, at)) return false;
  if (*at < 0) *at += end;
  return (*at >= 0 && *at < end) || refuse(n, "a place that its sequence does not have");
}

bool onnx_sequence_construct(Node *n) {
  Tensor **at = ARENA_ARRAY(n->im->a, Tensor *, n->nin + 1);
  for (int i = 0; i < n->nin; i++)
    if (!(at[i] = n->in[i])) return refuse(n, "a value that is left out");
  return give_list(n, at, n->nin);
}

bool onnx_sequence_insert(Node *n) {
  const List *old = list_of(n, 0);
  int64_t place;
  if (!old || !input(n, 1)) return old ? refuse(n, "a value that is left out") : false;
  place = old->n;
  if (input(n, 2)) {
    if (!known_int(n, 2, &place)) return false;
    if (place < 0) place += old->n;
  }
  if (place < 0 || place > old->n) return refuse(n, "a place that its sequence does not have");
  Tensor **at = ARENA_ARRAY(n->im->a, Tensor *, old->n + 1);
  for (int i = 0; i <= old->n; i++) at[i] = i == place ? input(n, 1) : old->at[i - (i > place)];
  return give_list(n, at, old->n + 1);
}

bool onnx_sequence_erase(Node *n) {
  const List *old = list_of(n, 0);
  int64_t place;
  if (!old || !place_of(n, 1, old->n, &place)) return false;
  Tensor **at = ARENA_ARRAY(n->im->a, Tensor *, old->n);
  for (int i = 0; i + 1 < old->n; i++) at[i] = old->at[i + (i >= place)];
  return give_list(n, at, old->n - 1);
}

bool onnx_sequence_at(Node *n) {
  const List *list = list_of(n, 0);
  int64_t place;
  return list && place_of(n, 1, list->n, &place) && give_same(n, 0, list->at[place]);
}

bool onnx_sequence_length(Node *n) {
  const List *list = list_of(n, 0);
  if (!list) return false;
  Number *x = ARENA_NEW(n->im->a, Number);
  x->i = list->n;
  return give_known(n, 0, ELEM_I64, &(Shape){0}, x);
}

bool onnx_split_to_sequence(Node *n) {
  Compose c = {.n = n};
  Tensor *v = input(n, 0), *sizes = input(n, 1);
  const bool keep = sizes || attr_int(n, "keepdims", 1);
  int64_t *size = ARENA_ARRAY(n->im->a, int64_t, MOST_PARTS + 1), all, from = 0;
  int axis, count = -1;
  if (!axis_from(n, attr_int(n, "axis", 0), v->shape.rank, &axis) ||
      !dim_number(n, v->shape.at[axis], &all) || !known_ints(n, 1, NULL, size, MOST_PARTS, &count))
    return false;
  if (count < 0 || (sizes && sizes->shape.rank == 0)) { /* parts of one size, and the rest */
    const int64_t each = count < 0 ? 1 : size[0];
    if (each < 1 || all / each >= MOST_PARTS) return refuse(n, "parts of %lld", (long long)each);
    for (count = 0; from < all; from += each) size[count++] = each < all - from ? each : all - from;
  }
  Tensor **at = ARENA_ARRAY(n->im->a, Tensor *, count + 1),
         *axes = compose_ints(&c, &(int64_t){axis}, 1);
  from = 0;
  for (int i = 0; i < count; i++) {
    if (size[i] < 1 || size[i] > all - from) return refuse(n, "parts that its input does not have");
    const int64_t to = from + size[i];
    at[i] = compose(&c, "Slice", IN(v, compose_ints(&c, &from, 1), compose_ints(&c, &to, 1), axes),
                    WITHOUT);
    if (!keep) at[i] = compose(&c, "Squeeze", IN(at[i], axes), WITHOUT);
    from = to;
  }
  if (from != all) return refuse(n, "parts that do not make up its input");
  return !c.failed && give_list(n, at, count);
}

bool onnx_concat_from_sequence(Node *n) {
  Compose c = {.n = n};
  const List *list = list_of(n, 0);
  const int64_t axis = attr_int(n, "axis", 0);
  if (!list || !list->n) return list ? refuse(n, "a tensor without elements") : false;
  Tensor **at = ARENA_ARRAY(n->im->a, Tensor *, list->n), *axes = compose_ints(&c, &axis, 1);
  for (int i = 0; i < list->n; i++)
    at[i] = attr_int(n, "new_axis", 0) ? compose(&c, "Unsqueeze", IN(list->at[i], axes), WITHOUT)
                                       : list->at[i];
  return !c.failed &&
         compose_give(&c, 0, compose(&c, "Concat", at, list->n, WITH(with_int(&c, "axis", axis))));
}

/* An optional value is there where a node makes it, or it is left out. */
bool onnx_optional(Node *n) {
  return input(n, 0) ? give_same(n, 0, input(n, 0)) : refuse(n, "an optional value without one");
}

bool onnx_optional_has(Node *n) {
  Number *x = ARENA_NEW(n->im->a, Number);
  x->i = input(n, 0) != NULL;
  return give_known(n, 0, ELEM_BOOL, &(Shape){0}, x);
}
