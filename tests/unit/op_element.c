/* Every op of CLASS_ELEMENT is one: an element of its result depends on the elements at its place
   and on no others, so that it may be written over any operand. Planner, checker and code
   generation believe the class of the table; this is what holds it. */
#include "rig.h"

enum { N = 6, MOST = 3 };

static Tensor operand(Rig *r, Dtype dt, int seed) {
  const int64_t dim[] = {2, N / 2};
  double v[N];
  for (int i = 0; i < N; i++) {
    int x = (i * 5 + seed * 3 + 1) % 7;
    v[i] = dt == DT_BOOL ? x % 2 : dtype_is_float(dt) ? 0.125 * x + 0.0625 : x + 1;
  }
  return rig_tensor(r, type_get(r->c, dt, 2, dim), v);
}

/* The op on these operands: no element of its result follows from one at another place. */
static void check(Rig *r, OpKind k, const Attr *attr, const Type *given, int n, const Tensor *in) {
  Tensor out;
  if (!rig_run(r, k, attr, given, n, in, &out)) fail_msg("%s: %s", op_info[k].name, r->it->why);
  assert_int_equal(out.type->numel, N);
  for (int i = 0; i < N; i++) { /* all elements but i are others */
    Tensor other[MOST], changed;
    for (int x = 0; x < n; x++) {
      other[x] = operand(r, in[x].type->dtype, x + 17);
      other[x].at[i] = in[x].at[i];
    }
    if (!rig_run(r, k, attr, given, n, other, &changed))
      fail_msg("%s: %s", op_info[k].name, r->it->why);
    if (memcmp(&changed.at[i], &out.at[i], sizeof out.at[i]) != 0)
      fail_msg("%s: element %d depends on others", op_info[k].name, i);
  }
}

static void every_op(void **state) {
  (void)state;
  static const Dtype dtypes[] = {DT_F32, DT_I32, DT_BOOL};
  enum { DTYPES = sizeof dtypes / sizeof *dtypes };
  for (int k = 0; k < OP_KINDS; k++) {
    const OpInfo *info = &op_info[k];
    if (info->cls != CLASS_ELEMENT) continue;
    int seen = 0, least = info->operands < 0 ? 1 : info->operands;
    for (int n = least; n <= (info->operands < 0 ? MOST : least); n++)
      for (int code = 0, all = n == 1   ? DTYPES
                               : n == 2 ? DTYPES * DTYPES
                                        : DTYPES * DTYPES * DTYPES;
           code < all; code++) {
        Rig r = rig_new(INTERP_DTYPE, 7);
        Tensor in[MOST];
        const Type *types[MOST], *given = NULL;
        char why[256];
        Attr attr[MAX_ATTRS] = {{0}};
        for (int x = 0, rest = code; x < n; x++, rest /= DTYPES) {
          in[x] = operand(&r, dtypes[rest % DTYPES], x);
          types[x] = in[x].type;
        }
        for (int a = 0; a < MAX_ATTRS && info->attr[a].name; a++) {
          if (info->attr[a].kind == ATTR_STR) attr[a].str = intern(r.c, "key");
          if (info->attr[a].kind == ATTR_NUM) attr[a].f = 0.5;
        }
        if (info->flags & OPF_TYPED) given = type_get(r.c, DT_F32, 2, types[0]->dim);
        if (op_shape(r.c, (OpKind)k, types, n, attr, given, why)) {
          check(&r, (OpKind)k, attr, given, n, in);
          seen++;
        }
        rig_free(&r);
      }
    if (!seen) fail_msg("%s: no operands were found that it takes", info->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_op)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
