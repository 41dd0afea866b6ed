/* The functions of a GPU program, one for launches whose kernels are equal but for constants, which
   are then its parameters; see emit.h.
   Contract: a constant that all launches of a function share stays a literal. Functions are
   numbered in the order of their first launch. */
#include "codegen/gpu/emit.h"

#include <inttypes.h>

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

/* The constants that are parameters of the kernel: their number, by constant, or -1; how many. */
static int parameters(const CudaFunction *f, int *parameter) {
  int n = 0;
  for (int i = 0; i < f->constants.n; i++) parameter[i] = f->differs[i] ? n++ : -1;
  return n;
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
  int parameter[MOST_CONSTANTS];
  for (int i = 0; i < parameters(f, parameter); i++) text_add(&x, ", constant%d none 0", i);
  return text_str(&x);
}

static const char *body_of(CudaProgram *p, const Kernel *k, bool sm90a) {
  Text early = k->early;
  const char *wait =
      early.s.n ? arena_printf(p->g.a, "%s  grid_wait();\n", text_str(&early)) : "  grid_wait();\n";
  if (!sm90a) return intern(p->g.ctx, arena_printf(p->g.a, "%s%s", wait, kernel_body(&p->g, k)));
  Text head = k->head, text = k->text, own = k->variant->text;
  return intern(p->g.ctx, arena_printf(p->g.a, "%s%s#if GC_SM90A\n%s#else\n%s#endif\n", wait,
                                       text_str(&head), text_str(&own), text_str(&text)));
}

/* Up to the brace, with its constants. */
static const char *head_of(Arena *a, const CudaFunction *f) {
  const Kernel *k = f->kernel;
  Text x = text_new(a, 0);
  const char *min_blocks = k->min_blocks ? arena_printf(a, ", %d", k->min_blocks) : "";
  const char *bounds = arena_printf(a, "%d%s", k->block, min_blocks);
  if (f->sm90a)
    bounds = arena_printf(a, "GC_EITHER(%d, %d, %d)", k->block, k->variant->block,
                          k->variant->min_blocks);
  if (f->sm90a && k->variant->cluster > 1)
    bounds =
        arena_printf(a, "%s) GC_EITHER(, __cluster_dims__(%d, 1, 1)", bounds, k->variant->cluster);
  text_add(&x, "extern \"C\" __global__ void __launch_bounds__(%s) %s(", bounds, f->name);
  for (int i = 0; i < k->nargs; i++)
    text_add(&x, "%svoid *p%d, ", k->args[i].access.write ? "" : "const ", i);
  text_add(&x, "const GcEnv *env, GcDeviceFault *fault");
  int parameter[MOST_CONSTANTS];
  for (int i = 0; i < parameters(f, parameter); i++) text_add(&x, ", uint64_t constant%d", i);
  for (int i = 0; f->sm90a && i < k->variant->maps; i++)
    text_add(&x, "%s, const __grid_constant__ GcTensorMap %s", i ? "" : " GC_EITHER(, ",
             k->variant->map[i].name);
  text_add(&x, "%s) {", f->sm90a && k->variant->maps ? ")" : "");
  return text_str(&x);
}

/* Alone: its constants are literals. */
static CudaFunction function_new(CudaProgram *p, const Entry *e, const Launch *l, const char *name,
                                 const char *marked, bool sm90a) {
  const Kernel *k = l->kernel;
  Arena *a = p->g.a;
  CudaFunction f = {.kernel = k,
                    .launches = 1,
                    .entries = kernel_entries(a, NULL, e),
                    .entry = e,
                    .op = l->op,
                    .name = name,
                    .body = constants_source(a, marked, NULL),
                    .marked = marked,
                    .nargs = k->nargs,
                    .block = k->block,
                    .shared = k->shared,
                    .sm90a = sm90a,
                    .grid = k->grid};
  f.rights = ARENA_ARRAY(a, uint8_t, k->nargs + 1);
  f.bytes = ARENA_ARRAY(a, uint64_t, k->nargs + 1);
  f.what = describe(&p->g, l, e);
  for (int i = 0; i < k->nargs; i++) {
    const Access *at = &k->args[i].access;
    f.rights[i] = (uint8_t)((at->read ? 1 : 0) + (at->write ? 2 : 0));
    f.bytes[i] = l->args[i].bytes;
  }
  f.head = head_of(a, &f);
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

int cuda_function(CudaProgram *p, const Entry *e, const Launch *l, bool sm90a, Constants *out) {
  Arena *a = p->g.a;
  const char *marked = body_of(p, l->kernel, sm90a);
  const char *form = intern(p->g.ctx, constants_form(a, marked, out));
  for (uint32_t i = 0; i < p->functions.n; i++) {
    CudaFunction *f = &p->functions.at[i];
    if (f->form != form || !same_launch(f, l)) continue;
    f->launches++;
    f->entries = kernel_entries(a, f->entries, e);
    for (int c = 0; c < out->n; c++) f->differs[c] |= f->constants.bits[c] != out->bits[c];
    return (int)i;
  }
  const char *name = arena_printf(a, "k%u", p->functions.n);
  CudaFunction f = function_alone(p, e, l, name, sm90a);
  f.form = form;
  f.constants = *out;
  vec_push(a, &p->functions, f);
  return (int)p->functions.n - 1;
}

void cuda_take_constants(CudaProgram *p) {
  int parameter[MOST_CONSTANTS];
  for (uint32_t i = 0; i < p->functions.n; i++) {
    CudaFunction *f = &p->functions.at[i];
    if (!parameters(f, parameter)) continue;
    f->head = head_of(p->g.a, f);
    f->body = constants_source(p->g.a, f->marked, parameter);
  }
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

/* ", .constants = (const uint64_t[]){0x5}, .nconstants = 1" */
static const char *constants_of(Arena *a, const CudaFunction *f, const Constants *c) {
  int parameter[MOST_CONSTANTS];
  const int n = parameters(f, parameter);
  Text x = text_new(a, 0);
  for (int i = 0; i < c->n; i++)
    if (parameter[i] >= 0)
      text_add(&x, "%s0x%" PRIx64, parameter[i] ? ", " : ", .constants = (const uint64_t[]){",
               c->bits[i]);
  if (n) text_add(&x, "}, .nconstants = %d", n);
  return text_str(&x);
}

const char *cuda_launches(CudaProgram *p) {
  Arena *a = p->g.a;
  Text x = text_new(a, 0);
  for (uint32_t i = 0; i < p->steps.n; i++) {
    const CudaStep *s = &p->steps.at[i];
    const Kernel *k = s->kernel;
    const KernelVariant *own = s->sm90a ? k->variant : NULL;
    const char *constants = constants_of(a, &p->functions.at[s->function], &s->constants);
    if (own) print_maps(&x, (int)i, own);
    const char *plain = arena_printf(a, "{%d, %" PRId64 ", %d, %d%s}", s->function, k->grid,
                                     k->block, k->shared, constants);
    text_add(&x, "static const GcLaunch launch%u[] = {%s, ", i, plain);
    if (own)
      text_add(&x, "{%d, %" PRId64 ", %d, %d, %s, %d, %d%s}};\n", s->function, own->grid,
               own->block, own->shared, own->maps ? arena_printf(a, "maps%u", i) : "NULL",
               own->maps, own->persistent ? own->cluster : 0, constants);
    else
      text_add(&x, "%s};\n", plain);
  }
  return text_str(&x);
}
