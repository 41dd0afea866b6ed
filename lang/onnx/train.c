/* gc --train-onnx LOSS[(axis = N)][:OUTPUT][,OPTIMIZER]: an imported model's program gets `entry
   train`, by a loss and an optimizer of the prelude. Contract: see import.h; the loss reads one
   output of the model, which may be left out where there is one, and a target, whose type follows
   from it. The classes of a loss of labels are along the last axis, or along the one that is said:
   models of images have them along axis 1. */
#include "lang/onnx/import.h"

#include <stdlib.h>

typedef struct Loss {
  const char *name, *call; /* of the output and the target, in this order */
  bool labels;             /* the target has an integer in place of the axis of classes */
  const char *logits;      /* it reads these: what makes probabilities of them; else NULL */
} Loss;

static const Loss losses[] = {
    {"xent", "mean(xent(%s, %s))", true, "Softmax"},
    {"cross_entropy", "cross_entropy(%s, %s)", true, "Softmax"},
    {"mse", "mse(%s, %s)", false, NULL},
    {"bce", "bce(%s, %s)", false, "Sigmoid"},
    {"huber", "huber(%s, %s)", false, NULL},
};
enum { LOSSES = sizeof losses / sizeof *losses };

static const Loss *loss_named(const char *s, size_t n) {
  for (int i = 0; i < LOSSES; i++)
    if (strlen(losses[i].name) == n && strncmp(losses[i].name, s, n) == 0) return &losses[i];
  return NULL;
}

/* Behind the loss's name: "(axis = N)" into *axis, or nothing. Where it ends; NULL: it is wrong. */
static const char *read_axis(const char *s, const Loss *loss, int *axis) {
  *axis = -1;
  if (*s != '(') return s;
  int n = 0, end = 0;
  bool ok = sscanf(s, " ( axis = %4d ) %n", &n, &end) == 1 && end && loss->labels;
  *axis = n;
  return ok ? s + end : NULL;
}

const char *onnx_train_wrong(Ctx *c, const char *text) {
  size_t n = strcspn(text, "(:,");
  int axis;
  const Loss *loss = loss_named(text, n);
  const char *all = "", *rest = loss ? read_axis(text + n, loss, &axis) : text,
             *optimizer = rest ? strchr(rest, ',') : NULL;
  if (!rest || (loss && *rest && *rest != ':' && *rest != ','))
    return intern_printf(c, "'%s': what may follow %s is %s:OUTPUT and ,OPTIMIZER", text,
                         loss->name, loss->labels ? "(axis = N), " : "");
  if (optimizer && (!optimizer[1] || strpbrk(optimizer, "#{}\n;")))
    return intern_printf(c, "'%s' is no optimizer, as in xent,sgd(lr, momentum = 0.9)",
                         optimizer + 1);
  if (loss) return NULL;
  for (int i = 0; i < LOSSES; i++)
    all = intern_printf(c, "%s%s%s", all, i ? ", " : "", losses[i].name);
  return intern_printf(c, "'%.*s' is none of the losses %s", (int)n, text, all);
}

/* Its index, or -1 after a diagnostic. */
static int output_named(Import *im, const char *name, size_t n) {
  const char *all = "";
  if (!n && im->outputs.n == 1) return 0;
  for (uint32_t i = 0; i < im->outputs.n; i++) {
    const char *own = im->outputs.at[i].name;
    if (strlen(own) == n && strncmp(own, name, n) == 0) return (int)i;
    all = arena_printf(im->a, "%s%s%s", all, i ? ", " : "", own);
  }
  if (n)
    FAIL(im, "--train-onnx: the model has no output %.*s; it has %s", (int)n, name, all);
  else
    FAIL(im,
         "--train-onnx: which output the loss reads is to be said, as in "
         "xent:OUTPUT; there are %s",
         all);
  return -1;
}

/* classes: their axis; -1: the target has all axes. A file of rows has no axis that is the product
   of dimensions which a run decides: the target has these, and the loss reads it reshaped. */
static void target_find(Import *im, int classes, const Tensor *v, Train *t) {
  const char *dims = "", *flat = "";
  bool product = false;
  for (int i = 0; i < v->shape.rank; i++) {
    Axis factor[MOST_FACTORS + 1];
    const int n = dim_factors(im, v->shape.at[i], factor);
    if (i == classes) continue;
    product |= n > 1;
    flat = arena_printf(im->a, "%s%s%s", flat, *flat ? ", " : "", dim_text(im, v->shape.at[i]));
    for (int k = 0; k < n; k++)
      dims = arena_printf(im->a, "%s%s%s", dims, *dims ? ", " : "", dim_text(im, factor[k]));
  }
  t->target = arena_printf(im->a, "%s[%s]", classes >= 0 ? "i32" : elem_of(v->type)->gc, dims);
  t->flat = product ? arena_printf(im->a, "[%s]", flat) : NULL;
}

/* The output with the classes along the last axis, where the losses of the prelude read them. */
static const char *classes_last(Import *im, int output, int classes, int rank) {
  const char *order = "";
  if (classes < 0 || classes == rank - 1) return arena_printf(im->a, "o%d", output);
  for (int i = 0; i < rank; i++)
    if (i != classes) order = arena_printf(im->a, "%s%d, ", order, i);
  return arena_printf(im->a, "transpose(o%d, [%s%d])", output, order, classes);
}

/* More than two axes: which is that of the classes is not sure. */
static void note_of_axis(Import *im, const Loss *loss, const char *output, const Tensor *v) {
  int rank = v->shape.rank;
  if (rank < 3) return;
  diag(im->c, SEV_NOTE, im->at,
       "%s: --train-onnx: the classes of %s are along its last axis, of %s", im->path, output,
       dim_text(im, v->shape.at[rank - 1]));
  diag(im->c, SEV_HINT, im->at, "%s(axis = 1) takes them along axis 1", loss->name);
}

/* A loss of logits applies the operator itself: it would be applied twice. */
static void warn_of_probabilities(const Import *im, const Loss *loss, const char *output) {
  const Onnx__GraphProto *g = im->model->graph;
  for (size_t i = 0; loss->logits && i < g->n_node; i++) {
    const Onnx__NodeProto *p = g->node[i];
    if (strcmp(or_empty(p->op_type), loss->logits) != 0) continue;
    for (size_t k = 0; k < p->n_output; k++) {
      if (strcmp(or_empty(p->output[k]), output) != 0) continue;
      diag(im->c, SEV_WARNING, im->at,
           "%s: --train-onnx: %s reads logits, but the output %s is that of a %s", im->path,
           loss->name, output, loss->logits);
      diag(im->c, SEV_HINT, im->at, "leave the %s out of the exported model", loss->logits);
    }
  }
}

bool train_find(Import *im, Train *t) {
  const char *text = im->train;
  size_t n = strcspn(text, "(:,");
  int axis;
  const Loss *loss = loss_named(text, n);
  const char *rest = read_axis(text + n, loss, &axis);
  const char *output = *rest == ':' ? rest + 1 : "", *optimizer = strchr(rest, ',');
  int k = output_named(im, output, strcspn(output, ","));
  if (k < 0) return false;
  const Tensor *v = im->outputs.at[k].tensor;
  const char *name = im->outputs.at[k].name;
  if (!elem_of(v->type)->is_float)
    return FAIL(im, "--train-onnx: the output %s holds no floats", name);
  if (tensor_is_counted(v))
    return FAIL(im, "--train-onnx: the data decide how many rows the output %s has", name);
  if (v->shape.rank < loss->labels)
    return FAIL(im, "--train-onnx: the output %s has no axis of classes", name);
  int rank = v->shape.rank, classes = !loss->labels ? -1 : axis < 0 ? axis + rank : axis;
  if (loss->labels && (classes < 0 || classes >= rank))
    return FAIL(im, "--train-onnx: the output %s has no axis %d", name, axis);
  if (loss->labels && rest == text + n) note_of_axis(im, loss, name, v);
  warn_of_probabilities(im, loss, name);
  bool bare = optimizer && !strchr(optimizer, '(');
  *t = (Train){.output = k,
               .read = classes_last(im, k, classes, rank),
               .call = loss->call,
               .optimizer = !optimizer ? "adamw(lr)"
                            : bare     ? arena_printf(im->a, "%s(lr)", optimizer + 1)
                                       : optimizer + 1};
  target_find(im, classes, v, t);
  return true;
}
