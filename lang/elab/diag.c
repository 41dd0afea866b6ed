/* Errors and warnings of the elaboration: the location, related locations, and the calls that led
   there. Contract: an error inside the prelude is shown at the user's call; an unrolled loop, or a
   function that is called often, reports the same error once. */
#include "lang/elab/elab_impl.h"

#include <stdarg.h>

static bool same_report(const void *reported, uint32_t i, const void *key) {
  const Reported *a = &((const Reported *)reported)[i], *b = key;
  return a->fmt == b->fmt && a->loc.file == b->loc.file && a->loc.line == b->loc.line &&
         a->loc.col == b->loc.col;
}

/* The message was reported at this location before. */
static bool is_repetition(Elab *e, const char *fmt, Loc loc) {
  Reported r = {fmt, loc};
  uint64_t h = hash_word((uintptr_t)fmt, (uint64_t)loc.line << 32 | loc.col);
  uint32_t n = e->reported.n;
  if (index_enter(e->a, &e->reported_index, hash_word(h, loc.file), same_report, e->reported.at, &r,
                  n) < n)
    return true;
  vec_push(e->a, &e->reported, r);
  return false;
}

static void say_at(Elab *e, Severity sev, Loc loc, const char *fmt, va_list ap) {
  Loc user = e->frame ? e->frame->user : (Loc){0};
  bool prelude = loc.file >= e->prelude_first && loc.file <= e->prelude_last;
  Loc shown = user.line && prelude ? user : loc;
  char text[1024];
  vsnprintf(text, sizeof text, fmt, ap);
  e->muted = is_repetition(e, fmt, shown);
  if (e->muted) {
    e->repeated += sev == SEV_ERROR;
    return;
  }
  diag(e->c, sev, shown, "%s", text);
  if (shown.line != loc.line || shown.file != loc.file)
    diag(e->c, SEV_NOTE, loc, "inside %s", e->frame->env->func->name);
}

int elab_errors(const Elab *e) { return ctx_errors(e->c) + e->repeated; }

void elab_error(Elab *e, Loc loc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say_at(e, SEV_ERROR, loc, fmt, ap);
  va_end(ap);
}

void elab_warning(Elab *e, Loc loc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say_at(e, SEV_WARNING, loc, fmt, ap);
  va_end(ap);
}

void elab_note(Elab *e, Loc loc, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!e->muted) diag(e->c, SEV_NOTE, loc, "%s", text);
}

void elab_hint(Elab *e, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!e->muted) diag(e->c, SEV_HINT, (Loc){0}, "%s", text);
}

Val elab_trace(Elab *e) {
  for (const Frame *f = e->callers_fault ? e->frame->up : e->frame; f && !e->muted; f = f->up)
    if (f->call.line && !f->scope && !(f->up && f->up->user.line) && !f->user.line)
      diag(e->c, SEV_NOTE, f->call, "in %s", f->path);
  return error_value;
}

Val elab_fail(Elab *e, Loc loc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say_at(e, SEV_ERROR, loc, fmt, ap);
  va_end(ap);
  return elab_trace(e);
}

void elab_note_tensor(Elab *e, const char *what, Val v) {
  if (v.loc.line) elab_note(e, v.loc, "%s is %s, made here", what, val_str(e, v));
}

const char *source_slice(Elab *e, Loc loc) {
  size_t len;
  const char *p = ctx_source_line(e->c, loc, &len);
  if (!p || (size_t)loc.col - 1 > len) return "";
  size_t left = len - (loc.col - 1);
  return intern_n(e->c, p + loc.col - 1, loc.len < left ? loc.len : left);
}

Builder *elab_at(Elab *e, Loc loc) {
  Builder *b = e->run->b;
  b->loc = e->frame && e->frame->user.line ? e->frame->user : loc;
  b->scope = e->frame ? e->frame->path : intern(e->c, "");
  return b;
}
