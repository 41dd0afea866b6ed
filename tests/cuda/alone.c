/* Kernels of a program run by themselves; see alone.h.
   Each op becomes an entry of a module of its own, its operands the inputs and its results the
   outputs: for the GPU as it is, so that the same kernel comes of it, for the CPU taken apart, so
   that its passes make of it what they like. The memory of the GPU's outputs is filled first, and
   what a few blocks leave as it was is not compared. */
#include "tests/cuda/alone.h"
#include "codegen/gpu/time/counts.h"
#include "ir/update.h"

#include "tests/cuda/device.h"
#include "tests/cuda/listed.h"
#include "tests/num/bytes.h"
#include "tests/num/compare.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  SOME = 3,        /* blocks of a launch that run */
  PART = 40,       /* kernels that are compiled together, */
  ROOM = 1 << 26,  /* ... with so many elements, but for the first */
  SMALL = 1 << 16, /* elements of a kernel that is run sooner than compiled well */
  LONG = 1 << 28,  /* operations of one that is not */
  UNWRITTEN = 0xA5 /* bytes of outputs before they are written */
};
/* What follows the passes that have made kernels, and copies, which autodiff would take out. */
static const char *const plan_passes = "layout,order,liveness,inplace,share,plan-verify";

typedef struct Part { /* of the functions, compiled together */
  const CudaFunction *const *f;
  int n;
} Part;

/* ---- modules ---- */

static void add_inputs(Entry *e, const Entry *from, const Op *op, ValueId *map) {
  for (int i = 0; i < op->noperands; i++) {
    ValueId v = op->operands[i];
    if (map[v] == NO_ID)
      map[v] = entry_add_input(e, intern_printf(e->module->ctx, "x%d", i), value_type(from, v));
  }
}

/* An entry knows an extent by an input that has it: if none of the operands does, one of the
   program's, which only tells its length here. */
static void add_extent(Entry *e, const Entry *from, const Extent *x) {
  for (int k = 0; x->nfactors > 1 && k < x->nfactors; k++) add_extent(e, from, x->factor[k]);
  if (x->nfactors > 1) return;
  for (uint32_t a = 0; a < from->body->args.n && entry_extent(e, x) < 0; a++) {
    const Type *in = value_type(from, from->body->args.at[a]);
    bool has = false;
    for (int d = 0; d < in->rank; d++) has |= type_extent(in, d) == x;
    if (has) entry_add_input(e, intern_printf(e->module->ctx, "n%u", a), in);
  }
}

static void add_extents(Entry *e, const Entry *from, const ValueId *v, int n) {
  for (int i = 0; i < n; i++) {
    const Type *t = value_type(from, v[i]);
    for (int d = 0; d < t->rank; d++)
      if (type_extent(t, d)) add_extent(e, from, type_extent(t, d));
  }
}

static void add_all_extents(Entry *e, const Entry *from, const Op *op) {
  const Attr *attr = op->attr;
  if (op->kind == OP_EXTENT)
    add_extent(e, from, extent_get(e->module->ctx, attr[AT_NAME].str, attr[AT_BOUND].i));
  add_extents(e, from, op->operands, op->noperands);
  add_extents(e, from, op->results, op->nresults);
  for (uint32_t i = 0; op->kind == OP_KERNEL && i < op->blocks[0]->ops.n; i++)
    add_all_extents(e, from, op_at(from, op->blocks[0]->ops.at[i]));
}

/* The ops of a kernel, one by one; gives the results. */
static const ValueId *copy_parts(Builder *b, const Entry *from, const Op *op, ValueId *map) {
  const Block *inner = op->blocks[0];
  for (int i = 0; i < op->noperands; i++) map[inner->args.at[i]] = map[op->operands[i]];
  for (uint32_t i = 0; i + 1 < inner->ops.n; i++)
    build_copy(b, from, op_at(from, inner->ops.at[i]), map);
  return op_at(from, inner->ops.at[inner->ops.n - 1])->operands;
}

/* The operand over which the program's plan lets the op write the result, or -1. Other kernels than
   those of indices are the same wherever they write. */
static int operand_below(const Entry *from, const Op *op, int result) {
  if (op_info[op->kind].cls != CLASS_INDEX && !op_update(from, op)) return -1;
  const Place *place = plan_of(from)->place, *y = &place[op->results[result]];
  for (int i = 0; i < op->noperands; i++) {
    const Place *x = &place[op->operands[i]];
    if (y->region == x->region && y->offset == x->offset) return i;
  }
  return -1;
}

/* The input that is an operand: equal operands are one. */
static int input_of(const Op *op, int operand) {
  int n = 0;
  for (int i = 0; i < operand; i++) {
    bool is_first = op->operands[i] != op->operands[operand];
    for (int k = 0; k < i; k++) is_first &= op->operands[k] != op->operands[i];
    n += is_first;
  }
  return n;
}

/* An input's bytes are not to be overwritten, those of an op's result are: no pass here folds one
   of two equal operands. */
static void compute_overwritten(Builder *b, const Entry *from, const Op *op, ValueId *map) {
  for (int k = 0; k < op->nresults; k++) {
    const int i = operand_below(from, op, k);
    if (i < 0) continue;
    const ValueId v = op->operands[i], both[] = {map[v], map[v]};
    map[v] = build_op(b, OP_MAX, both, 2, NULL, &value_at(from, v)->type, 1)->results[0];
  }
}

static void add_entry(Module *m, int number, const CudaFunction *f, bool apart) {
  Ctx *c = m->ctx;
  const Op *op = f->op;
  Entry *e = entry_new(m, intern_printf(c, "e%d", number), (Loc){0});
  ValueId *map = ARENA_ARRAY(m->arena, ValueId, f->entry->values.n + 1);
  for (uint32_t i = 0; i < f->entry->values.n; i++) map[i] = NO_ID;
  add_inputs(e, f->entry, op, map);
  add_all_extents(e, f->entry, op);
  Builder *b = builder_new(e, e->body);
  b->fold = false;
  const ValueId *results = op->results;
  if (apart && op->kind == OP_KERNEL)
    results = copy_parts(b, f->entry, op, map);
  else
    compute_overwritten(b, f->entry, op, map), build_copy(b, f->entry, op, map);
  ValueId *out = ARENA_ARRAY(m->arena, ValueId, op->nresults + 1);
  const char **names = ARENA_ARRAY(m->arena, const char *, op->nresults + 1);
  for (int i = 0; i < op->nresults; i++) {
    out[i] = map[results[i]];
    names[i] = intern_printf(c, "y%d", i);
  }
  build_return(b, out, names, op->nresults);
  vec_push(m->arena, &m->entries, e);
}

static Module *module_of(Ctx *c, const Part *p, bool apart) {
  Module *m = module_new(c, "alone");
  for (int i = 0; i < p->n; i++) add_entry(m, i, p->f[i], apart);
  return m;
}

static Compiled *open_cpu(Ctx *c, const Part *p, CodegenOptions *o) {
  const Target *t = target_cpu(c, o);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  Module *m = module_of(c, p, true);
  if (!t || !passes_run(m, intern_printf(c, "autodiff,%s", passes_pipeline(2)), &po)) return NULL;
  const char *optimiser = "-O0";
  for (int i = 0; i < p->n; i++)
    if (op_flops(p->f[i]->entry, p->f[i]->op) > LONG || elements_alone(p->f[i]) > SMALL)
      optimiser = "-O1";
  return compiled_open(m, t, o, optimiser);
}

/* Every function of the part is among those of the program. */
static int check_forms(const Part *p, const CudaProgram *alone) {
  int bad = 0;
  Arena *a = arena_new();
  for (int i = 0; i < p->n; i++) {
    const char *form = kernel_form(a, p->f[i]);
    bool found = false;
    for (uint32_t k = 0; k < alone->functions.n && !found; k++)
      found = strcmp(kernel_form(a, &alone->functions.at[k]), form) == 0;
    if (!found) printf("\"%s\" alone is another kernel:\n%s\n", p->f[i]->what, form);
    bad += !found;
  }
  arena_free(a);
  return bad;
}

static Compiled *open_gpu(Ctx *c, const Part *p, CodegenOptions *o, int *bad) {
  static const char *const arch = "compute_80";
  const Target *t = target_cuda(c, NULL, 0);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t, .lowered = true};
  Module *m = module_of(c, p, false);
  if (!passes_run(m, plan_passes, &po)) return NULL;
  CudaProgram *alone = cuda_program(m, t, o, m->arena);
  *bad += check_forms(p, alone);
  CudaImage image;
  int code = 0;
  if (!nvrtc_compile(c, m->arena, NULL, cuda_source(alone, NULL), &arch, 1, &image, &code))
    return NULL;
  Compiled *on = device_ptx(alone, &image);
  if (!on) return NULL;
  DeviceHead *h = on->device;
  double *issue = ARENA_ARRAY(m->arena, double, alone->functions.n + 1);
  bool *whole = ARENA_ARRAY(m->arena, bool, alone->functions.n + 1);
  for (uint32_t i = 0; i < alone->functions.n; i++)
    whole[i] = alone->functions.at[i].kernel->signals;
  for (uint32_t i = 0; i < alone->functions.n; i++)
    issue[i] = gpu_counts(&alone->g, &alone->functions.at[i], &gpu_devices[GPU_h100]).issue;
  h->some = SOME, h->count = true, h->issue = issue, h->whole = whole;
  return on;
}

/* ---- runs ---- */

static int64_t least_limit(const GcTensor *t) {
  int64_t least = 0;
  for (int i = 0; i < t->nlimits; i++) {
    int64_t limit = t->limits[i].limit;
    if (limit && (!least || limit < least)) least = limit;
  }
  return least;
}

static int64_t starts_of(const Entry *e, const Op *update) {
  const int axis = (int)update->attr[AT_AXIS].i;
  const Type *all = value_type(e, update->operands[0]), *part = value_type(e, update->operands[1]);
  return all->dim[axis] - part->dim[axis] + 1;
}

/* The operand that says where the op, or its last one, writes a part; -1: it writes none. */
static int start_of(const Entry *e, const Op *op) {
  const Op *update = op_update(e, op);
  if (!update || update == op) return update ? 2 : -1;
  int i = 0;
  while (op->blocks[0]->args.at[i] != update->operands[2]) i++;
  return i;
}

/* Indices that have a place; numbers that a root or a logarithm takes, and steps counted from 0 up,
   where `positive`. A part of all its rows has a start. */
static Tensor *inputs_of(Arena *a, const Compiled *x, const CudaFunction *f, const Entry *e, int i,
                         bool positive) {
  Tensor *in = random_inputs(a, e, (uint64_t)i + 1);
  const int operand = start_of(f->entry, f->op);
  const int start = operand < 0 ? -1 : input_of(f->op, operand);
  for (uint32_t k = 0; k < e->body->args.n; k++) {
    int64_t limit = least_limit(&x->program->entries[i].inputs[k]);
    if ((int)k == start) limit = starts_of(f->entry, op_update(f->entry, f->op));
    for (int64_t j = 0; j < in[k].type->numel; j++) {
      Scalar *s = &in[k].at[j];
      if (dtype_is_float(in[k].type->dtype))
        s->f = positive ? fabs(s->f) : s->f;
      else if (limit)
        s->i = (s->i % limit + limit) % limit;
      else if (positive && s->i < 0)
        s->i = -s->i;
    }
  }
  return in;
}

static bool mostly_nan(const Tensor *t) {
  int64_t n = 0;
  for (int64_t i = 0; dtype_is_float(t->type->dtype) && i < t->type->numel; i++)
    n += isnan(t->at[i].f);
  return 2 * n > t->type->numel;
}

/* Takes what no block wrote from the other side, which is as it was filled, or the element of the
   operand that the result lies over; gives how many others there are, of such an operand those that
   differ from it. */
static int64_t leave_out_unwritten(Tensor *got, const Tensor *want, const Tensor *over) {
  Dtype dt = got->type->dtype;
  unsigned char bytes[sizeof(Scalar)];
  memset(bytes, UNWRITTEN, sizeof bytes);
  const Scalar none = scalar_read(bytes, dt);
  int64_t n = 0;
  for (int64_t i = 0; i < got->type->numel; i++) {
    bool as_before = scalar_same(got->at[i], none, dt) ||
                     (over && scalar_same(got->at[i], over->at[i], dt)),
         left = as_before && !scalar_same(got->at[i], want->at[i], dt);
    n += over ? !scalar_same(got->at[i], over->at[i], dt) : !left;
    if (left) got->at[i] = want->at[i];
  }
  return n;
}

/* The most blocks of a launch of the entry. */
static int64_t blocks_of(const Compiled *y, int i) {
  const GcEntry *e = &y->program->entries[i];
  int64_t most = 1;
  for (int k = 0; k < e->nsteps; k++)
    if (e->steps[k].launch && e->steps[k].launch->grid > most) most = e->steps[k].launch->grid;
  return most;
}

static bool differs(const Tensor *x, const Tensor *y) {
  bool same = true;
  for (int64_t i = 0; same && i < x->type->numel; i++)
    same = scalar_same(x->at[i], y->at[i], x->type->dtype);
  return !same;
}

/* What was written of the results is what the CPU has, and of each as much as a block's part; of
   one over an operand something, if it differs from that. */
static int check_results(const CudaFunction *f, int64_t blocks, const Tensor *in,
                         const Tensor *want, Tensor *got) {
  const char *what = f->what;
  int bad = 0;
  for (int k = 0; k < f->op->nresults; k++) {
    const int below = operand_below(f->entry, f->op, k);
    const Tensor *over = below < 0 ? NULL : &in[input_of(f->op, below)];
    int64_t all = want[k].type->numel, least = blocks > SOME ? all / blocks : all;
    if (over) least = all = differs(&want[k], over);
    int64_t written = leave_out_unwritten(&got[k], &want[k], over);
    char name[32];
    snprintf(name, sizeof name, "result %d", k);
    bad += tensor_compare(what, name, &want[k], &got[k], scalar_close);
    if ((written || !all) && written >= least) continue;
    printf("%s: %s: %lld of %lld were written\n", what, name, (long long)written, (long long)all);
    bad++;
  }
  return bad;
}

/* Neighbouring threads read and write neighbouring bytes, but where scattered.def says why not. */
static int check_sectors(Arena *a, const CudaFunction *f, const DeviceHead *h) {
  static const char *const scattered[] = {
#define SCATTERED(kernels, why) kernels,
#include "scattered.def"
#undef SCATTERED
  };
  if (h->sectors <= 2 * h->sectors_needed) return 0;
  for (size_t i = 0; i < sizeof scattered / sizeof *scattered; i++)
    if (kernel_is(a, f, scattered[i])) return 0;
  printf("%s: warps touch %llu sectors of 32 bytes, what they access would fill %llu: %s\n",
         f->what, (unsigned long long)h->sectors, (unsigned long long)h->sectors_needed,
         kernel_kind(a, f));
  return 1;
}

/* Lanes that are served together want words of different banks, most of the time. */
static int check_banks(Arena *a, const CudaFunction *f, const DeviceHead *h) {
  if (2 * h->turns <= 3 * h->turns_needed) return 0;
  printf("%s: the banks of shared memory take %llu turns for what %llu would do: %s\n", f->what,
         (unsigned long long)h->turns, (unsigned long long)h->turns_needed, kernel_kind(a, f));
  return 1;
}

static int counted, miscounted;

/* The model of time counts the instructions that warps execute: of nine kernels in ten within a
   factor. */
static void check_issue(Arena *a, const CudaFunction *f, const DeviceHead *h) {
  enum { FACTOR = 4, ELEMENTS = 4096 }; /* of fewer the launch takes longer than the work */
  if (h->least <= 0 || elements_alone(f) < ELEMENTS) return;
  counted++;
  if (h->least > 1.0 / FACTOR && h->most < FACTOR) return;
  miscounted++;
  printf("%s: warps execute %.2f to %.2f of the instructions that the model of time counts: %s\n",
         f->what, h->least, h->most, kernel_kind(a, f));
}

int alone_miscounted(void) {
  const bool many = miscounted * 10 > counted;
  printf("the model of time counts %d of %d kernels wrong%s\n", miscounted, counted,
         many ? ": more than a tenth" : "");
  return many;
}

static int run_entry(Ctx *c, Compiled *x, Compiled *y, const CudaFunction *f, const Entry *e,
                     int i) {
  Arena *a = arena_new();
  const char *name = e->name, *what = f->what;
  int n = f->op->nresults, bad = 0;
  Tensor *want = ARENA_ARRAY(a, Tensor, n + 1), *got = ARENA_ARRAY(a, Tensor, n + 1), *in = NULL;
  const RunOptions ro = {.threads = 1, .seed = 5, .step = 3};
  bool vain = true;
  for (int positive = 0; positive < 2 && vain && !bad; positive++) {
    in = inputs_of(a, x, f, e, i, positive);
    if (!compiled_run(x, name, &ro, in, want, c)) bad = 1, printf("%s: %s\n", what, x->fault);
    vain = false;
    for (int k = 0; k < n && !bad; k++) vain |= mostly_nan(&want[k]);
  }
  if (!bad && vain) bad = 1, printf("%s: nothing to compare: most of it is no number\n", what);
  memset(y->region[GC_ARENA], UNWRITTEN, y->bytes[GC_ARENA]);
  device_order(y, (unsigned)i % 3);
  DeviceHead *h = y->device;
  h->sectors = h->sectors_needed = h->turns = h->turns_needed = 0;
  h->least = h->most = 0;
  if (!bad && !compiled_run(y, name, &ro, in, got, c)) bad = 1, printf("%s: %s\n", what, y->fault);
  if (!bad)
    bad = check_results(f, blocks_of(y, i), in, want, got) + check_sectors(a, f, h) +
          check_banks(a, f, h);
  if (!bad) check_issue(a, f, h);
  arena_free(a);
  return bad != 0;
}

static int run_part(Ctx *c, const Part *p, CodegenOptions *o) {
  int bad = 0;
  Compiled *x = open_cpu(c, p, o), *y = open_gpu(c, p, o, &bad);
  if (!x || !y) bad = p->n, printf("kernels by themselves: there is no program\n");
  Module *m = module_of(c, p, false);
  for (int i = 0; i < p->n && x && y; i++) bad += run_entry(c, x, y, p->f[i], m->entries.at[i], i);
  if (x) compiled_close(x);
  if (y) device_free(y);
  return bad;
}

int64_t elements_alone(const CudaFunction *f) {
  int64_t n = 0;
  for (int i = 0; i < f->op->noperands; i++) n += value_type(f->entry, f->op->operands[i])->numel;
  for (int i = 0; i < f->op->nresults; i++) n += value_type(f->entry, f->op->results[i])->numel;
  return n;
}

int run_alone(Ctx *c, const CudaFunctions *f, CodegenOptions *o) {
  int bad = 0;
  for (uint32_t i = 0; i < f->n;) {
    Part p = {.f = &f->at[i]};
    for (int64_t room = 0; p.n < PART && i < f->n; p.n++, i++) {
      room += elements_alone(f->at[i]);
      if (p.n && room > ROOM) break;
    }
    bad += run_part(c, &p, o);
  }
  return bad;
}
