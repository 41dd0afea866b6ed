/* The pass manager: pipelines that are wrong, with the message a user reads, those of -O0 to -O3,
   and what the printing switches print. */
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* What f writes; freed by the caller. */
static char *check(const char *pipeline, bool *ok) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  Ctx *c = ctx_new();
  ctx_set_stream(c, f);
  *ok = passes_check(c, pipeline, false);
  ctx_free(c);
  fclose(f);
  return text;
}

static const struct {
  const char *pipeline, *message;
} wrong[] = {
    {"", "gc: error: the pipeline has an empty pass name\n"
         "hint: names stand between single commas, as in 'fold,cse,dce'\n"},
    {"fold,,dce", "gc: error: the pipeline has an empty pass name\n"
                  "hint: names stand between single commas, as in 'fold,cse,dce'\n"},
    {"fold,csee", "gc: error: there is no pass 'csee'\nhint: did you mean 'cse'?\n"},
    {"fold,vectorize",
     "gc: error: there is no pass 'vectorize'\nhint: --list-passes names them all\n"},
    {"fold{", "gc: error: 'fold{' lacks its closing '}' in the pipeline\n"},
    {"fold{x=1}", "gc: error: pass 'fold' has no argument 'x'\n"},
    {"autodiff,order,liveness,inplace,share{mach=16}",
     "gc: error: pass 'share' has no argument 'mach'\nhint: it has strategy=WORD match=N "
     "effort=N\n"},
    {"autodiff,order,liveness,inplace,share{match=many}",
     "gc: error: pass 'share' needs match= with an integer, not 'match=many'\n"},
    {"autodiff,order,liveness,inplace,share{strategy}",
     "gc: error: pass 'share' needs strategy= with a word, not 'strategy'\n"},
    {"liveness", "gc: error: pass 'liveness' needs an order of execution\n"
                 "hint: pass 'order' gives it: put it before 'liveness'\n"},
    {"autodiff,order,fold,liveness",
     "gc: error: pass 'liveness' needs an order of execution, which 'fold' did not keep\n"
     "hint: pass 'order' gives it: put it again before 'liveness'\n"},
    {"autodiff,dce,fuse,cse,microbatch{parts=4},order",
     "gc: error: pass 'microbatch' comes too late: 'fuse' has made kernels\n"
     "hint: put 'microbatch' before 'fuse'\n"},
    {"autodiff,fuse,layout,cheap-remat",
     "gc: error: pass 'cheap-remat' comes too late: 'fuse' has made kernels\n"
     "hint: put 'cheap-remat' before 'fuse'\n"},
    {"autodiff,layout,fuse", "gc: error: pass 'fuse' comes too late: 'layout' has made layouts\n"
                             "hint: put 'fuse' before 'layout'\n"},
    {"order", "gc: error: pass 'order' needs a program without grad ops\n"
              "hint: pass 'autodiff' gives it: put it before 'order'\n"},
};

static void wrong_pipelines(void **state) {
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    bool ok;
    char *text = check(wrong[i].pipeline, &ok);
    assert_false(ok);
    assert_string_equal(text, wrong[i].message);
    free(text);
  }
}

static void right_pipelines(void **state) {
  static const char *const right[] = {
      " fold , cse ",
      "fold,fold,dce{}",
      "autodiff,dce,order,liveness,inplace,share{strategy=pool,match=16},plan-verify",
  };
  for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
    bool ok;
    char *text = check(right[i], &ok);
    assert_string_equal(text, "");
    assert_true(ok);
    free(text);
  }
  for (int level = 0; level <= 3; level++) {
    bool ok;
    char *text = check(passes_pipeline(level), &ok);
    assert_string_equal(text, "");
    assert_true(ok);
    free(text);
  }
}

static void arguments(void **state) {
  Arena *a = arena_new();
  PassRun r = {.scratch = a, .args = "strategy=pool, match=16"};
  assert_int_equal(pass_arg_int(&r, "match", 3), 16);
  assert_int_equal(pass_arg_int(&r, "atch", 3), 3);
  assert_string_equal(pass_arg_str(&r, "strategy", "pack"), "pool");
  assert_string_equal(pass_arg_str(&r, "strat", "pack"), "pack");
  arena_free(a);
}

static const char program[] = "module \"p.g\"\n"
                              "entry e(%x : f32[4]) {\n"
                              "  %a = exp %x : f32[4]\n"
                              "  %b = exp %x : f32[4]\n"
                              "  %c = add %a, %b : f32[4]\n"
                              "  return %c {names = \"c\"}\n"
                              "}\n";

static char *run(const char *pipeline, PassOptions o) {
  char *text = NULL;
  size_t n;
  o.out = open_memstream(&text, &n);
  Ctx *c = ctx_new();
  Module *m = module_read(c, ctx_add_source(c, "p.ir", program, sizeof program - 1));
  assert_non_null(m);
  o.verify_each = true;
  assert_true(passes_run(m, pipeline, &o));
  fclose(o.out);
  module_free(m);
  ctx_free(c);
  return text;
}

static void printing(void **state) {
  char *text = run("dce,cse,cse", (PassOptions){.print_changed = true});
  char *first = strstr(text, "; after cse, changes: 1\n");
  assert_ptr_equal(first, text); /* dce and the second cse change nothing */
  assert_null(strstr(first + 1, "; after"));
  assert_non_null(strstr(text, "%c = add %a, %a : f32[4]"));
  free(text);

  text = run("dce,cse", (PassOptions){.print_after = "dce"});
  assert_ptr_equal(strstr(text, "; after dce, changes: 0\n"), text);
  assert_null(strstr(text, "; after cse"));
  free(text);

  text = run("dce,cse", (PassOptions){.print_after = "all"});
  assert_non_null(strstr(text, "; after dce"));
  assert_non_null(strstr(text, "; after cse"));
  free(text);

  text = run("cse,dce", (PassOptions){.stats = true});
  assert_string_equal(text, "pass              changes\n"
                            "cse                     1\n"
                            "dce                     0\n");
  free(text);

  text = run("cse,dce", (PassOptions){.time_passes = true});
  assert_non_null(strstr(text, "pass                   ms      %\n"));
  assert_non_null(strstr(text, "\ntotal "));
  free(text);
}

static void remarks(void **state) {
  unsigned bits;
  assert_true(remark_parse("inplace", &bits));
  assert_int_equal(bits, REMARK_INPLACE);
  assert_true(remark_parse("all", &bits));
  assert_int_equal(bits, REMARK_ALL);
  assert_false(remark_parse("inline", &bits));

  char *text = NULL;
  size_t n;
  Ctx *c = ctx_new();
  Module *m = module_new(c, "mnist.g");
  uint16_t file = ctx_add_source(c, "mnist.g", "x\n", 2);
  PassOptions o = {.remarks = REMARK_FUSE, .out = open_memstream(&text, &n)};
  PassRun r = {.m = m, .opt = &o};
  remark(&r, REMARK_SHARE, "share", (Loc){1, 1, file, 1}, "not asked for");
  remark(&r, REMARK_FUSE, "fuse-missed", (Loc){6, 7, file, 1}, "relu is %s", "alone");
  fclose(o.out);
  assert_string_equal(text, "mnist.g:6:7: remark: relu is alone [fuse-missed]\n");
  free(text);
  module_free(m);
  ctx_free(c);
}

static void listing(void **state) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  passes_list(f);
  fclose(f);
  assert_non_null(strstr(text, "autodiff"));
  assert_non_null(strstr(text, "plan-verify"));
  assert_non_null(strstr(text, "-O2  guard,gather-matmul,fold,hoist,cse,dce,autodiff"));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_pipelines), cmocka_unit_test(right_pipelines),
      cmocka_unit_test(arguments),       cmocka_unit_test(printing),
      cmocka_unit_test(remarks),         cmocka_unit_test(listing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
