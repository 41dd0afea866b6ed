/* Random ops as kernels of their own: a thread makes the four elements of a Philox block.
   Contract: the same numbers as on the CPU, element by element (ir/eval/interp.h). */
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"

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
            random_key_text(g->a, op->attr[AT_KEY], op->attr[AT_DRAW], place));
  const char *T = dtype_storage(out->dtype);
  text_line(x, "Vec<%s, 4> v;", T);
  text_line(x, "#pragma unroll");
  const char *f = op->kind == OP_RANDOM_NORMAL
                      ? arena_printf(g->a, "%s_normal_of_words(w, j)", dtype_prefix(out->dtype))
                      : "uniform_of_word(w[j])";
  text_line(x, "for (int j = 0; j < 4; j++) v.at[j] = %s;", scalar_store(g->a, out->dtype, f));
  if (!bounded && out->numel % 4 == 0) {
    text_line(x, "*(Vec<%s, 4> *)(out0 + i * 4) = v;", T);
    return;
  }
  text_line(x, "#pragma unroll");
  text_line(x, "for (int j = 0; j < 4; j++)");
  text_line(x, "  if (i * 4 + j < %s) out0[%s] = v.at[j];", count,
            place_text(g, gr->e, out, 0, out->rank, "(i * 4 + j)"));
}
