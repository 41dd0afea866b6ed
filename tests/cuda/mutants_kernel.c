/* Kernels by themselves, and which parts of their source are edited: the kernel's own text, and the
   sections of the library that it uses. */
#include "tests/cuda/mutants.h"

#include <string.h>

/* The first entry with a step of kernel k; -1: only init has. */
static int entry_of(const Subject *s, int k) {
  const GcProgram *p = s->whole->program;
  for (int i = 0; i < p->nentries; i++)
    for (int j = 0; j < p->entries[i].nsteps; j++)
      if (p->entries[i].steps[j].launch->kernel == k) return i;
  return -1;
}

static void add_part(Alone *k, const char *from, size_t n) {
  if (from) k->part[k->parts++] = (Part){from, from + n};
}

/* A section that kernels may use is edited under the first kernel that does; or, of functions that
   each kernel uses one of, under all of them. */
enum { UNDER_ALL = -1 };
static void add_text(Subject *s, Alone *k, int text, const char *user, const char *name) {
  if ((text != UNDER_ALL && s->taken[text]) || !strstr(k->body, user)) return;
  if (text != UNDER_ALL) s->taken[text] = true;
  const char *all = sections_find(s->p->g.library, name, strlen(name))->text;
  add_part(k, strstr(k->source, all), strlen(all));
}

/* Of code with a form for sm_90a the one that is compiled. */
static void add_body(const Subject *s, Alone *k, const char *body) {
  const char *at = strstr(strstr(k->source, "/* ---- kernels ---- */"), body);
  const char *own = strstr(body, "#if GC_SM90A\n"), *other = own ? strstr(own, "#else\n") : NULL;
  k->body = body;
  if (!other)
    add_part(k, at, strlen(body));
  else if (cuda_variant(s->arch))
    add_part(k, at, (size_t)(other - body));
  else
    add_part(k, at + (other - body), strlen(other));
}

bool take_kernel(Subject *s, int i, Alone *k) {
  const CudaFunction *f = &s->p->functions.at[i];
  bool *only = ARENA_ARRAY(s->a, bool, s->p->functions.n);
  only[i] = true;
  *k = (Alone){.name = f->name, .entry = entry_of(s, i), .source = cuda_source(s->p, only)};
  add_body(s, k, f->body);
  add_text(s, k, 0, "typedef TensorTile<", "TensorTile");
  add_text(s, k, 1, "typedef TensorTile<", "async_copy");
  add_text(s, k, 2, "FlashAttention<", "FlashAttention");
  if (!cuda_variant(s->arch)) add_text(s, k, 7, "TensorAttention<", "AttentionScores");
  add_text(s, k, 4, "TensorAttention<", "TensorAttention");
  add_text(s, k, 5, "ConvTile<", "ConvTile");
  add_text(s, k, 16, "block.combine(", "last_block");
  add_text(s, k, 16, "last_block(&", "last_block");
  add_text(s, k, 17, "next_block(", "next_block");
  add_text(s, k, UNDER_ALL, "ConvRing<", "ConvRing");
  add_text(s, k, UNDER_ALL, "ConvFilterRing<", "ConvFilterRing");
  add_text(s, k, UNDER_ALL, "ConvBox<", "ConvBox");
  add_text(s, k, UNDER_ALL, "ConvFilterBox<", "ConvFilterBox");
  add_text(s, k, UNDER_ALL, "TensorFilterBox<", "TensorFilterBox");
  add_text(s, k, UNDER_ALL, "TensorConvBox<", "TensorConvBox");
  add_text(s, k, UNDER_ALL, "typedef TensorConv<", "TensorConv");
  add_text(s, k, UNDER_ALL, "typedef TensorConvFilter<", "TensorConvFilter");
  add_text(s, k, 15, "TensorConvBox<", "BoxSource");
  add_text(s, k, 14, "TensorConvBox<", "BoxRows");
  add_text(s, k, UNDER_ALL, "SplitAttention<", "SplitAttention");
  add_text(s, k, UNDER_ALL, "DepthwiseConv<", "DepthwiseConv");
  add_text(s, k, UNDER_ALL, "DepthwiseFilter<", "DepthwiseFilter");
  add_text(s, k, UNDER_ALL, "typedef ThinTensorTile<", "ThinTensorTile");
  add_text(s, k, UNDER_ALL, "QuantizedThinTensorTile<", "QuantizedThinTensorTile");
  add_text(s, k, UNDER_ALL, "QuantizedThinTensorTile<", "Quantized8");
  add_text(s, k, UNDER_ALL, ", PairsF16,", "PairsF16");
  add_text(s, k, UNDER_ALL, "QuantizedTile<", "QuantizedTile");
  add_text(s, k, UNDER_ALL, "QuantizedTile<", "Quantized8");
  add_text(s, k, UNDER_ALL, "ThinTile<", "ThinTile");
  add_text(s, k, UNDER_ALL, "ThinTile<", "add_chains");
  add_text(s, k, 3, "Gemm<", "Gemm");
  add_text(s, k, 13, "Gemm<", "GemmSide");
  add_text(s, k, UNDER_ALL, "QuantizedSide<", "QuantizedSide");
  add_text(s, k, UNDER_ALL, "QuantizedTensorTile<", "QuantizedSide");
  add_text(s, k, UNDER_ALL, "QuantizedTensorTile<", "QuantizedTensorTile");
  add_text(s, k, 12, "GemmRing<", "GemmRing");
  if (!cuda_variant(s->arch)) return k->entry >= 0;
  add_text(s, k, 11, "grid_wait();", "grid_wait");
  add_text(s, k, 6, "WgmmaTile<", "WgmmaTile");
  add_text(s, k, 9, "empty, place, (int)", "WgmmaBounds");
  add_text(s, k, 10, "Bounds::behind(", "WgmmaBounds");
  add_text(s, k, 7, "WgmmaAttention<", "AttentionScores");
  add_text(s, k, UNDER_ALL, "WgmmaAttention<", "WgmmaAttention");
  add_text(s, k, 8, "WgmmaConvFilter<", "WgmmaConvFilter");
  add_text(s, k, UNDER_ALL, "WgmmaCopiedFilter<", "WgmmaCopiedFilter");
  add_text(s, k, UNDER_ALL, "ConvPatches<", "ConvPatches");
  add_text(s, k, UNDER_ALL, "FlatForward<", "FlatForward");
  add_text(s, k, UNDER_ALL, "WgmmaConv<", "WgmmaConv");
  add_text(s, k, UNDER_ALL, "WgmmaConvPack<", "WgmmaConvPack");
  return k->entry >= 0;
}
