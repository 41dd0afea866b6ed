/* --exact: the program gives the same bits on every processor. Contract: false after a diagnostic
   where it cannot be promised. What is computed in f32, f16, bf16 and integers has one order of
   sums and gc's own functions on each target; only f64's functions are those of the library of
   each. */
#include "codegen/codegen.h"

static bool is_exact(const Entry *e, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = e->ops.at[b->ops.at[i]];
    for (int n = 0; n < op->nblocks; n++)
      if (!is_exact(e, op->blocks[n])) return false;
    if (!(op_info[op->kind].flags & OPF_LIBRARY)) continue;
    if (value_type(e, op->results[0])->dtype != DT_F64) continue;
    diag(e->module->ctx, SEV_ERROR, op->loc,
         "--exact: %s of f64 is each processor's own library's, whose last bits differ",
         op_info[op->kind].name);
    diag(e->module->ctx, SEV_HINT, op->loc, "compute it in f32, which gc does itself");
    return false;
  }
  return true;
}

bool codegen_exact(const Module *m) {
  if (m->init && !is_exact(m->init, m->init->body)) return false;
  for (uint32_t i = 0; i < m->entries.n; i++)
    if (!is_exact(m->entries.at[i], m->entries.at[i]->body)) return false;
  return true;
}
