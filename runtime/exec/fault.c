/* What is said of a label or an index that has no place: file, row and number, as far as the
   compiler could trace it. Contract: an input is named only where the number comes from it and
   from nothing else. */
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <string.h>

static bool say_computed(Run *r, const GcSite *s, const Fault *f) {
  err_set(&r->err, EXIT_WRONG,
          "%s: %s is %" PRId64 " (element %" PRId64 "), which is not in 0 to %" PRId64, s->loc,
          s->what, f->value, f->at, f->limit - 1);
  return err_hint(&r->err, "the program computes it, from no input alone: correct what it is made "
                           "of, or keep it in range with clamp");
}

void fault_say(Run *r, const GcEntry *entry, uint64_t batch, const Fault *f) {
  const GcSite *s = &r->p->sites[f->site];
  int input = -1;
  for (int i = 0; i < entry->ninputs; i++)
    if (s->input && strcmp(entry->inputs[i].name, s->input) == 0) input = i;
  if (input < 0) {
    say_computed(r, s, f);
    return;
  }
  const Column *c = batch == NO_BATCH ? NULL : &r->data.columns[input];
  const char *file = c ? c->text : s->input;
  char row[40] = "input"; /* the compiler may not know more */
  if (s->run) {
    uint64_t k = (uint64_t)(s->first + f->at / s->run % s->count * s->step);
    if (c) k = dataset_row(&r->data, input, batch, k);
    if (c && s->exact) {
      column_fault(c, k, f->value, f->limit, &r->err);
      return;
    }
    snprintf(row, sizeof row, "input row %" PRIu64, k);
  }
  err_set(&r->err, EXIT_WRONG, "%s: %s %s %" PRId64 " as %s at %s, which is not in 0 to %" PRId64,
          file, row, s->exact ? "holds" : "leads to", f->value, s->what, s->loc, f->limit - 1);
  err_hint(&r->err,
           "correct the input %s, take other rows with FILE[a:b], or keep the number in range with "
           "clamp",
           s->input);
}
