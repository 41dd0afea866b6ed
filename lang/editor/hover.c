/* What an editor shows at a name: its type and bytes, the calls around it, the bytes that the plan
   gives it and when; of a function its head and the comment above it. */
#include "ir/support/memfile.h"
#include "lang/editor/lsp.h"
#include "passes/plan.h"

#include <stdlib.h>

enum { MOST_SHOWN = 4 }; /* values of one name: a def has some for each call */

/* ---- functions ---- */

const Decl *program_find(const Program *p, const char *name) {
  for (uint32_t i = 0; p && i < p->decls.n; i++)
    if (strcmp(p->decls.at[i]->name.name, name) == 0) return p->decls.at[i];
  return NULL;
}

const char *head_of(Ctx *c, const Decl *d) {
  MemFile m;
  FILE *f = memfile_open(&m);
  size_t len;
  const char *p = ctx_source_line(c, d->loc, &len);
  bool body = d->kind == DECL_DEF || d->kind == DECL_ENTRY, space = false;
  for (p += d->loc.col - 1; *p && *p != '{' && *p != '#' && (body || *p != '\n'); p++) {
    if (strchr(" \t\r\n", *p)) {
      space = true;
      continue;
    }
    if (space) fputc(' ', f);
    space = false;
    fputc(*p, f);
  }
  return memfile_intern(c, &m);
}

const char *comment_above(Ctx *c, const Decl *d) {
  const char *text = "";
  Loc loc = d->loc;
  while (loc.line > 1) {
    size_t len;
    loc.line--;
    loc.col = 1;
    const char *line = ctx_source_line(c, loc, &len);
    if (!len || line[0] != '#') break;
    size_t skip = strspn(line, "# ");
    if (skip >= len) break;
    text = intern_printf(c, "%.*s%s%s", (int)(len - skip), line + skip, *text ? "\n" : "", text);
  }
  return text;
}

/* The prelude's function of that name; its text is read as far as it is needed. */
static const Decl *prelude_find(Ctx *c, const char *name) {
  const char *file, *text;
  for (int k = 0; (text = prelude_text(c, k, &file)); k++) {
    if (!strstr(text, name)) continue;
    const Decl *d = program_find(parse_text(c, file, text, strlen(text)), name);
    if (d) return d;
  }
  return NULL;
}

static void put_function(FILE *f, Ctx *c, const Program *p, const char *name) {
  const Decl *d = program_find(p, name);
  if (!d) d = prelude_find(c, name);
  if (d) {
    fprintf(f, "```gc\n%s\n```\n%s\n", head_of(c, d), comment_above(c, d));
    return;
  }
  const BuiltinDoc *b = builtin_docs(c);
  for (int i = 0; i < builtin_count(); i++)
    if (strcmp(b[i].name, name) == 0)
      fprintf(f, "```gc\n%s(%s)\n```\n%s\n", b[i].name, b[i].args, b[i].help);
}

/* ---- values ---- */

static bool covers(Loc l, Loc at) {
  return l.line == at.line && l.col <= at.col && at.col <= l.col + l.len;
}

static bool same_place(Loc a, Loc b) {
  return a.line == b.line && a.col == b.col && a.len == b.len;
}

static void put_grouped(FILE *f, uint64_t n) {
  if (n >= 1000) {
    put_grouped(f, n / 1000);
    fprintf(f, ",%03u", (unsigned)(n % 1000));
  } else {
    fprintf(f, "%u", (unsigned)n);
  }
}

static void put_place(FILE *f, const Entry *e, ValueId v) {
  static const char *const region[] = {
      [PLAN_ARENA] = "the arena",   [PLAN_GLOBALS] = "the globals",
      [PLAN_INPUTS] = "the inputs", [PLAN_HYPERS] = "the hypers",
      [PLAN_COUNTS] = "the counts", [PLAN_PREPARED] = "what is prepared"};
  const Place *x = &plan_of(e)->place[v];
  fprintf(f, "planned at byte ");
  put_grouped(f, x->offset);
  fprintf(f, " of %s", region[x->region]);
  if (x->region == PLAN_ARENA) {
    fprintf(f, " (");
    put_grouped(f, plan_of(e)->arena_bytes);
    fprintf(f, "), alive from step %d to %d of %d", x->first, x->last, plan_of(e)->nsteps);
  }
  if (x->of != NO_ID && x->how == HOW_INPLACE) fprintf(f, ", in place of %s", value_str(e, x->of));
  fputs("  \n", f);
}

/* What is planned for a value of the user's name, made in a scope or in a call below it, or for a
   global. */
typedef struct Wanted {
  const char *name;
  const Seen *s;
  FILE *f;
  bool found, inside; /* inside: only a kernel has it */
} Wanted;

static bool is_wanted(const Wanted *w, const Entry *e, const Op *op, ValueId v) {
  const char *name = value_at(e, v)->name, *scope = w->s->scope;
  if (w->s->path)
    return op->kind == OP_LOAD &&
           strcmp(e->module->globals.at[op->attr[AT_GLOBAL].i].path, w->s->path) == 0;
  return name && strcmp(name, w->name) == 0 && value_type(e, v) == w->s->type && op->scope &&
         strncmp(op->scope, scope, strlen(scope)) == 0;
}

static void find_in(Wanted *w, const Entry *e, const Block *b, bool planned) {
  for (uint32_t i = 0; i < b->ops.n && !w->found; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < op->nresults && !w->found; k++) {
      if (!is_wanted(w, e, op, op->results[k])) continue;
      w->inside = true;
      if (!planned) continue;
      w->found = true;
      put_place(w->f, e, op->results[k]);
    }
    for (int k = 0; k < op->nblocks && !w->found; k++)
      find_in(w, e, op->blocks[k], planned && op->kind == OP_SCAN);
  }
}

static void put_plan(FILE *f, const Module *m, const Seen *s, const char *name) {
  for (uint32_t i = 0; i < m->entries.n; i++) {
    const Entry *e = m->entries.at[i];
    if (strcmp(e->name, s->entry) != 0 || !plan_of(e)) continue;
    for (uint32_t k = 0; k < e->body->args.n && !s->path; k++) {
      const Value *v = value_at(e, e->body->args.at[k]);
      if (v->name && strcmp(v->name, name) == 0 && !*s->scope)
        return put_place(f, e, e->body->args.at[k]);
    }
    Wanted w = {.name = name, .s = s, .f = f};
    find_in(&w, e, e->body, true);
    if (!w.found && w.inside) fputs("computed inside of a kernel, in no memory of its own  \n", f);
  }
}

static void put_value(FILE *f, const Seen *s, const char *name) {
  fprintf(f, "```gc\n%s%s%s\n```\n", name, s->type ? " : " : " = ", s->value);
  if (s->type) {
    put_grouped(f, s->type->bytes);
    fputs(" bytes", f);
  }
  if (s->path) fprintf(f, "%s`%s`", s->type ? ", " : "", s->path);
  if (*s->entry) fprintf(f, "%sin entry %s", s->type || s->path ? ", " : "", s->entry);
  if (*s->scope) fprintf(f, ", below `%s`", s->scope);
  fputs("  \n", f);
}

/* ---- the answer ---- */

/* Of all that was seen at the narrowest place around `at`, what differs, up to MOST_SHOWN. */
static int put_values(FILE *f, Analysis *a, Loc at, const char *name, PlanModule *plan) {
  const Seen *best = NULL, *shown[MOST_SHOWN];
  int n = 0, more = 0;
  for (uint32_t i = 0; i < a->seen.n; i++) {
    const Seen *s = &a->seen.at[i];
    if (covers(s->at, at) && (!best || s->at.len < best->at.len)) best = s;
  }
  for (uint32_t i = 0; best && i < a->seen.n; i++) {
    const Seen *s = &a->seen.at[i];
    if (!same_place(s->at, best->at)) continue;
    bool again = false;
    for (int k = 0; k < n; k++)
      again |= shown[k]->value == s->value && strcmp(shown[k]->entry, s->entry) == 0 &&
               strcmp(shown[k]->scope, s->scope) == 0;
    if (again) continue;
    if (n < MOST_SHOWN)
      shown[n++] = s;
    else
      more++;
  }
  for (int k = 0; k < n; k++) {
    put_value(f, shown[k], name);
    if (shown[k]->type && analysis_plan(a, plan)) put_plan(f, a->m, shown[k], name);
  }
  if (more) fprintf(f, "and %d more\n", more);
  return n;
}

json_t *hover_answer(Document *d, Loc at, PlanModule *plan) {
  Analysis *a = document_analysis(d);
  Outline o = outline_of(a->c, a->file);
  const SourceToken *t = outline_token(&o, at);
  if (!t || t->cls == TOKEN_COMMENT || t->cls == TOKEN_RESERVED) return json_null();
  const char *text = intern_n(a->c, t->text, (size_t)t->n);
  MemFile m;
  FILE *f = memfile_open(&m);
  if (t->cls == TOKEN_NAME && !outline_find(&o, text, at))
    put_function(f, a->c, NULL, text);
  else if (t->cls == TOKEN_NAME && outline_find(&o, text, at)->declaration < 0)
    put_function(f, a->c, a->prog ? a->prog : d->good ? d->good->prog : NULL, text);
  put_values(f, a, at, text, plan);
  memfile_close(&m);
  json_t *answer = !m.n ? json_null()
                        : json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value",
                                    json_text(m.text), "range", range_of_loc(a->c, t->loc));
  memfile_free(&m);
  return answer;
}
