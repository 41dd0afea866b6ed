/* Gradient rules one at a time: kinks, ties and zeros against values worked out by hand, and which
   values each rule reads, since those are kept alive. Contract: every op with a gradient rule
   states what it reads, or the test fails and names it. */
#include "tests/num/gradient.h"

/* ---- kinks, ties and zeros ---- */

typedef struct Asked {
  ValueId to[8];
  bool wanted[8];
} Asked;

static bool asked(const GradCtx *g, const Op *op, int operand) {
  return ((Asked *)g->state)->wanted[operand];
}

/* Of the results behind the first nothing is wanted. */
static ValueId given_of(const GradCtx *g, const Op *op, int result) {
  (void)g, (void)op, (void)result;
  return NO_ID;
}

static void answered(GradCtx *g, const Op *op, int operand, ValueId d) {
  ((Asked *)g->state)->to[operand] = d;
}

static const struct {
  OpKind kind;
  const char *operands, *given, *attrs, *in;
  const char
      *want; /* gradient of the sum of the result by each operand, separated by ';'; "-": none */
} corners[] = {
    {OP_MAX, "f64[3] f64[3]", NULL, NULL, "1,1,2;1,2,1", "0.5,0,1;0.5,1,0"},
    {OP_MIN, "f64[3] f64[3]", NULL, NULL, "1,1,2;1,2,1", "0.5,1,0;0.5,0,1"},
    {OP_RELU, "f64[3]", NULL, NULL, "0,-0,1", "0,0,1"},
    {OP_ABS, "f64[1]", NULL, NULL, "0", "0"},
    {OP_POW, "f64[4] f64[4]", NULL, NULL, "0,0,0,3;0,1,2,0", "0,1,0,0;0,0,0,1.0986122886681098"},
    {OP_REDUCE_MAX, "f64[2,3]", NULL, "1", "2,2,1,3,3,3",
     "0.5,0.5,0,0.3333333333333333,0.3333333333333333,0.3333333333333333"},
    {OP_REDUCE_MIN, "f64[4]", NULL, "0", "2,1,5,1", "0,0.5,0,0.5"},
    {OP_REDUCE_MAX, "f64[]", NULL, NULL, "2", "1"},
    {OP_PROD, "f64[3]", NULL, "0", "0,2,3", "6,0,0"},
    {OP_PROD, "f64[3]", NULL, "0", "0,0,3", "0,0,0"},
    {OP_PROD, "f64[2,2]", NULL, "0", "2,0,3,5", "3,5,2,0"},
    {OP_PROD, "f64[0]", NULL, "0", "", ""},
    {OP_SUM, "f64[0,2]", NULL, "0", "", ""},
    {OP_SUM, "f64[2,2] f64[2]", NULL, "0", "1,2,3,4;5,6", "1,1,1,1;1,1"},
    {OP_CONV_FILTER_GRAD, "f64[1,1,2,2] f64[1,1,3,3] f64[1,1,2,2]", "f64[1,1,2,2]",
     "1,1;0,0,0,0;1,1;1", "1,0,0,1;1,2,3,4,5,6,7,8,9;1,2,3,4",
     "12,16,24,28;1,1,0,1,2,1,0,1,1;1,1,1,1"},
    {OP_WHERE, "bool[2] f64[2] f64[2]", NULL, NULL, "1,0;nan,1;1,nan", "-;1,0;0,1"},
    {OP_GATHER, "f64[3] i32[4]", NULL, NULL, "1,2,3;2,0,2,2", "1,0,3;-"},
    {OP_GATHER, "f64[2,3] i32[2,2]", NULL, "1", "1,2,3,4,5,6;2,2,0,1", "0,0,2,1,1,0;-"},
    {OP_CUMSUM, "f64[3]", NULL, "0", "1,2,3", "3,2,1"},
    {OP_CUMSUM, "f64[3]", NULL, "0;1", "1,2,3", "1,2,3"},
    {OP_CONVERT, "i32[2]", "f64[2]", NULL, "1,2", "-"},
    {OP_ADD, "i32[1] i32[1]", NULL, NULL, "1;2", "-;-"},
    {OP_SLICE, "f64[3]", "f64[0]", "2;1", "1,2,3", "0,0,0"},
};

static void corners_by_hand(void **state) {
  for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
    Rig r = rig_new(INTERP_F64, 0);
    OpKind k = corners[i].kind;
    Tensor x[4];
    ValueId v[4];
    Entry *e = entry_new(r.m, "corner", (Loc){0});
    int n = 0;
    const char *types = corners[i].operands, *in = corners[i].in, *want = corners[i].want;
    for (const Type *t; (t = rig_next_type(&r, &types)); n++) {
      v[n] = entry_add_input(e, intern_printf(r.c, "x%d", n), t);
      x[n] = (Tensor){.type = t, .at = ARENA_ARRAY(r.m->arena, Scalar, t->numel)};
      for (int64_t j = 0; j < t->numel; j++) {
        char *end;
        double number = strtod(in, &end);
        x[n].at[j] =
            dtype_is_float(t->dtype) ? (Scalar){.f = number} : (Scalar){.i = (int64_t)number};
        in = end + (*end != 0);
      }
    }
    const Type *given = corners[i].given ? rig_type(&r, corners[i].given) : NULL;
    Attr attr[MAX_ATTRS];
    rig_attrs(&r, k, corners[i].attrs, DT_F64, attr);
    Builder *b = builder_new(e, e->body);
    b->fold = false;
    ValueId y = build(b, k, v, n, attr, given);
    Asked a = {.to = {NO_ID, NO_ID, NO_ID, NO_ID}, .wanted = {true, true, true, true}};
    GradCtx g = {.b = b, .e = e, .state = &a, .needs = asked, .of = given_of, .to = answered};
    op_info[k].grad(&g, value_def(e, y), build_const(b, value_type(e, y), 1));
    ValueId out[4];
    const char *const names[] = {"a", "b", "c", "d"};
    int outputs = 0;
    for (int j = 0; j < n; j++)
      if (a.to[j] != NO_ID) out[outputs++] = a.to[j];
    build_return(b, out, names, outputs);
    Tensor result[4];
    if (!interp_run(r.it, e, x, result)) fail_msg("%s: %s", op_info[k].name, r.it->why);
    for (int j = 0, o = 0; j < n; j++) {
      if (*want == '-') {
        if (a.to[j] != NO_ID) fail_msg("%s: operand %d has a gradient", op_info[k].name, j);
        want += 1 + (want[1] == ';');
        continue;
      }
      if (a.to[j] == NO_ID) fail_msg("%s: operand %d has no gradient", op_info[k].name, j);
      assert_ptr_equal(result[o].type, x[j].type);
      for (int64_t l = 0; l < x[j].type->numel; l++) {
        char *end;
        double expected = strtod(want, &end);
        want = end + (*end != 0);
        if (!rig_close(result[o].at[l].f, expected, 1e-14))
          fail_msg("row %d: %s: operand %d, element %d: %.17g, not %.17g", (int)i, op_info[k].name,
                   j, (int)l, result[o].at[l].f, expected);
      }
      o++;
    }
    rig_free(&r);
  }
}

/* ---- what a gradient keeps alive ---- */

/* For each operand, behind '|', the values of y, z = f(a, b, c) that its gradient reads beside dy.
 */
static const char *const reads[OP_KINDS] = {
    [OP_NEG] = "",
    [OP_ABS] = "a",
    [OP_EXP] = "y",
    [OP_EXPM1] = "y",
    [OP_LOG] = "a",
    [OP_LOG1P] = "a",
    [OP_LOG2] = "a",
    [OP_SQRT] = "y",
    [OP_RSQRT] = "y",
    [OP_SIN] = "a",
    [OP_COS] = "a",
    [OP_TANH] = "y",
    [OP_SIGMOID] = "y",
    [OP_ERF] = "a",
    [OP_RELU] = "y",
    [OP_CONVERT] = "",
    [OP_ADD] = "|",
    [OP_SUB] = "|",
    [OP_MUL] = "b|a",
    [OP_DIV] = "b|by",
    [OP_MOD] = "|ab",
    [OP_POW] = "ab|ay",
    [OP_MIN] = "ab|ab",
    [OP_MAX] = "ab|ab",
    [OP_WHERE] = "|a|a",
    [OP_RELU_GRAD] = "b|",
    [OP_SIGMOID_GRAD] = "b|ab",
    [OP_TANH_GRAD] = "b|ab",
    [OP_RESHAPE] = "",
    [OP_TRANSPOSE] = "",
    [OP_BROADCAST] = "",
    [OP_SLICE] = "",
    [OP_REVERSE] = "",
    [OP_PAD] = "",
    [OP_CONCAT] = "|||",
    [OP_COPY] = "",
    [OP_SUM] = "",
    [OP_PROD] = "a",
    [OP_REDUCE_MAX] = "ay",
    [OP_REDUCE_MIN] = "ay",
    [OP_MATMUL] = "b|a",
    [OP_DEQUANTIZE] = "|a",
    [OP_QUANTIZED_MATMUL] = "bc||ab",
    [OP_SCALED_MATMUL] = "||abd|abc",
    [OP_GATHER] = "b|",
    [OP_GATHER_GRAD] = "b|",
    [OP_CUMSUM] = "",
    [OP_ATTENTION] = "abcyz|abcyz|abcyz",
    [OP_ATTENTION_GRAD] = "abcdef|abcdef|abcdef|abcdef|abcdef|abcdef",
    [OP_DYNAMIC_UPDATE] = "c|c|",
    [OP_DROPOUT] = "b|",
    [OP_SOFTMAX] = "y",
    [OP_LOG_SOFTMAX] = "y",
    [OP_SOFTMAX_GRAD] = "b|ab",
    [OP_LOG_SOFTMAX_GRAD] = "b|ab",
    [OP_XENT] = "ab|",
    [OP_XENT_GRAD] = "bc|ab|",
    [OP_LAYER_NORM] = "yz",
    [OP_RMS_NORM] = "yz",
    [OP_LAYER_NORM_GRAD] = "bc|abc|ab",
    [OP_RMS_NORM_GRAD] = "bc|abc|ab",
    [OP_CONV] = "b|a",
    [OP_CONV_INPUT_GRAD] = "b|a",
    [OP_CONV_FILTER_GRAD] = "b|a",
    [OP_MAX_POOL] = "a",
    [OP_MAX_POOL_TAKE] = "b|",
    [OP_MAX_POOL_GRAD] = "b|",
    [OP_AVG_POOL] = "",
    [OP_AVG_POOL_GRAD] = "",
    [OP_VARIANCE] = "a",
    [OP_BATCH_NORM] = "c|c|ab|",
    [OP_TO_LOCAL] = "",
    [OP_FROM_LOCAL] = "",
};

static void gradients_read_only_what_they_need(void **state) {
  for (int k = 0; k < OP_KINDS; k++) {
    if (!op_info[k].grad || k == OP_SCAN) continue;
    if (!reads[k]) fail_msg("what the gradient of %s reads is not stated", op_info[k].name);
    const char *want = reads[k];
    for (int wanted = 0; want; wanted++) {
      Rig r = rig_new(INTERP_F64, 0);
      Case c = {.r = &r, .seed = 3 + (uint64_t)k, .row = &gradient_rows[k]};
      do { /* an operand of several elements, since a product of one factor reads nothing */
        c.n = 0;
        gradient_rows[k].make(&c);
      } while (c.x[0].type->numel < 4 ||
               (k == OP_PROD && c.attr[AT_AXES].ints->n != c.x[0].type->rank));
      if (wanted >= c.n) {
        rig_free(&r);
        break;
      }
      Entry *e = entry_new(r.m, "reads", (Loc){0});
      Builder *b = builder_new(e, e->body);
      ValueId v[8];
      for (int i = 0; i < c.n; i++) v[i] = entry_add_input(e, "x", c.x[i].type);
      b->fold = false;
      ValueId y = build(b, (OpKind)k, v, c.n, c.attr, c.given);
      const Op *op = value_def(e, y);
      ValueId dy = entry_add_input(e, "dy", value_type(e, y));
      Asked a = {0};
      for (int i = 0; i < c.n; i++) a.to[i] = NO_ID;
      a.wanted[wanted] = true;
      GradCtx g = {.b = b, .e = e, .state = &a, .needs = asked, .of = given_of, .to = answered};
      if (dtype_is_float(c.x[wanted].type->dtype)) op_info[k].grad(&g, op, dy);
      char got[16] = {0};
      int n = 0;
      for (int i = 0; i < c.n + op->nresults; i++) {
        ValueId value = i < c.n ? v[i] : op->results[i - c.n];
        bool read = a.to[wanted] == value;
        for (uint32_t o = op->id + 1; o < e->ops.n; o++)
          for (int j = 0; j < op_at(e, o)->noperands; j++)
            read |= op_at(e, o)->operands[j] == value;
        if (read) got[n++] = i < c.n ? "abcdefgh"[i] : "yzw"[i - c.n];
      }
      const char *end = strchr(want, '|');
      if (strlen(got) != (end ? (size_t)(end - want) : strlen(want)) ||
          memcmp(got, want, strlen(got)) != 0)
        fail_msg("the gradient of %s by operand %d reads \"%s\", not \"%s\"", op_info[k].name,
                 wanted, got, want);
      want = end ? end + 1 : NULL;
      rig_free(&r);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(corners_by_hand),
      cmocka_unit_test(gradients_read_only_what_they_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
