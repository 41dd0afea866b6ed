/* Loop as its iterations, one behind the other: where shapes, slices or sequences differ between
   them, or where a condition that gc knows ends it; and SequenceMap. Contract: carries are the
   values of the iteration before; each condition is known; what the body names is dropped behind
   each iteration, its tensors behind all. */
#include "lang/onnx/compose.h"
#include "lang/onnx/import.h"

static const char unknown[] = "a condition that is not known when gc compiles, of a loop without a "
                              "number of iterations, or whose iterations differ";

static const char *name_of(const Onnx__ValueInfoProto *p) { return or_empty(p->name); }

static Tensor *known_scalar(Import *im, int type, int64_t i) {
  Number *x = ARENA_NEW(im->a, Number);
  x->i = i;
  Tensor *v = value_new(im, type, &(Shape){0});
  v->known = x;
  return v;
}

typedef struct Unrolled {
  Node *n;
  const Onnx__GraphProto *g;
  int carries, stacks;
  Tensor **carry, **now; /* of the iteration, and what it gives */
  VEC(Tensor *) stacked; /* those of an iteration behind each other */
} Unrolled;

/* What the body gives as its output i; NULL after refusing. */
static Tensor *given(Unrolled *u, int i) {
  const char *name = name_of(u->g->output[i]);
  Tensor *v = value_named(u->n->im, name);
  if (!v || (v->missing && !u->n->im->refused.n))
    refuse(u->n, "its body does not compute its output %s", name);
  return v && !v->missing ? v : NULL;
}

/* False: it is not to be imported, or a diagnostic was given, with *ok false. */
static bool iteration(Unrolled *u, int64_t k, bool *goes_on, bool *ok) {
  Import *im = u->n->im;
  const Onnx__GraphProto *g = u->g;
  const uint32_t refused = im->refused.n;
  value_put(im, name_of(g->input[0]), known_scalar(im, ELEM_I64, k));
  value_put(im, name_of(g->input[1]), known_scalar(im, ELEM_BOOL, 1));
  for (int i = 0; i < u->carries; i++) value_put(im, name_of(g->input[i + 2]), u->carry[i]);
  *ok = nodes_add(im, g->node, g->n_node, u->n->version);
  if (!*ok || im->refused.n != refused) return false;
  Number on;
  Tensor *condition = given(u, 0);
  if (!condition) return false;
  if (condition->list || condition->type != ELEM_BOOL || !is_one_number(im, condition, &on))
    return refuse(u->n, "%s", unknown);
  for (int i = 0; i < u->carries; i++)
    if (!(u->now[i] = given(u, i + 1))) return false;
  for (int i = 0; i < u->stacks; i++) {
    Tensor *v = given(u, i + 1 + u->carries);
    if (!v) return false;
    if (v->list) return refuse(u->n, "a sequence that its body gives");
    vec_push(im->a, &u->stacked, v);
  }
  for (int i = 0; i < u->carries; i++) u->carry[i] = u->now[i];
  nodes_drop(im, g);
  *goes_on = on.i != 0;
  return true;
}

static bool results(Unrolled *u, int64_t count) {
  Compose c = {.n = u->n};
  for (int i = 0; i < u->carries; i++)
    if (!give_same(u->n, i, u->carry[i])) return false;
  for (int i = 0; i < u->stacks; i++) {
    if (!output(u->n, u->carries + i)) continue;
    if (!count) return refuse(u->n, "a tensor without elements");
    Tensor **rows = ARENA_ARRAY(u->n->im->a, Tensor *, count),
           *axes = compose_ints(&c, &(int64_t){0}, 1);
    for (int64_t k = 0; k < count; k++) {
      Tensor *v = u->stacked.at[k * u->stacks + i];
      if (k && !shape_same(&v->shape, &u->stacked.at[i]->shape))
        return refuse(u->n, "stacked values whose shapes differ");
      if (tensor_is_counted(v)) return refuse(u->n, "rows whose number the data decide, stacked");
      rows[k] = compose(&c, "Unsqueeze", IN(v, axes), WITHOUT);
    }
    if (!compose_give(&c, u->carries + i,
                      compose(&c, "Concat", rows, (int)count, WITH(with_int(&c, "axis", 0)))))
      return false;
  }
  return true;
}

/* The body for each value of a sequence, beside the values of others and tensors. */
bool onnx_sequence_map(Node *n, bool *ok) {
  Import *im = n->im;
  const Onnx__GraphProto *g = subgraph_of(n, "body");
  const uint32_t refused = im->refused.n;
  *ok = true;
  if (!g || (int)g->n_input != n->nin || (int)g->n_output < n->nout || !input(n, 0))
    return refuse(n, "a body that does not fit");
  if (!input(n, 0)->list) return refuse(n, "its input 0, which is no sequence");
  const int count = input(n, 0)->list->n;
  for (int i = 1; i < n->nin; i++)
    if (!n->in[i] || (n->in[i]->list && n->in[i]->list->n < count))
      return refuse(n, "sequences of different lengths");
  if (!(*ok = tensors_add(im, g))) return false;
  Tensor **at = ARENA_ARRAY(im->a, Tensor *, count * n->nout + 1);
  bool all = true;
  Unrolled u = {.n = n, .g = g};
  for (int k = 0; k < count && all; k++) {
    for (int i = 0; i < n->nin; i++)
      value_put(im, name_of(g->input[i]), n->in[i]->list ? n->in[i]->list->at[k] : n->in[i]);
    *ok = nodes_add(im, g->node, g->n_node, n->version);
    all = *ok && im->refused.n == refused;
    for (int i = 0; i < n->nout && all; i++)
      all = !n->out[i] || (at[i * count + k] = given(&u, i)) != NULL;
    nodes_drop(im, g);
  }
  for (size_t i = 0; i < g->n_input; i++) value_drop(im, name_of(g->input[i]));
  graph_drop(im, g);
  for (int i = 0; i < n->nout && all; i++) {
    List *list = ARENA_NEW(im->a, List);
    *list = (List){at + i * count, count};
    if (n->out[i]) n->out[i]->list = list;
  }
  return all;
}

bool onnx_loop_unrolled(Node *n, const Onnx__GraphProto *g, int64_t trips, bool *ok) {
  enum { MOST_TRIPS = 1 << 10 };
  Import *im = n->im;
  const Tensor *first = input(n, 1);
  Number on = {.i = 1};
  *ok = true;
  if (first && !is_one_number(im, n->in[1], &on)) return refuse(n, "%s", unknown);
  Unrolled u = {.n = n, .g = g, .carries = n->nin - 2};
  u.stacks = (int)g->n_output - 1 - u.carries;
  u.carry = ARENA_ARRAY(im->a, Tensor *, n->nin), u.now = ARENA_ARRAY(im->a, Tensor *, n->nin);
  for (int i = 0; i < u.carries; i++)
    if (!(u.carry[i] = input(n, i + 2))) return refuse(n, "a carry without a first value");
  if (!(*ok = tensors_add(im, g))) return false;
  int64_t k = 0;
  bool all = true, goes_on = on.i != 0;
  for (; all && goes_on && k < trips && k < MOST_TRIPS; k++) all = iteration(&u, k, &goes_on, ok);
  if (all && goes_on && k < trips)
    all = refuse(n, "a loop that makes more than %d iterations", MOST_TRIPS);
  for (size_t i = 0; i < g->n_input; i++) value_drop(im, name_of(g->input[i]));
  graph_drop(im, g);
  return all && results(&u, k);
}
