/* gc --train-onnx LOSS[:OUTPUT][,OPTIMIZER]: an imported model's program gets `entry train`, by a
   loss and an optimizer of the prelude. Contract: see import.h; the loss reads one output of the
   model, which may be left out where there is one, and a target, whose type follows from it. */
#include "lang/onnx/import.h"

typedef struct Loss {
  const char *name, *call; /* of the output and the target, in this order */
  bool labels;             /* the target has an integer in place of the last axis */
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

const char *onnx_train_wrong(Ctx *c, const char *text) {
  const char *all = "", *optimizer = strchr(text, ',');
  if (optimizer && (!optimizer[1] || strpbrk(optimizer, "#{}\n;")))
    return intern_printf(c, "'%s' is no optimizer, as in xent,sgd(lr, momentum = 0.9)",
                         optimizer + 1);
  if (loss_named(text, strcspn(text, ":,"))) return NULL;
  for (int i = 0; i < LOSSES; i++)
    all = intern_printf(c, "%s%s%s", all, i ? ", " : "", losses[i].name);
  return intern_printf(c, "'%.*s' is none of the losses %s", (int)strcspn(text, ":,"), text, all);
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

static const char *target_type(Import *im, const Loss *loss, const Tensor *v) {
  const char *dims = "";
  int rank = v->shape.rank - loss->labels;
  for (int i = 0; i < rank; i++)
    dims = arena_printf(im->a, "%s%s%s", dims, i ? ", " : "", dim_text(im, v->shape.at[i]));
  const char *elem = loss->labels ? "i32" : elem_of(v->type)->gc;
  return rank ? arena_printf(im->a, "%s[%s]", elem, dims) : arena_printf(im->a, "%s[]", elem);
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
  size_t n = strcspn(text, ":,");
  const Loss *loss = loss_named(text, n);
  const char *output = text[n] == ':' ? text + n + 1 : "", *optimizer = strchr(text, ',');
  int k = output_named(im, output, strcspn(output, ","));
  if (k < 0) return false;
  const Tensor *v = im->outputs.at[k].tensor;
  const char *name = im->outputs.at[k].name;
  if (!elem_of(v->type)->is_float)
    return FAIL(im, "--train-onnx: the output %s holds no floats", name);
  if (v->shape.rank < loss->labels)
    return FAIL(im, "--train-onnx: the output %s has no axis of classes", name);
  warn_of_probabilities(im, loss, name);
  bool bare = optimizer && !strchr(optimizer, '(');
  *t = (Train){.output = k,
               .call = loss->call,
               .target = target_type(im, loss, v),
               .optimizer = !optimizer ? "adamw(lr)"
                            : bare     ? arena_printf(im->a, "%s(lr)", optimizer + 1)
                                       : optimizer + 1};
  return true;
}
