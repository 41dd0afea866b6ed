/* Warns of probabilities in the place of logits: they would go through softmax or sigmoid twice, a
   loss that looks well and learns slowly. log_softmax of logits has their softmax, and is as good.
   Contract: of calls in the user's code alone; the prelude hands logits on. */
#include "lang/elab/elab_impl.h"

static const struct {
  const char *function, *argument;
  OpKind op; /* that the function applies itself */
} logits[] = {{"xent", "logits", OP_SOFTMAX},
              {"cross_entropy", "logits", OP_SOFTMAX},
              {"categorical", "logits", OP_SOFTMAX},
              {"kl", "p", OP_SOFTMAX},
              {"kl", "q", OP_SOFTMAX},
              {"bce", "logits", OP_SIGMOID}};

/* What the op has made, also through ops that only move its elements. */
static bool is_made_by(Elab *e, ValueId v, OpKind wanted) {
  const Op *op = value_def(e->run->entry, v);
  const bool rows = wanted == OP_SOFTMAX; /* parts of them are no probabilities of all classes */
  while (op && (op->kind == OP_RESHAPE || op->kind == OP_CONVERT ||
                (!rows && (op->kind == OP_SLICE || op->kind == OP_TRANSPOSE))))
    op = value_def(e->run->entry, op->operands[0]);
  return op && op->kind == wanted;
}

void check_logits(Elab *e, const char *function, const char *argument, Val v, Loc loc) {
  if (v.kind != VAL_TENSOR || e->frame->env->prelude || e->options->imported) return;
  for (size_t i = 0; i < sizeof logits / sizeof *logits; i++) {
    if (strcmp(logits[i].function, function) != 0 || strcmp(logits[i].argument, argument) != 0 ||
        !is_made_by(e, v.tensor.id, logits[i].op))
      continue;
    const char *op = op_info[logits[i].op].name;
    elab_warning(e, loc, "%s takes logits, and these have been through %s", function, op);
    elab_hint(e, "%s applies %s itself: give it what %s was given", function, op, op);
  }
}
