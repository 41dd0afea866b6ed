/* The CUDA C source of a program: the library code that its kernels use, then one function for each
   distinct kernel; and the tables of the program, for the C compiler.
   Contract: not a byte of the user's text is in the CUDA source: kernels are numbered, and what
   they are is said with the names of ops and types. The same module gives the same bytes. */
#include "codegen/gpu/emit.h"

#include <inttypes.h>

extern const char cuda_text_device[], cuda_text_gemm[], cuda_text_gemm_ring[], cuda_text_thin[],
    cuda_text_attention[], cuda_text_tensor[], cuda_text_tensor_attention[], cuda_text_wgmma[],
    cuda_text_wgmma_attention[], cuda_text_split_attention[], cuda_text_conv[],
    cuda_text_depthwise[], cuda_text_tensor_conv[], cuda_text_wgmma_conv[],
    cuda_text_wgmma_conv_image[], shared_text_math[], shared_text_convert[], shared_text_random[];

static const GroupPrinters printers = {.map = cuda_map,
                                       .rows = cuda_rows,
                                       .reduce = cuda_reduce,
                                       .matmul = cuda_matmul,
                                       .window = cuda_window,
                                       .attention = cuda_attention,
                                       .order = cuda_order,
                                       .index = cuda_index,
                                       .random = cuda_random,
                                       .collective = cuda_collective,
                                       .move = cuda_move,
                                       .batch = cuda_batch,
                                       .mix = cuda_mix,
                                       .mix_shared = cuda_mix_shared};

/* ---- kernels, one for equal texts ---- */

/* "matmul add relu : f32[64, 256]" */
static const char *describe(Gen *g, const Launch *l, const Entry *e) {
  const Group *gr = group_of(g->a, e, l->op);
  Text x = text_new(g->a, 0);
  for (int i = 0; i < l->kernel->mixed; i++)
    text_add(&x, "%s%s", i ? "; " : "", describe(g, &l->members[i], e));
  if (l->kernel->mixed) return text_str(&x);
  for (int i = 0; i < gr->nops; i++)
    text_add(&x, "%s%s", i ? " " : "", op_info[gr->ops[i]->kind].name);
  text_add(&x, ": %s", type_str(g->ctx, gr->domain));
  if (l->kernel->parts) text_add(&x, ", %d at once", l->kernel->parts);
  return text_str(&x);
}

static bool same_launch(const CudaFunction *f, const Launch *l) {
  const Kernel *k = l->kernel;
  bool same = f->block == k->block && f->nargs == k->nargs;
  for (int i = 0; same && i < k->nargs; i++)
    same = f->bytes[i] == l->args[i].bytes &&
           f->rights[i] == (k->args[i].access.read ? 1 : 0) + (k->args[i].access.write ? 2 : 0);
  return same;
}

enum {
  ENV_BYTES = 16,
  BOUNDED_ENV_BYTES = 24 + 4 * ENTRY_EXTENTS,
  RANKS_ENV_BYTES = BOUNDED_ENV_BYTES + 8, /* with first_row and rank */
  FAULT_BYTES = 32
}; /* gcrt.h's GcEnv as far as a kernel reads it, and GcDeviceFault */

/* Also entries that each rank runs by itself may ask which one it is, as init does for its slices.
 */
static bool is_of_ranks(const Module *m) {
  bool any = false;
  for (uint32_t i = 0; i < m->entries.n; i++) any |= m->entries.at[i]->ranks > 0;
  return any;
}

const char *cuda_buffers(Arena *a, const CudaFunction *f) {
  static const char *const right[] = {"none", "read", "write", "both"};
  Text x = text_new(a, 0);
  for (int i = 0; i < f->nargs; i++)
    text_add(&x, "p%d %s %" PRIu64 ", ", i, right[f->rights[i]], f->bytes[i]);
  int env = is_of_ranks(f->entry->module) ? RANKS_ENV_BYTES
            : f->kernel->bounded          ? BOUNDED_ENV_BYTES
                                          : ENV_BYTES;
  text_add(&x, "env read %d, fault both %d", env, FAULT_BYTES);
  return text_str(&x);
}

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

static const char *body_of(CudaProgram *p, const Kernel *k, bool sm90a) {
  static const char wait[] = "  grid_wait();\n";
  if (!sm90a) return intern(p->g.ctx, arena_printf(p->g.a, "%s%s", wait, kernel_body(&p->g, k)));
  Text head = k->head, text = k->text, own = k->variant->text;
  return intern(p->g.ctx, arena_printf(p->g.a, "%s%s#if GC_SM90A\n%s#else\n%s#endif\n", wait,
                                       text_str(&head), text_str(&own), text_str(&text)));
}

static CudaFunction function_new(CudaProgram *p, const Entry *e, const Launch *l, const char *name,
                                 const char *body, bool sm90a) {
  const Kernel *k = l->kernel;
  Arena *a = p->g.a;
  CudaFunction f = {.kernel = k,
                    .launches = 1,
                    .entries = kernel_entries(a, NULL, e),
                    .entry = e,
                    .op = l->op,
                    .name = name,
                    .body = body,
                    .nargs = k->nargs,
                    .block = k->block,
                    .shared = k->shared,
                    .sm90a = sm90a,
                    .grid = k->grid};
  f.rights = ARENA_ARRAY(a, uint8_t, k->nargs + 1);
  f.bytes = ARENA_ARRAY(a, uint64_t, k->nargs + 1);
  f.what = describe(&p->g, l, e);
  Text x = text_new(a, 0);
  const char *min_blocks = k->min_blocks ? arena_printf(a, ", %d", k->min_blocks) : "";
  const char *bounds = arena_printf(a, "%d%s", k->block, min_blocks);
  if (sm90a)
    bounds = arena_printf(a, "GC_EITHER(%d, %d, %d)", k->block, k->variant->block,
                          k->variant->min_blocks);
  if (sm90a && k->variant->cluster > 1)
    bounds =
        arena_printf(a, "%s) GC_EITHER(, __cluster_dims__(%d, 1, 1)", bounds, k->variant->cluster);
  text_add(&x, "extern \"C\" __global__ void __launch_bounds__(%s) %s(", bounds, f.name);
  for (int i = 0; i < k->nargs; i++) {
    const Access *at = &k->args[i].access;
    f.rights[i] = (uint8_t)((at->read ? 1 : 0) + (at->write ? 2 : 0));
    f.bytes[i] = l->args[i].bytes;
    text_add(&x, "%svoid *p%d, ", at->write ? "" : "const ", i);
  }
  text_add(&x, "const GcEnv *env, GcDeviceFault *fault");
  for (int i = 0; sm90a && i < k->variant->maps; i++)
    text_add(&x, "%s, const __grid_constant__ GcTensorMap %s", i ? "" : " GC_EITHER(, ",
             k->variant->map[i].name);
  text_add(&x, "%s) {", sm90a && k->variant->maps ? ")" : "");
  f.head = text_str(&x);
  return f;
}

/* With the functions that it stands for. */
static CudaFunction function_alone(CudaProgram *p, const Entry *e, const Launch *l,
                                   const char *name, bool sm90a) {
  Arena *a = p->g.a;
  CudaFunction f = function_new(p, e, l, name, body_of(p, l->kernel, sm90a), sm90a);
  if (l->kernel->one) {
    Launch part = *l; /* the first addresses are those of the first part */
    part.kernel = (Kernel *)l->kernel->one;
    CudaFunction *one = ARENA_NEW(a, CudaFunction);
    *one = function_new(p, e, &part, name, body_of(p, part.kernel, false), false);
    f.one = one;
  }
  CudaFunction *members = ARENA_ARRAY(a, CudaFunction, l->kernel->mixed + 1);
  for (int i = 0; i < l->kernel->mixed; i++)
    members[i] = function_alone(p, e, &l->members[i], name, false);
  f.members = members;
  return f;
}

static int function_of(CudaProgram *p, const Entry *e, const Launch *l, bool sm90a) {
  Arena *a = p->g.a;
  const char *body = body_of(p, l->kernel, sm90a);
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (p->functions.at[i].body == body && same_launch(&p->functions.at[i], l)) {
      p->functions.at[i].launches++;
      p->functions.at[i].entries = kernel_entries(a, p->functions.at[i].entries, e);
      return (int)i;
    }
  const char *name = arena_printf(a, "k%u", p->functions.n);
  vec_push(a, &p->functions, function_alone(p, e, l, name, sm90a));
  return (int)p->functions.n - 1;
}

static int64_t times_of(const Op *op) {
  int64_t times = 1;
  for (const Op *scan = op->parent->op; scan; scan = scan->parent->op) times *= scan_trips(scan);
  return times;
}

/* Of variant 1, for sm_90a. */
static void print_maps(Text *x, int id, const KernelVariant *own) {
  if (!own->maps) return;
  text_add(x, "static const GcTensorMap maps%d[] = {", id);
  for (int i = 0; i < own->maps; i++) {
    const KernelMap *m = &own->map[i];
    const int bytes = dtype_size(m->dtype);
    text_add(x, "%s{%d, %s, %" PRId64 ", {", i ? ", " : "", m->arg, dtype_enum(m->dtype),
             m->offset * bytes);
    for (int d = 0; d < MAP_AXES; d++) text_add(x, "%s%" PRId64, d ? ", " : "", m->size[d]);
    for (int d = 1; d < MAP_AXES; d++)
      text_add(x, "%s%" PRId64, d > 1 ? ", " : "}, {", m->stride[d] * bytes);
    for (int d = 0; d < MAP_AXES; d++) text_add(x, "%s%" PRId64, d ? ", " : "}, {", m->box[d]);
    text_add(x, "}}");
  }
  text_add(x, "};\n");
}

static StepText step_of(Tables *t, const Entry *e, const Launch *l, int depth) {
  CudaProgram *p = t->target;
  if (l->kernel->collective)
    return (StepText){.kernel = "NULL", .collective = l->kernel->collective};
  const bool sm90a = takes_variant(l, depth);
  int f = function_of(p, e, l, sm90a);
  const Kernel *k = l->kernel;
  int id = p->launches++;
  vec_push(p->g.a, &p->steps, (CudaStep){e, f, l->step, times_of(l->op)});
  cuda_counts(&p->g, l->op, k->grid, "blocks of threads");
  if (sm90a) print_maps(&t->text, id, k->variant);
  text_add(&t->text, "static const GcLaunch launch%d[] = {{%d, %" PRId64 ", %d, %d}, ", id, f,
           k->grid, k->block, k->shared);
  if (sm90a)
    text_add(&t->text, "{%d, %" PRId64 ", %d, %d, %s, %d, %d}};\n", f, k->variant->grid,
             k->variant->block, k->variant->shared,
             k->variant->maps ? arena_printf(p->g.a, "maps%d", id) : "NULL", k->variant->maps,
             k->variant->persistent ? k->variant->cluster : 0);
  else
    text_add(&t->text, "{%d, %" PRId64 ", %d, %d}};\n", f, k->grid, k->block, k->shared);
  return (StepText){.kernel = "NULL", .launch = arena_printf(p->g.a, "launch%d", id)};
}

const Sections *cuda_library(Arena *a) {
  const char *const texts[] = {cuda_text_device,
                               shared_text_math,
                               shared_text_convert,
                               shared_text_random,
                               cuda_text_gemm,
                               cuda_text_gemm_ring,
                               cuda_text_thin,
                               cuda_text_tensor,
                               cuda_text_wgmma,
                               cuda_text_attention,
                               cuda_text_tensor_attention,
                               cuda_text_wgmma_attention,
                               cuda_text_split_attention,
                               cuda_text_conv,
                               cuda_text_depthwise,
                               cuda_text_tensor_conv,
                               cuda_text_wgmma_conv_image,
                               cuda_text_wgmma_conv,
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

static const char *launches_text(Arena *a, const CudaFunction *x) {
  const char *plain =
      arena_printf(a, "blocks=%lld threads=%d shared=%d", (long long)x->grid, x->block, x->shared);
  const KernelVariant *own = x->kernel->variant;
  if (x->one) return arena_printf(a, "%s at_once=%d", plain, x->kernel->parts);
  if (x->kernel->mixed) return arena_printf(a, "%s kernels=%d", plain, x->kernel->mixed);
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
