/* See through.h. What must hold of any program: a refusal is a diagnostic, the text form reads back
   to itself, the plan is proven, and the same program gives the same C source. */
#include "tests/fuzz/through.h"
#include "lang/elab/elab.h"
#include "tests/fuzz/driver.h"

#include <stdlib.h>
#include <string.h>

void through_open(Through *t) {
  t->nothing = fopen("/dev/null", "w");
  t->c = ctx_new();
  CodegenOptions o = {.march = "x86-64-v3"};
  t->target = target_cpu(t->c, &o);
  if (!t->target || !t->nothing) exit(2);
}

static char *text_of(const Module *m) {
  char *text;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  module_print(f, m, &(PrintOptions){.locs = true});
  fclose(f);
  return text;
}

static void check_round_trip(const Module *m) {
  char *text = text_of(m);
  Ctx *c = ctx_new();
  Module *again = module_read(c, ctx_add_source(c, "again", text, strlen(text)));
  if (!again) fuzz_wrong("the printed module is refused by the reader");
  char *second = text_of(again);
  if (strcmp(text, second) != 0) fuzz_wrong("the printed module reads back to another one");
  module_free(again);
  ctx_free(c);
  free(text);
  free(second);
}

static bool planned(Through *t, Module *m, uint32_t choice) {
  static const char *const memory[] = {"pack", "pool", "inplace", "none"};
  PassOptions o = {.target = t->target,
                   .memory = memory[choice / 4 % 4],
                   .verify_each = true,
                   .remarks = REMARK_ALL,
                   .out = t->nothing};
  int before = ctx_errors(m->ctx);
  if (!passes_run(m, passes_pipeline(choice % 3 == 0 ? 1 : 2), &o)) {
    if (ctx_errors(m->ctx) == before) fuzz_wrong("a pass fails without a word");
    return false;
  }
  CodegenOptions co = {.march = "x86-64-v3", .version = "fuzz", .level = 2};
  CodegenPart part = {.m = m, .target = t->target};
  if (!cpu_source(&part, &co, t->nothing)) fuzz_wrong("a planned module gives no source");
  for (uint32_t i = 0; i < m->entries.n; i++) liveness_print(t->nothing, m->entries.at[i]);
  plan_print_table(t->nothing, m, t->target);
  plan_print_json(t->nothing, m, t->target, "fuzz");
  check_round_trip(m);
  return true;
}

bool through(Through *t, Module *m, uint32_t choice) {
  check_round_trip(m);
  bool ok = planned(t, m, choice);
  module_free(m);
  return ok;
}

const char *const through_source_stages[] = {"refused", "parsed", "elaborated", "compiled", NULL};

int through_source(Through *t, const char *text, size_t n) {
  Ctx *c = ctx_new();
  ctx_set_stream(c, t->nothing);
  const Program *p = parse_text(c, "fuzz.g", text, n);
  int reached = p ? 1 : 0;
  if (!p && !ctx_errors(c)) fuzz_wrong("refused without a word");
  if (p && ctx_errors(c)) fuzz_wrong("parsed in spite of errors");
  if (p) ast_print(t->nothing, p);
  Module *m = p ? elaborate(c, p, &(ElabOptions){0}) : NULL;
  if (p && !m && !ctx_errors(c)) fuzz_wrong("not elaborated, without a word");
  if (m && !module_verify(m, NULL)) fuzz_wrong("the module is not sound after elaboration");
  if (m) reached = through(t, m, (uint32_t)n) ? 3 : 2;
  ctx_free(c);
  return reached;
}
