/* The report of a label or an index that is out of range: file, row and number, as far as the
   compiler could trace it. Contract: an input is named only where the number comes from it and
   from nothing else. */
#include "runtime/exec/session.h"
#include <inttypes.h>
#include <string.h>

/* Element number `value` is taken in every run, and this one has fewer. */
static bool report_too_few(Session *s, const GcCheckSite *site, const Fault *f) {
  err_set(&s->err, EXIT_WRONG,
          "%s: takes %" PRId64 " or more elements along an axis that has %" PRId64 " in this run",
          site->loc, f->value + 1, f->limit);
  return err_hint(&s->err, "give longer files; n + 4 <= BOUND in the program says that there are "
                           "5 or more");
}

static bool report_computed(Session *s, const GcCheckSite *site, const Fault *f) {
  if (!*site->what) return report_too_few(s, site, f);
  err_set(&s->err, EXIT_WRONG,
          "%s: %s is %" PRId64 " (element %" PRId64 "), which is not in 0 to %" PRId64, site->loc,
          site->what, f->value, f->at, f->limit - 1);
  return err_hint(&s->err, "the program computes it, from no input alone: correct what it is made "
                           "of, or keep it in range with clamp");
}

void fault_report(Session *s, const GcEntry *entry, uint64_t batch, const Fault *f) {
  const GcCheckSite *site = &s->program->sites[f->site];
  int input = -1;
  for (int i = 0; i < entry->ninputs; i++)
    if (site->input && strcmp(entry->inputs[i].name, site->input) == 0) input = i;
  if (input < 0) {
    report_computed(s, site, f);
    return;
  }
  const Column *c = batch == NO_BATCH ? NULL : &s->data->columns[input];
  const char *file = c ? c->text : site->input;
  char row[40] = "input"; /* the compiler may not know more */
  if (site->run) {
    uint64_t k = (uint64_t)(site->first + f->at / site->run % site->count * site->step);
    if (c) k = dataset_row(s->data, input, batch, k);
    if (c && site->exact) {
      column_fault(c, k, f->value, f->limit, &s->err);
      return;
    }
    snprintf(row, sizeof row, "input row %" PRIu64, k);
  }
  err_set(&s->err, EXIT_WRONG, "%s: %s %s %" PRId64 " as %s at %s, which is not in 0 to %" PRId64,
          file, row, site->exact ? "holds" : "leads to", f->value, site->what, site->loc,
          f->limit - 1);
  err_hint(&s->err,
           "correct the input %s, take other rows with FILE[a:b], or keep the number in range with "
           "clamp",
           site->input);
}
