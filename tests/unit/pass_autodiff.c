/* Autodiff by itself: what is built for whom, long chains in linear time, and wrong input. The
   values of gradients are the matter of tests/num. */
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const PassOptions plain = {.verify_each = true};

static int count(const Entry *e, OpKind k) {
  int n = 0;
  for (uint32_t i = 0; i < e->body->ops.n; i++) n += op_at(e, e->body->ops.at[i])->kind == k;
  return n;
}

/* x = tanh(tanh(…)), each also read by a sum of all: two contributions a value. */
static void chain(int n) {
  Ctx *c = ctx_new();
  Module *m = module_new(c, "chain.g");
  Entry *e = entry_new(m, "e", (Loc){0});
  vec_push(m->arena, &m->entries, e);
  const Type *t = type_get(c, DT_F32, 1, (int64_t[]){4});
  ValueId in = entry_add_input(e, "x", t), x = in, all = in;
  Builder *b = builder_new(e, e->body);
  for (int i = 0; i < n; i++) {
    x = build1(b, OP_TANH, x);
    all = build2(b, OP_ADD, all, x);
  }
  ValueId loss = build_reduce(b, OP_SUM, all, (int64_t[]){0}, 1);
  const Op *op = build_op(b, OP_GRAD, (ValueId[]){loss, in}, 2, NULL, &t, 1);
  build_return(b, op->results, (const char *[]){"dx"}, 1);
  assert_true(passes_run(m, "autodiff", &(PassOptions){0}));
  assert_int_equal(count(e, OP_TANH_GRAD), n);
  assert_int_equal(count(e, OP_GRAD), 0);
  assert_true(entry_verify(e, "autodiff"));
  module_free(m);
  ctx_free(c);
}

/* One gradient op for every op, however deep. */
static void deep_chain(void **state) { chain(50000); }

static Module *parse(Ctx *c, const char *body) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  fprintf(f,
          "module \"t.g\"\nparam @w : f32[4,4]\nentry e(%%x : f32[4,4], %%y : f32[4,4]) {\n%s}\n",
          body);
  fclose(f);
  Module *m = module_read(c, ctx_add_source(c, "t.ir", text, n));
  free(text);
  assert_non_null(m);
  return m;
}

static void only_what_is_asked(void **state) {
  static const struct {
    const char *wanted, *results, *returned;
    int matmuls; /* the forward one and one for each operand's gradient */
  } rows[] = {
      {"%x", "%g : f32[4,4]", "%g", 2},
      {"%y", "%g : f32[4,4]", "%g", 2},
      {"%x, %y", "%g, %h : f32[4,4], f32[4,4]", "%g, %h", 3},
      {"%x, %y", "%g, %h : f32[4,4], f32[4,4]", "%g, %g", 2}, /* %h is not read */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char body[512], left[16] = {0};
    const char *colon = strchr(rows[i].results, ':');
    memcpy(left, rows[i].results, (size_t)(colon - rows[i].results));
    bool two = strchr(rows[i].returned, ',') != NULL;
    snprintf(body, sizeof body,
             "%%m = matmul %%x, %%y : f32[4,4]\n%%t = tanh %%m : f32[4,4]\n"
             "%%loss = sum %%t {axes = [0, 1]} : f32[]\n%s = grad %%loss, %s %s\n"
             "return %s {names = \"%s\"}\n",
             left, rows[i].wanted, colon, rows[i].returned, two ? "a,b" : "a");
    Ctx *c = ctx_new();
    Module *m = parse(c, body);
    assert_true(passes_run(m, "autodiff", &plain));
    assert_int_equal(count(m->entries.at[0], OP_MATMUL), rows[i].matmuls);
    module_free(m);
    ctx_free(c);
  }
}

/* Aggregation is for the backward pass: one add for each contribution after the first. */
static void aggregation(void **state) {
  Ctx *c = ctx_new();
  Module *m = parse(c, "%a = tanh %x : f32[4,4]\n%b = exp %x : f32[4,4]\n%s = sin %x : f32[4,4]\n"
                       "%p = mul %a, %b : f32[4,4]\n%q = mul %p, %s : f32[4,4]\n"
                       "%loss = sum %q {axes = [0, 1]} : f32[]\n%g = grad %loss, %x : f32[4,4]\n"
                       "return %g {names = \"g\"}\n");
  assert_int_equal(count(m->entries.at[0], OP_ADD), 0);
  assert_true(passes_run(m, "autodiff", &plain));
  assert_int_equal(count(m->entries.at[0], OP_ADD), 2);
  module_free(m);
  ctx_free(c);
}

static int exit_code(const char *body) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    Ctx *c = ctx_new();
    Module *m = parse(c, body);
    _exit(passes_run(m, "autodiff", &plain) ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Fusion comes later; what the verifier refuses of a grad is tested there. */
static void contradictions(void **state) {
  assert_int_equal(exit_code("%k = kernel %x : f32[4,4] (%a : f32[4,4]) {\n"
                             "%b = exp %a : f32[4,4]\nyield %b\n}\n"
                             "%loss = sum %k {axes = [0, 1]} : f32[]\n"
                             "%g = grad %loss, %x : f32[4,4]\nreturn %g {names = \"g\"}\n"),
                   70);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deep_chain),
      cmocka_unit_test(only_what_is_asked),
      cmocka_unit_test(aggregation),
      cmocka_unit_test(contradictions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
