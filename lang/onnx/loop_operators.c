/* Scan and Loop as loops of the program. Contract: a Loop whose condition the run computes makes
   all of its iterations; those behind its end have no effect. What cannot be a loop of the program
   may be its iterations, one behind the other (unrolled.c). */
#include "lang/onnx/loops.h"

static const int64_t *list(Node *n, const char *name, int count) {
  int64_t *at = ARENA_ARRAY(n->im->a, int64_t, count + 2 * MOST_RANK);
  int k = 0;
  attr_ints(n, name, at, &k);
  for (; k < count; k++) at[k] = 0;
  return at;
}

static bool is_made_of(const Onnx__GraphProto *g, int in, int out) {
  return g && (int64_t)g->n_input >= in && (int64_t)g->n_output >= out && g->n_input < 1 << 16 &&
         g->n_output < 1 << 16;
}

bool onnx_scan(Node *n) {
  const Onnx__GraphProto *g = subgraph_of(n, "body");
  const int64_t named = attr_int(n, "num_scan_inputs", 0);
  const int slices = named >= 1 && named <= n->nin ? (int)named : 0;
  bool fits = slices && is_made_of(g, n->nin, n->nin - slices);
  if (n->version < 9) return refuse(n, "Scan of an operator set before 9"), outputs_miss(n);
  Loop l = {.n = n, .g = g, .slices = slices, .carries = n->nin - slices};
  l.stacks = fits ? (int)g->n_output - l.carries : 0;
  if (!fits || (int)g->n_input != n->nin || l.stacks != n->nout - l.carries || l.stacks < 0)
    return refuse(n, "a body that does not fit"), outputs_miss(n);
  l.in_back = list(n, "scan_input_directions", l.slices);
  l.out_back = list(n, "scan_output_directions", l.stacks);
  l.in_axis = list(n, "scan_input_axes", l.slices);
  l.out_axis = list(n, "scan_output_axes", l.stacks);
  return loop_add(&l, NULL, NULL);
}

/* The condition that goes in is true, since the loop is not left before. */
static void inputs_bind(Loop *l) {
  Number *yes = ARENA_NEW(l->n->im->a, Number);
  *yes = (Number){.i = 1};
  Shape scalar = {0};
  loop_counter_bind(l, loop_input_name(l, 0), ELEM_I64, l->k);
  loop_bind(l, loop_input_name(l, 1), ELEM_BOOL, &scalar, NULL)->known = yes;
}

/* Whether another iteration follows: *on is NULL if it does. */
static bool another_follows(Loop *l, const char **on) {
  Node *n = l->n;
  Number x;
  uint64_t count;
  Tensor *v = loop_result(l, 0);
  if (!v) return false;
  if (v->type != ELEM_BOOL || !shape_count(&v->shape, &count) || count != 1)
    return refuse(n, "a condition that is no bool");
  *on = NULL;
  const bool known = is_one_number(n->im, v, &x);
  const bool stays = known && x.i && !l->first_condition;
  if (stays && l->going)
    n->im->statements.at[l->before].text = text(n, "%s = full([], true)", l->going);
  if (stays) return true;
  if (!known || !x.i) *on = loop_variable(n, "on", reshaped(n, tensor_text(n, v), &(Shape){0}));
  l->condition = l->going ? l->going : name_new(n->im, "going");
  n->im->statements.at[l->before].text =
      text(n, "%s = %s", l->condition, l->first_condition ? l->first_condition : "full([], true)");
  return true;
}

/* As a loop of the program: a number of iterations that gc knows, or the most that there may be. */
static bool looped(Node *n, const Onnx__GraphProto *g, Axis trips) {
  Loop l = {.n = n, .g = g, .carries = n->nin - 2, .first_in = 2, .first_out = 1, .node_in = 2};
  l.trips = trips;
  l.stacks = (int)g->n_output - 1 - l.carries;
  l.out_back = l.out_axis = list(n, "", l.stacks);
  Tensor *first = input(n, 1);
  const Number *condition = first ? known_of(n->im, first) : NULL;
  if (first && !condition) l.first_condition = reshaped(n, tensor_text(n, first), &(Shape){0});
  if (condition && !condition->i) l.trips = (Axis){.n = 0};
  return loop_add(&l, inputs_bind, another_follows);
}

static bool trips_read(Node *n, Axis *out) {
  Number x;
  if (!input(n, 0)->sizes && is_one_number(n->im, input(n, 0), &x) && x.symbol)
    return trips_take(n, axis_of_number(x), out);
  return known_int(n, 0, &out->n);
}

/* What cannot be a loop of the program may be one iteration behind the other; if not, the reasons
   are those of the loop. */
bool onnx_loop(Node *n) {
  enum { MOST_TRIPS = INT32_MAX };
  Import *im = n->im;
  const Onnx__GraphProto *g = subgraph_of(n, "body");
  if (n->nin < 2 || !is_made_of(g, n->nin, n->nin - 1) || (int)g->n_input != n->nin ||
      (int)g->n_output - 1 < n->nout)
    return refuse(n, "a body that does not fit"), outputs_miss(n);
  Axis trips = {.n = INT64_MAX};
  if (input(n, 0) && !trips_read(n, &trips)) return outputs_miss(n);
  const Tensor *first = input(n, 1);
  uint64_t count;
  if (first && (first->list || first->type != ELEM_BOOL || !shape_count(&first->shape, &count) ||
                count != 1))
    return refuse(n, "a condition that is no bool"), outputs_miss(n);
  const uint32_t before = im->refused.n, statements = im->statements.n;
  const char *note = im->note;
  bool ok = true;
  if (trips.n <= MOST_TRIPS && !looped(n, g, trips)) return false;
  const uint32_t reasons = im->refused.n;
  if (trips.n <= MOST_TRIPS && reasons == before) return true;
  if (trips.symbol) return outputs_miss(n);
  im->statements.n = statements, im->note = note;
  for (int k = 0; k < n->nout; k++)
    if (n->out[k]) n->out[k]->missing = false;
  const bool all = onnx_loop_unrolled(n, g, trips.n, &ok);
  if (!ok) return false;
  if (all) return im->refused.n = before, true;
  if (reasons > before) im->refused.n = reasons;
  im->statements.n = statements;
  return outputs_miss(n);
}
