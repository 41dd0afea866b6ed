/* The compiler refuses inputs and hypers that would hide an option of the generated program: its
   list holds every option of the runtime's table that a name of the language can spell. */
#include "lang/elab/elab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void every_option_of_the_runtime_is_refused(void **state) {
#define OPT(ID, NAME, ...) assert_true(strchr(NAME, '-') || program_has_option(NAME));
#include "runtime/program/options.def"
#undef OPT
  assert_false(program_has_option("lr"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_option_of_the_runtime_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
