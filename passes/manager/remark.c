/* Remarks: decisions of a pass about memory or fusion, and the reasons of missed ones. Contract:
   printed at once, one line each, only for the kinds that were asked for. */
#include "passes/manager/pass_list.h"

#include <stdarg.h>

static const struct {
  const char *name;
  unsigned bits;
} remark_kind[] = {
    {"inplace", REMARK_INPLACE}, {"share", REMARK_SHARE},     {"fuse", REMARK_FUSE},
    {"remat", REMARK_REMAT},     {"streams", REMARK_STREAMS}, {"saved", REMARK_SAVED},
    {"all", REMARK_ALL},
};

bool remark_parse(const char *name, unsigned *out) {
  for (size_t i = 0; i < sizeof remark_kind / sizeof remark_kind[0]; i++)
    if (strcmp(remark_kind[i].name, name) == 0) return *out = remark_kind[i].bits, true;
  return false;
}

void remark(PassRun *r, RemarkKind kind, const char *tag, Loc loc, const char *fmt, ...) {
  if (!(r->opt->remarks & (unsigned)kind)) return;
  FILE *f = r->opt->out ? r->opt->out : stderr;
  if (loc.line) fprintf(f, "%s: ", loc_str(r->m->ctx, loc));
  fputs("remark: ", f);
  va_list args;
  va_start(args, fmt);
  vfprintf(f, fmt, args);
  va_end(args);
  fprintf(f, " [%s]\n", tag);
}
