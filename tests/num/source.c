/* Reads, parses and elaborates a program; see source.h. */
#include "tests/num/source.h"

#include "lang/elab/elab.h"
#include "lang/syntax/ast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of the IR in the file. */
static Module *read_ir(Ctx *c, const char *file) {
  FILE *f = fopen(file, "rb");
  Arena *a = ctx_arena(c);
  VEC(char) text = {0};
  for (int ch; f && (ch = getc(f)) != EOF;) vec_push(a, &text, (char)ch);
  if (!f || fclose(f)) {
    fprintf(stderr, "%s cannot be read\n", file);
    exit(2);
  }
  Module *m = module_read(c, ctx_add_source(c, file, text.at, text.n));
  if (!m) exit(2);
  return m;
}

Module *source_module(Ctx *c, const char *file, const char *const *define, int n) {
  size_t bytes = strlen(file);
  if (bytes > 3 && strcmp(file + bytes - 3, ".ir") == 0 && n == 0) return read_ir(c, file);
  bool unreadable;
  Program *p = parse_file(c, file, NULL, &unreadable);
  DefineFlag *flag = ARENA_ARRAY(ctx_arena(c), DefineFlag, n + 1);
  for (int i = 0; p && i < n; i++) {
    const char *equals = strchr(define[i], '=');
    if (!equals) exit(2);
    flag[i].name = intern_printf(c, "%.*s", (int)(equals - define[i]), define[i]);
    bool known = false;
    for (uint32_t k = 0; k < p->decls.n; k++)
      known |= p->decls.at[k]->kind == DECL_LET && p->decls.at[k]->name.name == flag[i].name;
    if (!known) printf("%s has no 'let %s'\n", file, flag[i].name);
    flag[i].value = parse_value(c, "-D", equals + 1);
    if (!known || !flag[i].value) exit(2);
  }
  ElabOptions o = {.defines = flag, .n = n};
  Module *m = p ? elaborate(c, p, &o) : NULL;
  if (!m) exit(2);
  return m;
}

Module *source_text(Ctx *c, const char *name, const char *text, size_t bytes) {
  Program *p = parse_text(c, name, text, bytes);
  Module *m = p ? elaborate(c, p, &(ElabOptions){0}) : NULL;
  if (m) return m;
  fputs(text, stderr);
  exit(2);
}
