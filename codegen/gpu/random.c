/* Random ops as kernels of their own: a thread makes the four elements of a Philox block.
   Contract: the same numbers as on the CPU, element by element (ir/eval/interp.h). */
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"

/* Four at once, so that the threads of a warp write whole sectors. Before a bounded axis all are 1
   (ir/op/bounded.c), so the elements of a run lie side by side. */
static void store(Text *x, const Type *out, const char *count) {
  int64_t factor = out->numel; /* of the count */
  for (int i = 0; i < out->rank; i++)
    if (type_extent(out, i)) factor /= type_extent(out, i)->bound;
  const bool rest = factor % 4 != 0;
  const char *T = dtype_storage(out->dtype);
  if (rest) text_open(x, "if (i * 4 + 4 <= %s) {", count);
  text_line(x, "*(Vec<%s, 4> *)(out0 + i * 4) = v;", T);
  if (!rest) return;
  text_line(x, "return;");
  text_close(x, "}");
  text_line(x, "#pragma unroll");
  text_line(x, "for (int j = 0; j < 3; j++)");
  text_line(x, "  if (i * 4 + j < %s) out0[i * 4 + j] = v.at[j];", count);
}

void cuda_random(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *out = value_type(gr->e, gr->out[0]);
  Kernel *k = cuda_kernel(g, gr);
  Text *x = &k->text;
  const char *count = dims_text(g, gr->e, out, 0, out->rank);
  bool bounded = !text_is_number(count);
  cuda_threads_of(g, k, (out->numel + 3) / 4, bounded ? text_ceil_div(g->a, count, 4) : NULL, "i");
  text_line(x, "uint32_t w[4];");
  const char *place = op->noperands ? "in0[0]" : NULL;
  text_line(x, "philox(%s ^ env->seed, (uint64_t)i, env->step, w);",
            random_key_text(g, op->attr[AT_KEY], op->attr[AT_DRAW], place));
  const char *T = dtype_storage(out->dtype);
  text_line(x, "Vec<%s, 4> v;", T);
  text_line(x, "#pragma unroll");
  const char *f = op->kind == OP_RANDOM_NORMAL
                      ? arena_printf(g->a, "%s_normal_of_words(w, j)", dtype_prefix(out->dtype))
                      : "uniform_of_word(w[j])";
  text_line(x, "for (int j = 0; j < 4; j++) v.at[j] = %s;", scalar_store(g->a, out->dtype, f));
  store(x, out, count);
}
