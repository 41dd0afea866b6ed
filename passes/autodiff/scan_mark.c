/* The values of a loop that depend on one asked for: what is active. Contract: of diff_mark. */
#include "passes/autodiff/autodiff_impl.h"

static bool activate(Diff *d, const Entry *e, ValueId v, bool because) {
  if (!because || v < d->lo || v >= d->hi || d->active[v - d->lo]) return false;
  if (!dtype_is_float(value_type(e, v)->dtype)) return false;
  return d->active[v - d->lo] = true;
}

bool diff_mark_scan(Diff *d, const Entry *e, const Op *scan) {
  const Block *b = scan->blocks[0];
  const Op *yield = plan_yield(e, scan);
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < scan->noperands; k++) {
      ValueId arg = b->args.at[k + 1];
      more |= activate(d, e, arg, diff_active(d, scan->operands[k]));
      if (k < scan_carries(scan)) more |= activate(d, e, arg, diff_active(d, yield->operands[k]));
    }
    more |= diff_mark(d, e, b, 0, b->ops.n);
    any |= more;
  }
  for (int k = 0; k < scan->nresults; k++) {
    bool because = diff_active(d, yield->operands[k]);
    if (k < scan_carries(scan)) because |= diff_active(d, b->args.at[k + 1]);
    any |= activate(d, e, scan->results[k], because);
  }
  return any;
}
