/* The table of targets: each row has what shared code asks of it, and what --emit names of it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "codegen/codegen.h"
#include "lang/driver/command.h"

#include <string.h>

static const char *const emits[] = {
#define BACKEND(id, emit) emit,
#include "codegen/backends.def"
#undef BACKEND
};

static void row_is_whole(void **state) {
  for (int i = 0; i < BACKENDS; i++) {
    const Backend *b = backends[i];
    assert_true(b->target && b->source && b->files && b->suffix && b->forms->name);
    assert_ptr_equal(backend_named(b->name, strlen(b->name)), b);
    assert_ptr_equal(backend_named(b->name, strlen(b->name) - 1), NULL);
    bool arch = b->is_arch != NULL;
    assert_true(arch == (b->default_arch != NULL) && arch == (b->arch_example != NULL));
    if (arch) assert_true(b->is_arch(b->one_arch) && !b->is_arch("") && !b->is_arch(b->name));
    for (int j = 0; j < i; j++) assert_string_not_equal(b->suffix, backends[j]->suffix);
  }
}

static void emit_names_forms(void **state) {
  for (int i = 0; i < BACKENDS; i++) {
    char names[256] = "";
    for (const BackendForm *f = backends[i]->forms; f->name; f++) {
      const BackendForm *found = NULL;
      strcat(strcat(names, f == backends[i]->forms ? "" : "|"), f->name);
      assert_ptr_equal(backend_of_form(f->name, &found), backends[i]);
      assert_ptr_equal(found, f);
      assert_true(f->image ? backends[i]->image != NULL : !f->binary);
    }
    assert_string_equal(names, emits[i]);
  }
}

/* Parts in the order in which a program tries them, by their targets' names. */
static const char *parts_of(Ctx *c, const char *target, const char *arch, const char *emit) {
  char *words[] = {"gc", NULL, NULL, NULL, NULL};
  int n = 1;
  if (target) words[n++] = (char *)intern_printf(c, "--target=%s", target);
  if (arch) words[n++] = (char *)intern_printf(c, "--arch=%s", arch);
  if (emit) words[n++] = (char *)intern_printf(c, "--emit=%s", emit);
  Options o;
  Targets t;
  if (!options_parse(c, n, words, &o) || targets_choose(c, &o, &t) != EXIT_DONE) return "refused";
  const char *names = "";
  for (int i = 0; i < t.n; i++) {
    names = intern_printf(c, "%s%s%s", names, i ? " " : "", t.part[i].backend->name);
    for (int k = 0; k < t.part[i].narch; k++)
      names = intern_printf(c, "%s:%s", names, t.part[i].arch[k]);
  }
  return names;
}

static void command_line_names_parts(void **state) {
  static const struct {
    const char *target, *arch, *emit, *parts;
  } rows[] = {
      {"cpu", NULL, "exe", "cpu"},
      {"cpu,cuda", NULL, NULL, "cuda:sm_80:sm_90a:sm_100 cpu"},
      {"cuda", "sm_90a,sm_75", "exe", "cuda:sm_90a:sm_75 cpu"},
      {"cuda", NULL, "ir", "cuda:sm_80:sm_90a:sm_100"},
      {NULL, NULL, "ir", "cpu"},
      {NULL, NULL, "c", "cpu"},
      {NULL, NULL, "lib", "cpu"},
      {NULL, NULL, "cuda", "cuda:sm_80:sm_90a:sm_100"},
      {NULL, NULL, "ptx", "cuda:sm_80"},
      {NULL, "sm_100", "cubin", "cuda:sm_100"},
      {"cuda,cpu", NULL, "c", "cuda:sm_80:sm_90a:sm_100 cpu"},
      {"cuda", "compute_80,compute_90a", "exe", "cuda:compute_80:compute_90a cpu"},
      {"cuda", NULL, "c", "refused"},
      {"cpu", NULL, "ptx", "refused"},
      {"cpu", "sm_80", NULL, "refused"},
      {"cuda", "sm_80,sm_80", NULL, "refused"},
      {"cuda", "gfx90a", NULL, "refused"},
  };
  Ctx *c = ctx_new();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_string_equal(parts_of(c, rows[i].target, rows[i].arch, rows[i].emit), rows[i].parts);
  ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(row_is_whole),
      cmocka_unit_test(emit_names_forms),
      cmocka_unit_test(command_line_names_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
