/* What tests of single ops share: types, attributes and tensors from text, and a one-op entry to
   run. Contract: everything lives in the rig's context, module and interpreter until rig_free. A
   type is written "f32[2,3]"; attributes by slot, separated by ';': "0,1;2,2". */
#ifndef GC_TESTS_RIG_H
#define GC_TESTS_RIG_H
#include "ir/op/op.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Rig {
  Ctx *c;
  Module *m;
  Interp *it;
} Rig;

static inline Rig rig_new(InterpMode mode, uint64_t seed) {
  Rig r = {.c = ctx_new()};
  r.m = module_new(r.c, "test.g");
  r.it = interp_new(r.m, mode, seed);
  return r;
}

static inline void rig_free(Rig *r) {
  interp_free(r->it);
  module_free(r->m);
  ctx_free(r->c);
}

/* Reads one type and moves *s behind it; NULL at the end of the text. */
static inline const Type *rig_next_type(Rig *r, const char **s) {
  char name[8] = {0};
  *s += strspn(*s, " ");
  if (!**s) return NULL;
  size_t n = strcspn(*s, "[");
  assert_true(n < sizeof name);
  memcpy(name, *s, n);
  Dtype dt;
  if (!dtype_parse(name, &dt)) fail_msg("no dtype: %s", name);
  int64_t dim[32];
  int rank = 0;
  for (*s += n + 1; **s != ']'; *s += **s == ',') {
    char *end;
    dim[rank++] = strtoll(*s, &end, 10);
    assert_true(end != *s && rank < 32);
    *s = end;
  }
  (*s)++;
  return type_get(r->c, dt, rank, dim);
}

static inline const Type *rig_type(Rig *r, const char *s) { return rig_next_type(r, &s); }

static inline void rig_attrs(Rig *r, OpKind k, const char *s, Dtype dt, Attr out[MAX_ATTRS]) {
  memset(out, 0, sizeof(Attr) * MAX_ATTRS);
  for (int i = 0; i < MAX_ATTRS && s && op_info[k].attr[i].name; i++) {
    const char *end = s + strcspn(s, ";");
    switch (op_info[k].attr[i].kind) {
    case ATTR_STR: out[i].str = intern_n(r->c, s, (size_t)(end - s)); break;
    case ATTR_NUM:
      if (dtype_is_float(dt))
        out[i].f = strtod(s, NULL);
      else
        out[i].i = strtoll(s, NULL, 10);
      break;
    case ATTR_INTS: {
      int64_t l[32];
      int n = 0;
      for (const char *p = s; p < end && n < 32; p += p < end) {
        char *stop;
        l[n++] = strtoll(p, &stop, 10);
        p = stop;
      }
      out[i].ints = intern_ints(r->c, l, n);
      break;
    }
    case ATTR_NONE:
    case ATTR_INT:
    case ATTR_BOOL: out[i].i = strtoll(s, NULL, 10); break;
    }
    s = *end ? end + 1 : NULL;
  }
}

static inline Tensor rig_tensor(Rig *r, const Type *t, const double *v) {
  Tensor x = {.type = t, .at = ARENA_ARRAY(r->m->arena, Scalar, t->numel)};
  for (int64_t i = 0; i < t->numel; i++) {
    if (dtype_is_float(t->dtype))
      x.at[i].f = v[i];
    else
      x.at[i].i = (int64_t)v[i];
  }
  return x;
}

static inline double rig_number(const Tensor *t, int64_t i) {
  return dtype_is_float(t->type->dtype) ? t->at[i].f : (double)t->at[i].i;
}

/* Runs one op on these operands; false on a fault, with the reason in r->it->why. */
static inline bool rig_run(Rig *r, OpKind k, const Attr *attr, const Type *given, int n,
                           const Tensor *in, Tensor *out) {
  Entry *e = entry_new(r->m, "one", (Loc){0});
  ValueId x[16];
  assert_true(n <= 16);
  for (int i = 0; i < n; i++) x[i] = entry_add_input(e, intern_printf(r->c, "x%d", i), in[i].type);
  Builder *b = builder_new(e, e->body);
  b->fold = false;
  ValueId y = build(b, k, x, n, attr, given);
  build_return(b, &y, (const char *[]){"y"}, 1);
  return interp_run(r->it, e, in, out);
}

/* Equal within a few roundings; NaN equals NaN, infinities equal themselves. */
static inline bool rig_close(double a, double b, double tolerance) {
  if (a != a || b != b) return a != a && b != b;
  return a == b || fabs(a - b) <= tolerance * (1 + fabs(b));
}
#endif
