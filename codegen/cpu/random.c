/* Prints random ops as kernels of their own: four elements a Philox block, so that no block is
   computed twice. Contract: the same numbers as the scalar text in maps, element by element
   (ir/eval/interp.h). The result lies in any layout, in panels if they have no tail. */
#include "codegen/cpu/cpu.h"
#include "codegen/program/extent.h"

/* Where element number `at` of the type lies. */
static const char *place_of(Gen *g, const Type *t, const Layout *l, const char *at) {
  int64_t *stride = ARENA_ARRAY(g->a, int64_t, t->rank + 1), inner = 1;
  int64_t panel = layout_strides(t, l, stride);
  int column = layout_axis(l, t->rank - 1);
  Text sum = text_new(g->a, 0);
  if (!l) return at;
  for (int i = t->rank - 1; i >= 0; inner *= t->dim[i--]) {
    const char *x = inner > 1 ? arena_printf(g->a, "%s / %lld", at, (long long)inner) : at;
    if (i > 0) x = arena_printf(g->a, "%s %% %lld", x, (long long)t->dim[i]);
    x = panel && i == column
            ? arena_printf(g->a, "%s / %d * %lld + %s %% %d", x, l->nr, (long long)panel, x, l->nr)
            : arena_printf(g->a, "%s * %lld", x, (long long)stride[i]);
    text_add(&sum, sum.s.n ? " + %s" : "%s", x);
  }
  return text_str(&sum);
}

/* Four numbers of a normal distribution, from block i; a function of its own, since it is long and
   every parameter has a kernel that draws it. */
static const char *normals_helper(Gen *g, Dtype dt) {
  const char *T = dtype_prefix(dt), *name = arena_printf(g->a, "%s_normals", T);
  gen_helper(g, arena_printf(g->a,
                             "static __attribute__((noinline)) void %s(uint64_t key, uint64_t i, "
                             "uint64_t step, %s *v) {\n"
                             "  uint32_t w[4];\n"
                             "  philox(key, i, step, w);\n"
                             "  for (int j = 0; j < 4; j++) v[j] = %s_normal_of_words(w, j);\n"
                             "}\n",
                             name, dtype_compute(dt), T));
  return name;
}

void cpu_random(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *out = value_at(gr->e, gr->out[0])->type;
  const Layout *layout = value_at(gr->e, gr->out[0])->layout;
  bool normal = op->kind == OP_RANDOM_NORMAL;
  Kernel *k = kernel_new(g, gr);
  Text *x = &k->text;
  kernel_args(g, k, gr);
  int64_t blocks = (out->numel + 3) / 4;
  const char *numel = dims_text(g, gr->e, out, 0, out->rank);
  const char *count =
      out->extent ? text_ceil_div(g->a, numel, 4) : arena_printf(g->a, "%lld", (long long)blocks);
  kernel_units_of(k, out->numel < SERIAL_WORK / 4 ? 1 : (blocks + 1023) / 1024,
                  out->extent ? text_ceil_div(g->a, count, 1024) : "1");
  const char *place = op->noperands ? "in0[0]" : NULL;
  text_line(x, "const uint64_t key = %s ^ env->seed;",
            random_key_text(g, op->attr[AT_KEY], op->attr[AT_DRAW], place));
  if (k->units == 1)
    text_open(x, "for (long i = 0; i < %s; i++) {", count);
  else
    text_open(x, "for (long i = u0 * 1024; i < u1 * 1024 && i < %s; i++) {", count);
  text_line(x, "%s v[4];", dtype_compute(out->dtype));
  if (normal) {
    text_line(x, "%s(key, (uint64_t)i, env->step, v);", normals_helper(g, out->dtype));
  } else {
    text_line(x, "uint32_t w[4];");
    text_line(x, "philox(key, (uint64_t)i, env->step, w);");
    text_line(x, "for (int j = 0; j < 4; j++) v[j] = uniform_of_word(w[j]);");
  }
  text_line(x, "for (long j = 0; j < 4 && i * 4 + j < %s; j++) out0[%s] = %s;", numel,
            place_of(g, out, layout, "(i * 4 + j)"), scalar_store(g->a, out->dtype, "v[j]"));
  text_close(x, "}");
  if (!layout && k->units > 1 && out->numel % 4096 == 0)
    kernel_split_out(k, gr, 0, 1, 0, out->bytes);
}
