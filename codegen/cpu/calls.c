/* Which functions of arrays a group calls, and when; see calls.h. */
#include "codegen/cpu/calls.h"

/* The function of arrays, or NULL. */
static const char *array_function(const Entry *e, const Op *op) {
  const Dtype dt = value_type(e, op->results[0])->dtype;
  if (dt != DT_F32 && !dtype_is_half(dt)) return NULL;
  switch ((int)op->kind) {
  case OP_EXP: return "all_exp_f32";
  case OP_SIGMOID: return "all_sigmoid_f32";
  case OP_TANH: return "all_tanh_f32";
  case OP_ERF: return "all_erf_f32";
  default: return NULL;
  }
}

Calls calls_of(Gen *g, const Group *gr) {
  Calls c = {.round = ARENA_ARRAY(g->a, int, gr->nops + 1)};
  int *behind = ARENA_ARRAY(g->a, int, gr->nops + 1); /* rounds that end before its result */
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    int after = 0;
    for (int k = 0; k < i; k++)
      for (int o = 0; o < op->noperands; o++)
        for (int r = 0; r < gr->ops[k]->nresults; r++)
          if (op->operands[o] == gr->ops[k]->results[r] && behind[k] > after) after = behind[k];
    const bool call =
        array_function(gr->e, op) && type_same_dims(value_type(gr->e, op->results[0]), gr->domain);
    c.round[i] = call ? after : -1;
    behind[i] = after + call;
    if (behind[i] > c.rounds) c.rounds = behind[i];
    c.n += call;
  }
  return c;
}

int calls_before(const Calls *c, const Group *gr, int round) {
  int n = 0;
  for (int i = 0; i < gr->nops; i++) n += c->round[i] >= 0 && c->round[i] < round;
  return n;
}

void calls_print(Text *x, const Group *gr, const Calls *c, int round, const char *count) {
  int k = calls_before(c, gr, round);
  for (int i = 0; i < gr->nops; i++)
    if (c->round[i] == round)
      text_line(x, "%s(array%d, %s);", array_function(gr->e, gr->ops[i]), k++, count);
}
