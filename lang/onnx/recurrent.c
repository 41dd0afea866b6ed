/* LSTM, GRU and RNN: their steps one behind the other, or a loop over a bounded number of them.
   Contract: where each sequence of the batch has a length of its own, its state stays as it is in
   steps behind that, and these steps give 0. The backward direction begins with the last step, so
   the state is still the first one where a sequence ends, and both directions have one rule. Of a
   sequence without steps the last state is 0, as in ONNX Runtime. */
#include "lang/onnx/import.h"
#include "lang/onnx/loops.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- activations ---- */

typedef struct Form {
  const char *op, *text; /* of x, alpha and beta */
  bool named;            /* x stands in it more than once, or not alone in parentheses */
  int numbers;
  double alpha, beta; /* if the layer has none */
} Form;

static const Form forms[] = {
    {"Sigmoid", "sigmoid(%1$s)", false, 0, 0, 0},
    {"Tanh", "tanh(%1$s)", false, 0, 0, 0},
    {"Relu", "relu(%1$s)", false, 0, 0, 0},
    {"Softplus", "softplus(%1$s)", false, 0, 0, 0},
    {"Softsign", "%1$s / (1 + abs(%1$s))", true, 0, 0, 0},
    {"Affine", "%2$s * %1$s + (%3$s)", true, 2, 1, 0},
    {"LeakyRelu", "leaky_relu(%1$s, %2$s)", false, 1, 0.01, 0},
    {"ThresholdedRelu", "where(%1$s > %2$s, %1$s, 0)", true, 1, 1, 0},
    {"ScaledTanh", "%2$s * tanh(%3$s * %1$s)", true, 2, 1, 1},
    {"HardSigmoid", "clamp(%2$s * %1$s + (%3$s), 0, 1)", true, 2, 0.2, 0.5},
    {"Elu", "elu(%1$s, %2$s)", false, 1, 1, 0},
};
enum { FORMS = sizeof forms / sizeof *forms, MOST_ACTIVATIONS = 6 };

typedef struct Activation {
  const Form *form;
  double alpha, beta;
} Activation;

typedef struct Layer {
  Node *n;
  Axis steps, batch;
  int64_t size;
  const char *x, *w, *r, *b, *peep; /* "" : none */
  const char *lengths;              /* [batch, 1]; "": all steps */
  int kind;                         /* number of gates */
  int direction;
  int activations; /* of one direction */
  Activation activation[MOST_ACTIVATIONS];
} Layer;

static const Form *form_named(const char *s, size_t n) {
  for (int i = 0; i < FORMS; i++)
    if (strlen(forms[i].op) == n && strncasecmp(forms[i].op, s, n) == 0) return &forms[i];
  return NULL;
}

/* Those that have numbers take them from the lists in turn. */
static bool activations_read(Layer *l, int64_t directions) {
  const Onnx__AttributeProto *names = attr_of(l->n, "activations"),
                             *alpha = attr_of(l->n, "activation_alpha"),
                             *beta = attr_of(l->n, "activation_beta");
  size_t alphas = 0, betas = 0;
  l->activations = l->kind == 4 ? 3 : l->kind == 3 ? 2 : 1;
  const int all = l->activations * (int)directions;
  if (names && names->n_strings && names->n_strings != (size_t)all)
    return refuse(l->n, "%zu activations in place of %d", names->n_strings, all);
  for (int i = 0; i < all; i++) {
    Activation *f = &l->activation[i];
    f->form = &forms[i % l->activations || l->kind == 1]; /* sigmoid of gates, else tanh */
    if (names && names->n_strings) {
      const ProtobufCBinaryData *name = &names->strings[i];
      f->form = form_named((const char *)name->data, name->len);
      if (!f->form)
        return refuse(l->n, "an activation %.*s", (int)name->len, (const char *)name->data);
    }
    f->alpha = f->form->alpha, f->beta = f->form->beta;
    if (f->form->numbers > 0 && alpha && alphas < alpha->n_floats)
      f->alpha = (double)alpha->floats[alphas++];
    if (f->form->numbers > 1 && beta && betas < beta->n_floats)
      f->beta = (double)beta->floats[betas++];
  }
  return true;
}

static const char *applied(const Layer *l, int which, const char *x) {
  Node *n = l->n;
  const Activation *f = &l->activation[l->direction * l->activations + which];
  return text(n, f->form->text, f->form->named ? let(n, x) : x, real(n, f->alpha),
              real(n, f->beta));
}

/* The activation of a gate, whose argument may have limits. */
static const char *gate_of(const Layer *l, int which, const char *x) {
  const double most = attr_real(l->n, "clip", 0);
  if (most > 0) x = text(l->n, "clamp(%s, %s, %s)", x, real(l->n, -most), real(l->n, most));
  return applied(l, which, x);
}

/* ---- one step ---- */

/* Gate g of a weight, [d, g * size:(g + 1) * size]. */
static const char *gate(const Layer *l, const char *weight, int g, const char *otherwise) {
  if (!*weight) return otherwise;
  return text(l->n, "%s[%d, %lld:%lld]", weight, l->direction, (long long)g * l->size,
              (long long)(g + 1) * l->size);
}

static const char *from_x(const Layer *l, int g, const char *t) {
  return text(l->n, "%s[%s] @ %s' + %s", l->x, t, gate(l, l->w, g, ""), gate(l, l->b, g, "0"));
}

static const char *from_h(const Layer *l, int g, const char *h) {
  return text(l->n, "(%s @ %s' + %s)", h, gate(l, l->r, g, ""), gate(l, l->b, g + l->kind, "0"));
}

/* A gate that reads the cell: input, output or forget. */
static const char *cell_gate(const Layer *l, int g, int peep, const char *t, const char *h,
                             const char *c) {
  return gate_of(l, 0,
                 text(l->n, "%s + %s + %s * %s", from_x(l, g, t), from_h(l, g, h),
                      gate(l, l->peep, peep, "0"), c));
}

static void step_of_cell(const Layer *l, const char *t, const char **h, const char **c) {
  Node *n = l->n;
  const char *i = let(n, cell_gate(l, 0, 0, t, *h, *c)),
             *f = let(n, attr_int(n, "input_forget", 0) ? text(n, "1 - %s", i)
                                                        : cell_gate(l, 2, 2, t, *h, *c)),
             *fresh = gate_of(l, 1, text(n, "%s + %s", from_x(l, 3, t), from_h(l, 3, *h)));
  *c = let(n, text(n, "%s * %s + %s * (%s)", f, *c, i, fresh));
  *h = let(n, text(n, "(%s) * (%s)", cell_gate(l, 1, 1, t, *h, *c), applied(l, 2, *c)));
}

static void step(const Layer *l, const char *t, const char **h, const char **c) {
  Node *n = l->n;
  if (l->kind == 4) { /* input, output, forget, cell */
    step_of_cell(l, t, h, c);
  } else if (l->kind == 3) { /* update, reset, hidden */
    const char *z = let(n, gate_of(l, 0, text(n, "%s + %s", from_x(l, 0, t), from_h(l, 0, *h))));
    const char *r = let(n, gate_of(l, 0, text(n, "%s + %s", from_x(l, 1, t), from_h(l, 1, *h))));
    const char *fresh = attr_int(n, "linear_before_reset", 0)
                            ? text(n, "%s + %s * %s", from_x(l, 2, t), r, from_h(l, 2, *h))
                            : text(n, "%s + (%s * %s) @ %s' + %s", from_x(l, 2, t), r, *h,
                                   gate(l, l->r, 2, ""), gate(l, l->b, 5, "0"));
    *h = let(n, text(n, "(1 - %s) * %s + %s * %s", z, let(n, gate_of(l, 1, fresh)), z, *h));
  } else {
    *h = let(n, gate_of(l, 0, text(n, "%s + %s", from_x(l, 0, t), from_h(l, 0, *h))));
  }
}

/* The same; sequences that have no step t keep their state. What the step gives. */
static const char *step_within(const Layer *l, const char *t, const char **h, const char **c) {
  Node *n = l->n;
  const char *h0 = *h, *c0 = *c;
  step(l, t, h, c);
  if (!*l->lengths) return *h;
  const char *there = let(n, text(n, "%s < %s", t, l->lengths)),
             *y = let(n, text(n, "where(%s, %s, 0)", there, *h));
  *h = let(n, text(n, "where(%s, %s, %s)", there, *h, h0));
  if (l->kind == 4) *c = let(n, text(n, "where(%s, %s, %s)", there, *c, c0));
  return y;
}

/* ---- all steps ---- */

static const char *start(Node *n, Tensor *v, bool rows) {
  if (!v) return "";
  const char *t = tensor_text(n, v);
  return rows ? let(n, text(n, "transpose(%s, [1, 0, 2])", t)) : v->name ? t : let(n, t);
}

static const char *named(Node *n, Tensor *v) {
  if (!v) return "";
  const char *t = tensor_text(n, v);
  return v->name ? t : let(n, t);
}

/* From h and c on, which become the last ones: the list of what each step gives. */
static const char *unrolled(const Layer *l, bool down, const char **h, const char **c) {
  const int64_t steps = l->steps.n;
  const char **at = ARENA_ARRAY(l->n->im->a, const char *, steps), *list = "";
  for (int64_t i = 0; i < steps; i++) {
    const int64_t t = down ? steps - 1 - i : i;
    at[t] = step_within(l, text(l->n, "%lld", (long long)t), h, c);
  }
  for (int64_t t = 0; t < steps; t++) list = text(l->n, "%s%s%s", list, t ? ", " : "", at[t]);
  return text(l->n, "stack([%s])", list);
}

/* The same by a loop. */
static const char *looped(const Layer *l, bool down, const char **h, const char **c) {
  Node *n = l->n;
  Import *im = n->im;
  const bool cell = l->kind == 4;
  const char *k = name_new(im, "k"), *all = name_new(im, "steps"), *own = name_new(im, "h"),
             *count = dim_text(im, l->steps), *last;
  statement_add(im, text(n, "%s = %s", own, *h));
  *h = last = own;
  if (cell) {
    own = name_new(im, "c");
    statement_add(im, text(n, "%s = %s", own, *c));
    *c = own;
  }
  const char *next = *h, *next_c = *c;
  statement_add(im, text(n, "%s = scan %s in 0..%s {", all, k, count));
  im->block++;
  const char *t = down ? text(n, "%s - 1 - %s", count, k) : k,
             *y = step_within(l, *l->lengths && down ? let(n, t) : t, &next, &next_c);
  if (cell)
    statement_add(im, text(n, "%s, %s = %s, %s", last, *c, next, next_c));
  else
    statement_add(im, text(n, "%s = %s", last, next));
  statement_add(im, text(n, "yield %s", *l->lengths ? y : last));
  im->block--;
  statement_add(im, "}");
  return down ? text(n, "reverse(%s, axis = 0)", all) : all;
}

/* What an output has of the last state. */
static const char *last_of(const Layer *l, const char *state) {
  if (!*l->lengths) return state;
  return text(l->n, "where(%s > 0, %s, 0)", l->lengths, state);
}

/* ---- the layer ---- */

/* The lengths of the sequences, unless all have all steps. */
static bool lengths_read(Layer *l, Axis steps) {
  Node *n = l->n;
  Tensor *v = input(n, 4);
  Number x;
  l->lengths = "";
  if (!v) return true;
  if (v->shape.rank != 1 || !dim_same(v->shape.at[0], l->batch) || is_float(v))
    return refuse(n, "lengths that do not fit");
  if (is_one_number(n->im, v, &x) && dim_same(steps, axis_of_number(x))) return true;
  const Shape column = {.rank = 2, .at = {l->batch, {.n = 1}}};
  l->lengths = let(n, reshaped(n, text(n, "i32(%s)", tensor_text(n, v)), &column));
  return true;
}

static bool layer_read(Layer *l, bool rows, int64_t *directions) {
  enum { MOST_STEPS = 1 << 12 };
  Node *n = l->n;
  Tensor *x = input(n, 0), *r = input(n, 2);
  if (x->shape.rank != 3 || r->shape.rank != 3) return refuse(n, "shapes that do not fit");
  l->batch = x->shape.at[!rows];
  if (!trips_take(n, x->shape.at[rows], &l->steps) || !dim_number(n, r->shape.at[0], directions) ||
      !dim_number(n, r->shape.at[2], &l->size))
    return false;
  if (*directions < 1 || *directions > 2) return refuse(n, "shapes that do not fit");
  if (!l->steps.symbol && l->steps.n > MOST_STEPS)
    return refuse(n, "more than %d steps", MOST_STEPS);
  if (!activations_read(l, *directions) || !lengths_read(l, x->shape.at[rows])) return false;
  l->x = rows ? let(n, text(n, "transpose(%s, [1, 0, 2])", tensor_text(n, x))) : named(n, x);
  l->w = named(n, input(n, 1)), l->r = named(n, r), l->b = named(n, input(n, 3));
  l->peep = l->kind == 4 ? named(n, input(n, 7)) : "";
  return true;
}

bool onnx_recurrent(Node *n) {
  Tensor *x = input(n, 0);
  Layer l = {.n = n, .kind = strcmp(n->op, "LSTM") == 0 ? 4 : strcmp(n->op, "GRU") == 0 ? 3 : 1};
  bool rows = attr_int(n, "layout", 0) == 1, lstm = l.kind == 4; /* rows: the batch comes first */
  const char *back = attr_string(n, "direction", "forward");
  int64_t directions;
  if (!layer_read(&l, rows, &directions)) return false;
  const char *h0 = start(n, input(n, 5), rows), *c0 = lstm ? start(n, input(n, 6), rows) : "";
  const char *sequences = "", *last = "", *cells = "";
  for (int d = 0; d < directions; d++) {
    bool down = strcmp(back, "reverse") == 0 || d == 1;
    const char *zero = text(n, "zeros([%s, %lld], %s)", dim_text(n->im, l.batch), (long long)l.size,
                            elem_of(x->type)->gc);
    const char *h = *h0 ? text(n, "%s[%d]", h0, d) : zero,
               *c = *c0 ? text(n, "%s[%d]", c0, d) : zero;
    l.direction = d;
    const char *each = (l.steps.symbol ? looped : unrolled)(&l, down, &h, &c);
    sequences = text(n, "%s%s%s", sequences, d ? ", " : "", each);
    last = text(n, "%s%s%s", last, d ? ", " : "", last_of(&l, h));
    cells = text(n, "%s%s%s", cells, d ? ", " : "", last_of(&l, c));
  }
  Axis dims = {.n = directions}, batch = l.batch, size = {.n = l.size}, steps = l.steps;
  Shape y = {.rank = 4, .at = {steps, dims, batch, size}},
        end = {.rank = 3, .at = {dims, batch, size}};
  const char *t = text(n, "stack([%s], axis = 1)", sequences), *e = text(n, "stack([%s])", last),
             *f = text(n, "stack([%s])", cells);
  if (rows) {
    y = (Shape){.rank = 4, .at = {batch, steps, dims, size}},
    end = (Shape){.rank = 3, .at = {batch, dims, size}};
    t = text(n, "transpose(%s, [2, 0, 1, 3])", t), e = text(n, "transpose(%s, [1, 0, 2])", e),
    f = text(n, "transpose(%s, [1, 0, 2])", f);
  }
  return give(n, 0, x->type, &y, t) && give(n, 1, x->type, &end, e) &&
         (!lstm || give(n, 2, x->type, &end, f));
}
