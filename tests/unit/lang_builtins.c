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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_complete),
      cmocka_unit_test(the_prelude_defines_no_builtin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
