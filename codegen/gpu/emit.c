/* The CUDA C source of a program: the library code that its kernels use, then one function for each
   distinct kernel; and the tables of the program, for the C compiler.
   Contract: not a byte of the user's text is in the CUDA source: kernels are numbered, and what
   they are is said with the names of ops and types. The same module gives the same bytes. */
#include "codegen/gpu/emit.h"

extern const char cuda_text_device[], cuda_text_device_sm90a[], cuda_text_gemm[],
    cuda_text_gemm_ring[], cuda_text_thin[], cuda_text_thin_quantized[],
    cuda_text_quantized_pairs[], cuda_text_gemm_quantized[], cuda_text_attention[],
    cuda_text_tensor[], cuda_text_tensor_quantized[], cuda_text_thin_tensor[],
    cuda_text_thin_tensor_quantized[], cuda_text_tensor_attention[], cuda_text_wgmma[],
    cuda_text_wgmma_attention[], cuda_text_split_attention[], cuda_text_conv[],
    cuda_text_conv_ring[], cuda_text_conv_box[], cuda_text_filter_ring[], cuda_text_filter_box[],
    cuda_text_depthwise[], cuda_text_tensor_conv[], cuda_text_tensor_box[], cuda_text_wgmma_conv[],
    cuda_text_wgmma_conv_image[], cuda_text_wgmma_filter_copied[], shared_text_math[],
    shared_text_convert[], shared_text_random[], schedule_text_shares[];

static const GroupPrinters printers = {.map = cuda_map,
                                       .rows = cuda_rows,
                                       .reduce = cuda_reduce,
                                       .matmul = cuda_matmul,
                                       .window = cuda_window,
                                       .attention = cuda_attention,
                                       .order = cuda_order,
                                       .index = cuda_index,
                                       .update = cuda_update,
                                       .random = cuda_random,
                                       .collective = cuda_collective,
                                       .move = cuda_move,
                                       .batch = cuda_batch,
                                       .mix = cuda_mix,
                                       .mix_shared = cuda_mix_shared,
                                       .is_thin = cuda_is_thin,
                                       .thin_shared = cuda_thin_shared,
                                       .stack = cuda_stack,
                                       .stack_threads = cuda_stack_threads,
                                       .stack_alike = cuda_stack_alike,
                                       .marks_constants = true};

/* Whether it has code for sm_90a; tensor maps want addresses at multiples of 16 bytes, in every
   iteration. */
static bool takes_variant(const Launch *l, int depth) {
  const KernelVariant *own = l->kernel->variant;
  for (int i = 0; own && i < own->maps; i++) {
    const KernelMap *m = &own->map[i];
    const Address *at = &l->args[m->arg];
    if ((at->offset + (uint64_t)(m->offset * dtype_size(m->dtype))) % 16) return false;
    for (int d = 0; at->stride && d < depth; d++)
      if (at->stride[d] % 16) return false;
  }
  return own;
}

static int64_t times_of(const Op *op) {
  int64_t times = 1;
  for (const Op *scan = op->parent->op; scan; scan = scan->parent->op) times *= scan_trips(scan);
  return times;
}

static StepText step_of(Tables *t, const Entry *e, const Launch *l, int depth) {
  CudaProgram *p = t->target;
  if (l->kernel->collective)
    return (StepText){.kernel = "NULL", .collective = l->kernel->collective};
  CudaStep s = {.entry = e,
                .step = l->step,
                .times = times_of(l->op),
                .kernel = l->kernel,
                .sm90a = takes_variant(l, depth)};
  s.function = cuda_function(p, e, l, s.sm90a, &s.constants);
  cuda_counts(&p->g, l->op, s.kernel->grid, "blocks of threads");
  vec_push(p->g.a, &p->steps, s);
  return (StepText){.kernel = "NULL", .launch = arena_printf(p->g.a, "launch%u", p->steps.n - 1)};
}

const Sections *cuda_library(Arena *a) {
  const char *const texts[] = {cuda_text_device,
                               cuda_text_device_sm90a,
                               shared_text_math,
                               shared_text_convert,
                               shared_text_random,
                               schedule_text_shares,
                               cuda_text_gemm,
                               cuda_text_gemm_ring,
                               cuda_text_thin,
                               cuda_text_thin_quantized,
                               cuda_text_quantized_pairs,
                               cuda_text_gemm_quantized,
                               cuda_text_tensor,
                               cuda_text_tensor_quantized,
                               cuda_text_thin_tensor,
                               cuda_text_thin_tensor_quantized,
                               cuda_text_wgmma,
                               cuda_text_attention,
                               cuda_text_tensor_attention,
                               cuda_text_wgmma_attention,
                               cuda_text_split_attention,
                               cuda_text_conv,
                               cuda_text_conv_ring,
                               cuda_text_conv_box,
                               cuda_text_filter_ring,
                               cuda_text_filter_box,
                               cuda_text_depthwise,
                               cuda_text_tensor_conv,
                               cuda_text_tensor_box,
                               cuda_text_wgmma_conv_image,
                               cuda_text_wgmma_conv,
                               cuda_text_wgmma_filter_copied,
                               NULL};
  return sections_of(a, texts);
}

CudaProgram *cuda_program(Module *m, const Target *t, const CodegenOptions *o, Arena *a) {
  CudaProgram *p = ARENA_NEW(a, CudaProgram);
  p->g = (Gen){.ctx = m->ctx,
               .m = m,
               .target = t,
               .opt = o,
               .a = a,
               .library = cuda_library(a),
               .print = &printers,
               .fault = "gc_fault(fault, ",
               .own = &p->notes};
  p->tables = (Tables){.g = &p->g, .step = step_of, .target = p};
  tables_make(&p->tables);
  cuda_take_constants(p);
  if (p->notes.tensor_cores_off)
    diag(m->ctx, SEV_NOTE, (Loc){0},
         "products and attention of f16, bf16 and tf32 stay off tensor cores, for every "
         "architecture: --arch names %s, and gc uses those of sm_80 and later",
         cuda_target(t)->pre_sm80);
  return p;
}

const char *cuda_source(const CudaProgram *p, const bool *only) {
  const CodegenOptions *o = p->g.opt;
  Text x = text_new(p->g.a, 0);
  text_add(&x, "/* Compiled by gc %s for CUDA. */\n", o->version ? o->version : "");
  text_add(&x, "%s", sections_base(p->g.library));
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (!only || only[i]) gen_use(&p->g, p->functions.at[i].kernel, p->functions.at[i].body);
  gen_print_definitions(&p->g, &x);
  text_add(&x, "\n/* ---- kernels ---- */\n\n");
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *f = &p->functions.at[i];
    if (!only || only[i]) text_add(&x, "/* %s */\n%s\n%s}\n\n", f->what, f->head, f->body);
  }
  return text_str(&x);
}

bool cuda_write_source(const CodegenPart *part, const CodegenOptions *o, FILE *f) {
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(part->m, part->target, o, a);
  bool ok = !p->g.refused;
  if (ok) fputs(cuda_source(p, NULL), f);
  arena_free(a);
  return ok && !ferror(f);
}

/* Kernels that are one launch, with those that one of them is. */
static int kernels_of(const CudaFunction *x) {
  int n = 0;
  for (int i = 0; i < x->kernel->mixed; i++) n += kernels_of(&x->members[i]);
  return n ? n : 1;
}

static const char *launches_text(Arena *a, const CudaFunction *x) {
  const char *plain =
      arena_printf(a, "blocks=%lld threads=%d shared=%d", (long long)x->grid, x->block, x->shared);
  const KernelVariant *own = x->kernel->variant;
  if (x->one) return arena_printf(a, "%s at_once=%d", plain, x->kernel->parts);
  if (x->kernel->mixed) return arena_printf(a, "%s kernels=%d", plain, kernels_of(x));
  if (!x->sm90a) return plain;
  return arena_printf(a, "%s sm_90a_blocks=%lld sm_90a_threads=%d sm_90a_shared=%d%s", plain,
                      (long long)own->grid, own->block, own->shared,
                      own->cluster > 1 ? arena_printf(a, " sm_90a_cluster=%d", own->cluster) : "");
}

bool cuda_schedules(const CodegenPart *part, const CodegenOptions *o, FILE *f) {
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(part->m, part->target, o, a);
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *x = &p->functions.at[i];
    kernel_print_schedule(f, &p->g, x->kernel, x->name, launches_text(a, x), x->launches,
                          x->entries);
  }
  bool ok = !p->g.refused;
  arena_free(a);
  return ok && !ferror(f);
}
