/* Scan, and Loop whose number of iterations gc knows, or the most that there may be, or that is a
   multiple of a bounded dimension, as loops of the program. What a condition ends goes on without
   effect: carries keep their values. Contract: the body is translated once, between the statements
   that open and close the loop. Carries are variables before the loop, which its body binds again;
   slices and the number of the iteration are bound at the body's beginning; what is stacked is
   yielded at its end. */
#include "lang/onnx/loops.h"

#include <stdlib.h>

const char *loop_input_name(const Loop *l, int i) {
  const char *name = l->g->input[i]->name;
  return name ? name : "";
}

bool outputs_miss(Node *n) {
  for (int k = 0; k < n->nout; k++)
    if (n->out[k]) n->out[k]->missing = true;
  return true;
}

/* A value that the body sees under a name. */
Tensor *loop_bind(Loop *l, const char *graph_name, int type, const Shape *s, const char *variable) {
  Tensor *v = value_new(l->n->im, type, s);
  v->wish = graph_name, v->name = variable;
  value_put(l->n->im, graph_name, v);
  return v;
}

static const char *reversed_index(const Loop *l, bool back) {
  if (!back) return l->k;
  if (l->trips.symbol) return text(l->n, "%s - 1 - %s", dim_text(l->n->im, l->trips), l->k);
  return text(l->n, "%lld - %s", (long long)l->trips.n - 1, l->k);
}

/* The axis first, or from the first place. */
static const char *axis_moved(Node *n, const char *x, int rank, int axis, bool to_front) {
  int64_t perm[MOST_RANK];
  if (!axis) return x;
  for (int i = 0; i < rank; i++)
    perm[i] = to_front ? (i == 0      ? axis
                          : i <= axis ? i - 1
                                      : i)
                       : (i < axis    ? i + 1
                          : i == axis ? 0
                                      : i);
  return text(n, "transpose(%s, %s)", x, ints_text(n, perm, rank));
}

const char *loop_variable(Node *n, const char *wish, const char *expression) {
  const char *name = name_new(n->im, wish);
  statement_add(n->im, text(n, "%s = %s", name, expression));
  return name;
}

/* ---- before the loop ---- */

static bool carries_begin(Loop *l) {
  for (int i = 0; i < l->carries; i++) {
    Tensor *v = input(l->n, l->node_in + i);
    if (!v || v->list) return refuse(l->n, "a carry without a first value, or that is a sequence");
    l->carry[i] = loop_variable(l->n, loop_input_name(l, l->first_in + i), tensor_text(l->n, v));
    loop_bind(l, loop_input_name(l, l->first_in + i), v->type, &v->shape, l->carry[i]);
  }
  return true;
}

/* 0, 1, … */
static bool is_count(Loop *l, Tensor *v) {
  if (l->trips.symbol) return v->ranges;
  const Number *x =
      v->shape.rank == 1 && !is_float(v) && v->type != ELEM_BOOL ? known_of(l->n->im, v) : NULL;
  for (int64_t i = 0; x && i < l->trips.n; i++)
    if (x[i].i != i || x[i].symbol) return false;
  return x;
}

/* False after refusing: a loop of the program does not make so many iterations. */
bool trips_take(Node *n, Axis d, Axis *out) {
  const Symbol *of = d.symbol ? &n->im->symbols[d.symbol - 1] : NULL;
  *out = d;
  return (of && !d.more && !of->nfactors && !of->sum.n) || dim_number(n, d, &out->n);
}

/* Variables whose rows are the slices; none for the number of the iteration. */
static bool slices_begin(Loop *l, const char **rows) {
  Node *n = l->n;
  for (int i = 0; i < l->slices; i++) {
    Tensor *v = input(n, l->node_in + l->carries + i);
    int axis;
    Axis extent;
    if (!v || v->list || !v->shape.rank) return refuse(n, "a slice of a scalar");
    if (!axis_from(n, l->in_axis[i], v->shape.rank, &axis) ||
        !trips_take(n, v->shape.at[axis], &extent))
      return false;
    if (i && !dim_same(extent, l->trips)) return refuse(n, "slices of different numbers");
    l->trips = extent;
    if (!is_count(l, v))
      rows[i] = loop_variable(n, v->wish ? v->wish : "rows",
                              axis_moved(n, tensor_text(n, v), v->shape.rank, axis, true));
  }
  return true;
}

/* ---- inside ---- */

/* The number of the iteration, as an element of this type. */
void loop_counter_bind(Loop *l, const char *name, int type, const char *k) {
  Shape scalar = {0};
  const char *x = loop_variable(l->n, name, text(l->n, "%s(%s)", elem_of(type)->gc, k));
  Tensor *v = loop_bind(l, name, type, &scalar, x);
  v->counts = true;
  v->below = l->trips.n;
  if (l->trips.symbol &&
      __builtin_mul_overflow(l->trips.n, l->n->im->symbols[l->trips.symbol - 1].bound, &v->below))
    v->below = INT64_MAX;
}

static void slices_bind(Loop *l, const char *const *rows) {
  for (int i = 0; i < l->slices; i++) {
    Tensor *v = input(l->n, l->node_in + l->carries + i);
    const char *name = loop_input_name(l, l->first_in + l->carries + i);
    Shape s = {.rank = v->shape.rank - 1};
    int axis = (int)(l->in_axis[i] < 0 ? l->in_axis[i] + v->shape.rank : l->in_axis[i]);
    for (int k = 0; k < s.rank; k++) s.at[k] = v->shape.at[k + (k >= axis)];
    const char *at = reversed_index(l, l->in_back[i]);
    if (!rows[i]) {
      loop_counter_bind(l, name, v->type, at);
      continue;
    }
    const char *row = text(l->n, "%s[%s]", rows[i], at);
    loop_bind(l, name, v->type, &s, loop_variable(l->n, name, row));
  }
}

Tensor *loop_result(const Loop *l, int i) {
  const char *name = l->g->output[i]->name;
  Tensor *v = value_named(l->n->im, name ? name : "");
  if (v && v->missing) return NULL;
  if (!v) refuse(l->n, "its body does not compute its output %s", name ? name : "");
  if (v && v->list) return refuse(l->n, "a sequence that its body gives"), NULL;
  return v;
}

/* The yield, then the carries, all at once, since one may be another one's old value. */
static bool body_end(Loop *l, const char *goes_on, Tensor **stack, int *stacks) {
  Node *n = l->n;
  const char *yields = "", *names = "", *values = "";
  for (int i = 0; i < l->stacks; i++) {
    stack[i] = NULL;
    if (!output(n, l->carries + i)) continue;
    if (!(stack[i] = loop_result(l, l->first_out + l->carries + i))) return false;
    if (tensor_is_counted(stack[i])) return refuse(n, "rows whose number the data decide, stacked");
    const char *y = loop_variable(n, "y", tensor_text(n, stack[i]));
    yields = text(n, "%s%s%s", yields, (*stacks)++ ? ", " : "", y);
  }
  if (l->condition && *stacks)
    return refuse(n, "a condition that is not known when gc compiles, and ends what is stacked");
  for (int i = 0; i < l->carries; i++) {
    Tensor *v = loop_result(l, l->first_out + i);
    const Tensor *first = input(n, l->node_in + i);
    if (!v) return false;
    if (v->type != first->type || !shape_same(&v->shape, &first->shape))
      return refuse(n, "a carry that changes its type or shape");
    const char *next = tensor_text(n, v);
    if (l->condition) next = text(n, "where(%s, %s, %s)", l->condition, next, l->carry[i]);
    names = text(n, "%s%s%s", names, i ? ", " : "", l->carry[i]);
    values = text(n, "%s%s%s", values, i ? ", " : "", next);
  }
  if (l->condition) {
    const char *on = goes_on;
    names = text(n, "%s%s%s", names, l->carries ? ", " : "", l->condition);
    values = text(n, "%s%s%s", values, l->carries ? ", " : "",
                  on ? text(n, "%s and %s", l->condition, on) : l->condition);
  }
  if (*names) statement_add(n->im, text(n, "%s = %s", names, values));
  if (*stacks) statement_add(n->im, text(n, "yield %s", yields));
  return true;
}

static void names_drop(Loop *l) {
  Import *im = l->n->im;
  for (size_t i = 0; i < l->g->n_input; i++) value_drop(im, loop_input_name(l, (int)i));
  graph_drop(im, l->g);
}

/* ---- behind the loop ---- */

static bool results_give(Loop *l, Tensor *const *stack, const char *const *stacked) {
  Node *n = l->n;
  for (int i = 0; i < l->carries; i++) {
    const Tensor *v = input(n, l->node_in + i);
    if (!give(n, i, v->type, &v->shape, l->carry[i])) return false;
  }
  for (int i = 0; i < l->stacks; i++) {
    if (!stack[i]) continue;
    int axis, rank = stack[i]->shape.rank + 1;
    if (rank > MOST_RANK || !axis_from(n, l->out_axis[i], rank, &axis)) return false;
    Shape s = {.rank = rank};
    for (int k = 0; k < rank; k++)
      s.at[k] = k == axis ? l->trips : stack[i]->shape.at[k - (k > axis)];
    const char *y = stacked[i];
    if (l->out_back[i]) y = text(n, "reverse(%s, axis = 0)", y);
    if (!give(n, l->carries + i, stack[i]->type, &s, axis_moved(n, y, rank, axis, false)))
      return false;
  }
  return true;
}

/* The body gives the condition that goes in, or a tensor of its own: nothing is computed. */
static bool is_handed_on(const Onnx__GraphProto *g) {
  const char *name = g->output[0]->name ? g->output[0]->name : "";
  for (size_t i = g->n_node; i-- > 0;) {
    const Onnx__NodeProto *p = g->node[i];
    if (p->n_output != 1 || strcmp(p->output[0], name) != 0) continue;
    const char *op = p->op_type ? p->op_type : "";
    if (strcmp(op, "Constant") == 0) return true;
    if (strcmp(op, "Identity") != 0 || p->n_input != 1) return false;
    name = p->input[0];
  }
  bool own = g->input[1]->name && strcmp(g->input[1]->name, name) == 0;
  for (size_t i = 0; i < g->n_initializer; i++)
    own |= g->initializer[i]->name && strcmp(g->initializer[i]->name, name) == 0;
  return own;
}

/* `extra` binds what else the body sees; `ends` takes what else it gives. */
bool loop_add(Loop *l, void (*extra)(Loop *), bool (*ends)(Loop *, const char **)) {
  Node *n = l->n;
  Import *im = n->im;
  uint32_t refused = im->refused.n;
  const char **rows = ARENA_ARRAY(im->a, const char *, l->slices + 1);
  const char **stacked = ARENA_ARRAY(im->a, const char *, l->stacks + 1);
  Tensor **stack = ARENA_ARRAY(im->a, Tensor *, l->stacks + 1);
  int stacks = 0;
  l->carry = ARENA_ARRAY(im->a, const char *, l->carries + 1);
  if (!slices_begin(l, rows)) return outputs_miss(n);
  if (l->trips.n < 1) return refuse(n, "a loop without iterations"), outputs_miss(n);
  if (!carries_begin(l)) return outputs_miss(n);
  l->k = name_new(im, "k");
  const char *note = im->note;
  im->note = NULL, l->before = im->statements.n;
  statement_add(im, ""); /* that of a condition, if there is one */
  im->note = note;
  uint32_t head = im->statements.n;
  const char *goes_on = NULL;
  statement_add(im, ""); /* known behind the body */
  im->block++;
  const char *around = im->counting;
  if (ends && (l->first_condition || !is_handed_on(l->g))) {
    l->going = name_new(im, "going");
    im->counting = around ? text(n, "(%s and %s)", around, l->going) : l->going;
  }
  slices_bind(l, rows);
  if (extra) extra(l);
  bool ok = tensors_add(im, l->g) && nodes_add(im, l->g->node, l->g->n_node, n->version);
  bool all = ok && im->refused.n == refused && (!ends || ends(l, &goes_on)) &&
             body_end(l, goes_on, stack, &stacks);
  names_drop(l);
  im->block--;
  im->counting = around;
  if (!all) return ok && outputs_miss(n);
  const char *targets = "";
  for (int i = 0, k = 0; i < l->stacks; i++) {
    if (!stack[i]) continue;
    stacked[i] = name_new(im, output(n, l->carries + i)->wish);
    targets = text(n, "%s%s%s", targets, k++ ? ", " : "", stacked[i]);
  }
  im->statements.at[head].text =
      text(n, "%s%sscan %s in 0..%s {", targets, stacks ? " = " : "", l->k, dim_text(im, l->trips));
  statement_add(im, "}");
  return results_give(l, stack, stacked) || outputs_miss(n);
}
