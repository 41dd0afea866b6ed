/* Folding: every rule fires where it should and stays away where a bit would change.
   Contract: each row of the table builds one op on the entry's inputs and compares the text of what
   comes back; the second half folds random programs and asks the interpreter for the same bits. */
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct T {
  Ctx *c;
  Module *m;
  Entry *e;
  Builder *b;
  const Type *f, *i, *u, *l; /* f32[2,3], i32[2,3], u8[2,3], bool[2,3] */
  ValueId x, y, n, k, w, p;  /* x, y: f; n, k: i; w: u; p: l */
} T;

static T open_entry(void) {
  T t = {.c = ctx_new()};
  t.m = module_new(t.c, "fold.g");
  t.e = entry_new(t.m, "f", (Loc){0});
  int64_t dim[] = {2, 3};
  t.f = type_get(t.c, DT_F32, 2, dim);
  t.i = type_get(t.c, DT_I32, 2, dim);
  t.u = type_get(t.c, DT_U8, 2, dim);
  t.l = type_get(t.c, DT_BOOL, 2, dim);
  t.x = entry_add_input(t.e, "x", t.f);
  t.y = entry_add_input(t.e, "y", t.f);
  t.n = entry_add_input(t.e, "n", t.i);
  t.k = entry_add_input(t.e, "k", t.i);
  t.w = entry_add_input(t.e, "w", t.u);
  t.p = entry_add_input(t.e, "p", t.l);
  t.b = builder_new(t.e, t.e->body);
  return t;
}

static void close_entry(T *t) {
  module_free(t->m);
  ctx_free(t->c);
}

/* The expression behind a value: "add(x, -0)", as deep as it goes. */
static void render(FILE *f, const Entry *e, ValueId v) {
  const Op *op = value_def(e, v);
  if (!op) {
    fputs(value_at(e, v)->name, f);
  } else if (op->kind == OP_CONST) {
    Dtype dt = value_type(e, v)->dtype;
    if (dtype_is_float(dt))
      fprintf(f, "%g", op->attr[AT_VALUE].f);
    else
      fprintf(f, "%lld", (long long)op->attr[AT_VALUE].i);
  } else {
    fprintf(f, "%s(", op_info[op->kind].name);
    for (int i = 0; i < op->noperands; i++) {
      if (i) fputs(", ", f);
      render(f, e, op->operands[i]);
    }
    fputc(')', f);
  }
}

static void check(T *t, int line, ValueId v, const char *want) {
  char *text;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  render(f, t->e, v);
  fclose(f);
  if (strcmp(text, want) != 0) fail_msg("line %d: %s instead of %s", line, text, want);
  free(text);
}

#define IS(V, WANT) check(&t, __LINE__, V, WANT)
#define F(V) build_const(t.b, t.f, V)
#define I(V) build_const_int(t.b, t.i, V)
#define U(V) build_const_int(t.b, t.u, V)
#define L(V) build_const_int(t.b, t.l, V)
#define OP1(K, X) build1(t.b, OP_##K, X)
#define OP2(K, X, Y) build2(t.b, OP_##K, X, Y)
#define OP3(K, X, Y, Z) build3(t.b, OP_##K, X, Y, Z)
#define TO(X, DT) build_convert(t.b, X, DT_##DT)

/* Rows of a bounded number lie side by side in r and apart in its reshape, which moves them. */
static void moved(void **state) {
  (void)state;
  T t = open_entry();
  const Extent *n = extent_get(t.c, intern(t.c, "n"), 5);
  const int64_t rows[] = {axis_of_extent(n, 3), 4}, runs[] = {3, axis_of_extent(n, 1), 4};
  const Type *side = type_get(t.c, DT_F32, 2, rows), *apart = type_get(t.c, DT_F32, 3, runs);
  ValueId r = entry_add_input(t.e, "r", side), z = entry_add_input(t.e, "z", apart);
  ValueId v = entry_add_input(t.e, "v", type_get(t.c, DT_F32, 1, (const int64_t[]){4}));
  ValueId m = build_reshape(t.b, r, apart), b = build_broadcast(t.b, v, apart);
  IS(OP1(TANH, m), "tanh(reshape(r))"); /* gradients come first */
  t.e->differentiated = true;
  IS(OP1(EXP, m), "reshape(exp(r))");
  IS(OP2(MUL, m, build_const(t.b, apart, 3)), "reshape(mul(r, 3))");
  IS(OP1(RELU, OP2(ADD, m, b)), "reshape(relu(add(r, broadcast(v))))");
  IS(OP2(ADD, m, build_reshape(t.b, OP1(NEG, r), apart)), "reshape(sub(r, r))");
  IS(OP2(ADD, m, z), "add(z, reshape(r))");                     /* z has no such rows */
  IS(TO(m, F64), "convert(reshape(r))");                        /* more bytes would move */
  IS(OP1(EXP, build_reshape(t.b, z, side)), "exp(reshape(z))"); /* they come to lie side by side */
  IS(OP1(EXP, build_reshape(t.b, t.x, type_get(t.c, DT_F32, 1, (const int64_t[]){6}))),
     "exp(reshape(x))"); /* nothing moves */
  const int64_t high = axis_of_extent(n, 1), square[] = {high, 5, 4}, turned[] = {5, high, 2, 2},
                divided[] = {high, 5, 2, 2}, last[] = {0, 2, 3, 1};
  ValueId q = entry_add_input(t.e, "q", type_get(t.c, DT_F32, 3, square));
  IS(build_transpose(t.b, build_reshape(t.b, q, type_get(t.c, DT_F32, 4, divided)), last),
     "reshape(transpose(q))");
  IS(build_transpose(t.b, build_reshape(t.b, q, type_get(t.c, DT_F32, 4, turned)), last),
     "transpose(reshape(q))"); /* axes of one bound, in another order */
  close_entry(&t);
}

static void sums(void **state) {
  (void)state;
  T t = open_entry();
  IS(OP2(ADD, t.x, F(-0.0)), "x");
  IS(OP2(ADD, F(-0.0), t.x), "x");
  IS(OP2(ADD, t.x, F(0)), "add(x, 0)"); /* -0 + 0 is 0 */
  IS(OP2(ADD, I(0), t.n), "n");
  IS(OP2(SUB, t.x, F(0)), "x");
  IS(OP2(SUB, t.x, F(-0.0)), "sub(x, -0)");
  IS(OP2(SUB, t.n, I(0)), "n");
  IS(OP2(SUB, t.n, t.n), "0");
  IS(OP2(SUB, t.x, t.x), "sub(x, x)"); /* inf - inf */
  IS(OP2(SUB, F(-0.0), t.x), "neg(x)");
  IS(OP2(SUB, F(0), t.x), "sub(0, x)");
  IS(OP2(SUB, I(0), t.n), "neg(n)");
  IS(OP2(ADD, t.x, OP1(NEG, t.y)), "sub(x, y)");
  IS(OP2(ADD, OP1(NEG, t.x), t.y), "sub(y, x)");
  IS(OP2(SUB, t.x, OP1(NEG, t.y)), "add(x, y)");
  IS(OP2(ADD, OP2(ADD, t.n, I(3)), I(4)), "add(n, 7)");
  IS(OP2(ADD, OP2(ADD, t.x, F(3)), F(4)), "add(add(x, 3), 4)");
  IS(OP2(MUL, OP2(MUL, t.w, U(100)), U(3)), "mul(w, 44)");
  IS(OP2(MUL, OP2(MUL, t.x, F(2)), F(3)), "mul(mul(x, 2), 3)");
  IS(OP1(NEG, OP1(NEG, t.x)), "x");
  IS(OP1(NEG, OP2(SUB, t.n, t.k)), "sub(k, n)");
  IS(OP1(NEG, OP2(SUB, t.x, t.y)), "neg(sub(x, y))"); /* -(x - x) is -0 */
  close_entry(&t);
}

static void products(void **state) {
  (void)state;
  T t = open_entry();
  IS(OP2(MUL, t.x, F(1)), "x");
  IS(OP2(MUL, F(1), t.x), "x");
  IS(OP2(MUL, t.x, F(-1)), "neg(x)");
  IS(OP2(MUL, t.x, F(0)), "mul(x, 0)");
  IS(OP2(MUL, t.n, I(0)), "0");
  IS(OP2(MUL, t.n, I(1)), "n");
  IS(OP2(MUL, OP1(NEG, t.x), OP1(NEG, t.y)), "mul(x, y)");
  IS(OP2(MUL, OP1(NEG, t.x), F(3)), "mul(x, -3)");
  IS(OP2(MUL, OP1(NEG, t.x), t.y), "mul(y, neg(x))");
  IS(OP2(DIV, t.x, F(1)), "x");
  IS(OP2(DIV, t.x, F(-1)), "neg(x)");
  IS(OP2(DIV, t.x, F(4)), "mul(x, 0.25)");
  IS(OP2(DIV, t.x, F(-0.5)), "mul(x, -2)");
  IS(OP2(DIV, t.x, F(3)), "div(x, 3)");
  IS(OP2(DIV, t.x, F(0)), "div(x, 0)");
  IS(OP2(DIV, t.x, F(INFINITY)), "div(x, inf)");
  IS(OP2(DIV, t.x, F(0x1p127)), "div(x, 1.70141e+38)"); /* its inverse is subnormal */
  IS(OP2(DIV, OP1(NEG, t.x), OP1(NEG, t.y)), "div(x, y)");
  IS(OP2(DIV, OP1(NEG, t.x), F(3)), "div(x, -3)");
  IS(OP2(MOD, t.n, I(1)), "0");
  IS(OP2(MOD, t.x, F(1)), "mod(x, 1)");
  close_entry(&t);
}

static void powers(void **state) {
  (void)state;
  T t = open_entry();
  IS(OP2(POW, t.x, F(0)), "1");
  IS(OP2(POW, t.x, F(1)), "x");
  IS(OP2(POW, t.x, F(2)), "mul(x, x)");
  IS(OP2(POW, t.x, F(-1)), "div(1, x)");
  IS(OP2(POW, t.x, F(3)), "pow(x, 3)");
  IS(OP2(POW, t.x, F(0.5)), "pow(x, 0.5)");                  /* -0, -inf */
  IS(OP2(POW, OP1(RELU, t.x), F(0.5)), "pow(relu(x), 0.5)"); /* relu(-0) is -0 */
  IS(OP2(POW, OP1(EXP, t.x), F(0.5)), "sqrt(exp(x))");
  IS(OP2(POW, OP2(ADD, OP2(MUL, t.x, t.x), F(1e-6)), F(0.5)), "sqrt(add(mul(x, x), 1e-06))");
  IS(OP2(POW, OP2(SUB, OP1(EXP, t.x), F(1)), F(0.5)), "pow(sub(exp(x), 1), 0.5)");
  close_entry(&t);
}

static void signs(void **state) {
  (void)state;
  T t = open_entry();
  IS(OP1(ABS, OP1(ABS, t.x)), "abs(x)");
  IS(OP1(ABS, OP1(NEG, t.x)), "abs(x)");
  IS(OP1(ABS, OP1(SQRT, OP1(ABS, t.x))), "sqrt(abs(x))");
  IS(OP1(ABS, OP1(SQRT, t.x)), "abs(sqrt(x))"); /* sqrt(-0) is -0 */
  IS(OP1(ABS, t.n), "abs(n)");
  IS(OP1(ABS, t.w), "w");
  IS(OP1(ABS, OP1(ABS, OP1(NEG, t.n))), "abs(n)");
  IS(OP1(ABS, OP2(MUL, t.n, t.n)), "abs(mul(n, n))"); /* wraps */
  IS(OP1(RELU, OP1(RELU, t.x)), "relu(x)");
  IS(OP1(RELU, OP1(SIGMOID, t.x)), "sigmoid(x)");
  IS(OP1(RELU, OP1(TANH, t.x)), "relu(tanh(x))");
  IS(OP1(SIGN, OP1(SIGN, t.x)), "sign(x)");
  IS(OP1(FLOOR, OP1(CEIL, t.x)), "ceil(x)");
  IS(OP1(FLOOR, t.n), "n");
  IS(OP1(ROUND, TO(t.n, F32)), "convert(n)");
  IS(OP1(ROUND, OP1(SQRT, t.x)), "round(sqrt(x))");
  IS(OP2(MAX, t.x, t.x), "x");
  IS(OP2(MAX, t.x, F(-INFINITY)), "x");
  IS(OP2(MAX, F(-INFINITY), t.x), "x");
  IS(OP2(MIN, t.x, F(INFINITY)), "x");
  IS(OP2(MIN, t.x, F(-INFINITY)), "min(x, -inf)"); /* NaN wins */
  IS(OP2(MAX, F(0), t.x), "max(0, x)");            /* not exchanged: zeros */
  IS(OP2(MAX, I(0), t.n), "max(n, 0)");
  close_entry(&t);
}

static void logic(void **state) {
  (void)state;
  T t = open_entry();
  ValueId q = OP2(LT, t.x, t.y);
  IS(OP1(NOT, OP1(NOT, t.p)), "p");
  IS(OP1(NOT, OP2(EQ, t.x, t.y)), "ne(x, y)");
  IS(OP1(NOT, q), "not(lt(x, y))"); /* NaN */
  IS(OP1(NOT, OP2(LT, t.n, t.k)), "ge(n, k)");
  IS(OP2(AND, t.p, L(1)), "p");
  IS(OP2(AND, t.p, L(0)), "0");
  IS(OP2(OR, L(0), t.p), "p");
  IS(OP2(OR, t.p, L(1)), "1");
  IS(OP2(AND, t.p, t.p), "p");
  IS(OP2(AND, t.p, q), "and(p, lt(x, y))");
  IS(OP2(LT, t.x, t.x), "0");
  IS(OP2(EQ, t.n, t.n), "1");
  IS(OP2(NE, t.n, t.n), "0");
  IS(OP2(EQ, t.x, t.x), "eq(x, x)"); /* NaN */
  IS(OP3(WHERE, L(1), t.x, t.y), "x");
  IS(OP3(WHERE, L(0), t.x, t.y), "y");
  IS(OP3(WHERE, t.p, t.x, t.x), "x");
  IS(OP3(WHERE, OP1(NOT, t.p), t.x, t.y), "where(p, y, x)");
  IS(OP3(WHERE, t.p, L(1), L(0)), "p");
  IS(OP3(WHERE, t.p, L(0), L(1)), "not(p)");
  IS(OP3(WHERE, t.p, OP3(WHERE, t.p, t.x, t.y), t.y), "where(p, x, y)");
  IS(OP3(WHERE, t.p, t.x, OP3(WHERE, t.p, t.x, t.y)), "where(p, x, y)");
  IS(OP3(WHERE, q, t.x, OP3(WHERE, t.p, t.x, t.y)), "where(lt(x, y), x, where(p, x, y))");
  IS(OP2(RELU_GRAD, F(0), t.x), "0");
  IS(OP2(RELU_GRAD, t.x, F(2)), "x");
  IS(OP2(RELU_GRAD, t.x, F(-2)), "0");
  IS(OP2(RELU_GRAD, F(1), t.x), "relu_grad(1, x)");
  close_entry(&t);
}

static void conversions(void **state) {
  (void)state;
  T t = open_entry();
  IS(TO(t.x, F32), "x");
  IS(TO(TO(t.w, F32), U8), "w");
  IS(TO(TO(t.w, I32), F32), "convert(w)");
  IS(TO(TO(t.x, F64), F32), "x");
  IS(TO(TO(t.x, F16), F32), "convert(convert(x))"); /* loses bits */
  IS(TO(TO(t.n, F32), I32), "convert(convert(n))");
  IS(TO(TO(t.n, F64), U8), "convert(convert(n))"); /* saturates, integers wrap */
  IS(TO(TO(t.n, I64), U8), "convert(n)");
  IS(TO(TO(t.n, F64), F16), "convert(convert(n))"); /* a kernel rounds twice */
  IS(TO(F(300), U8), "255");
  IS(TO(I(300), U8), "44");
  IS(TO(F(0.1), F16), "0.0999756");
  IS(TO(I(16777217), F32), "1.67772e+07");
  IS(TO(F(NAN), I32), "0");
  close_entry(&t);
}

static void constants(void **state) {
  (void)state;
  T t = open_entry();
  IS(OP2(ADD, F(0.1), F(0.2)), "0.3");
  assert_true(value_def(t.e, OP2(ADD, F(0.1), F(0.2)))->attr[AT_VALUE].f == (double)(0.1f + 0.2f));
  IS(OP2(DIV, F(1), F(3)), "0.333333");
  IS(OP2(ADD, U(200), U(100)), "44");
  IS(OP2(MOD, I(-7), I(3)), "2");
  IS(OP2(MOD, I(7), I(0)), "0");
  IS(OP1(SQRT, F(2)), "1.41421");
  IS(OP1(EXP, F(1)), "exp(1)"); /* the target's own last bit */
  IS(OP2(POW, F(3), F(3)), "pow(3, 3)");
  IS(OP2(LT, F(1), F(2)), "1");
  IS(OP3(WHERE, OP2(LT, F(1), F(2)), t.x, t.y), "x");
  IS(OP1(RELU, F(-1)), "0");
  close_entry(&t);
}

#define TY(DT, ...)                                                                                \
  type_get(t.c, DT_##DT, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                \
           (int64_t[]){__VA_ARGS__})
#define INTS(...)                                                                                  \
  intern_ints(t.c, (int64_t[]){__VA_ARGS__},                                                       \
              (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define PERM(X, ...) build_transpose(t.b, X, (int64_t[]){__VA_ARGS__})

static ValueId slice(T *t, ValueId x, const Ints *starts, const Ints *steps, const Type *type) {
  Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = starts}, [AT_STEPS] = {.ints = steps}};
  return build(t->b, OP_SLICE, &x, 1, attr, type);
}

static ValueId concat(T *t, int axis, int n, const ValueId *x) {
  return build(t->b, OP_CONCAT, x, n, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = axis}}, NULL);
}

static void views(void **state) {
  (void)state;
  T t = open_entry();
  ValueId r = build_reshape(t.b, t.x, TY(F32, 3, 2)), d = PERM(t.x, 1, 0);
  IS(build_reshape(t.b, r, TY(F32, 6)), "reshape(x)");
  IS(build_reshape(t.b, r, t.f), "x");
  IS(build_reshape(t.b, d, TY(F32, 6)), "reshape(transpose(x))");
  IS(build_reshape(t.b, F(2), TY(F32, 6)), "2");
  IS(PERM(build_reshape(t.b, t.x, TY(F32, 2, 1, 3)), 1, 0, 2), "transpose(reshape(x))");
  IS(PERM(t.x, 0, 1), "x");
  t.e->differentiated = true; /* gradients are added up */
  IS(PERM(d, 1, 0), "x");
  IS(PERM(build_reshape(t.b, t.x, TY(F32, 2, 1, 3)), 1, 0, 2), "reshape(x)");
  IS(PERM(build_reshape(t.b, t.x, TY(F32, 2, 1, 3)), 2, 1, 0), "transpose(reshape(x))");
  ValueId three = build_reshape(t.b, t.x, TY(F32, 1, 2, 3)), turned = PERM(three, 2, 0, 1);
  IS(PERM(turned, 1, 2, 0), "reshape(x)");
  IS(PERM(F(1), 1, 0), "1");
  ValueId wide = build_broadcast(t.b, t.x, TY(F32, 4, 2, 3));
  IS(build_broadcast(t.b, wide, TY(F32, 5, 4, 2, 3)), "broadcast(x)");
  ValueId divided = build_reshape(t.b, wide, TY(F32, 2, 2, 2, 3));
  IS(PERM(divided, 2, 3, 0, 1), "reshape(transpose(broadcast(x)))"); /* the 4 stay side by side */
  IS(PERM(divided, 2, 3, 1, 0), "transpose(reshape(broadcast(x)))");
  IS(PERM(divided, 0, 2, 1, 3), "transpose(reshape(broadcast(x)))");
  IS(PERM(divided, 0, 1, 3, 2), "transpose(reshape(broadcast(x)))"); /* as products read it */
  t.e->differentiated = false;
  IS(build_broadcast(t.b, t.x, t.f), "x");
  IS(build_broadcast(t.b, t.x, TY(F32, 1, 2, 3)), "reshape(x)");
  IS(build_broadcast(t.b, three, TY(F32, 4, 2, 3)), "broadcast(x)");
  ValueId columns = build_reshape(t.b, t.x, TY(F32, 2, 3, 1));
  IS(build_broadcast(t.b, columns, TY(F32, 2, 3, 4)), "broadcast(reshape(x))");
  IS(build_broadcast(t.b, F(3), TY(F32, 4, 2, 3)), "3");
  ValueId s = slice(&t, t.x, INTS(0, 1), INTS(1, 1), TY(F32, 2, 2));
  IS(slice(&t, s, INTS(1, 1), INTS(1, 1), TY(F32, 1, 1)), "slice(x)");
  IS(slice(&t, t.x, INTS(0, 0), INTS(1, 1), t.f), "x");
  IS(slice(&t, F(1), INTS(0, 1), INTS(1, 1), TY(F32, 2, 2)), "1");
  ValueId both = concat(&t, 0, 2, (ValueId[]){t.x, t.y});
  IS(slice(&t, both, INTS(2, 0), INTS(1, 1), t.f), "y");
  IS(slice(&t, both, INTS(3, 1), INTS(1, 1), TY(F32, 1, 2)), "slice(y)");
  IS(slice(&t, both, INTS(1, 0), INTS(1, 1), t.f), "slice(concat(x, y))");
  IS(concat(&t, 0, 1, &t.x), "x");
  IS(concat(&t, 0, 2, (ValueId[]){F(1), F(1)}), "1");
  IS(concat(&t, 0, 2, (ValueId[]){F(0), F(-0.0)}), "concat(0, -0)");
  ValueId none = slice(&t, t.x, INTS(0, 0), INTS(1, 1), TY(F32, 0, 3));
  IS(concat(&t, 0, 3, (ValueId[]){t.x, none, t.y}), "concat(x, y)");
  Attr axis0[MAX_ATTRS] = {[AT_AXES] = {.ints = INTS(0)}};
  Attr axis1[MAX_ATTRS] = {[AT_AXES] = {.ints = INTS(1)}};
  ValueId back = build(t.b, OP_REVERSE, &t.x, 1, axis1, NULL);
  IS(build(t.b, OP_REVERSE, &back, 1, axis1, NULL), "x");
  IS(build(t.b, OP_REVERSE, &back, 1, axis0, NULL), "reverse(reverse(x))");
  IS(build(t.b, OP_REVERSE, &three, 1, axis0, NULL), "reshape(x)");
  Attr pad[MAX_ATTRS] = {[AT_VALUE] = {.f = 2},
                         [AT_LO] = {.ints = INTS(0, 0)},
                         [AT_HI] = {.ints = INTS(0, 0)},
                         [AT_INTERIOR] = {.ints = INTS(0, 0)}};
  IS(build(t.b, OP_PAD, &t.x, 1, pad, NULL), "x");
  pad[AT_HI].ints = INTS(0, 1);
  ValueId two = F(2), one = F(1);
  IS(build(t.b, OP_PAD, &two, 1, pad, NULL), "2");
  IS(build(t.b, OP_PAD, &one, 1, pad, NULL), "pad(1)");
  IS(build1(t.b, OP_COPY, build1(t.b, OP_COPY, t.x)), "copy(copy(x))");
  IS(OP1(STOP_GRADIENT, OP1(STOP_GRADIENT, t.x)), "stop_gradient(x)");
  close_entry(&t);
}

static ValueId reduce(T *t, OpKind k, ValueId x, int axis) {
  return build_reduce(t->b, k, x, (int64_t[]){axis}, 1);
}

static void reductions(void **state) {
  (void)state;
  T t = open_entry();
  ValueId thin = build_reshape(t.b, t.x, TY(F32, 2, 1, 3));
  IS(reduce(&t, OP_SUM, thin, 1), "x");
  IS(reduce(&t, OP_SUM, thin, 0), "sum(reshape(x))");
  Attr first[MAX_ATTRS] = {[AT_AXES].ints = intern_ints(t.m->ctx, (int64_t[]){0}, 1)};
  const ValueId on[] = {build_reshape(t.b, t.x, TY(F32, 1, 2, 3)), t.x};
  IS(build(t.b, OP_SUM, on, 2, first, NULL), "add(x, x)"); /* goes on from x */
  IS(reduce(&t, OP_SUM, F(1), 0), "2");
  IS(reduce(&t, OP_SUM, F(0.1), 1), "sum(0.1)"); /* the order of additions shows */
  IS(reduce(&t, OP_SUM, F(-0.0), 1), "-0");
  IS(reduce(&t, OP_SUM, F(INFINITY), 1), "sum(inf)");
  IS(reduce(&t, OP_SUM, U(100), 1), "44");
  IS(reduce(&t, OP_PROD, F(1), 1), "1");
  IS(reduce(&t, OP_PROD, F(0.1), 1), "prod(0.1)");
  IS(reduce(&t, OP_PROD, I(-3), 1), "-27");
  IS(reduce(&t, OP_REDUCE_MAX, F(0.1), 1), "0.1");
  IS(reduce(&t, OP_REDUCE_MAX, t.x, 1), "reduce_max(x)");
  const Type *big = TY(F32, 1 << 25);
  IS(reduce(&t, OP_SUM, build_const(t.b, big, 1), 0), "sum(1)"); /* beyond 24 bits */
  Attr axis[MAX_ATTRS] = {[AT_AXIS] = {.i = 1}};
  IS(build(t.b, OP_ARGMAX, &thin, 1, axis, NULL), "0");
  IS(build(t.b, OP_ARGMAX, &t.x, 1, axis, NULL), "argmax(x)");
  IS(build(t.b, OP_IOTA, NULL, 0, axis, TY(I32, 4, 1)), "0");
  IS(build(t.b, OP_IOTA, NULL, 0, axis, t.i), "iota()");
  IS(build_matmul(t.b, PERM(t.x, 1, 0), t.y, false, false), "matmul(x, y)");
  IS(build_matmul(t.b, PERM(t.x, 1, 0), PERM(t.y, 1, 0), true, false), "matmul(x, y)");
  close_entry(&t);
}

static void quantized_operands(void **state) {
  (void)state;
  T t = open_entry();
  const int64_t k = 70, n = 4;
  const Type *w = type_get(t.c, DT_F32, 2, (int64_t[]){n, k});
  const Type *ids = type_get(t.c, DT_I32, 2, (int64_t[]){3, 2});
  ValueId in[] = {entry_add_input(t.e, "in", type_get(t.c, DT_F32, 2, (int64_t[]){2, k})),
                  entry_add_input(t.e, "q", type_get(t.c, DT_I8, 2, (int64_t[]){n, k})),
                  entry_add_input(t.e, "s", type_get(t.c, DT_BF16, 2, (int64_t[]){n, 3})),
                  entry_add_input(t.e, "ids", ids)};
  Attr attr[MAX_ATTRS] = {[AT_AXIS].i = 1, [AT_BITS].i = 8, [AT_GROUP].i = 32};
  ValueId d = build(t.b, OP_DEQUANTIZE, in + 1, 2, attr, w), of[] = {d, in[3]};
  IS(build_matmul(t.b, in[0], d, false, true), "quantized_matmul(in, q, s)");
  IS(build_matmul(t.b, d, in[0], false, true), "matmul(dequantize(q, s), in)");
  IS(build_matmul(t.b, d, d, false, true), "scaled_matmul(q, q, s, s)");
  IS(build(t.b, OP_GATHER, of, 2, NULL, NULL), "dequantize(gather(q, ids), gather(s, ids))");
  attr[AT_AXIS].i = 0;
  in[2] = entry_add_input(t.e, "r", type_get(t.c, DT_BF16, 2, (int64_t[]){1, k}));
  of[0] = d = build(t.b, OP_DEQUANTIZE, in + 1, 2, attr, w);
  IS(build_matmul(t.b, in[0], d, false, true), "matmul(in, dequantize(q, r))");
  IS(build(t.b, OP_GATHER, of, 2, NULL, NULL), "gather(dequantize(q, r), ids)");
  close_entry(&t);
}

static void matmul_flags(void **state) {
  (void)state;
  T t = open_entry();
  ValueId v = build_matmul(t.b, PERM(t.x, 1, 0), t.y, false, false);
  const Op *op = value_def(t.e, v);
  assert_int_equal(op->attr[AT_TA].i, 1);
  assert_int_equal(op->attr[AT_TB].i, 0);
  ValueId batch = build_reshape(t.b, t.x, TY(F32, 1, 2, 3));
  ValueId turned =
      build_transpose(t.b, build_broadcast(t.b, batch, TY(F32, 2, 2, 3)), (int64_t[]){1, 0, 2});
  assert_int_equal(value_def(t.e, build_matmul(t.b, turned, turned, false, true))->attr[AT_TA].i,
                   0);
  close_entry(&t);
}

static void layouts_stay(void **state) {
  (void)state;
  T t = open_entry();
  value_at(t.e, t.x)->layout = layout_panels(t.c, 2);
  IS(build1(t.b, OP_NEG, build1(t.b, OP_NEG, t.y)), "y");
  IS(build2(t.b, OP_MUL, t.x, F(1)), "mul(x, 1)");
  close_entry(&t);
}

/* ---- random programs: the same bits with and without folding ---- */

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u, *seed >> 8; }

static const double specials[] = {0,         -0.0, 1,        -1,   2,      0.5,      -0.5,
                                  0.1,       3,    -7,       1e30, -1e-30, 0x1p-126, INFINITY,
                                  -INFINITY, NAN,  16777216, 255,  0.25,   1e-3};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

/* Op i of both programs uses the same choices; values of each dtype are kept apart. */
static void random_program(Builder *b, const Type *f, const Type *i, uint32_t seed) {
  static const OpKind unary[] = {OP_NEG, OP_ABS, OP_SIGN, OP_RELU, OP_FLOOR, OP_CEIL, OP_ROUND};
  static const OpKind binary[] = {OP_ADD, OP_SUB, OP_MUL, OP_MIN, OP_MAX, OP_RELU_GRAD};
  static const OpKind compare[] = {OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE};
  enum { STEPS = 40 };
  ValueId fs[STEPS + 8], is[STEPS + 8], ls[STEPS + 8];
  uint32_t nf = 0, ni = 0, nl = 0;
  fs[nf++] = b->e->body->args.at[0];
  fs[nf++] = b->e->body->args.at[1];
  is[ni++] = b->e->body->args.at[2];
  ls[nl++] = build2(b, OP_LT, fs[0], fs[1]);
#define ANY(V, N) V[next(&seed) % N]
  for (int s = 0; s < STEPS; s++) {
    bool ints = next(&seed) % 3 == 0;
    uint32_t *n = ints ? &ni : &nf;
    ValueId *v = ints ? is : fs;
    const Type *t = ints ? i : f;
    ValueId x = ANY(v, *n), y = ANY(v, *n), c = ANY(ls, nl);
    switch (next(&seed) % 9) {
    case 0:
    case 1:
      v[(*n)++] = ints ? build_const_int(b, t, (int64_t)(next(&seed) % 9) - 4)
                       : build_const(b, t, ANY(specials, SPECIALS));
      break;
    case 2: v[(*n)++] = build1(b, ANY(unary, 7), x); break;
    case 3:
    case 4: v[(*n)++] = build2(b, ANY(binary, 6), x, y); break;
    case 5: v[(*n)++] = build3(b, OP_WHERE, c, x, y); break;
    case 6: ls[nl++] = build2(b, ANY(compare, 6), x, y); break;
    case 7:
      ls[nl] = next(&seed) % 2 ? build1(b, OP_NOT, c) : build2(b, OP_AND, c, ANY(ls, nl));
      nl++;
      break;
    default:
      if (ints)
        is[ni++] = build_convert(b, build_convert(b, x, DT_F64), DT_I32);
      else
        fs[nf++] = next(&seed) % 2 ? build2(b, OP_DIV, x, y)
                                   : build_convert(b, build_convert(b, x, DT_F64), DT_F32);
    }
  }
#undef ANY
  ValueId out[] = {fs[nf - 1], fs[nf - 2], fs[nf - 3], is[ni - 1], ls[nl - 1]};
  const char *names[] = {"a", "b", "c", "d", "e"};
  build_return(b, out, names, 5);
}

static void same_bits(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 1500; seed++) {
    Ctx *c = ctx_new();
    Module *m = module_new(c, "random.g");
    const int64_t dim[] = {SPECIALS};
    const Type *f = type_get(c, DT_F32, 1, dim), *i = type_get(c, DT_I32, 1, dim);
    Tensor in[3] = {{f, NULL}, {f, NULL}, {i, NULL}}, out[2][5];
    uint32_t r = seed;
    for (int k = 0; k < 3; k++) {
      in[k].at = arena_alloc(m->arena, sizeof(Scalar) * SPECIALS);
      for (int j = 0; j < SPECIALS; j++) {
        if (k < 2)
          in[k].at[j].f = (float)specials[k ? next(&r) % SPECIALS : (uint32_t)j];
        else
          in[k].at[j].i = (int32_t)(next(&r) * 977u) >> next(&r) % 30;
      }
    }
    for (int fold = 0; fold < 2; fold++) {
      Entry *e = entry_new(m, fold ? "folded" : "plain", (Loc){0});
      entry_add_input(e, "x", f);
      entry_add_input(e, "y", f);
      entry_add_input(e, "n", i);
      Builder *b = builder_new(e, e->body);
      b->fold = fold;
      random_program(b, f, i, seed * 2654435761u);
      vec_push(m->arena, &m->entries, e);
      Interp *it = interp_new(m, INTERP_DTYPE, 0);
      assert_true(interp_run(it, e, in, out[fold]));
      for (int k = 0; k < 5; k++) {
        Scalar *copy = arena_alloc(m->arena, sizeof(Scalar) * SPECIALS);
        memcpy(copy, out[fold][k].at, sizeof(Scalar) * SPECIALS);
        out[fold][k].at = copy;
      }
      interp_free(it);
    }
    assert_true(module_verify(m, "fold"));
    for (int k = 0; k < 5; k++)
      for (int j = 0; j < SPECIALS; j++) {
        Scalar a = out[0][k].at[j], b = out[1][k].at[j];
        bool nan = k < 3 && a.f != a.f && b.f != b.f;
        if (!nan && a.i != b.i) {
          module_print(stderr, m, NULL);
          fail_msg("seed %u output %d element %d: %g against %g", seed, k, j, a.f, b.f);
        }
      }
    module_free(m);
    ctx_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(moved),
      cmocka_unit_test(sums),
      cmocka_unit_test(products),
      cmocka_unit_test(powers),
      cmocka_unit_test(signs),
      cmocka_unit_test(logic),
      cmocka_unit_test(conversions),
      cmocka_unit_test(constants),
      cmocka_unit_test(views),
      cmocka_unit_test(reductions),
      cmocka_unit_test(quantized_operands),
      cmocka_unit_test(matmul_flags),
      cmocka_unit_test(layouts_stay),
      cmocka_unit_test(same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
