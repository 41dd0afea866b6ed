/* Findings: one a kind and line, with the first thread that did it and a count.
 * A launch ends when it has collected as many as it was asked to. */
#include "exec.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void thread_of(const Exec *x, unsigned tid, unsigned out[3]) {
  const unsigned *b = x->l->block;
  tid %= (unsigned)(x->cta_warps * LANES);
  out[0] = tid % b[0];
  out[1] = tid / b[0] % b[1];
  out[2] = tid / b[0] / b[1];
}

void give_up(Exec *x, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(x->r->error, sizeof x->r->error, fmt, ap);
  va_end(ap);
  longjmp(x->stop, 1);
}

void report(Warp *w, int lane, PtxKind kind, uint64_t address, const char *fmt, ...) {
  Exec *x = w->x;
  PtxResult *r = x->r;
  int line = w->at ? w->at->line : 0;
  for (size_t i = 0; i < r->count; i++)
    if (r->findings[i].kind == kind && r->findings[i].line == line) {
      r->findings[i].count++;
      return;
    }
  PtxFinding *grown = realloc(r->findings, (r->count + 1) * sizeof *grown);
  if (!grown) give_up(x, "out of memory for findings");
  r->findings = grown;
  PtxFinding *f = &grown[r->count++];
  *f = (PtxFinding){.kind = kind, .line = line, .address = address, .count = 1};
  memcpy(f->cta, x->ctas[w->cta].id, sizeof f->cta);
  thread_of(x, (unsigned)(w->index * LANES + lane), f->thread);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(f->text, sizeof f->text, fmt, ap);
  va_end(ap);
  if (r->count >= x->max_reports) longjmp(x->stop, 1);
}

void need_defined(Warp *w, const Opd *o, uint32_t mask, const char *what) {
  if (o->cls == SLOT_NONE || !w->x->check.init) return;
  uint32_t bad = mask & ~opd_defined(w, o);
  if (!bad) return;
  report(w, __builtin_ctz(bad), PTX_UNINIT, 0, "%s follows from a register that was never set",
         what);
  opd_define(w, o, bad, ~0u); /* once is enough */
}

void ptx_result_free(PtxResult *r) {
  free(r->findings);
  r->findings = NULL;
  r->count = 0;
}
