/* Types, modules, the builder and rebuilding: what is equal is one, what is dead goes, what is
   copied keeps its name, place and scope. Contract: each test owns one context and one module, made
   by rig() and freed by done(). */
#include "ir/eval/interp.h"
#include "ir/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Rig {
  Ctx *c;
  Module *m;
  Entry *e;
  Builder *b;
  const Type *t; /* f32[2,3] */
  ValueId x, y;
} Rig;

static Rig rig(void) {
  Rig r = {.c = ctx_new()};
  r.m = module_new(r.c, "b.g");
  r.e = entry_new(r.m, "f", (Loc){0});
  vec_push(r.m->arena, &r.m->entries, r.e);
  r.t = type_get(r.c, DT_F32, 2, (int64_t[]){2, 3});
  r.x = entry_add_input(r.e, "x", r.t);
  r.y = entry_add_input(r.e, "y", r.t);
  r.b = builder_new(r.e, r.e->body);
  return r;
}

static void done(Rig *r) {
  module_free(r->m);
  ctx_free(r->c);
}

static void finish(Rig *r, ValueId v) {
  build_return(r->b, &v, (const char *[]){"out"}, 1);
  assert_true(module_verify(r->m, NULL));
}

#define DIMS(...)                                                                                  \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }

static void types_are_interned(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  const Type *t = type_get(c, DT_F32, DIMS(64, 256));
  assert_ptr_equal(t, type_get(c, DT_F32, DIMS(64, 256)));
  assert_ptr_not_equal(t, type_get(c, DT_F16, DIMS(64, 256)));
  assert_ptr_not_equal(t, type_get(c, DT_F32, DIMS(256, 64)));
  assert_ptr_not_equal(type_get(c, DT_F32, DIMS(1)), type_scalar(c, DT_F32));
  assert_int_equal(t->numel, 64 * 256);
  assert_int_equal(t->bytes, 64 * 256 * 4);
  assert_string_equal(type_str(c, t), "f32[64,256]");
  assert_string_equal(type_str(c, type_scalar(c, DT_BOOL)), "bool[]");
  assert_ptr_equal(type_with_dtype(c, t, DT_U8), type_get(c, DT_U8, DIMS(64, 256)));
  assert_int_equal(type_get(c, DT_F32, DIMS(0, 5))->numel, 0);
  assert_null(type_get(c, DT_F32, DIMS(-1)));
  assert_null(type_get(c, DT_F32, DIMS(INT64_MAX, 2)));
  assert_null(type_get(c, DT_F32, DIMS((int64_t)1 << 60)));
  assert_null(type_get(c, DT_U8, DIMS((int64_t)1 << 60))); /* f64 of it would not be addressable */
  assert_non_null(type_get(c, DT_U8, DIMS((int64_t)1 << 58)));
  int64_t many[40]; /* more axes than any scratch array on the stack */
  for (int i = 0; i < 40; i++) many[i] = 1 + i % 2;
  const Type *deep = type_get(c, DT_U8, 40, many);
  assert_int_equal(deep->numel, 1 << 20);
  assert_ptr_equal(type_broadcast(c, deep, type_scalar(c, DT_U8)), deep);
  assert_int_equal(strlen(type_str(c, deep)), 2 + 2 + 40 + 39);
  for (int i = 0; i < DTYPES; i++) {
    Dtype dt;
    assert_true(dtype_parse(dtype_name((Dtype)i), &dt) && dt == (Dtype)i);
  }
  ctx_free(c);
}

static void broadcasting(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  const Type *a = type_get(c, DT_F32, DIMS(4, 1, 3)), *b = type_get(c, DT_I32, DIMS(2, 1));
  assert_string_equal(type_str(c, type_broadcast(c, a, b)), "f32[4,2,3]");
  assert_string_equal(type_str(c, type_broadcast(c, b, a)), "i32[4,2,3]");
  assert_ptr_equal(type_broadcast(c, a, type_scalar(c, DT_F32)), a);
  assert_null(type_broadcast(c, a, type_get(c, DT_F32, DIMS(2))));
  assert_string_equal(
      type_str(c, type_broadcast(c, type_get(c, DT_F32, DIMS(1)), type_get(c, DT_F32, DIMS(0)))),
      "f32[0]");
  ctx_free(c);
}

static void layouts(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  const Layout *l = layout_panels(c, 16);
  assert_ptr_equal(l, layout_panels(c, 16));
  assert_ptr_not_equal(l, layout_panels(c, 8));
  uint64_t bytes;
  assert_true(layout_bytes(type_get(c, DT_F32, DIMS(784, 10)), l, &bytes));
  assert_int_equal(bytes, 784 * 16 * 4);
  assert_true(layout_bytes(type_get(c, DT_F32, DIMS(784, 32)), l, &bytes));
  assert_int_equal(bytes, 784 * 32 * 4);
  assert_true(layout_bytes(type_get(c, DT_F32, DIMS(784, 10)), NULL, &bytes));
  assert_int_equal(bytes, 784 * 10 * 4);
  const Layout *by_four = layout_interleaved(c, l, 4);
  assert_ptr_equal(by_four, layout_interleaved(c, layout_panels(c, 16), 4));
  assert_ptr_not_equal(by_four, l);
  assert_true(layout_bytes(type_get(c, DT_I8, DIMS(785, 10)), by_four, &bytes));
  assert_int_equal(bytes, 788 * 16);
  assert_false(layout_fits(type_get(c, DT_I8, DIMS(2, 5, 7)), by_four));
  assert_false(layout_bytes(type_get(c, DT_F32, DIMS((int64_t)1 << 58, 1)),
                            layout_panels(c, INT32_MAX), &bytes));

  const Type *image = type_get(c, DT_F32, DIMS(2, 3, 5, 7));
  int64_t stride[4];
  l = layout_get(c, (int64_t[]){0, 2, 3, 1}, 4, 0);
  assert_ptr_equal(l, layout_get(c, (int64_t[]){0, 2, 3, 1}, 4, 0));
  assert_true(layout_fits(image, l));
  assert_int_equal(layout_strides(image, l, stride), 0);
  assert_memory_equal(stride, ((int64_t[]){105, 1, 21, 3}), sizeof stride);
  assert_true(layout_bytes(image, l, &bytes));
  assert_int_equal(bytes, image->bytes);
  assert_null(layout_get(c, (int64_t[]){0, 1, 2, 3}, 4, 0));
  l = layout_get(c, (int64_t[]){2, 3, 1, 0}, 4, 8); /* [1][5][7][3][8] */
  assert_int_equal(layout_strides(image, l, stride), 5 * 7 * 3 * 8);
  assert_memory_equal(stride, ((int64_t[]){1, 8, 168, 24}), sizeof stride);
  assert_true(layout_bytes(image, l, &bytes));
  assert_int_equal(bytes, 5 * 7 * 3 * 8 * 4);
  assert_false(layout_fits(image, layout_get(c, (int64_t[]){1, 0}, 2, 0)));
  assert_false(layout_fits(image, layout_get(c, (int64_t[]){1, 0, 0, 2}, 4, 0)));
  assert_true(layout_same(type_get(c, DT_F32, DIMS(2, 1, 5, 7)), NULL,
                          layout_get(c, (int64_t[]){0, 2, 3, 1}, 4, 0)));
  assert_false(layout_same(image, NULL, layout_get(c, (int64_t[]){0, 2, 3, 1}, 4, 0)));
  ctx_free(c);
}

static void globals_are_found(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  Module *m = module_new(c, "g.g");
  const Type *t = type_scalar(c, DT_F32);
  for (int i = 0; i < 5000; i++) {
    Global g = {.path = intern_printf(c, "h.%d.w", i), .type = t};
    assert_int_equal(module_add_global(m, g), i);
    if (i % 37 == 0) assert_int_equal(module_find_global(m, "h.0.w"), 0);
    assert_int_equal(module_find_global(m, "h.9999.w"), -1);
  }
  for (int i = 0; i < 5000; i++)
    assert_int_equal(module_find_global(m, intern_printf(c, "h.%d.w", i)), i);
  module_free(m);
  ctx_free(c);
}

static void the_table_is_consistent(void **state) {
  (void)state;
  assert_true(op_table_check(stderr));
  char *text;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  op_table_markdown(f);
  fclose(f);
  for (int k = 0; k < OP_KINDS; k++) {
    char row[64];
    snprintf(row, sizeof row, "\n| `%s` |", op_info[k].name);
    if (!strstr(text, row)) fail_msg("%s is not in the document", op_info[k].name);
    OpKind back;
    assert_true(op_parse_kind(op_info[k].name, &back) && (int)back == k);
  }
  OpKind none;
  assert_false(op_parse_kind("ad", &none));
  assert_false(op_parse_kind("", &none));
  assert_null(op_info[OP_EXP].iexpr);
  assert_null(op_info[OP_NOT].expr);
  assert_string_equal(op_info[OP_RELU].expr, "a < 0 ? 0 : a");
  free(text);
}

static void equal_ops_are_one(void **state) {
  (void)state;
  Rig r = rig();
  ValueId a = build2(r.b, OP_ADD, r.x, r.y);
  assert_int_equal(a, build2(r.b, OP_ADD, r.x, r.y));
  assert_int_equal(a, build2(r.b, OP_ADD, r.y, r.x)); /* commutative */
  assert_int_not_equal(build2(r.b, OP_SUB, r.x, r.y), build2(r.b, OP_SUB, r.y, r.x));
  assert_int_not_equal(build2(r.b, OP_MAX, r.x, r.y), build2(r.b, OP_MAX, r.y, r.x));
  assert_int_equal(build_const(r.b, r.t, 0.1), build_const(r.b, r.t, (double)0.1f));
  assert_int_not_equal(build_const(r.b, r.t, 0), build_const(r.b, r.t, -0.0));
  assert_int_equal(build_const(r.b, r.t, NAN), build_const(r.b, r.t, NAN));
  assert_int_not_equal(build_reduce(r.b, OP_SUM, a, (int64_t[]){0}, 1),
                       build_reduce(r.b, OP_SUM, a, (int64_t[]){1}, 1));
  assert_int_not_equal(build1(r.b, OP_COPY, a), build1(r.b, OP_COPY, a));
  Attr one[MAX_ATTRS] = {[AT_KEY] = {.str = intern(r.c, "one")}};
  Attr two[MAX_ATTRS] = {[AT_KEY] = {.str = intern(r.c, "two")}};
  ValueId u = build(r.b, OP_RANDOM_UNIFORM, NULL, 0, one, r.t);
  assert_int_equal(u, build(r.b, OP_RANDOM_UNIFORM, NULL, 0, one, r.t));
  assert_int_not_equal(u, build(r.b, OP_RANDOM_UNIFORM, NULL, 0, two, r.t));
  assert_int_not_equal(u, build(r.b, OP_RANDOM_NORMAL, NULL, 0, one, r.t));
  finish(&r, a);
  done(&r);
}

static void a_later_builder_knows_the_block(void **state) {
  (void)state;
  Rig r = rig();
  ValueId a = build1(r.b, OP_EXP, r.x);
  Builder *again = builder_new(r.e, r.e->body);
  assert_int_equal(a, build1(again, OP_EXP, r.x));
  ValueId s = build1(again, OP_SIN, r.x); /* appended beside the first builder */
  assert_int_equal(s, build1(r.b, OP_SIN, r.x));
  finish(&r, a);
  done(&r);
}

/* What was built while folding was off is merged with once it is on, in a block of any size. */
static void folding_on_again_finds_all(void **state) {
  (void)state;
  enum { APART = 500 };
  Rig r = rig();
  int g = module_add_global(r.m, (Global){.path = intern(r.c, "w"), .type = r.t});
  r.b->fold = false;
  ValueId v = build_load(r.b, g);
  for (int i = 0; i < APART; i++) {
    v = build2(r.b, OP_MUL, v, r.x);
    if (i % 7 == 0) assert_int_equal(build_load(r.b, g), build_load(r.b, g));
  }
  ValueId early = build1(r.b, OP_EXP, r.x);
  (void)build_load(r.b, g);
  r.b->fold = true;
  assert_int_equal(build1(r.b, OP_EXP, r.x), early);
  for (int i = 0; i < APART; i++) v = build2(r.b, OP_SUB, v, r.y);
  finish(&r, v);
  done(&r);
}

static void folding_off_keeps_ops_apart(void **state) {
  (void)state;
  Rig r = rig();
  int g = module_add_global(r.m, (Global){.path = intern(r.c, "w"), .type = r.t});
  r.b->fold = false;
  assert_int_not_equal(build1(r.b, OP_EXP, r.x), build1(r.b, OP_EXP, r.x));
  ValueId n = build1(r.b, OP_NEG, build1(r.b, OP_NEG, r.x));
  assert_int_not_equal(n, r.x);
  ValueId sum = build2(r.b, OP_ADD, r.y, r.x);
  assert_int_equal(value_def(r.e, sum)->operands[0], r.y);
  assert_int_equal(build_load(r.b, g), build_load(r.b, g)); /* one load a block, always */
  finish(&r, sum);
  done(&r);
}

static void names_places_and_scopes(void **state) {
  (void)state;
  Rig r = rig();
  uint16_t file = ctx_add_source(r.c, "b.g", "x\n", 2);
  r.b->loc = (Loc){7, 3, file, 2};
  r.b->scope = intern(r.c, "net.fc1");
  r.b->name = intern(r.c, "h");
  ValueId h = build1(r.b, OP_TANH, r.x);
  assert_null(r.b->name);
  ValueId other = build1(r.b, OP_TANH, r.y);
  assert_string_equal(value_at(r.e, h)->name, "h");
  assert_null(value_at(r.e, other)->name);
  assert_string_equal(value_def(r.e, h)->scope, "net.fc1");
  assert_int_equal(value_def(r.e, h)->loc.line, 7);
  r.b->name = intern(r.c, "later"); /* an unnamed value takes the name it is asked for under */
  assert_int_equal(build1(r.b, OP_TANH, r.y), other);
  assert_string_equal(value_at(r.e, other)->name, "later");
  r.b->name = intern(r.c, "z"); /* a named one keeps its own, inputs, too */
  assert_int_equal(build2(r.b, OP_MUL, r.x, build_const(r.b, r.t, 1)), r.x);
  assert_string_equal(value_at(r.e, r.x)->name, "x");
  assert_string_equal(value_str(r.e, h), "%h");
  r.b->name = intern(r.c, "h");
  ValueId second = build1(r.b, OP_EXP, r.x);
  assert_string_equal(value_str(r.e, second), "%h.1");
  value_at(r.e, second)->name = intern(r.c, "renamed");
  assert_string_equal(value_str(r.e, second), "%renamed");
  assert_string_equal(value_str(r.e, build1(r.b, OP_SIN, r.x)), "%6");
  finish(&r, h);
  done(&r);
}

static void convenience(void **state) {
  (void)state;
  Rig r = rig();
  const Type *row = type_get(r.c, DT_F32, DIMS(3)), *thin = type_get(r.c, DT_F32, DIMS(2, 1));
  ValueId wide = build_broadcast(r.b, build_const(r.b, row, 1), r.t);
  assert_ptr_equal(value_type(r.e, wide), r.t);
  assert_int_equal(build_broadcast(r.b, r.x, r.t), r.x);
  assert_int_equal(build_convert(r.b, r.x, DT_F32), r.x);
  assert_ptr_equal(value_type(r.e, build_convert(r.b, r.x, DT_I64)),
                   type_with_dtype(r.c, r.t, DT_I64));
  assert_ptr_equal(value_type(r.e, build_unbroadcast(r.b, r.x, row)), row);
  assert_ptr_equal(value_type(r.e, build_unbroadcast(r.b, r.x, thin)), thin);
  assert_ptr_equal(value_type(r.e, build_unbroadcast(r.b, r.x, type_scalar(r.c, DT_F32))),
                   type_scalar(r.c, DT_F32));
  assert_int_equal(build_unbroadcast(r.b, r.x, r.t), r.x);
  ValueId kept = build_reduce_keep(r.b, OP_REDUCE_MAX, r.x, (int64_t[]){1}, 1);
  assert_ptr_equal(value_type(r.e, kept), thin);
  assert_int_equal(build_reduce(r.b, OP_SUM, r.x, NULL, 0), r.x);
  ValueId product = build_matmul(r.b, r.x, r.y, false, true);
  assert_string_equal(type_str(r.c, value_type(r.e, product)), "f32[2,2]");
  const ValueId *out;
  const char *const *names;
  assert_int_equal(entry_outputs(r.e, &out, &names), 0);
  build_return(r.b, (ValueId[]){product, kept}, (const char *[]){"loss", "accuracy"}, 2);
  assert_int_equal(entry_outputs(r.e, &out, &names), 2);
  assert_int_equal(out[1], kept);
  assert_string_equal(names[0], "loss");
  assert_string_equal(names[1], "accuracy");
  assert_true(module_verify(r.m, NULL));
  done(&r);
}

/* ---- rebuilding ---- */

static void copy_all(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  (void)data;
  build_copy(b, old, op, map);
}

/* Every relu becomes max(0, x); tanh is left out and replaced by its operand. */
static void rewrite(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  if (op->kind == OP_RELU) {
    ValueId x = map[op->operands[0]];
    ValueId zero = build_const(b, value_type(old, op->results[0]), 0);
    b->name = value_at(old, op->results[0])->name;
    map[op->results[0]] = build2(b, OP_MAX, zero, x);
    ++*(int *)data;
  } else if (op->kind == OP_TANH) {
    map[op->results[0]] = map[op->operands[0]];
  } else {
    build_copy(b, old, op, map);
  }
}

static char *text_of(const Rig *r) {
  char *text;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  entry_print(f, r->e, NULL);
  fclose(f);
  return text;
}

static void expect_text(const Rig *r, const char *want) {
  char *text = text_of(r);
  assert_string_equal(text, want);
  free(text);
}

/* One axis cut, padded, written part by part; one more axis in front. */
static void one_axis_is_changed(void **state) {
  (void)state;
  Rig r = rig();
  assert_ptr_equal(type_with_extent(r.c, r.t, 1, 5), type_get(r.c, DT_F32, DIMS(2, 5)));
  assert_ptr_equal(type_stacked(r.c, r.t, 4), type_get(r.c, DT_F32, DIMS(4, 2, 3)));
  assert_null(type_stacked(r.c, r.t, INT64_MAX / 2));
  ValueId part = build_slice(r.b, r.x, 1, 1, 2);
  ValueId whole = build_part(r.b, NO_ID, part, 1, 0, 5);
  whole = build_part(r.b, whole, r.y, 1, 2, 5);
  finish(&r, build_pad(r.b, whole, 0, 1, 2));
  expect_text(&r, "entry f(%x : f32[2,3], %y : f32[2,3]) {\n"
                  "  %2 = slice %x {starts = [0, 1], steps = [1, 1]} : f32[2,2]\n"
                  "  %3 = pad %2 {lo = [0, 0], hi = [0, 3], interior = [0, 0]} : f32[2,5]\n"
                  "  %4 = const {value = 2} : i32[]\n"
                  "  %5 = dynamic_update %3, %y, %4 {axis = 1} : f32[2,5]\n"
                  "  %6 = pad %5 {lo = [1, 0], hi = [2, 0], interior = [0, 0]} : f32[5,5]\n"
                  "  return %6 {names = \"out\"}\n"
                  "}\n");
  done(&r);
}

static void rebuild_drops_and_rewrites(void **state) {
  (void)state;
  Rig r = rig();
  build1(r.b, OP_COS, r.y); /* dead */
  ValueId e = build1(r.b, OP_TANH, r.x);
  r.b->name = intern(r.c, "h");
  ValueId h = build1(r.b, OP_RELU, e);
  build1(r.b, OP_SIN, h); /* dead */
  finish(&r, h);
  int count = 0;
  Entry *same = r.e;
  entry_rebuild(r.e, rewrite, &count, true, true);
  assert_ptr_equal(r.e, same);
  assert_int_equal(count, 1);
  assert_true(module_verify(r.m, "rewrite"));
  expect_text(&r, "entry f(%x : f32[2,3], %y : f32[2,3]) {\n"
                  "  %2 = const : f32[2,3]\n"
                  "  %h = max %2, %x : f32[2,3]\n"
                  "  return %h {names = \"out\"}\n"
                  "}\n");
  assert_int_equal(r.e->ops.n, 3);
  assert_int_equal(r.e->values.n, 4);
  done(&r);
}

static void rebuild_keeps_the_dead_when_told(void **state) {
  (void)state;
  Rig r = rig();
  build1(r.b, OP_COS, r.y);
  finish(&r, r.x);
  entry_rebuild(r.e, copy_all, NULL, true, false);
  assert_int_equal(r.e->ops.n, 2);
  entry_rebuild(r.e, copy_all, NULL, true, true);
  assert_int_equal(r.e->ops.n, 1);
  done(&r);
}

static const char *const kernel_text =
    "module \"k.g\"\n\nstate @s : f32[4]\n\n"
    "entry f(%x : f32[4]) {\n"
    "  %dead = sin %x : f32[4]\n"
    "  %s = load @s : f32[4]\n"
    "  %a, %b = kernel %x, %s {name = \"k\"} : f32[4], f32[4] (%p : f32[4], %q : f32[4]) {\n"
    "    %c = add %p, %q : f32[4]\n"
    "    %gone = cos %c : f32[4]\n"
    "    %d = exp %c : f32[4]\n"
    "    yield %c, %d\n"
    "  }\n"
    "  %unused = kernel %x {name = \"u\"} : f32[4] (%r : f32[4]) {\n"
    "    %t = neg %r : f32[4]\n"
    "    yield %t\n"
    "  }\n"
    "  store @s, %b\n"
    "  return %a {names = \"a\"}\n"
    "}\n";

static void rebuild_copies_nested_blocks(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  Module *m = module_read(c, ctx_add_source(c, "k.ir", kernel_text, strlen(kernel_text)));
  assert_non_null(m);
  for (int round = 0; round < 3; round++) {
    entry_rebuild(m->entries.at[0], copy_all, NULL, true, true);
    assert_true(module_verify(m, "copy"));
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    module_print(f, m, NULL);
    fclose(f);
    assert_string_equal(
        text, "module \"k.g\"\n\nstate @s : f32[4]\n\n"
              "entry f(%x : f32[4]) {\n"
              "  %s = load @s : f32[4]\n"
              "  %a, %b = kernel %x, %s {name = \"k\"} : f32[4], f32[4] (%p : f32[4], %q : "
              "f32[4]) {\n"
              "    %c = add %p, %q : f32[4]\n"
              "    %d = exp %c : f32[4]\n"
              "    yield %c, %d\n"
              "  }\n"
              "  store @s, %b\n"
              "  return %a {names = \"a\"}\n"
              "}\n");
    free(text);
  }
  module_free(m);
  ctx_free(c);
}

static void rebuild_keeps_layouts(void **state) {
  (void)state;
  Rig r = rig();
  ValueId a = build1(r.b, OP_COPY, r.x), b = build1(r.b, OP_COPY, r.x);
  value_at(r.e, a)->layout = layout_panels(r.c, 8);
  ValueId n = build2(r.b, OP_ADD, a, b);
  finish(&r, n);
  entry_rebuild(r.e, copy_all, NULL, true, true);
  expect_text(&r, "entry f(%x : f32[2,3], %y : f32[2,3]) {\n"
                  "  %2 = copy %x : f32[2,3] panels 8\n"
                  "  %3 = copy %x : f32[2,3]\n"
                  "  %4 = add %2, %3 : f32[2,3]\n"
                  "  return %4 {names = \"out\"}\n"
                  "}\n");
  done(&r);
}

static void many_ops_take_linear_time(void **state) {
  (void)state;
  enum { OPS = 100000 };
  Rig r = rig();
  ValueId v = r.x, w = r.y;
  for (int i = 0; i < OPS; i++) {
    if (i % 3 == 0) r.b->name = intern(r.c, "h");
    ValueId u = build2(r.b, i % 2 ? OP_SUB : OP_DIV, v, w);
    w = v;
    v = u;
  }
  finish(&r, v);
  assert_int_equal(r.e->ops.n, OPS + 1);
  entry_rebuild(r.e, copy_all, NULL, true, true);
  assert_int_equal(r.e->ops.n, OPS + 1);
  char *text = text_of(&r), *all = malloc(strlen(text) + 64);
  sprintf(all, "module \"b.g\"\n\n%s", text);
  Module *m = module_read(r.c, ctx_add_source(r.c, "many.ir", all, strlen(all)));
  assert_non_null(m);
  assert_int_equal(m->entries.at[0]->ops.n, OPS + 1);
  free(all);
  free(text);
  module_free(m);
  done(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_are_interned),
      cmocka_unit_test(one_axis_is_changed),
      cmocka_unit_test(broadcasting),
      cmocka_unit_test(layouts),
      cmocka_unit_test(globals_are_found),
      cmocka_unit_test(the_table_is_consistent),
      cmocka_unit_test(equal_ops_are_one),
      cmocka_unit_test(a_later_builder_knows_the_block),
      cmocka_unit_test(folding_off_keeps_ops_apart),
      cmocka_unit_test(folding_on_again_finds_all),
      cmocka_unit_test(names_places_and_scopes),
      cmocka_unit_test(convenience),
      cmocka_unit_test(rebuild_drops_and_rewrites),
      cmocka_unit_test(rebuild_keeps_the_dead_when_told),
      cmocka_unit_test(rebuild_copies_nested_blocks),
      cmocka_unit_test(rebuild_keeps_layouts),
      cmocka_unit_test(many_ops_take_linear_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
