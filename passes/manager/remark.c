/* Remarks: decisions of a pass about memory or fusion, and the reasons of missed ones. Contract:
   printed at once, one line each, only for the kinds that were asked for. In a program of several
   entries a heading names the entry. */
#include "passes/manager/pass_list.h"

#include <stdarg.h>

static const struct {
  const char *name;
  unsigned bits;
} remark_kind[] = {
    {"inplace", REMARK_INPLACE}, {"share", REMARK_SHARE},       {"fuse", REMARK_FUSE},
    {"remat", REMARK_REMAT},     {"streams", REMARK_STREAMS},   {"saved", REMARK_SAVED},
    {"comm", REMARK_COMM},       {"quantize", REMARK_QUANTIZE}, {"ahead", REMARK_AHEAD},
    {"all", REMARK_ALL},
};

bool remark_parse(const char *name, unsigned *out) {
  for (size_t i = 0; i < sizeof remark_kind / sizeof remark_kind[0]; i++)
    if (strcmp(remark_kind[i].name, name) == 0) return *out = remark_kind[i].bits, true;
  return false;
}

void remarks_of(PassRun *r, const Entry *e) { r->entry = e->name; }

static void print_heading(PassRun *r, FILE *f) {
  bool init = r->m->init && r->entry == r->m->init->name;
  bool gather = r->m->gather && r->entry == r->m->gather->name;
  if (!r->entry || r->entry == r->headed) return;
  if (init)
    fputs("initialisation:\n", f);
  else if (gather)
    fputs("gathering of parameters:\n", f);
  else if (r->m->entries.n > 1 || r->headed)
    fprintf(f, "entry %s:\n", r->entry);
  r->headed = r->entry;
}

void remark(PassRun *r, RemarkKind kind, const char *tag, Loc loc, const char *fmt, ...) {
  if (!(r->opt->remarks & (unsigned)kind)) return;
  FILE *f = r->opt->out ? r->opt->out : stderr;
  print_heading(r, f);
  if (loc.line) fprintf(f, "%s: ", loc_str(r->m->ctx, loc));
  fputs("remark: ", f);
  va_list args;
  va_start(args, fmt);
  vfprintf(f, fmt, args);
  va_end(args);
  fprintf(f, " [%s]\n", tag);
}
