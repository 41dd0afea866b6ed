/* The table of built-in functions: every row's arguments can be read, names are unique, help is
   there, and nothing of them is also defined by the prelude. */
#include "lang/elab/elab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void every_row_is_complete(void **state) {
  Ctx *c = ctx_new();
  const BuiltinDoc *docs = builtin_docs(c);
  for (int i = 0; i < builtin_count(); i++) {
    BuiltinDoc d = docs[i];
    assert_true(d.name[0] && d.args[0] && d.help[0]);
    for (int k = 0; k < i; k++) assert_string_not_equal(docs[k].name, d.name);
  }
  ctx_free(c);
}

static void the_prelude_defines_no_builtin(void **state) {
  Ctx *c = ctx_new();
  const BuiltinDoc *docs = builtin_docs(c);
  const char *name, *text;
  for (int f = 0; (text = prelude_text(c, f, &name)) != NULL; f++) {
    const Program *p = parse_text(c, name, text, strlen(text));
    assert_non_null(p);
    assert_in_range(p->decls.n, 1, 500);
    for (uint32_t k = 0; k < p->decls.n; k++)
      for (int i = 0; i < builtin_count(); i++)
        assert_string_not_equal(docs[i].name, p->decls.at[k]->name.name);
  }
  ctx_free(c);
}

static void programs_of_a_context_share_it(void **state) {
  Ctx *c = ctx_new();
  const char text[] = "entry f(x : f32[4, 2]) { return y = softmax(gelu(linear(x, 3))) }\n";
  int sources[3];
  for (int i = 0; i < 3; i++) {
    const Program *p = parse_text(c, "shared.g", text, sizeof text - 1);
    Module *m = elaborate(c, p, &(ElabOptions){0});
    assert_non_null(m);
    assert_true(module_verify(m, NULL));
    module_free(m);
    sources[i] = ctx_source_count(c);
  }
  assert_int_equal(sources[1], sources[0] + 1); /* the program alone */
  assert_int_equal(sources[2], sources[1] + 1);
  ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_complete),
      cmocka_unit_test(the_prelude_defines_no_builtin),
      cmocka_unit_test(programs_of_a_context_share_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
