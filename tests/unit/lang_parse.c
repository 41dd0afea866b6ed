/* The parser's promises to the elaboration that no text test shows: caret ranges of nodes, interned
   names, depths, and what comes back when something is wrong. */
#include "lang/syntax/ast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static Program *parse(Ctx *c, const char *text) {
  ctx_set_stream(c, NULL);
  return parse_text(c, "t.g", text, strlen(text));
}

static void assert_place(Loc loc, unsigned line, unsigned col, unsigned len) {
  assert_int_equal(loc.line, line);
  assert_int_equal(loc.col, col);
  assert_int_equal(loc.len, len);
}

/* The value of `let a = TEXT`. */
static Expr *value_of(Ctx *c, const char *text) {
  Program *p = parse(c, intern_printf(c, "let a = %s\n", text));
  assert_non_null(p);
  assert_int_equal(p->decls.n, 1);
  return p->decls.at[0]->value;
}

static void places_cover_expressions(void **state) {
  Ctx *c = ctx_new();
  Expr *e = value_of(c, "x + f(y, k = 2)[0]'");
  assert_int_equal(e->kind, EX_BINARY);
  assert_place(e->loc, 1, 9, 19);
  assert_place(e->binary.op_loc, 1, 11, 1);
  assert_place(e->binary.left->loc, 1, 9, 1);
  assert_place(e->binary.right->loc, 1, 13, 15);
  Expr *call = e->binary.right->operand->index.base;
  assert_int_equal(call->kind, EX_CALL);
  assert_place(call->loc, 1, 13, 11);
  assert_place(call->call.callee.loc, 1, 13, 1);
  assert_place(call->call.args.at[1].name.loc, 1, 18, 1);
  assert_ptr_equal(call->call.args.at[1].name.name, intern(c, "k"));
  ctx_free(c);
}

static void a_place_ends_with_its_first_line(void **state) {
  Ctx *c = ctx_new();
  Expr *e = value_of(c, "[1,\n  22,\n  333]");
  assert_place(e->loc, 1, 9, 3);
  assert_place(e->list.at[2]->loc, 3, 3, 3);
  ctx_free(c);
}

static void a_pipe_is_a_call_that_spans_both_sides(void **state) {
  Ctx *c = ctx_new();
  Expr *e = value_of(c, "x |> f(2) as g[i]");
  assert_int_equal(e->kind, EX_CALL);
  assert_true(e->call.piped);
  assert_int_equal(e->call.args.n, 2);
  assert_ptr_equal(e->call.args.at[0].value->name, intern(c, "x"));
  assert_place(e->loc, 1, 9, 17);
  assert_place(e->call.as.loc, 1, 22, 4);
  assert_int_equal(e->call.as.index.n, 1);
  ctx_free(c);
}

static void heads_of_blocks_have_places(void **state) {
  Ctx *c = ctx_new();
  Program *p = parse(c, "entry main(x : f32[2]) {\n  for i in 0..3 { y = x }\n  return x\n}\n");
  assert_non_null(p);
  Decl *d = p->decls.at[0];
  assert_int_equal(d->kind, DECL_ENTRY);
  assert_place(d->loc, 1, 1, 22);
  assert_place(d->name.loc, 1, 7, 4);
  assert_place(d->function.params[0].loc, 1, 12, 10);
  assert_place(d->function.body.loc, 1, 24, 1);
  assert_place(d->function.body.end, 4, 1, 1);
  assert_place(d->function.body.at[0]->loc, 2, 3, 13);
  ctx_free(c);
}

static void depth_counts_the_longest_way(void **state) {
  Ctx *c = ctx_new();
  assert_int_equal(value_of(c, "1")->depth, 1);
  assert_int_equal(value_of(c, "1 + 2 * 3")->depth, 3);
  assert_int_equal(value_of(c, "f(1, g(h(2)))")->depth, 4);
  assert_int_equal(value_of(c, "x |> f |> g[h(1)]")->depth > 3, true);
  ctx_free(c);
}

static void numbers_are_exact(void **state) {
  Ctx *c = ctx_new();
  assert_true(value_of(c, "9007199254740993")->integer == 9007199254740993);
  assert_true(value_of(c, "0.1")->number == 0.1);
  assert_int_equal(value_of(c, "1e3")->kind, EX_FLOAT);
  assert_int_equal(value_of(c, "1.")->kind, EX_FLOAT);
  ctx_free(c);
}

static void a_wrong_text_gives_nothing(void **state) {
  Ctx *c = ctx_new();
  assert_null(parse(c, "let a = 1 2\nlet b = 3 4\n"));
  assert_int_equal(ctx_errors(c), 2);
  bool unreadable = false;
  assert_null(parse_file(c, "/nonexistent.g", NULL, &unreadable));
  assert_true(unreadable);
  ctx_free(c);
}

static void a_value_is_one_expression(void **state) {
  Ctx *c = ctx_new();
  ctx_set_stream(c, NULL);
  Expr *e = parse_value(c, "-D N", "[1, 2 * 3]");
  assert_non_null(e);
  assert_int_equal(e->kind, EX_LIST);
  assert_null(parse_value(c, "-D N", ""));
  assert_null(parse_value(c, "-D N", "1\nlet b = 2"));
  assert_null(parse_value(c, "-D N", "1; 2"));
  ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_cover_expressions),
      cmocka_unit_test(a_place_ends_with_its_first_line),
      cmocka_unit_test(a_pipe_is_a_call_that_spans_both_sides),
      cmocka_unit_test(heads_of_blocks_have_places),
      cmocka_unit_test(depth_counts_the_longest_way),
      cmocka_unit_test(numbers_are_exact),
      cmocka_unit_test(a_wrong_text_gives_nothing),
      cmocka_unit_test(a_value_is_one_expression),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
